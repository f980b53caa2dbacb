"""Fresh runs that are asked for at once, against petri; right also where the kernel runs them one after the other."""

import asyncio
import concurrent.futures
import sys
import threading

import pytest

import petri_kernel as petri
from conftest import ROOT
from kernels import STUCK_S
from petri_kernel import runs

LOOP = "print('started', flush=True)\nwhile True: pass"


def in_session(test):
    """Runs a test with a session of its own; no task and no run may be left of it while the session is open."""

    async def main():
        async with petri.AsyncSession() as session:
            await test(session)
            await nothing_is_left_of(session)

    asyncio.run(main())


async def nothing_is_left_of(session):
    others = asyncio.all_tasks() - {asyncio.current_task()}
    if others:  # told to stop, and about to
        _, left = await asyncio.wait(others, timeout=STUCK_S)
        assert not left
    assert not session._runs and not session._attending and session._holder is None


async def started(session, code=LOOP, **asked):
    """A task that waits for a run, once that has put something out."""
    said = asyncio.Event()
    task = asyncio.create_task(session.run(code, on_progress=lambda _: said.set(), **asked))
    await said.wait()
    return task


async def sent(session, *codes):
    """Tasks that wait for fresh runs, once these are sent."""
    before = len(session._runs)
    tasks = [asyncio.create_task(session.run(code, fresh=True)) for code in codes]
    while len(session._runs) < before + len(codes):
        await asyncio.sleep(0)
    return tasks


def test_fresh_runs_at_once_each_have_their_own_output_report_and_files():
    async def test(session):
        await session.run("n = 'kept'")
        code = "'n' in globals() or display({0})\nprint({0})\nopen('{0}.txt', 'w').write('{0}')\n{0} * 2"
        told = {n: [] for n in range(4)}
        found = await asyncio.gather(
            *(
                session.run(code.format(n), fresh=True, on_progress=lambda progress, n=n: told[n].append(progress.text))
                for n in told
            )
        )
        for n, result in enumerate(found):
            assert (result.outcome, result.stdout, result.result) == ("ok", f"{n}\n", str(n * 2))
            assert [shown.data["text/plain"] for shown in result.displays] == [str(n)]
            assert [artifact.path for artifact in result.artifacts] == [f"{n}.txt"]
            assert (str(n), f"{n}\n", str(n * 2)) == tuple(text for text in told[n] if "outputs/" not in text)
            assert result.report["fresh"]
        assert len({result.run_id for result in found}) == 4
        assert (await session.run("n")).result == "'kept'"

    in_session(test)


def test_fresh_run_beside_the_sessions_own_gets_its_result():
    async def test(session):
        own = await started(session, "print('started', flush=True)\nx = sum(range(10**6))\nx")
        fresh = await session.run("'x' in globals()", fresh=True)
        assert (fresh.result, (await own).result) == ("False", "499999500000")

    in_session(test)


def test_fresh_run_that_waits_for_its_turn_can_be_given_up_at_once():
    async def test(session):
        await session.run("%limits cpus=1")
        own = await started(session)
        tasks = await sent(session, "1", "2")
        tasks[0].cancel()
        with pytest.raises(asyncio.CancelledError):
            await tasks[0]
        assert not own.done() and not tasks[1].done()
        await session.interrupt()
        assert (await own).outcome == "interrupted"
        assert (await tasks[1]).outcome in ("interrupted", "ok")  # it may be over before the interrupt comes

    in_session(test)


def test_progress_may_wait_for_a_fresh_run_and_that_of_a_fresh_run_for_any():
    async def test(session):
        found = {}

        async def note(progress):
            found[progress.text] = (await session.run("y = 6 * 7\ny", fresh=True)).result

        async def keep(progress):
            await session.start()
            found[progress.text] = (await session.run("y = 7\ny")).result

        assert (await session.run("print('own')\nx = 1\nx", on_progress=note)).result == "1"
        assert (await session.run("print('fresh')\n2", fresh=True, on_progress=keep)).result == "2"
        assert found == {"own\n": "42", "1": "42", "fresh\n": "7", "2": "7"}

    in_session(test)


@pytest.mark.parametrize("method", ["close", "restart"])
def test_progress_of_a_fresh_run_that_waits_for_its_end_is_an_error(method):
    async def test(session):
        with pytest.raises(petri.SessionError, match="can't wait for the end of its own run"):
            await session.run("print('on')", fresh=True, on_progress=lambda _: getattr(session, method)())
        assert (await session.run("6 * 7")).result == "42"

    in_session(test)


def test_cancelled_run_whose_progress_waits_for_fresh_ones_ends():
    """Where the kernel has no place for these, they begin only after the end of the run around them."""

    async def test(session):
        asked = asyncio.Event()

        async def ask(progress):
            asked.set()
            await asyncio.gather(*(session.run(LOOP, fresh=True) for _ in range(2)))

        task = asyncio.create_task(session.run(LOOP, on_progress=ask))
        await asked.wait()
        while len(session._runs) < 3:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await session.run("6 * 7")).result == "42"
        assert (await session.run("6 * 7", fresh=True)).result == "42"

    in_session(test)


def test_fresh_run_that_is_cancelled_leaves_the_others():
    async def test(session):
        loop = await started(session, fresh=True)
        others = await sent(session, "1", "2")
        loop.cancel()
        with pytest.raises(asyncio.CancelledError):
            await loop
        assert [result.result for result in await asyncio.gather(*others)] == ["1", "2"]

    in_session(test)


def test_fresh_run_that_is_cancelled_before_it_begins_leaves_the_one_that_runs():
    async def test(session):
        own = await started(session)
        [fresh] = await sent(session, LOOP)
        fresh.cancel()
        assert (await asyncio.wait({own, fresh}, timeout=0))[0] == set()
        await session.interrupt()
        with pytest.raises(asyncio.CancelledError):
            await fresh
        assert (await own).outcome == "interrupted"

    in_session(test)


def test_progress_that_raises_interrupts_its_run_alone():
    async def test(session):
        def give_up(progress):
            raise LookupError("seen enough")

        found = await asyncio.gather(
            session.run(LOOP, fresh=True, on_progress=give_up), session.run("6 * 7", fresh=True), return_exceptions=True
        )
        assert (str(found[0]), found[1].result) == ("seen enough", "42")

    in_session(test)


def test_interrupt_ends_every_run_that_was_sent():
    async def test(session):
        own = await started(session)
        fresh = await sent(session, LOOP, LOOP)
        await session.interrupt()
        assert [result.outcome for result in await asyncio.gather(own, *fresh)] == ["interrupted"] * 3

    in_session(test)


def test_restart_ends_every_run_and_the_next_ones_wait_for_it():
    async def test(session):
        own = await started(session)
        before = [own, *await sent(session, LOOP, LOOP), asyncio.create_task(session.run("1"))]
        await asyncio.sleep(0)  # the last one waits for its turn
        pid = session.pid
        restart = asyncio.create_task(session.restart())
        await asyncio.sleep(0)
        after = await asyncio.gather(session.run("6 * 7", fresh=True), session.run("6 * 7"))
        assert [result.result for result in after] == ["42", "42"]
        errors = await asyncio.gather(*before, return_exceptions=True)
        assert [type(error) for error in errors] == [petri.KernelDied] * 4
        await restart
        assert session.pid != pid

    in_session(test)


def test_close_ends_every_run_with_an_error():
    async def main():
        session = petri.AsyncSession()
        tasks = [await started(session), *await sent(session, LOOP, LOOP)]
        await session.close()
        errors = await asyncio.gather(*tasks, return_exceptions=True)
        assert [type(error) for error in errors] == [petri.KernelDied] * 3
        await nothing_is_left_of(session)
        with pytest.raises(petri.SessionClosed):
            await session.run("1", fresh=True)

    asyncio.run(main())


@pytest.fixture
def fake(tmp_path):
    """Makes a session with a kernel that answers in one of the ways of fake_kernel.py."""
    script, program = ROOT / "tests" / "client" / "fake_kernel.py", tmp_path / "program"

    def session(way):
        program.write_text(f'#!/bin/sh\nexec {sys.executable} {script} {way} "$@"\n')
        program.chmod(0o755)
        return petri.AsyncSession(program=program)

    return session


def test_runs_of_a_kernel_that_runs_them_side_by_side_are_told_apart(fake):
    async def main():
        async with fake("side_by_side") as session:
            loops = [await started(session, "loop"), await started(session, "loop", fresh=True)]
            loops += await sent(session, "loop")
            assert [(await session.run(code, fresh=True)).stdout for code in "ab"] == ["a", "b"]
            loops[1].cancel()
            with pytest.raises(asyncio.CancelledError):
                await loops[1]
            assert not loops[0].done() and not loops[2].done()
            await session.interrupt()
            found = [await loops[0], await loops[2]]
            assert [(result.outcome, result.stdout) for result in found] == [("interrupted", "loop")] * 2
            await nothing_is_left_of(session)

    asyncio.run(main())


def test_run_that_is_never_idle_ends_alone(fake, monkeypatch):
    async def main():
        async with fake("idle_but_once") as session:
            lost = asyncio.create_task(session.run("never idle", fresh=True))
            found = await asyncio.gather(*(session.run(code, fresh=True) for code in ("1", "2")))
            assert not lost.done()
            with monkeypatch.context() as patch:  # nobody else has to be idle in so short a time
                patch.setattr(runs, "IDLE_S", 0)
                with pytest.raises(petri.SessionError, match="the kernel has replied and not said that it is idle"):
                    await lost
            return [*found, await session.run("3", fresh=True)]

    assert [other.outcome for other in asyncio.run(main())] == ["ok"] * 3


def test_threads_run_fresh_code_at_once(session):
    code = "print({0})\n'state' in globals()"
    session.run("state = 1")
    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda n: session.run(code.format(n), fresh=True), range(8)))
    assert [(result.stdout, result.result) for result in found] == [(f"{n}\n", "False") for n in range(8)]


def test_thread_that_gives_up_its_fresh_run_leaves_the_others(session):
    def give_up(progress):
        raise LookupError("seen enough")

    with concurrent.futures.ThreadPoolExecutor(3) as threads:
        loop = threads.submit(session.run, LOOP, fresh=True, on_progress=give_up)
        others = [threads.submit(session.run, code, fresh=True) for code in ("1", "2")]
        assert [other.result(STUCK_S).result for other in others] == ["1", "2"]
        with pytest.raises(LookupError):
            loop.result(STUCK_S)


def test_close_answers_every_thread_that_waits(session):
    begun = threading.Event()
    with concurrent.futures.ThreadPoolExecutor(5) as threads:
        waiting = [threads.submit(session.run, LOOP, on_progress=lambda _: begun.set())]
        assert begun.wait(STUCK_S)
        waiting += [threads.submit(session.run, LOOP, fresh=True) for _ in range(2)]
        waiting += [threads.submit(session.run, "1") for _ in range(2)]
        while len(session._session._runs) < 3:
            pass
        session.close()
        errors = [future.exception(STUCK_S) for future in waiting]
    assert [type(error) for error in errors[:3]] == [petri.KernelDied] * 3
    assert all(isinstance(error, petri.SessionClosed) for error in errors[3:])


def test_fresh_runs_are_answered_and_cancelled_while_the_sessions_own_goes_on():
    """Waits for ever with a kernel that runs one cell at a time."""

    async def test(session):
        own = await started(session)
        assert (await session.run("6 * 7", fresh=True)).result == "42"
        fresh = await started(session, fresh=True)
        fresh.cancel()
        with pytest.raises(asyncio.CancelledError):
            await fresh
        assert not own.done()
        await session.interrupt()
        assert (await own).outcome == "interrupted"

    in_session(test)
