"""Branches, and the best of several pieces of code: what becomes of them against petri, and which one is the best."""

import asyncio
import concurrent.futures
import decimal
import threading

import pytest

import petri_kernel as petri
from conftest import ROOT
from kernels import STUCK_S
from petri_kernel.branch import best_of
from petri_kernel.result import Output, make_result
from petri_kernel.timeline import find_image, make_timeline

LOOP = "print('started', flush=True)\nwhile True: pass"
STATE = "x, open('f').read()"


def state_of(session):
    return session.run(STATE, commit=False).result


def test_a_branch_goes_on_from_its_own_state_and_the_session_sees_nothing_of_it(session):
    begun = session.run("x = [1]; open('f', 'w').write('1')")
    branch = session.branch()
    assert branch.image == begun.image
    session.run("x.append('session'); open('f', 'a').write(' session')")
    one = branch.run("x.append(2); open('f', 'a').write(' 2')")
    assert (one.outcome, one.image, one.parent, one.committed) == ("ok", one.run_id, begun.image, False)
    two = branch.run(STATE)
    assert (two.result, two.parent, branch.image) == ("([1, 2], '1 2')", one.image, two.image)
    assert state_of(session) == "([1, 'session'], '1 session')"


def test_keep_makes_the_branchs_state_the_sessions_and_undo_goes_back_along_it(session):
    session.run("x = [1]; open('f', 'w').write('1')")
    with session.branch() as branch:
        branch.run("x.append(2); open('f', 'a').write(' 2')")
        branch.run("x.append(3); open('f', 'a').write(' 3')")
        went = branch.keep()
        assert (went.image, went.execution_count) == (branch.image, 3)
        assert state_of(session) == "([1, 2, 3], '1 2 3')"
        branch.run("x.append(4)")
    assert state_of(session) == "([1, 2, 3], '1 2 3')"
    session.undo()
    assert state_of(session) == "([1, 2], '1 2')"
    session.undo()
    assert state_of(session) == "([1], '1')"


@pytest.mark.parametrize("raises", [False, True], ids=["at its end", "by an exception"])
def test_leaving_a_branchs_block_keeps_nothing(session, raises):
    session.run("x = 1")
    before = session.timeline().current
    try:
        with session.branch() as branch:
            branch.run("x = 2")
            if raises:
                raise LookupError
    except LookupError:
        assert raises
    assert session.timeline().current == before
    assert session.restore(branch.image).image == branch.image


def test_a_run_that_is_rolled_back_leaves_the_branch_where_it_was(session):
    session.run("x = [1]")
    branch = session.branch()
    branch.run("x.append(2)")
    before = branch.image
    lost = branch.run("x.append(3)\nimport os\nos._exit(1)")
    assert (lost.outcome, lost.rolled_back, lost.image, branch.image) == ("crash", True, None, before)
    raised = branch.run("x.append(4)\n1 / 0")  # what it did until then stays, as in the session
    assert (raised.outcome, raised.rolled_back, raised.image) == ("error", False, branch.image)
    assert branch.run("x").result == "[1, 2, 4]"
    assert session.run("x").result == "[1]"


def test_a_branch_of_a_branch_begins_there_and_is_its_own(session):
    session.run("x = [1]")
    outer = session.branch()
    outer.run("x.append(2)")
    inner = outer.branch()
    assert inner.image == outer.image
    inner.run("x.append(3)")
    assert (outer.run("x").result, inner.run("x").result) == ("[1, 2]", "[1, 2, 3]")
    inner.keep()
    assert session.run("x").result == "[1, 2, 3]"


def test_a_branch_begins_in_any_state_that_is_named(session):
    first = session.run("x = 1", checkpoint="one")
    session.run("x = 2")
    session.restore("one")
    newest = session.run("x = 20")
    [image] = [image for image in session.timeline().images if image.image == first.image]
    for from_ in ("one", 1, first.run_id, image, first):
        assert session.branch(from_).run("x").result == "1"
    assert session.branch(2).image == newest.image  # on the session's own branch
    assert session.branch("first").run("'x' in globals()").result == "False"


def test_a_branch_of_no_state_is_an_error_at_once(session):
    session.run("x = 1")
    for unknown in ("nowhere", 7):
        with pytest.raises(petri.UnknownImage, match=f'"{unknown}"'):
            session.branch(unknown)
    for bad in (0, True, 1.5, "", b"x"):
        with pytest.raises(petri.BadRequest, match="from_ has to be a checkpoint's name, .* and not "):
            session.branch(bad)


def test_a_branch_is_there_before_the_first_run():
    with petri.Session() as session:
        branch = session.branch()
        assert (branch.image, branch.run("6 * 7").result) == ("first", "42")


def test_a_branch_whose_state_made_room_is_refused_and_can_not_be_kept():
    with petri.Session(config={"profiles": {"notebook": {"history": 2}}}) as session:
        session.run("x = 0")
        branch = session.branch()
        for n in range(3):
            session.run(f"x = {n}")
        lost = branch.run("x")
        assert (lost.outcome, lost.error.ename, lost.image) == ("refused", "UnknownImage", None)
        with pytest.raises(petri.UnknownImage, match=r"the state after \[1\] is gone"):
            branch.keep()
        with pytest.raises(petri.UnknownImage, match="is gone"):
            session.branch(branch.image)
        assert session.run("x").result == "2"


def test_a_branch_run_has_what_it_asks_for(session):
    told = []
    with session.branch() as branch:
        result = branch.run(
            "print(open('in.txt').read(), input(), flush=True)\nopen('out.txt', 'w').write('made')\n42",
            files={"in.txt": "given"},
            stdin="typed\n",
            timeout="20s",
            memory="512M",
            limits={"processes": 20},
            task="branch",
            expect=petri.Expect([petri.ExpectedArtifact("out.txt")], stdout_regex="given typed"),
            inline_bytes=100,
            checkpoint="made",
            on_progress=lambda progress: told.append(progress.text),
        )
    assert result.ok, result.reason
    assert (result.limits.timeout_ms, result.limits.processes, result.checkpoint) == (20_000, 20, "made")
    assert [(file.path, file.read_bytes()) for file in result.artifacts] == [("out.txt", b"made")]
    assert told[0] == "given typed\n"
    assert session.restore("made").image == branch.image
    with pytest.raises(petri.BadRequest):
        branch.run("1", timeout=-1)
    with pytest.raises(TypeError):
        branch.run(1)


def test_runs_of_branches_go_on_beside_the_sessions_own(session):
    """Waits for ever with a kernel that runs one cell at a time."""
    session.run("x = 1")
    begun = threading.Event()
    with concurrent.futures.ThreadPoolExecutor(1) as threads:
        own = threads.submit(session.run, LOOP, on_progress=lambda _: begun.set())
        assert begun.wait(STUCK_S)
        branch = session.branch()
        assert branch.run("x += 1; x").result == "2"
        assert branch.branch().run("x += 1; x").result == "3"
        assert not own.done()
        session.interrupt()
        assert own.result(STUCK_S).outcome == "interrupted"


def test_runs_of_two_branches_in_threads_go_at_once(session):
    """Waits for ever with a kernel that runs one cell at a time."""
    begun = threading.Event()
    loops, other = session.branch(), session.branch()
    with concurrent.futures.ThreadPoolExecutor(1) as threads:
        loop = threads.submit(loops.run, LOOP, on_progress=lambda _: begun.set())
        assert begun.wait(STUCK_S)
        assert other.run("6 * 7").result == "42"
        assert not loop.done()
        session.interrupt()
        assert loop.result(STUCK_S).outcome == "interrupted"


def test_runs_of_one_branch_from_several_threads_follow_each_other(session):
    session.run("x = []")
    branch = session.branch()
    with concurrent.futures.ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda n: branch.run(f"x.append({n})"), range(6)))
    assert sorted(eval(branch.run("x").result)) == list(range(6))
    parents = {result.parent for result in found}
    assert len(parents) == 6  # each began where another one had ended


def test_progress_that_raises_interrupts_the_branchs_run_and_leaves_the_branch(session):
    def give_up(progress):
        raise LookupError("seen enough")

    session.run("x = 1")
    branch = session.branch()
    before = branch.image
    with pytest.raises(LookupError):
        branch.run("x = 2\n" + LOOP, on_progress=give_up)
    assert (branch.image, branch.run("x").result) == (before, "1")


def test_a_branch_ends_with_the_kernel_that_has_its_state(session):
    branch = session.branch()
    assert branch.image == "first"  # which the next kernel has, too
    session.restart()
    for method in (lambda: branch.run("1"), branch.keep):
        with pytest.raises(petri.KernelDied):
            method()
    session.close()
    for method in (session.branch, lambda: session.best_of(["1"]), lambda: branch.run("1"), branch.keep):
        with pytest.raises(petri.SessionClosed):
            method()


def test_best_of_runs_each_code_from_here_and_keeps_the_greatest_key(session):
    before = session.run("x = 10")
    found = session.best_of(["x += 1; x", "x += 3; x", "x += 2; x", "1 / 0"], key=lambda result: int(result.result))
    assert [result.result for result in found.results] == ["11", "13", "12", None]
    assert {result.parent for result in found.results} == {before.image}
    assert (found.index, found.best) == (1, found.results[1])
    assert session.timeline().current.image == before.image
    found = session.best_of(["x += 1; x", "x += 3; x"], key=lambda result: int(result.result), keep=True)
    assert session.timeline().current.image == found.best.image
    assert session.run("x").result == "13"


def test_best_of_without_a_key_is_the_first_that_is_as_expected(session):
    codes = ["1 / 0", "print('other')", "x = 2; print('good')", "x = 3; print('good')"]
    found = session.best_of(codes, keep=True, expect=petri.Expect(stdout_regex="good"))
    assert [result.ok for result in found.results] == [False, False, True, True]
    assert found.index == 2 and session.run("x").result == "2"


def test_best_of_codes_that_all_fail_is_none_and_the_session_stays(session):
    before = session.run("x = 1")
    found = session.best_of(["x = 2; 1 / 0", "x = 3; import os; os._exit(1)"], key=lambda result: 1, keep=True)
    assert (found.best, found.index) == (None, None)
    assert [result.outcome for result in found.results] == ["error", "crash"]
    assert session.timeline().current.image == before.image


def test_best_of_begins_in_the_state_that_is_named(session):
    session.run("x = 1", checkpoint="one")
    session.run("x = 2")
    branch = session.branch()
    branch.run("x = 3")
    for from_, result in (("one", "1"), (None, "2"), (branch.image, "3")):
        assert session.best_of(["x"], from_=from_).best.result == result
    with pytest.raises(petri.UnknownImage, match='"nowhere"'):
        session.best_of(["x"], from_="nowhere")


# So long that all codes have come before the first one ends: what comes later may replace its copies.
ALL_HAVE_COME = "import time; time.sleep(1)"


def test_files_of_all_codes_are_copied_out_and_the_session_has_the_best_ones(tmp_path):
    with petri.Session(folder=tmp_path) as session:
        writes = ["open('a', 'w').write('one')", "open('a', 'w').write('other')", "open('b', 'w').write('two')"]
        codes = [f"{ALL_HAVE_COME}; {write}" for write in writes]
        found = session.best_of(codes, key=lambda result: int(result.result), keep=True)
        assert [result.artifacts[0].read_bytes() for result in found.results] == [b"one", b"other", b"two"]
        names = sorted(result.artifacts[0].copied_to for result in found.results)
        assert names == ["outputs/a", "outputs/a (2)", "outputs/b"]
        assert session.run("import os; open('a').read(), os.path.exists('b')").result == "('other', False)"


def test_a_later_best_of_replaces_the_copies_of_the_one_before(tmp_path):
    with petri.Session(folder=tmp_path) as session:
        before = session.best_of([f"{ALL_HAVE_COME}; open('a', 'w').write('before {n}')" for n in range(3)])
        after = session.best_of([f"{ALL_HAVE_COME}; open('a', 'w').write('after {n}')" for n in range(3)])
        assert sorted(path.name for path in (tmp_path / "outputs").glob("a*")) == ["a", "a (2)", "a (3)"]
        contents = [result.artifacts[0].read_bytes() for result in after.results]
        assert contents == [b"after 0", b"after 1", b"after 2"]
        for result in before.results:
            with pytest.raises(petri.FileNotKept):
                result.artifacts[0].read_bytes()


def test_what_the_session_copies_while_a_branch_runs_stays(tmp_path):
    begun = threading.Event()
    with petri.Session(folder=tmp_path) as session, concurrent.futures.ThreadPoolExecutor(1) as threads:
        branch = session.branch()
        code = "try:\n    print('started', flush=True)\n    while True: pass\nexcept KeyboardInterrupt: open('a', 'w').write('branch')"
        beside = threads.submit(branch.run, code, on_progress=lambda _: begun.set())
        assert begun.wait(STUCK_S)
        own = session.run("open('a', 'w').write('session')")
        session.interrupt()
        aside = beside.result(STUCK_S)
        assert (own.artifacts[0].copied_to, aside.artifacts[0].copied_to) == ("outputs/a", "outputs/a (2)")
        assert (own.artifacts[0].read_bytes(), aside.artifacts[0].read_bytes()) == (b"session", b"branch")


def test_best_of_whose_best_made_room_can_not_be_kept():
    with petri.Session(config={"profiles": {"notebook": {"history": 3}}}) as session:
        before = session.run("x = 0")
        with pytest.raises(petri.UnknownImage, match="older ones make room for newer ones") as raised:
            session.best_of([f"x = {n}; x" for n in range(8)], keep=True)
        assert [result.result for result in raised.value.results] == [str(n) for n in range(8)]
        assert session.timeline().current.image == before.image


def test_a_run_from_a_state_that_keeps_nothing_does_not_wait_for_the_sessions_own(session):
    """Waits for ever where it takes its turn."""
    session.run("x = 1", checkpoint="one")
    begun = threading.Event()
    with concurrent.futures.ThreadPoolExecutor(1) as threads:
        own = threads.submit(session.run, LOOP, on_progress=lambda _: begun.set())
        assert begun.wait(STUCK_S)
        aside = session.run("x += 1; x", from_="one", commit=False)
        assert (aside.result, aside.image, own.done()) == ("2", None, False)
        session.interrupt()
        own.result(STUCK_S)
    assert session.run("x").result == "1"


def test_best_of_refuses_what_can_not_be_meant_before_anything_starts():
    session = petri.Session()
    for codes, error in (([], petri.BadRequest), (["1"] * 65, petri.BadRequest), ("12", TypeError), ([1], TypeError)):
        with pytest.raises(error):
            session.best_of(codes)
    with pytest.raises(petri.BadRequest):
        session.best_of(["1"], timeout=-1)
    for key in ("result", 1):
        with pytest.raises(TypeError, match="key has to be a function"):
            session.best_of(["1"], key)
    assert session.pid is None
    session.close()


def test_a_key_that_raises_keeps_nothing_and_the_results_come_with_the_error(session):
    before = session.run("x = 1")
    with pytest.raises(petri.KeyFailed, match="ValueError: could not convert string to float") as raised:
        session.best_of(["2", "'a'", "1 / 0"], key=lambda result: float(result.result), keep=True)
    assert isinstance(raised.value.__cause__, ValueError)
    assert [result.result for result in raised.value.results] == ["2", "'a'", None]
    assert raised.value.index == 1
    assert session.timeline().current.image == before.image


def test_keys_that_are_all_nan_keep_nothing(session):
    before = session.run("x = 1")
    found = session.best_of(["float('nan')"], key=lambda result: float(result.result), keep=True)
    assert found.index is None and found.results[0].ok
    assert session.timeline().current.image == before.image


def test_a_key_may_ask_the_session(session):
    session.run("x = 5")
    found = session.best_of(
        ["x -= 2", "x += 2", "x += 1"],
        key=lambda result: int(session.run("x", from_=result.image, commit=False).result),
    )
    assert found.index == 1


def test_best_of_sends_all_codes_before_it_waits(session, monkeypatch):
    events = []
    send, attend = petri.AsyncSession._send, petri.AsyncSession._attend

    def note_send(self, *arguments):
        events.append("sent")
        return send(self, *arguments)

    async def note_attend(self, *arguments):
        events.append("waits")
        await attend(self, *arguments)

    monkeypatch.setattr(petri.AsyncSession, "_send", note_send)
    monkeypatch.setattr(petri.AsyncSession, "_attend", note_attend)
    found = session.best_of([f"{n} * 2" for n in range(5)], key=lambda result: -int(result.result))
    assert events == ["sent"] * 5 + ["waits"] * 5
    assert found.best.result == "0"


def test_ctrl_c_interrupts_the_runs_of_best_of_alone(session, monkeypatch):
    session.run("x = 1")
    own = session.branch()

    class CtrlC:
        """A future in whose waiting thread Ctrl-C comes once the runs were sent."""

        def __init__(self, future):
            self.done = future.done

        def result(self):
            while len(session._session._runs) < 3:
                pass
            raise KeyboardInterrupt

    begun = threading.Event()
    with concurrent.futures.ThreadPoolExecutor(1) as threads:
        loop = threads.submit(own.run, LOOP, on_progress=lambda _: begun.set())
        assert begun.wait(STUCK_S)
        submit = session._submit
        monkeypatch.setattr(
            session,
            "_submit",
            lambda coroutine: (CtrlC if coroutine.__name__ == "result" else lambda future: future)(submit(coroutine)),
        )
        with pytest.raises(KeyboardInterrupt):
            session.best_of([LOOP, LOOP])
        monkeypatch.undo()
        assert not loop.done() and len(session._session._runs) == 1
        session.interrupt()
        assert loop.result(STUCK_S).outcome == "interrupted"
    assert session.run("x").result == "1"


def in_session(test):
    """Runs a test with a session of its own; no task and no run may be left of it while the session is open."""

    async def main():
        async with petri.AsyncSession() as session:
            await test(session)
            others = asyncio.all_tasks() - {asyncio.current_task()}
            if others:  # told to stop, and about to
                _, left = await asyncio.wait(others, timeout=STUCK_S)
                assert not left
            assert not session._runs and not session._attending

    asyncio.run(main())


async def started(branch):
    """A task that waits for a run, once that has put something out."""
    said = asyncio.Event()
    task = asyncio.create_task(branch.run(LOOP, on_progress=lambda _: said.set()))
    await said.wait()
    return task


def test_async_branches_run_at_once_and_one_is_kept():
    async def test(session):
        await session.run("x = 1")
        branches = [await session.branch() for _ in range(3)]
        assert [branch.image for branch in branches] == [(await session.timeline()).current.image] * 3
        await asyncio.gather(*(branch.run(f"x += {n}") for n, branch in enumerate(branches)))
        found = await asyncio.gather(*(branch.run("x") for branch in branches))
        assert [result.result for result in found] == ["1", "2", "3"]
        async with await branches[2].branch() as branch:
            await branch.run("x *= 10")
            await branch.keep()
        assert (await session.run("x")).result == "30"

    in_session(test)


def test_async_branch_that_is_cancelled_is_where_it_was_and_the_others_go_on():
    async def test(session):
        await session.run("x = 1")
        branch, other = await session.branch(), await session.branch()
        loop = await started(branch)
        assert (await other.run("x += 1; x")).result == "2"
        assert not loop.done()
        loop.cancel()
        with pytest.raises(asyncio.CancelledError):
            await loop
        assert (await branch.run("x")).result == "1"

    in_session(test)


def test_async_progress_may_wait_for_another_branch_and_not_for_its_own():
    async def test(session):
        branch, other = await session.branch(), await session.branch()
        found = []

        async def look(progress):
            for method in (lambda: branch.run("1"), branch.keep, branch.branch):
                with pytest.raises(petri.SessionError, match="can't wait for the end of its own run"):
                    await method()
            found.append((await other.run("6 * 7")).result)

        assert (await branch.run("print('on the way')", on_progress=look)).ok
        assert found == ["42"]

    in_session(test)


def test_async_progress_of_the_sessions_run_may_wait_for_branches():
    """Waits for ever with a kernel that runs one cell at a time."""

    async def test(session):
        found = []

        async def look(progress):
            branch = await session.branch()
            found.append((await branch.run("'x' in globals()")).result)
            found.append((await session.best_of(["1 / 0", "6 * 7"])).best.result)
            with pytest.raises(petri.SessionError, match="can't wait for the end of its own run"):
                await branch.keep()
            await session.interrupt()

        assert (await session.run("x = 1\n" + LOOP, on_progress=look)).outcome == "interrupted"
        assert found == ["False", "42"]

    in_session(test)


def test_async_best_of_keeps_the_best():
    async def test(session):
        await session.run("x = 1")
        found = await session.best_of(["x += 1; x", "x += 2; x"], key=lambda result: int(result.result), keep=True)
        assert (found.index, (await session.run("x")).result) == (1, "3")
        failed = await session.best_of(["1 / 0"], keep=True)
        assert failed.best is None
        with pytest.raises(petri.KeyFailed) as raised:
            await session.best_of(["1", "2"], key=lambda result: {}["absent"], keep=True)
        assert len(raised.value.results) == 2 and isinstance(raised.value.__cause__, KeyError)

        async def key(result):
            return 1

        for bad in ("result", key):
            with pytest.raises(TypeError, match="key has to be a function"):
                await session.best_of(["1"], bad)

    in_session(test)


def test_async_best_of_that_is_cancelled_interrupts_its_runs_alone():
    async def test(session):
        loop = await started(await session.branch())
        task = asyncio.create_task(session.best_of([LOOP, LOOP]))
        while len(session._runs) < 3:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert len(session._runs) == 1 and not loop.done()
        await session.interrupt()
        assert (await loop).outcome == "interrupted"

    in_session(test)


def test_best_of_whose_kernel_dies_is_an_error():
    async def main():
        async with petri.AsyncSession() as session:
            task = asyncio.create_task(session.best_of([LOOP, LOOP]))
            while len(session._runs) < 2:
                await asyncio.sleep(0)
            await session.restart()
            with pytest.raises(petri.KernelDied):
                await task
            assert (await session.run("6 * 7")).result == "42"

    asyncio.run(main())


def made(outcome="ok", result=None, valid=True):
    report = {"outcome": outcome, "validation": [{"check": "stdout_regex", "ok": valid}]}
    return make_result(report, Output(result=result), ROOT)


@pytest.mark.parametrize(
    ("results", "key", "index"),
    [
        ([made()], None, 0),
        ([made("error"), made(valid=False), made(), made()], None, 2),
        ([made(result="1"), made(result="3"), made(result="3"), made("error", "9")], lambda one: int(one.result), 1),
        ([made("error"), made("timeout")], lambda one: 1 / 0, None),
        ([made(result="nan"), made(result="-inf"), made(result="nan")], lambda one: float(one.result), 1),
        ([made(result="1"), made(result="nan"), made(result="2")], lambda one: (float(one.result), 1), 2),
        ([made(result="nan")], lambda one: decimal.Decimal(one.result), None),
    ],
    ids=["one", "the first that is ok", "the greatest key", "none is ok", "nan", "nan in a tuple", "all are nan"],
)
def test_the_best_is_chosen_among_those_that_are_ok(results, key, index):
    found = best_of(results, key)
    assert (found.index, found.best) == (index, None if index is None else results[index])


def test_keys_that_can_not_be_compared_are_the_keys_failure():
    results = [made(result="1"), made(result="a")]
    with pytest.raises(petri.KeyFailed, match="result 1: TypeError") as raised:
        best_of(results, lambda one: int(one.result) if one.result == "1" else one.result)
    assert raised.value.results == tuple(results)


IMAGES = [
    {"image": "first", "parent": None, "names": ["begun"], "kept": True},
    {"image": "a", "parent": "first", "execution_count": 1, "names": ["2a"], "kept": True},
    {"image": "b", "parent": "first", "execution_count": 1, "names": [], "kept": True},
    {"image": "c", "parent": "b", "execution_count": 2, "names": [], "kept": False},
    {"image": "d", "parent": "a", "execution_count": 2, "names": ["c"], "kept": True},
    {"image": "e", "parent": "lost", "execution_count": 3, "names": [], "kept": True},
]


@pytest.mark.parametrize(
    ("to", "current", "image"),
    [
        ("begun", "d", "first"),
        ("first", "d", "first"),
        ("c", "d", "d"),  # a name goes before an id
        ("1", "d", "a"),
        ("1", "c", "b"),
        ("1", "e", "b"),  # the newest, where its own branch is not known so far
        ("2", "a", "d"),
    ],
)
def test_a_state_is_found_as_the_kernel_finds_it(to, current, image):
    timeline = make_timeline({"status": "ok", "images": IMAGES, "current": current})
    assert find_image(timeline, to).image == image


def test_a_state_is_found_by_what_its_id_alone_begins_with():
    ids = ["first", "abcdef01-1", "abcdef01-2", "00000002-1", "12345678-1"]
    images = [{"image": one, "execution_count": n, "names": [], "kept": True} for n, one in enumerate(ids)]
    timeline = make_timeline({"status": "ok", "images": images, "current": "first"})
    for to, found in {"abcdef01-2": 2, "abcdef01-": None, "abcdef0": None, "00000002": 3, "12345678": 4, "02": 2}.items():
        if found is not None:
            assert find_image(timeline, to).image == ids[found]
            continue
        with pytest.raises(petri.UnknownImage, match="the ids of 2 states begin" if len(to) > 7 else "timeline"):
            find_image(timeline, to)


def test_a_state_that_is_not_kept_is_not_found():
    timeline = make_timeline({"status": "ok", "images": IMAGES, "current": "c"})
    for unknown, sentence in (("4", "timeline\\(\\) lists them"), ("nowhere", "is \"nowhere\""), ("2", "is gone")):
        with pytest.raises(petri.UnknownImage, match=sentence):
            find_image(timeline, unknown)
