"""Runs of the session's that begin in another state: what they have of it, and that the session comes back if they fail."""

import pytest

from branches import begin, finish, wait_for_prints
from conftest import shared_kernel as kernel  # noqa: F401
from travels import branch, restore, run

pytestmark = pytest.mark.xdist_group("time-travel-from")  # one process: the kernel is there once

CRASH = "import os; os._exit(1)"


def timeout_of(cell):
    return cell.report["limits"]["timeout_ms"]


def test_session_comes_back_from_a_run_that_fails_though_there_is_no_room_for_its_state(start, configure):
    configure(profiles={"notebook": {"history": 3}})
    small = start()
    here = run(small, "x = 'here'")
    restore(small, to="first")
    two = run(small, "y = 2")
    restore(small, to=here)
    failing = begin(small, f"print('runs', flush=True); input(); {CRASH}", **{"from": two})
    messages = wait_for_prints(small, failing)
    for n in range(3):
        branch(small, f"z = {n}", two)
    small.client.input("")
    (cell,) = finish(small, messages, failing)
    assert cell.ename == "CellCrashed"
    assert small.value("x, 'y' in globals()") == "('here', False)"


def test_limits_of_a_run_are_those_of_the_state_that_it_begins_in(kernel):
    before = run(kernel, "x = 1")
    usual = timeout_of(kernel.good("1"))
    kernel.good("%limits timeout=50s")
    assert timeout_of(kernel.good("1")) == 50_000
    failed = kernel.ask(CRASH, {"from": before})
    assert (failed.ename, timeout_of(failed)) == ("CellCrashed", usual)
    assert timeout_of(kernel.good("1")) == 50_000
    assert timeout_of(kernel.ask("x", {"from": before})) == usual
    assert timeout_of(kernel.good("1")) == usual


def test_number_and_redo_are_as_they_were_after_a_run_that_fails_elsewhere(kernel):
    first = run(kernel, "x = 'first'")
    run(kernel, "x = 'undone'")
    restore(kernel, to=first)
    elsewhere = run(kernel, "x = 'elsewhere'")
    restore(kernel, to=first)
    assert kernel.ask("x = 'redone'", {}).ok
    kernel.good("%undo")
    numbers = [kernel.run(CRASH).reply["execution_count"] for _ in range(2)]
    assert kernel.ask(CRASH, {"from": elsewhere}).ename == "CellCrashed"
    assert kernel.run(CRASH).reply["execution_count"] == numbers[1] + 1
    kernel.good("%redo")
    assert kernel.value("x") == "'redone'"


def test_name_that_is_not_known_is_named_in_the_reply_however_it_is_written(kernel):
    for name in ("a" + "é" * 60, "é" * 32):  # cut in the middle of a character, and not
        forgotten = kernel.control("petri_forget_request", {"name": name})
        assert (forgotten["status"], forgotten["ename"]) == ("error", "UnknownImage")
    assert kernel.control("petri_checkpoint_request", {"name": "a" + "é" * 60})["ename"] == "BadName"


def test_id_of_a_run_is_no_name(kernel):
    one, two = run(kernel, "v = 'one'"), run(kernel, "v = 'two'")
    refused = kernel.control("petri_checkpoint_request", {"name": one})
    assert refused["ename"] == "BadName" and "is the id of a run" in refused["evalue"]
    assert "is the id of a run" in kernel.run(f"%checkpoint {one}").reply["evalue"]
    assert kernel.ask("1", {"checkpoint": two}).ename == "CellRefused"
    assert kernel.ask("v", {"from": one, "commit": False}).result == "'one'"


def test_names_of_states_that_are_gone_take_no_room(start, configure):
    configure(profiles={"notebook": {"history": 5}})
    small = start()
    for n in range(6):
        run(small, f"x = {n}", checkpoint=f"c{n}")
    for name in ("c3", "c4", "c5"):
        small.good(f"%forget {name}")
    small.good("%checkpoint again")
    small.good("x += 0")
    assert small.run("%checkpoint more").ename == "CellRefused"
    assert small.value("x") == "5"
