"""Hostile cells as fresh runs and as branches, beside a cell of the session's that runs all the while and is not to notice."""

import json
import queue
import shutil
import time

import pytest

import corpus
from harness import GRACE_S, LATE_S, LIMITS, PATIENCE, SLOW, seconds
from test_corpus import check_ending

# Those that begin with the session's state, or that somebody has to interrupt, are no fresh runs.
CASES = [case for case in corpus.from_file() if not case.setup and not case.interrupt]

# The state that all branches begin with.
PLANTED = "planted"

# Uses all of the state again and again, and says so. Interrupted, it ends between two rounds: no answer is left behind.
BYSTANDER = """
import signal, time
_rounds, _told, _before = 0, [], signal.getsignal(signal.SIGINT)
signal.signal(signal.SIGINT, lambda *_: _told.append(True))
print("started", flush=True)
while not _told:
    _asked.put(_rounds)
    assert _answered.get(timeout=60) == 2 * _rounds
    assert canary == ["as it was"] and open("/tmp/numbers").read(6) == "000000"
    assert open(_home + "/note.txt").read() == "kept"
    _rounds += 1
    time.sleep(0.01)
signal.signal(signal.SIGINT, _before)
print("undisturbed", _rounds > 0)
"""


# A round takes longer than the usual 2 s on a busy machine.
LONG_GRACE_S = 60


@pytest.fixture(scope="module", autouse=True)
def patient(place):
    """Sessions of this file give the bystander that long to end."""
    config = place.home / ".config"
    place.drop()
    for folder in (config, config / "petri"):
        folder.mkdir()
        folder.chmod(0o755)
    (config / "petri" / "config.json").write_text(json.dumps({"interrupt_grace": f"{LONG_GRACE_S}s"}))
    (config / "petri" / "config.json").chmod(0o644)
    yield
    place.drop()
    shutil.rmtree(config)


def start_bystander(session):
    """Returns its request, once it runs."""
    request = session.request(BYSTANDER, {"timeout": f"{60 / SLOW}m"})  # the ceiling, however slow the machine is
    while session.next_iopub(request, time.monotonic() + LATE_S)["msg_type"] != "stream":
        pass
    return request


def run_beside(session, case, petri):
    limits = {**LIMITS, **({} if "timeout" in case.outcomes else PATIENCE), **case.limits}
    started = time.monotonic()
    request = session.request(case.code, limits, petri=petri, **case.content)
    run = session.gather(request, started + seconds(limits["timeout"]) * SLOW + GRACE_S + LATE_S, started)
    check_ending(case, run, limits)
    return run


def end_bystander(session, request):
    """It has run all the time, and ends as it was told to."""
    session.control("interrupt_request")
    run = session.gather(request, time.monotonic() + LONG_GRACE_S + LATE_S, time.monotonic())
    assert run.outcome == "ok" and run.cell.stdout.endswith("undisturbed True\n"), str(run)


def run_all_beside(place, cases, run_case):
    """run_case(session, case) for each of these cases that this way has all for."""
    session = place.get()
    tried = []
    try:
        session.do(f"%checkpoint {PLANTED}")
        request = start_bystander(session)
        for case in cases:
            if case.needs and not place.way.interpreter.has(case.needs):
                continue
            tried.append(case.name)
            run_case(session, case)
            place.canaries.check()
        end_bystander(session, request)
        session.look()
        session.await_rest()
    except (queue.Empty, TimeoutError) as error:
        place.drop()
        raise AssertionError(f"no answer in {tried[-1:]}") from error
    except BaseException as error:
        place.drop()
        raise AssertionError(f"in {tried[-1:]}") from error
    assert len(tried) > len(cases) // 2


EVERY_OTHER = {"from the first": CASES[::2], "from the second": CASES[1::2]}


@pytest.mark.in_turn("cases")
@pytest.mark.parametrize("cases", EVERY_OTHER)
def test_hostile_fresh_runs_do_not_disturb_the_cell_beside_them(place, cases):
    def run_case(session, case):
        assert run_beside(session, case, {"fresh": True}).report["fresh"]

    run_all_beside(place, EVERY_OTHER[cases], run_case)


@pytest.mark.in_turn("cases")
@pytest.mark.parametrize("cases", EVERY_OTHER)
def test_hostile_branches_do_not_disturb_the_cell_beside_them_and_are_kept_where_they_end_well(place, cases):
    def run_case(session, case):
        run = run_beside(session, case, {"from": PLANTED, "commit": "branch"})
        assert run.report["image"] == (None if run.report["rolled_back"] else run.report["run_id"]), str(run)
        assert not run.report["committed"]

    run_all_beside(place, EVERY_OTHER[cases], run_case)
