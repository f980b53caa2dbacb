"""Session: runs code in a petri kernel, from any thread."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import functools
import os
import pathlib
import queue
import threading
import weakref
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Generic, Literal, TypeVar

from petri_kernel.aio import AsyncSession, telling
from petri_kernel.branch import AsyncBranch, BestOf, Branch, Key, best_of, check_key, keeping
from petri_kernel.collect import KEEP_BYTES, Progress
from petri_kernel.errors import SessionClosed
from petri_kernel.kernel import Config
from petri_kernel.limits import Duration, LimitValue, Size
from petri_kernel.request import Expect, FileContent, Request
from petri_kernel.result import Result
from petri_kernel.timeline import Image, ImageName, Restored, Timeline, Trial

T = TypeVar("T")


class _Loop:
    """An event loop in a thread of its own: whatever thread asks, sockets are used by this one alone."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="petri", daemon=True)
        self._thread.start()

    def submit(self, coroutine: Coroutine[Any, Any, T]) -> concurrent.futures.Future[T]:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def call(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return self.submit(coroutine).result()

    async def drain(self) -> None:
        """Until every thread that waits has its answer. For after the session's close: nothing waits for ever then."""
        others = asyncio.all_tasks() - {asyncio.current_task()}
        if others:
            await asyncio.wait(others)

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class _Asked(Generic[T]):
    """Runs that a thread has asked for, so that it can give up these alone, whether they have begun or not."""

    def __init__(self, runs: Callable[[], Coroutine[Any, Any, T]]) -> None:
        self._runs = runs
        self._task: asyncio.Task[Any] | None = None

    async def result(self) -> T:
        self._task = asyncio.current_task()
        return await self._runs()

    async def give_up(self) -> None:
        """Returns once it has ended. To be submitted after result(), so that the loop has begun with that."""
        assert self._task is not None
        self._task.cancel()
        await asyncio.wait({self._task})


def _close(loop: _Loop, session: AsyncSession, pid: int) -> None:
    if os.getpid() != pid:
        return  # a child has neither the thread nor the kernel
    try:
        loop.call(session.close())
        loop.call(loop.drain())
    finally:
        loop.stop()


class Session:
    """A petri kernel whose runs share their state, as the cells of a notebook do.

        with Session() as session:
            session.run("import pandas")
            print(session.run("1 + 1").result)

    profile: "notebook", "strict" or one that config has: which limits hold where a run asks for none.
    python: the interpreter for the code, with the packages that it has; this one where it is not named.
    folder: what the code sees as its folder, to read; what it writes there stays in the session, and is copied to
    `outputs/` in it. None: an empty one, which goes when the session is closed.
    config: the kernel's configuration, as a mapping or a file's path; None for the user's or the system's.
    program: the program `petri`; None for $PETRI, or `petri` on the PATH.
    keep_bytes: how much of what one run puts out is kept in memory, on top of the kernel's own limits.
    writable: what the code changes in the folder is changed on this machine, all that a run has changed or nothing,
    instead of being copied to `outputs/`. Files of fresh runs and branches are copied to `outputs-aside/`. Needs
    folder, and profile "notebook".

    The kernel starts with the first run, or on entering a `with` block, and ends with close() or this process.
    Methods may be called from any thread. Runs that are asked for at once take turns, as each may need what the one
    before it has left. Fresh runs that are asked for at once run beside each other, as many as the limit cpus allows
    (limits of the session).

    Raises BadRequest where an argument can't be meant, ProgramNotFound where there is no petri.
    """

    def __init__(
        self,
        profile: str = "notebook",
        *,
        python: str | os.PathLike[str] | None = None,
        folder: str | os.PathLike[str] | None = None,
        config: Config | None = None,
        program: str | os.PathLike[str] | None = None,
        keep_bytes: int = KEEP_BYTES,
        writable: bool = False,
    ) -> None:
        self._session = AsyncSession(
            profile,
            python=python,
            folder=folder,
            config=config,
            program=program,
            keep_bytes=keep_bytes,
            writable=writable,
        )
        self._loop = _Loop()
        self._pid = os.getpid()
        # Also at the end of this process, and when nobody holds the session any more.
        self._finalizer = weakref.finalize(self, _close, self._loop, self._session, self._pid)

    def start(self) -> Session:
        """Starts the kernel, where run() would do so; does nothing where it is there. Raises SessionError."""
        self._call(self._session.start())
        return self

    @property
    def folder(self) -> pathlib.Path | None:
        """The session's folder on this machine; None before the start where it is a temporary one."""
        return self._session.folder

    @property
    def pid(self) -> int | None:
        """The kernel's process; None where there is none."""
        return self._session.pid

    def run(
        self,
        code: str,
        *,
        files: Mapping[str, FileContent] | None = None,
        stdin: str | None = None,
        env: Mapping[str, str] | None = None,
        timeout: Duration | None = None,
        memory: Size | None = None,
        limits: Mapping[str, LimitValue] | None = None,
        task: str | None = None,
        fresh: bool = False,
        expect: Expect | Mapping[str, Any] | None = None,
        inline_bytes: int | None = None,
        cache: Duration | Literal[False] | None = None,
        from_: ImageName | None = None,
        commit: bool = True,
        checkpoint: str | None = None,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> Result:
        """Runs code and returns what came of it, whatever the outcome; Result.raise_for_outcome() raises.

        files: by their path below the folder: a text, bytes, or the path of a file here; up to 32 MiB each.
        stdin: what the code reads there; without it input() raises at once.
        env: variables for this run alone; the configuration says which names may be set.
        timeout: of the wall clock, in seconds, or "10s", or a timedelta. memory: in bytes, or "512M".
        limits: others by name: cpu, processes, cpus, output, display, displays, artifact, artifacts, ...
        task: which task the run belongs to; budgets count by it.
        fresh: run in the state that the session began with, and keep nothing of it. Fresh runs that are asked for at
        once, by several threads, run beside each other and beside the session's own run, as many as the limit cpus
        allows (limits of the session). So do those with from_ and commit=False.
        expect: what the kernel checks afterwards, an Expect or a mapping of the same keys; see Result.checks.
        inline_bytes: artifacts up to this size come with the result; see Artifact.read_bytes().
        cache: how old the recorded result of the same fresh run may be that is given in place of a new one; False for
        none; None leaves it to the configuration. See Result.cached.
        from_: the state to begin with: a checkpoint, the id of a run, "first", an execution count, an Image, or a
        Result, for the state that its run has left. Where
        the run leaves nothing, the session is afterwards where it was. A run from a state that the session does not
        have is refused (FromUnknownImage).
        commit: False to keep nothing of the run: the session is afterwards as it was. checkpoint: a name for what it
        leaves; see checkpoint().
        on_progress: is called in this thread with each Progress as it comes. An exception that it raises interrupts
        the run and is raised here.

        Ctrl-C (KeyboardInterrupt) interrupts the run, that one alone, and is raised once the run has ended; the session
        goes on. A second one does not wait for that.

        Raises BadRequest, before anything is sent; KernelDied where the kernel ends; SessionError.
        """
        asked = Request(
            files, stdin, env, timeout, memory, limits, task, fresh, expect, inline_bytes, cache,
            from_, commit, checkpoint,
        )  # fmt: skip
        return self.run_request(self._session, code, asked, on_progress)

    def run_request(
        self,
        runner: AsyncSession | AsyncBranch,
        code: str,
        asked: Request,
        on_progress: Callable[[Progress], None] | None,
    ) -> Result:
        """run() with what it asks for in one object, in the session or in a branch of it."""
        told: queue.SimpleQueue[Progress | None] = queue.SimpleQueue()
        listens = told.put if on_progress is not None else None
        run = _Asked(functools.partial(runner.run_request, code, asked, listens))
        with self._asked(run) as future:
            future.add_done_callback(lambda _: told.put(None))
            for progress in iter(told.get, None):
                if on_progress is not None:
                    with telling(self._session):
                        on_progress(progress)
            return future.result()

    @contextlib.contextmanager
    def _asked(self, run: _Asked[T]) -> Iterator[concurrent.futures.Future[T]]:
        """What the thread waits for inside of it; it is given up where something is raised there."""
        future = self._submit(run.result())
        try:
            yield future
        except BaseException:
            if not future.done():
                # Not interrupt(): what runs may be another thread's, and this one still wait for its turn.
                with contextlib.suppress(SessionClosed):
                    self._call(run.give_up())
            raise

    def checkpoint(self, name: str) -> Image:
        """Gives the present state a name, so that restore(name) goes back to it; another state that had it loses it.

        name: up to 64 bytes, no spaces, no number, not "first". A state with a name is the last to make room for newer
        ones.

        Raises BadRequest where the kernel doesn't take the name.
        """
        return self.wait_for(self._session.checkpoint(name))

    def restore(self, to: ImageName) -> Restored:
        """Goes to the state after an earlier run, forward too: memory, files, limits and the execution count.

        to: a checkpoint, an execution count, the id of a run, "first", an Image of timeline(), or a Result, for the
        state that its run has left. What has been copied out or, with writable, written to the folder on this machine
        stays there. What is left behind can be gone to again, as long as it is kept. Waits for runs that were asked for
        before.

        Raises BadRequest before anything is sent where `to` can't be one of these; UnknownImage where there is no such
        state, or none any more.
        """
        return self.wait_for(self._session.restore(to))

    def undo(self, n: int = 1) -> Restored:
        """Goes back n runs that have left something, at most to the beginning. Raises UnknownImage at the beginning.

        BadRequest where n is not 1 or more.
        """
        return self.wait_for(self._session.undo(n))

    def redo(self, n: int = 1) -> Restored:
        """Goes on n runs that were undone, at most to the last. Raises UnknownImage where none was."""
        return self.wait_for(self._session.redo(n))

    def forget(self, name: str) -> None:
        """Takes a checkpoint's name away; its state makes room as others do. Raises UnknownImage where none has it."""
        self.wait_for(self._session.forget(name))

    def timeline(self) -> Timeline:
        """The states that the session has had, and which is the present one. A run on its way is not among them."""
        return self.wait_for(self._session.timeline())

    @contextlib.contextmanager
    def attempt(self) -> Iterator[Trial]:
        """What happens inside is undone when the block ends, also by an exception, unless trial.keep() was called.

            with session.attempt() as trial:
                if session.run(code).ok:
                    trial.keep()

        The session goes back to the state of the beginning, as by restore(). After a close() or restart() inside of it
        there is nothing to undo.

        Until then that state has a name, attempt-…, so that runs without a name make no room of it. Raises UnknownImage
        at the end where it has made room all the same: see the limit history.
        """
        trial = self.wait_for(self._session.open_trial())
        try:
            yield trial
        finally:
            with contextlib.suppress(SessionClosed):
                self.wait_for(self._session.close_trial(trial))

    def branch(self, from_: ImageName | None = None) -> Branch:
        """A branch: its runs go on from the session's present state, or from another one, and change nothing of it.

            with session.branch() as branch:
                if branch.run(code).ok:
                    branch.keep()

        from_: where it begins, as for run(). Later runs of the session don't change that, and one on its way is not in
        it. What a branch does runs beside the session's own run and beside other branches; see Branch.

        Raises UnknownImage where there is no such state, or none any more.
        """
        return Branch(self, self.wait_for(self._session.branch(from_)))

    def best_of(
        self,
        codes: Sequence[str],
        key: Key | None = None,
        keep: bool = False,
        from_: ImageName | None = None,
        *,
        files: Mapping[str, FileContent] | None = None,
        stdin: str | None = None,
        env: Mapping[str, str] | None = None,
        timeout: Duration | None = None,
        memory: Size | None = None,
        limits: Mapping[str, LimitValue] | None = None,
        task: str | None = None,
        expect: Expect | Mapping[str, Any] | None = None,
        inline_bytes: int | None = None,
    ) -> BestOf:
        """Runs up to 64 pieces of code at once, each in a branch of its own, and says which one is the best.

            found = session.best_of(codes, key=lambda result: float(result.result), keep=True)

        key: what is compared of a Result that is ok, as for max(): the greatest is the best, and the first of several
        that are equal. One whose key is nan never wins. Without a key the first of the codes whose result is ok is the
        best. One that isn't ok never wins, and key is not asked about it.
        keep: make the best one's state the session's; where there is none, the session stays as it is.
        from_: the state to begin with, as for branch(). The others are those of run(), and hold for each of the codes.

        All of them are sent before the first is waited for; as many run at once as the limit cpus allows (limits of the
        session). Each leaves a state, unless it was rolled back: of more codes than the limit history those that ended
        first may have gone, and the best one among them. Files are copied to `outputs/` of all (with writable to
        `outputs-aside/`); where several write one file, each has a copy of its own, such as `model (2).txt`:
        Artifact.copied_to says which. A later best_of() replaces them, and so can one of these codes that reaches the
        kernel when another one has ended already: then read_bytes() of that one's says so. inline_bytes brings small
        files with the results.

        Ctrl-C (KeyboardInterrupt) interrupts these runs alone, and is raised once they have ended.

        Raises BadRequest and TypeError before anything is sent, TypeError also for a key that is no function; KeyFailed
        where key raises something or its values can't be compared, with the results of all codes; UnknownImage where
        from_ is no state, or the best one's has gone, which keep needs, with the results; KernelDied; SessionError.
        """
        check_key(key)
        asked = Request(files, stdin, env, timeout, memory, limits, task, expect=expect, inline_bytes=inline_bytes)
        with self._asked(_Asked(functools.partial(self._session.run_branches, codes, asked, from_))) as future:
            kernel, results = future.result()
        found = best_of(results, key)
        if keep and found.best is not None:
            with keeping(found):
                self.wait_for(self._session.go(kernel, str(found.best.image)))
        return found

    def interrupt(self) -> None:
        """Interrupts every run that was sent, from another thread; its run() returns with the outcome "interrupted".

        That is what runs now; and a fresh run that has not begun, as soon as it does.
        """
        self._call(self._session.interrupt())

    def restart(self) -> None:
        """Ends the kernel, with all its state, and starts another one. Every run on its way raises KernelDied.

        So do runs that wait for their turn, which may need that state. A run that is asked for from now on waits.
        """
        self._call(self._session.restart())

    def close(self) -> None:
        """Ends the kernel. Every run on its way raises KernelDied. A second close does nothing."""
        self._finalizer()

    def _submit(self, coroutine: Coroutine[Any, Any, T]) -> concurrent.futures.Future[T]:
        if not self._finalizer.alive or os.getpid() != self._pid:
            coroutine.close()
            raise SessionClosed(
                "the session is closed" if os.getpid() == self._pid else "it is another process's session"
            )
        return self._loop.submit(coroutine)

    def _call(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return self._submit(coroutine).result()

    def wait_for(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """What the coroutine returns. It is given up where Ctrl-C comes: what has not had its turn then is not done."""
        future = self._submit(coroutine)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def __enter__(self) -> Session:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
