"""Every hostile cell ends as expected and leaves nothing behind; one session a way of running serves them all."""

import queue
import time

import pytest

import corpus
import more_memory
import more_processes
import more_python
import more_wire
from harness import ABSTRACT, FILTERED, GRACE_S, LATE_S, LIMITS, PATIENCE, SLOW, seconds

OF_THE_FILE = corpus.from_file()
CASES = [
    *OF_THE_FILE,
    *more_memory.CASES,
    *more_processes.CASES,
    *more_python.CASES,
    *more_wire.CASES,
]
assert len({case.name for case in CASES}) == len(CASES)
assert corpus.FOR_LINUX <= {case.name for case in CASES}


def send(session, case, limits):
    """Runs the case; interrupts it where that is the point."""
    code = case.code.replace("ABSTRACT", ABSTRACT)
    if not case.interrupt:
        return session.attempt(code, limits, **case.content)
    started = time.monotonic()
    request = session.request(code, limits, **case.content)
    while session.next_iopub(request, started + LATE_S)["msg_type"] != "stream":
        pass
    session.control("interrupt_request")
    return session.gather(request, time.monotonic() + GRACE_S + LATE_S, started)


def check_ending(case, run, limits):
    assert run.outcome in case.outcomes, str(run)
    if run.outcome != "interrupted":
        assert run.report["rolled_back"] == (run.outcome not in ("ok", "error")), str(run)
    assert run.cell.ok == (run.outcome == "ok"), str(run)
    if run.outcome == "error" and case.enames:
        assert run.cell.ename in case.enames, str(run)
    if case.denied and not FILTERED:
        assert case.denied in run.denied, str(run)
    assert case.stdout in run.cell.stdout, str(run)
    for secret in case.silent_about:
        assert secret not in run.cell.stdout + run.cell.stderr, str(run)
    assert run.report["metrics"]["wall_ms"] / 1000 < seconds(limits["timeout"]) * SLOW + GRACE_S + LATE_S


def check_session(place, case, run):
    """What holds after every cell."""
    session = place.session
    assert session.is_alive(), "the kernel's process"
    session.answers()
    place.canaries.check()
    if case.owns:
        # What is left of the interpreter is its own; but there is a sandbox for the next cell, and an answer.
        assert session.attempt("1", {"timeout": "2s"}).outcome not in ("sandbox", None)
        session.answers()
        place.drop()
        return
    for code in filter(None, (case.restore if run.outcome in ("ok", "error") else "", case.then)):
        session.do(code)
    session.look()
    session.await_rest()
    if case.fills:
        place.drop()
    else:
        session.sweep()
    place.canaries.check()


def pytest_generate_tests(metafunc):
    cases = OF_THE_FILE if metafunc.config.getoption("--few") else CASES
    if metafunc.config.getoption("--linux"):
        cases = [case for case in cases if case.name in corpus.FOR_LINUX]
    metafunc.parametrize("case", cases, ids=lambda case: case.name)


def test_hostile_cell_ends_as_expected_and_harms_nothing(place, case, note_ending):
    if case.needs and not place.way.interpreter.has(case.needs):
        pytest.skip(f"{place.way.interpreter.path} has no {case.needs}")
    limits = {**LIMITS, **({} if "timeout" in case.outcomes else PATIENCE), **case.limits}
    session = place.get()
    run = None
    try:
        if case.setup:
            session.do(case.setup)
        run = send(session, case, limits)
        check_ending(case, run, limits)
        check_session(place, case, run)
    except (queue.Empty, TimeoutError) as error:
        place.drop()
        raise AssertionError(f"no answer: {run}") from error
    except BaseException:
        place.drop()
        raise
    finally:
        note_ending(case, *((run.outcome, run.took_s) if run else ("no answer", float("nan"))))
