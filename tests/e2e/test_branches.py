"""Cells beside the session, from a state that it has had: at once, each for itself, and kept where that is asked for."""

import pytest

from branches import answer_next, begin, finish, state_of, timeline, wait_for_prints
from conftest import shared_kernel as kernel  # noqa: F401
from kernels import is_idle, printed_by
from processes import open_family, wait_for_end
from travels import branch, restore, run

pytestmark = pytest.mark.xdist_group("branches")  # one process: the kernel is there once

ASKS = "x.append('{name}'); open('f', 'w').write('{name}'); print('{name} began', flush=True); x.append(input('{name}?')); x"


def value_in(kernel, image, code):
    cell = kernel.ask(code, {"from": image, "commit": False})
    assert cell.ok, f"{code}\n{cell}"
    return cell.result


@pytest.fixture
def patient(patient, start):
    """A kernel that gives an interrupted cell long to end."""
    return start()


# At once


def test_branches_of_one_state_run_at_once_and_each_has_its_own_outputs_and_answers(kernel):
    image = run(kernel, "x = []; open('f', 'w').close()")
    kept = {"from": image, "commit": "branch"}
    a, b = (begin(kernel, ASKS.format(name=name), **kept) for name in "ab")
    messages = wait_for_prints(kernel, a, b)  # both have begun, and none can end
    asked = [answer_next(kernel, "one"), answer_next(kernel, "two")]
    assert sorted(asked) == sorted([a, b])
    cells = dict(zip("ab", finish(kernel, messages, a, b), strict=True))
    answers = dict(zip(asked, ("one", "two"), strict=True))
    for name, request in (("a", a), ("b", b)):
        cell = cells[name]
        assert (cell.stdout, cell.result) == (f"{name} began\n", str([name, answers[request]]))
        assert cell.report["parent"] == image
        assert value_in(kernel, cell.report["image"], "open('f').read()") == repr(name)
    assert kernel.value("x, open('f').read()") == "([], '')"


def test_branch_runs_at_once_with_the_session_s_own_cell(kernel):
    image = run(kernel, "x = 'before'")
    own = begin(kernel, "x = 'own'; print('began', flush=True); x += input()")
    messages = wait_for_prints(kernel, own)
    asides = [kernel.ask(f"x += ' {n}'; x", {"from": image, "commit": "branch"}) for n in range(2)]
    assert [cell.result for cell in asides] == ["'before 0'", "'before 1'"]
    assert not kernel.has_reply(own)
    assert answer_next(kernel, "!") == own
    assert finish(kernel, messages, own)[0].ok
    assert [value_in(kernel, cell.report["image"], "x") for cell in asides] == ["'before 0'", "'before 1'"]
    assert kernel.value("x") == "'own!'"


def test_interrupt_of_one_branch_leaves_the_other_one_and_the_session_alone(patient):
    image = run(patient, "x = 'before'")
    loop = "x = 'looped'; print('began', flush=True)\nwhile True: pass"
    a = begin(patient, loop, **{"from": image, "commit": "branch"})
    b = begin(patient, "print('began', flush=True); x = input(); x", **{"from": image, "commit": "branch"})
    messages = wait_for_prints(patient, a, b)
    message = patient.client.session.msg("interrupt_request", {}, metadata={"petri": {"request": a}})
    patient.client.control_channel.send(message)
    assert patient.client.get_control_msg(timeout=60)["content"]["status"] == "ok"
    (interrupted,) = finish(patient, messages, a)
    assert (interrupted.ename, interrupted.report["outcome"]) == ("KeyboardInterrupt", "interrupted")
    assert not patient.has_reply(b)
    assert answer_next(patient, "answered") == b
    (other,) = finish(patient, messages, b)
    assert other.result == "'answered'"
    # As in the session, what an interrupted cell has done until then is there.
    assert value_in(patient, interrupted.report["image"], "x") == "'looped'"
    assert patient.value("x") == "'before'"


def test_interrupt_of_all_ends_the_branches_and_the_session_s_own_cell(patient):
    image = run(patient, "x = 1")
    loop = "print('began', flush=True)\nwhile True: pass"
    requests = [begin(patient, loop), begin(patient, loop, **{"from": image, "commit": "branch"})]
    messages = wait_for_prints(patient, *requests)
    assert patient.control("interrupt_request")["status"] == "ok"
    assert [cell.ename for cell in finish(patient, messages, *requests)] == ["KeyboardInterrupt"] * 2


def test_session_goes_to_the_state_that_a_branch_began_with_and_changes_it_while_that_runs(kernel):
    image = run(kernel, "x = ['a']; open('f', 'w').write('a')")
    run(kernel, "x = 'later'")
    aside = begin(kernel, "print('began', flush=True); input(); x.append('b'); open('f', 'a').write('b'); x, open('f').read()",
                  **{"from": image, "commit": "branch"})  # fmt: skip
    messages = wait_for_prints(kernel, aside)
    restore(kernel, to=image)
    run(kernel, "x.clear(); import os; os.unlink('f')")
    assert answer_next(kernel, "") == aside
    (cell,) = finish(kernel, messages, aside)
    assert cell.result == "(['a', 'b'], 'ab')"
    assert kernel.value("x, os.path.exists('f')") == "([], False)"
    restore(kernel, to=cell.report["image"])
    assert kernel.value("x, open('f').read()") == "(['a', 'b'], 'ab')"


def test_restoration_to_a_branch_that_is_kept_while_the_session_s_own_cell_runs_comes_after_it(kernel):
    image = run(kernel, "x = 'before'")
    own = begin(kernel, "x = 'own'; print('began', flush=True); input()")
    messages = wait_for_prints(kernel, own)
    aside = branch(kernel, "x = 'aside'", image)
    request = kernel.client.session.msg("petri_restore_request", {"to": aside})
    kernel.client.control_channel.send(request)
    assert timeline(kernel)["current"] == image
    answer_next(kernel, "")
    (cell,) = finish(kernel, messages, own)
    assert kernel.client.get_control_msg(timeout=60)["content"]["status"] == "ok"
    assert kernel.value("x") == "'aside'"
    restore(kernel, to=cell.report["image"])
    assert kernel.value("x") == "'own'"


def test_branch_of_a_name_that_a_running_cell_is_to_give_waits_for_it(kernel):
    own = begin(kernel, "x = 'named'; print('began', flush=True); input()", checkpoint="given")
    messages = wait_for_prints(kernel, own)
    aside = begin(kernel, "x", **{"from": "given", "commit": "branch"})
    answer_next(kernel, "")
    cells = finish(kernel, messages, own, aside)
    assert cells[1].result == "'named'"
    kernel.good("%forget given")


# What a kept branch is


def test_branch_that_is_kept_is_in_the_timeline_and_the_session_stays_where_it_is(kernel):
    image = run(kernel, "x = 1")
    here = run(kernel, "x = 2")
    cell = kernel.ask("x = 3", {"from": image, "commit": "branch", "checkpoint": "aside"})
    report = cell.report
    assert (report["image"], report["parent"], report["committed"]) == (report["run_id"], image, False)
    assert report["checkpoint"] == "aside"
    row = state_of(kernel, report["image"])
    assert (row["parent"], row["names"], row["code_first_line"], row["kept"]) == (image, ["aside"], "x = 3", True)
    assert timeline(kernel)["current"] == here
    assert kernel.ask("x", {"commit": False}).result == "2"
    kernel.good("%restore aside")
    assert timeline(kernel)["current"] == report["image"]
    assert kernel.value("x") == "3"
    kernel.good("%undo 2")
    assert timeline(kernel)["current"] == image
    kernel.good("%forget aside")


def test_numbers_inputs_and_outputs_of_a_branch_are_those_of_its_state(kernel):
    first = kernel.good("6 * 7")
    number = first.reply["execution_count"]
    image = first.report["image"]
    kernel.good("'later'")
    kernel.good("'later still'")
    cell = kernel.ask("_ + 1", {"from": image, "commit": "branch"})
    assert (cell.result, cell.reply["execution_count"]) == ("43", number + 1)
    assert kernel.good("1").reply["execution_count"] == number + 3
    restore(kernel, to=cell.report["image"])
    look = kernel.good(f"_, Out[{number}], Out[{number + 1}], In[{number + 1}], len(In)")
    assert look.result == f"(43, 42, 43, '_ + 1', {number + 3})"
    assert look.reply["execution_count"] == number + 2


def comms(kernel):
    return set(kernel.shell_reply(kernel.client.comm_info())["content"]["comms"])


def test_comm_that_a_branch_opens_is_the_session_s_once_it_goes_there(kernel):
    image = run(kernel, "from comm import create_comm\nkept = create_comm(target_name='t', comm_id='kept')")
    aside = branch(kernel, "c = create_comm(target_name='t', comm_id='aside'); kept.close()", image)
    assert comms(kernel) == {"kept"}
    restore(kernel, to=aside)
    assert comms(kernel) == {"aside"}
    restore(kernel, to=image)
    assert comms(kernel) == {"kept"}
    run(kernel, "kept.close()")


@pytest.mark.parametrize("commit", ["branch", False])
def test_message_of_a_widget_may_run_in_a_branch_and_leaves_the_session_as_it_is(kernel, commit):
    image = run(kernel, "got = []; from comm import create_comm\n"
                "c = create_comm(target_name='t', comm_id='asked'); c.on_msg(lambda m: (got.append(1), print(got)))")  # fmt: skip
    run(kernel, "got.append(2)")
    petri = {"petri": {"from": image, "commit": commit}}
    message = kernel.client.session.msg("comm_msg", {"comm_id": "asked", "data": {}}, metadata=petri)
    kernel.client.shell_channel.send(message)
    messages = kernel.iopub_until(message["header"]["msg_id"], is_idle)
    assert printed_by(messages, message["header"]["msg_id"]) == "[1]\n"
    assert kernel.value("got") == "[2]"
    run(kernel, "c.close()")


def test_limits_of_a_branch_are_those_of_its_state_and_its_own_end_with_it(kernel):
    image = run(kernel, "x = 1")
    kernel.good("%limits timeout=50m")
    cell = kernel.ask("%%limits timeout=7m\nx", {"from": image, "commit": "branch"})
    assert cell.report["limits"]["timeout_ms"] == 7 * 60_000
    plain = kernel.ask("x", {"from": image, "commit": "branch"})
    assert plain.report["limits"]["timeout_ms"] == 60 * 60_000
    restore(kernel, to=cell.report["image"])
    assert kernel.good("x").report["limits"]["timeout_ms"] == 60 * 60_000


def test_files_and_variables_of_a_request_are_the_branch_s_alone(kernel):
    image = run(kernel, "import os")
    text = {"path": "in.txt", "text": "brought"}
    aside = branch(kernel, "read = open('in.txt').read(); line = input()", image, files=[text], stdin="line\n")
    assert kernel.value("os.path.exists('in.txt')") == "False"
    restore(kernel, to=aside)
    assert kernel.value("read, line, open('in.txt').read()") == "('brought', 'line', 'brought')"
    restore(kernel, to=image)
    assert kernel.value("os.path.exists('in.txt')") == "False"


def test_files_of_a_branch_are_copied_out_kept_or_not(kernel):
    image = run(kernel, "import os; open('old.txt', 'w').write('old')")
    for commit in ("branch", False):
        code = f"open('new-{commit}.txt', 'w').write('new'); os.unlink('old.txt')"
        cell = kernel.ask(code, {"from": image, "commit": commit})
        rows = {row["path"]: row for row in cell.report["artifacts"]}
        assert rows[f"new-{commit}.txt"]["copied_to"] == f"outputs/new-{commit}.txt"
        assert rows["old.txt"]["action"] == "deleted"
        assert (kernel.folder / f"outputs/new-{commit}.txt").read_text() == "new"
    assert kernel.value("[n for n in os.listdir() if n.startswith('new-')], os.path.exists('old.txt')") == "([], True)"


def test_branch_that_raises_is_kept_and_aborts_no_request(kernel):
    image = run(kernel, "x = 1")
    aside = begin(kernel, "x = 2; 1 / 0", **{"from": image, "commit": "branch"})
    own = begin(kernel, "x")
    raised, after = finish(kernel, [], aside, own)
    assert (raised.ename, raised.report["outcome"], after.result) == ("ZeroDivisionError", "error", "1")
    assert value_in(kernel, raised.report["image"], "x") == "2"


def test_branches_run_one_after_the_other_where_the_session_has_one_processor(start):
    strict = start(name="petri-strict")
    image = run(strict, "x = []")
    aside = begin(strict, "print('began', flush=True); input(); x.append('aside'); x", **{"from": image, "commit": "branch"})
    messages = wait_for_prints(strict, aside)
    own = begin(strict, "x.append('own'); x")
    assert answer_next(strict, "") == aside
    assert [cell.result for cell in finish(strict, messages, aside, own)] == ["['aside']", "['own']"]


def test_code_without_history_in_a_branch_is_kept_without_a_number(kernel):
    image = run(kernel, "x = 1")
    cell = kernel.ask("x = 2", {"from": image, "commit": "branch"}, store_history=False)
    assert cell.ok
    restore(kernel, to=cell.report["image"])
    assert kernel.value("x") == "2"


def test_branch_of_a_branch_goes_on_where_the_states_before_it_are_gone(start, configure):
    configure(profiles={"notebook": {"history": 3}})
    small = start()
    image = run(small, "x = [0]; open('f', 'w').write('0'); g = iter(range(9)); next(g)")
    for n in range(1, 7):
        image = branch(small, f"x.append({n}); open('f', 'a').write('{n}'); next(g)", image)
    assert len([one for one in timeline(small)["images"] if one["kept"]]) <= 3
    restore(small, to=image)
    assert small.value("x, open('f').read(), next(g)") == "([0, 1, 2, 3, 4, 5, 6], '0123456', 7)"


# What is not kept, and what there is none of

FAILS = {
    "crashes": ("CellCrashed", "import ctypes; ctypes.string_at(1)", {}),
    "exits": ("CellCrashed", "import os; os._exit(0)", {}),
    "is killed": ("CellCrashed", "import os; os.kill(os.getpid(), 9)", {}),
    "takes too long": ("CellTimeout", "while True: pass", {"timeout": "500ms"}),
    "takes too much memory": ("CellMemoryLimit", "b = bytearray(900 << 20)", {"memory": "200M"}),
}


@pytest.mark.parametrize("why", FAILS)
def test_branch_that_fails_leaves_nothing_and_the_session_as_it_is(kernel, why):
    ename, code, limits = FAILS[why]
    image = run(kernel, "x = 'whole'; open('f', 'w').write('whole')")
    before = timeline(kernel)
    spoil = f"x = 'lost'; open('f', 'w').write('lost'); open('g', 'w').close()\n{code}"
    for commit in ("branch", False):
        cell = kernel.ask(spoil, {"from": image, "commit": commit, "limits": limits})
        assert (cell.ename, cell.report["rolled_back"], cell.report["image"]) == (ename, True, None), str(cell)
    after = timeline(kernel)
    assert [one["image"] for one in after["images"]] == [one["image"] for one in before["images"]]
    assert after["current"] == before["current"] == image
    assert value_in(kernel, image, "x, open('f').read()") == "('whole', 'whole')"
    assert kernel.value("import os; x, open('f').read(), os.path.exists('g')") == "('whole', 'whole', False)"


@pytest.mark.parametrize("line", ["%undo", "%redo", "%checkpoint here", "%restore first", "%timeline", "%forget here"])
@pytest.mark.parametrize("commit", ["branch", False])
def test_line_that_moves_the_session_is_refused_in_a_branch(kernel, line, commit):
    image = run(kernel, "x = 1")
    cell = kernel.ask(line, {"from": image, "commit": commit})
    assert (cell.ename, cell.report["image"], cell.report["outcome"]) == ("CellRefused", None, "refused"), str(cell)
    assert timeline(kernel)["current"] == image


def test_limits_for_the_session_are_refused_in_a_branch(kernel):
    image = run(kernel, "x = 1")
    assert kernel.ask("%limits timeout=1s", {"from": image, "commit": "branch"}).ename == "CellRefused"
    assert kernel.good("x").report["limits"]["timeout_ms"] == 60 * 60_000


@pytest.mark.parametrize("commit", ["branch", False])
def test_branch_of_a_state_that_is_not_there_is_refused_before_it_runs(start, configure, commit):
    configure(profiles={"notebook": {"history": 2}})
    small = start()
    gone = run(small, "x = 1")
    for n in range(3):
        run(small, f"x = {n}")
    for origin in (gone, "nobody", "1000000"):
        cell = small.ask("open('ran', 'w').close()", {"from": origin, "commit": commit})
        assert (cell.ename, cell.report["outcome"], cell.report["image"]) == ("UnknownImage", "refused", None)
    assert small.value("import os; os.listdir()") == "[]"


def test_branch_goes_on_and_is_kept_where_its_state_is_forgotten_while_it_runs(start, configure):
    configure(profiles={"notebook": {"history": 2}})
    small = start()
    run(small, "import tempfile; t = tempfile.TemporaryFile(); t.write(b'a'); t.flush()")
    image = run(small, "x = ['a']; open('f', 'w').write('a')")
    code = "print('began', flush=True); input(); x.append('b'); open('f', 'a').write('b'); t.write(b'b'); t.seek(0); t.read()"
    aside = begin(small, code, **{"from": image, "commit": "branch", "checkpoint": "aside"})
    messages = wait_for_prints(small, aside)
    for n in range(4):
        run(small, f"x = {n}; open('f', 'w').write('later'); t.truncate(0)")
    assert small.ask("x", {"from": image, "commit": False}).ename == "UnknownImage"
    answer_next(small, "")
    (cell,) = finish(small, messages, aside)
    assert cell.result == "b'ab'"
    restore(small, to=cell.report["image"])
    assert small.value("x, open('f').read(), t.seek(0), t.read()") == "(['a', 'b'], 'ab', 0, b'ab')"


def test_kept_branches_count_for_the_limit_of_history_and_the_oldest_go(start, configure):
    configure(profiles={"notebook": {"history": 4}})
    small = start()
    image = run(small, "x = 0", checkpoint="base")
    here = run(small, "y = 1")
    kept = [branch(small, f"x = {n}", "base") for n in range(1, 7)]
    assert [one["image"] for one in timeline(small)["images"] if one["kept"]] == [image, here, *kept[-2:]]
    assert small.ask("x", {"from": kept[0], "commit": False}).ename == "UnknownImage"
    assert small.value("x, y") == "(0, 1)"
    restore(small, to=kept[-1])
    assert small.value("x") == "6"


# The end of the kernel


@pytest.mark.parametrize("restart_it", [True, False], ids=["restart", "shutdown"])
def test_kernel_that_ends_while_branches_run_leaves_no_process(start, restart_it):
    ending = start()
    image = run(ending, "import subprocess, threading; x = 1")
    kept = {"from": image, "commit": "branch"}
    branch(ending, "x = 2", image)
    code = "p = subprocess.Popen(['sleep', '3600']); print('began', flush=True); threading.Event().wait()"
    wait_for_prints(ending, *(begin(ending, code, **kept) for _ in range(2)))
    processes = open_family(ending.pid)
    if restart_it:
        ending.manager.restart_kernel()
        ending.client.stop_channels()
        ending.client = ending.manager.blocking_client()
        ending.client.start_channels()
        ending.wait_until_up()
        assert ending.value("'x' in globals()") == "False"
    else:
        ending.manager.shutdown_kernel()
    assert wait_for_end(processes, 60) == 0


# What is otherwise in a branch: docs/time-travel.md


def test_database_that_was_open_before_is_read_in_a_branch_and_written_by_a_connection_of_its_own(kernel):
    image = run(kernel, "import sqlite3\nc = sqlite3.connect('old.db', isolation_level=None)\n"
                "_ = c.execute('create table t (x)'); _ = c.execute('insert into t values (1)')")  # fmt: skip
    cell = kernel.ask("c.execute('insert into t values (2)')", {"from": image, "commit": False})
    assert (cell.ename, cell.reply["evalue"]) == ("OperationalError", "attempt to write a readonly database")
    own = "d = sqlite3.connect('old.db', isolation_level=None); _ = d.execute('insert into t values (3)')"
    aside = branch(kernel, own, image)
    look = "c.execute('select sum(x) from t').fetchone(), d.execute('pragma integrity_check').fetchone()"
    assert value_in(kernel, aside, look) == "((4,), ('ok',))"
    restore(kernel, to=aside)
    assert kernel.value(look) == "((4,), ('ok',))"


def test_folder_that_was_there_before_is_moved_in_a_branch_as_between_file_systems(kernel):
    image = run(kernel, "import os, shutil; os.mkdir('moved'); open('moved/in', 'w').write('in')")
    cell = kernel.ask("os.rename('moved', 'there')", {"from": image, "commit": False})
    assert (cell.ename, "Invalid cross-device link" in cell.reply["evalue"]) == ("OSError", True)
    aside = branch(kernel, "_ = shutil.move('moved', 'there')", image)
    restore(kernel, to=aside)
    assert kernel.value("os.path.exists('moved'), open('there/in').read()") == "(False, 'in')"


def test_name_of_a_file_of_several_that_a_branch_writes_is_a_file_of_its_own(kernel):
    image = run(kernel, "import os; open('one', 'w').write('1'); os.link('one', 'other')")
    cell = kernel.ask("open('one', 'a').write('2'); os.path.samefile('one', 'other')", {"from": image, "commit": "branch"})
    assert cell.result == "False"
    restore(kernel, to=cell.report["image"])
    assert kernel.value("open('one').read(), open('other').read()") == "('12', '1')"
    restore(kernel, to=image)
    assert kernel.value("os.path.samefile('one', 'other'), open('one').read()") == "(True, '1')"
