"""What a notebook's user and front end see of going back: numbers, outputs, widgets, names and what is gone."""

import json
import shutil

import pytest

from conftest import shared_kernel as kernel  # noqa: F401
from kernels import wait_for
from processes import family
from travels import branch, check_burst, restore, run

pytestmark = pytest.mark.xdist_group("time-travel-session")  # one process: the kernel is there once


def comms(kernel):
    return set(kernel.shell_reply(kernel.client.comm_info())["content"]["comms"])


def test_inputs_outputs_and_the_next_number_are_those_of_the_state(kernel):
    first = kernel.ask("6 * 7", {})
    number = first.reply["execution_count"]
    kernel.good("'later'")
    kernel.good("%undo")
    cell = kernel.ask(f"_, Out[{number}], In[{number}], len(In)", {})
    assert cell.result == f"(42, 42, '6 * 7', {number + 2})"
    assert cell.reply["execution_count"] == number + 1


def test_comms_are_those_of_the_state(kernel):
    kernel.good("%checkpoint without")
    opened = run(kernel, "from comm import create_comm\nc = create_comm(target_name='t', comm_id='travelled')")
    run(kernel, "c.close()")
    assert comms(kernel) == set()
    restore(kernel, to=opened)
    assert comms(kernel) == {"travelled"}
    kernel.good("%restore without")
    assert comms(kernel) == set()
    kernel.good("%redo")
    assert comms(kernel) == {"travelled"}


def test_name_that_is_given_again_moves(kernel):
    kernel.good("x = 1")
    kernel.good("%checkpoint moved")
    kernel.good("x = 2")
    kernel.good("%checkpoint moved")
    kernel.good("x = 3")
    kernel.good("%restore moved")
    assert kernel.value("x") == "2"


def test_undo_after_a_cell_that_was_rolled_back_undoes_the_one_before_and_says_so(kernel):
    kernel.good("x = 1")
    number = kernel.ask("x = 2", {}).reply["execution_count"]
    assert kernel.run("x = 3; import os; os._exit(1)").ename == "CellCrashed"
    assert kernel.run("%%limits timeout=300ms\nx = 4\nwhile True: pass").ename == "CellTimeout"
    assert kernel.good("%undo").stdout.startswith(f'Back before [{number}]: 1 cell ("x = 2"), ')
    assert kernel.ask("x", {"commit": False}).result == "1"


def test_states_of_one_number_are_meant_by_the_ids_that_the_timeline_shows(kernel):
    kernel.good("%checkpoint common")
    images = []
    for n in range(2):
        kernel.good("%restore common")
        images.append(run(kernel, f"which = {n}"))
    (shown,) = kernel.good("%timeline").of("display_data")
    for n, image in enumerate(images):
        (row,) = [row for row in shown["data"]["text/plain"].splitlines() if f"which = {n} " in row]
        short = row.split()[-1]
        assert image.startswith(short) and len(short) >= 8, row
        assert f"<code>{short}</code>" in shown["data"]["text/html"]
        kernel.good(f"%restore {short}")
        assert kernel.ask("which", {"commit": False}).result == str(n)
        assert kernel.ask("which", {"from": short, "commit": False}).result == str(n)
        assert kernel.ask(f"%diff common {short}", {}).ok
        assert kernel.control("petri_restore_request", {"to": short})["image"] == image


def test_redo_after_going_to_another_branch_goes_on_in_the_one_that_was_left(kernel):
    first = run(kernel, "y = 'first'")
    images = [run(kernel, f"y = {n}") for n in range(3)]
    aside = kernel.ask("y = 'aside'", {"from": first, "commit": "branch"}).report["image"]
    kernel.good(f"%restore {aside}")
    assert "%restore goes to any state of %timeline" in kernel.run("%redo").reply["evalue"]
    kernel.good(f"%restore {images[0]}")
    kernel.good("%redo 2")
    assert kernel.ask("y", {"commit": False}).result == "2"


def test_restoration_asked_for_while_a_cell_runs_comes_after_it(kernel):
    made = run(kernel, "x = 'before'")
    request, messages = kernel.start_busy("x = 'after'; input()", "import sys")
    request_of_control = kernel.client.session.msg("petri_restore_request", {"to": made})
    kernel.client.control_channel.send(request_of_control)
    assert kernel.control("petri_timeline_request")["current"] == made
    kernel.finish(request, messages)
    reply = kernel.client.get_control_msg(timeout=60)
    assert reply["parent_header"]["msg_id"] == request_of_control["header"]["msg_id"]
    assert reply["content"]["status"] == "ok"
    assert kernel.value("x") == "'before'"


@pytest.mark.thorough
def test_hundreds_of_undos_and_redos_leave_no_process(kernel):
    kernel.good("n = 1")
    kernel.good("n = 2")
    before = len(family(kernel.pid))
    for _ in range(150):
        kernel.good("%undo")
        kernel.good("%redo")
    wait_for(lambda: len(family(kernel.pid)) <= before + 4)
    assert kernel.value("n") == "2"


def test_state_that_made_room_says_that_it_is_gone(start, configure):
    configure(profiles={"notebook": {"history": 3}})
    small = start()
    images = [run(small, f"x = {n}") for n in range(5)]
    gone = small.run("%restore 1")
    assert (gone.ename, small.value("x")) == ("UnknownImage", "4")
    assert "the state after [1] is gone" in gone.reply["evalue"]
    assert small.control("petri_restore_request", {"to": images[0]})["ename"] == "UnknownImage"
    assert small.ask("x", {"from": images[0]}).ename == "UnknownImage"
    assert small.value("x") == "4"


def kept(kernel):
    """The first lines of the cells whose states are there."""
    images = kernel.control("petri_timeline_request", {})["images"]
    return [image["code_first_line"] for image in images if image["kept"] and image["run_id"]]


def test_states_go_before_a_low_limit_of_open_files_is_reached(start, configure, kernel_dirs, tmp_path):
    """Each branch that is kept has four files open in the kernel: of 120 the last are there, and none fails."""
    configure(profiles={"notebook": {"history": 1000}})
    few = tmp_path / "kernels" / "petri"
    shutil.copytree(next(iter(kernel_dirs.values())) / "petri", few)
    spec = json.loads((few / "kernel.json").read_text())
    spec["argv"] = ["/bin/sh", "-c", 'ulimit -n 600 && exec "$@"', "sh", *spec["argv"]]
    (few / "kernel.json").write_text(json.dumps(spec))
    small = start(kernel_dir=few.parent)
    run(small, "x = 1", checkpoint="base")
    for n in range(120):
        assert small.ask(f"y = {n}", {"from": "base", "commit": "branch"}).ok, n
    there = kept(small)
    assert "x = 1" in there and there[-1] == "y = 119" and "y = 0" not in there, there
    (gone,) = [i for i in small.control("petri_timeline_request")["images"] if i["code_first_line"] == "y = 0"]
    refused = small.control("petri_restore_request", {"to": gone["image"]})
    assert "600 open files of the kernel, which are few" in refused["evalue"]
    assert small.value("x") == "1"


FILL = "x = {n}; big = b'x' * (60 << 20)"


def test_states_that_hold_too_much_go_and_the_newest_stay(start, configure):
    configure(profiles={"notebook": {"history_memory": "200M"}})
    small = start()
    run(small, "import os")
    for n in range(7):
        run(small, FILL.format(n=n))
    # They go once the session has held too much for a while.
    there = wait_for(lambda: len(found := kept(small)) <= 5 and found)
    assert [FILL.format(n=n) for n in (4, 5, 6)] == there[-3:], there
    small.good("%undo 2")
    assert small.value("x, len(big) >> 20") == "(4, 60)"


def test_states_hold_no_more_than_they_may_while_cells_follow_each_other(start):
    check_burst(start())


def test_cell_that_holds_much_and_fails_has_no_state_go(start, configure):
    configure(profiles={"notebook": {"history_memory": "200M"}})
    small = start()
    for n in range(5):
        run(small, f"x = {n}")
    before = kept(small)
    for _ in range(3):
        failed = small.run("import os\nbig = b'x' * (600 << 20)\nos._exit(1)")
        assert failed.ename == "CellCrashed"
        run(small, "'between'")
    assert kept(small)[: len(before)] == before
    small.good("%restore 1")
    assert small.value("x") == "0"


def test_memory_of_a_branch_counts_while_a_state_has_it_that_the_present_one_has_not(start, configure):
    configure(profiles={"notebook": {"history": 3, "history_memory": "100M"}})
    small = start()
    base = run(small, "import os")
    restore(small, to=branch(small, "big = b'x' * (200 << 20)", base))
    for n in range(4):
        run(small, f"x = {n}")
    assert kept(small) == ["x = 1", "x = 2", "x = 3"]  # the branch's own is gone, and they hold nothing beside the last
    assert small.control("petri_timeline_request", {})["bytes_kept"] < 100 << 20
    run(small, "del big")
    wait_for(lambda: kept(small) == ["del big"])


def test_line_of_a_request_that_keeps_nothing_is_refused(kernel):
    kernel.good("x = 1")
    kernel.good("x = 2")
    for line in ("%undo", "%restore first", "%checkpoint unkept", "%limits timeout=7s"):
        refused = kernel.ask(line, {"commit": False})
        assert (refused.ename, refused.stdout) == ("CellRefused", ""), line
        assert "is committed" in refused.reply["evalue"] or "is not committed" in refused.reply["evalue"], line
    assert kernel.run("%restore unkept").ename == "UnknownImage"
    assert kernel.value("x") == "2"


def test_question_about_a_line_is_answered_and_no_step(kernel):
    number = kernel.ask("x = 'asked'", {}).reply["execution_count"]
    for question in ("%undo?", "?%undo"):
        answered = kernel.ask(question, {})
        (page,) = answered.reply["payload"]
        assert "what it was before its last cell" in page["data"]["text/plain"], question
    assert kernel.ask("len(In)", {"commit": False}).result == str(number + 2)
    assert kernel.ask("x", {}).reply["execution_count"] == number + 1
    kernel.good("%undo 2")
    assert kernel.ask("'x' in globals() and x == 'asked'", {"commit": False}).result == "False"


@pytest.mark.parametrize("code", ["undo", "%undo\nx = 1", "x = 1\n%undo"])
def test_line_that_does_not_stand_alone_says_how_it_is_written(kernel, code):
    said = kernel.run(code).reply["evalue"]
    assert said.endswith("the only line of its cell, with its %: write %undo into a cell of its own."), said


def test_name_of_another_state_is_said_to_move_and_stays_where_the_run_raises(kernel):
    first = kernel.ask("x = 'named'", {"checkpoint": "stays"})
    raised = kernel.ask("x = 'raised'; 1 / 0", {"checkpoint": "stays"})
    assert (raised.report["committed"], raised.report.get("checkpoint")) == (True, None)
    kernel.good("%restore stays")
    assert kernel.value("x") == "'named'"
    kernel.good("x = 'moved'")
    number = first.reply["execution_count"]
    assert kernel.good("%checkpoint stays").stdout.endswith(f", and no longer the one after [{number}].\n")


def test_lines_work_where_the_python_of_the_session_is_broken(kernel):
    kernel.good("x = 'whole'")
    kernel.good("%checkpoint whole")
    kernel.good("type(get_ipython()).transform_cell = None")
    assert kernel.run("x").reply["status"] == "error"  # so the next lines prove something
    kernel.good("%timeline")
    kernel.good("%restore whole")
    assert kernel.value("x") == "'whole'"
