"""AsyncSession against petri."""

import asyncio
import os
import signal

import pytest

import petri_kernel as petri


def run(coroutine):
    return asyncio.run(coroutine)


def test_async_session_runs_and_keeps_state():
    async def main():
        async with petri.AsyncSession() as session:
            await session.run("x = 6")
            found = await session.run("print('out'); x * 7", timeout="10s")
            return found, session.pid

    found, _ = run(main())
    assert (found.outcome, found.stdout, found.result, found.limits.timeout_ms) == ("ok", "out\n", "42", 10_000)


def test_async_session_starts_with_its_first_run():
    async def main():
        session = petri.AsyncSession()
        assert session.pid is None
        try:
            return (await session.run("6 * 7")).result
        finally:
            await session.close()

    assert run(main()) == "42"


def test_async_runs_take_turns_and_sessions_run_side_by_side():
    async def main():
        async with petri.AsyncSession() as one, petri.AsyncSession() as two:
            await asyncio.gather(one.run("x = 0"), two.run("x = 100"))
            await asyncio.gather(*(session.run(f"x += {n}") for n in range(4) for session in (one, two)))
            return [(await session.run("x")).result for session in (one, two)]

    assert run(main()) == ["6", "106"]


@pytest.mark.parametrize("is_coroutine", [False, True])
def test_async_progress_may_be_a_coroutine_function(is_coroutine):
    told = []

    async def note_later(progress):
        await asyncio.sleep(0)
        told.append(progress.text)

    def note(progress):
        told.append(progress.text)

    async def main():
        async with petri.AsyncSession() as session:
            await session.run("print('a', flush=True)\n7", on_progress=note_later if is_coroutine else note)

    run(main())
    assert told == ["a\n", "7"]


def test_async_cancelled_run_is_interrupted_and_the_session_goes_on():
    async def main():
        started = asyncio.Event()
        async with petri.AsyncSession() as session:
            code = "state = 1\nprint('started', flush=True)\nwhile True: pass"
            task = asyncio.create_task(session.run(code, on_progress=lambda progress: started.set()))
            await started.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return (await session.run("state")).result

    assert run(main()) == "1"


def test_async_run_cancelled_at_once_does_not_go_on():
    async def main():
        async with petri.AsyncSession() as session:
            for _ in range(5):
                task = asyncio.create_task(session.run("while True: pass"))
                while not session._runs:
                    await asyncio.sleep(0)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                assert (await session.run("6 * 7")).result == "42"

    run(main())


def test_async_interrupt_before_the_kernel_has_begun_is_not_lost():
    """Asked for as soon as the request is sent, when the kernel has not read it."""

    async def main():
        outcomes = []
        async with petri.AsyncSession() as session:
            for _ in range(10):
                task = asyncio.create_task(session.run("while True: pass"))
                while not session._runs:
                    await asyncio.sleep(0)
                assert not session._last.begun
                await session.interrupt()
                outcomes.append((await task).outcome)
        return outcomes

    assert run(main()) == ["interrupted"] * 10


def test_async_interrupt_ends_the_run_with_its_outcome():
    async def main():
        async with petri.AsyncSession() as session:
            found = await session.run(
                "print('started', flush=True)\nwhile True: pass", on_progress=lambda progress: session.interrupt()
            )
            return found.outcome

    assert run(main()) == "interrupted"


@pytest.mark.parametrize("method", ["close", "restart", "start", "run"])
def test_async_progress_that_waits_for_its_own_run_is_an_error(method):
    async def main():
        async with petri.AsyncSession() as session:
            arguments = ["1"] if method == "run" else []
            with pytest.raises(petri.SessionError, match="can't wait for the end of its own run"):
                await session.run("print('on')", on_progress=lambda _: getattr(session, method)(*arguments))
            return (await session.run("6 * 7")).result

    assert run(main()) == "42"


def test_async_kernel_that_dies_is_an_error_until_restart():
    async def main():
        async with petri.AsyncSession() as session:
            with pytest.raises(petri.KernelDied):
                await session.run(
                    "print('started', flush=True)\nwhile True: pass",
                    on_progress=lambda progress: os.kill(session.pid, signal.SIGKILL),
                )
            await session.restart()
            return (await session.run("6 * 7")).result

    assert run(main()) == "42"


def test_async_close_ends_the_current_run():
    async def main():
        session = petri.AsyncSession()
        started = asyncio.Event()
        task = asyncio.create_task(
            session.run("print('started', flush=True)\nwhile True: pass", on_progress=lambda progress: started.set())
        )
        await started.wait()
        await session.close()
        with pytest.raises(petri.KernelDied):
            await task
        with pytest.raises(petri.SessionClosed):
            await session.run("1")

    run(main())
