"""AsyncSession: runs code in a petri kernel, on the caller's event loop."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import dataclasses
import os
import pathlib
import secrets
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Literal

from petri_kernel.branch import AsyncBranch, BestOf, Key, best_of, check_code, check_codes, check_key, keeping
from petri_kernel.collect import KEEP_BYTES, Collector, OnProgress, Progress
from petri_kernel.errors import BadRequest, KernelDied, SessionClosed, SessionError, UnknownImage, inside_error
from petri_kernel.kernel import Config, Kernel, config_profiles, config_text, kernel_argv
from petri_kernel.limits import Duration, LimitValue, Size
from petri_kernel.request import Expect, FileContent, Request, cells, checkpoint_text, image_text
from petri_kernel.result import Result, row_of
from petri_kernel.router import Listener
from petri_kernel.runs import Run
from petri_kernel.timeline import (
    Image,
    ImageName,
    Restored,
    Timeline,
    Trial,
    answered,
    find_image,
    image_of,
    make_timeline,
)

# The sessions of whose runs an on_progress is called: by this code, or by what has started this task.
_TELLING: contextvars.ContextVar[tuple[AsyncSession, ...]] = contextvars.ContextVar("_TELLING", default=())


@contextlib.contextmanager
def telling(session: AsyncSession) -> Iterator[None]:
    """Inside of it an on_progress of a run of that session is called."""
    token = _TELLING.set((*_TELLING.get(), session))
    try:
        yield
    finally:
        _TELLING.reset(token)


class AsyncSession:
    """A petri kernel whose runs share their state, as the cells of a notebook do; the async twin of Session.

    Its parameters are those of Session. It belongs to the event loop that it was first used on. Runs that are asked for
    at once take turns, as each may need what the one before it has left. Fresh runs that are asked for at once run
    beside each other, as many as the limit cpus allows (limits of the session).

        async with AsyncSession() as session:
            result = await session.run("1 + 1")
            results = await asyncio.gather(*(session.run(code, fresh=True) for code in codes))
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
        if writable and folder is None:
            raise BadRequest("there is no folder to write to: name one (folder=)")
        path = os.path.abspath(config) if isinstance(config, (str, os.PathLike)) else None
        self._argv = kernel_argv(program, profile, python, path, writable, config_profiles(config))
        self._config = config_text(config) if isinstance(config, Mapping) else None
        self._folder = pathlib.Path(folder).resolve() if folder is not None else None
        if self._folder is not None and not self._folder.is_dir():
            raise BadRequest(f"there is no folder {self._folder}")
        self._keep_bytes = keep_bytes
        self._kernel: Kernel | None = None
        self._closed = False
        # Held while a kernel is started or ended.
        self._change = asyncio.Lock()
        self._restarts = 0
        # Those on their way.
        self._runs: set[Run] = set()
        # Held by what uses the session's state, a run or a way back, and the last one of these.
        self._turn = asyncio.Lock()
        self._holder: asyncio.Task[Any] | None = None
        self._last: Listener | None = None
        # One for each run whose on_progress may be called now.
        self._attending: list[asyncio.Task[Any] | None] = []

    @contextlib.asynccontextmanager
    async def _in_turn(self) -> AsyncIterator[None]:
        """Inside of it no other run uses the session's state. Raises SessionError where it would wait for ever."""
        if self._holder is not None and self._holder is asyncio.current_task():
            raise inside_error()
        restarts = self._restarts
        async with self._turn:
            self._holder = asyncio.current_task()
            try:
                if self._last is not None:  # nobody may have waited for its end
                    await asyncio.wait({self._last.ended})
                if restarts != self._restarts and not self._closed:
                    raise KernelDied("the kernel has ended")  # the one whose state was meant
                yield
            finally:
                self._holder = None

    async def start(self) -> AsyncSession:
        """Starts the kernel, where run() would do so; does nothing where it is there. Raises SessionError."""
        async with self._in_turn():
            await self._started()
        return self

    async def _started(self, meant: Kernel | None = None) -> Kernel:
        """The kernel, alive. A request that is sent before the next await is sent to this one.

        meant: the one whose state is meant; KernelDied is raised where that was another one.
        """
        async with self._change:
            kernel = await self._start_kernel()
        if meant is not None and meant is not kernel:
            raise KernelDied("the kernel has ended")
        return kernel

    async def _start_kernel(self) -> Kernel:
        if self._closed:
            raise SessionClosed("the session is closed")
        if self._kernel is None:
            kernel = Kernel(self._argv, self._folder, self._config)
            await kernel.start()
            self._kernel = kernel
        await self._kernel.check_alive()
        return self._kernel

    @property
    def folder(self) -> pathlib.Path | None:
        """The session's folder on this machine; None before the start where it is a temporary one."""
        return self._kernel.folder if self._kernel else self._folder

    @property
    def pid(self) -> int | None:
        """The kernel's process; None where there is none."""
        return self._kernel.pid if self._kernel else None

    async def run(
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
        on_progress: OnProgress | None = None,
    ) -> Result:
        """Runs code as Session.run() does. on_progress may be a coroutine function.

        Runs that are asked for at once run one after the other. Fresh runs, and those from a state (from_) of which
        nothing is kept (commit=False), run beside each other and beside the session's own run, as many as the limit
        cpus allows (limits of the session); the kernel begins with the others as places become free.

        A cancelled run is interrupted, that one alone, and CancelledError raised once it has ended; one that waits for
        its turn does not begin. The session goes on.

        on_progress may wait for a run beside its own: what that puts out meanwhile is kept and told afterwards. It
        can't wait for one of the session's own, which would be for ever, unless it is the on_progress of one beside.
        """
        asked = Request(
            files, stdin, env, timeout, memory, limits, task, fresh, expect, inline_bytes, cache,
            from_, commit, checkpoint,
        )  # fmt: skip
        return await self.run_request(code, asked, on_progress)

    async def run_request(
        self, code: str, asked: Request, on_progress: OnProgress | None = None, meant: Kernel | None = None
    ) -> Result:
        """run() with what it asks for in one object. meant: the kernel whose state is meant."""
        check_code(code)
        metadata = asked.metadata()
        async with contextlib.nullcontext() if asked.beside else self._in_turn():
            run = self._send(await self._started(meant), code, metadata, on_progress is not None)
            if not asked.beside:
                self._last = run
            await self._attend(run, on_progress)
            return run.result()

    def _send(self, kernel: Kernel, code: str, metadata: dict[str, Any], tells: bool = False) -> Run:
        run = Run(kernel, Collector(self._keep_bytes), tells)
        run.start(
            {
                "code": code,
                "silent": False,
                "store_history": True,
                "user_expressions": {},
                "allow_stdin": False,
                "stop_on_error": False,
            },
            {"petri": metadata} if metadata else {},
        )
        self._runs.add(run)
        run.ended.add_done_callback(lambda _: self._runs.discard(run))
        return run

    async def _attend(self, run: Run, on_progress: OnProgress | None) -> None:
        """Waits for its end, and gives it up where something is raised."""
        task = asyncio.current_task()
        self._attending.append(task)
        try:
            async for progress in run.progress():
                await self._tell(progress, on_progress)
            await run.end()
        except BaseException:
            # Inside an on_progress the run around it may be what it waits for, which is given up after this one.
            await run.give_up(wait=self not in _TELLING.get())
            raise
        finally:
            self._attending.remove(task)

    async def _tell(self, progress: Progress, on_progress: OnProgress | None) -> None:
        with telling(self):
            told = on_progress(progress) if on_progress is not None else None
            if told is not None:
                await told

    async def checkpoint(self, name: str) -> Image:
        """Gives the present state a name, as Session.checkpoint() does."""
        content = {"name": checkpoint_text("name", name)}
        made = await self._travel("petri_checkpoint_request", content)
        return image_of((await self.timeline()).images, made["image"])

    async def restore(self, to: ImageName) -> Restored:
        """Goes to the state after an earlier run, as Session.restore() does. It takes its turn, as a run does.

        Where it is cancelled before it was asked of the kernel, nothing changes.
        """
        return row_of(Restored, await self._travel("petri_restore_request", {"to": image_text("to", to)}))

    async def undo(self, n: int = 1) -> Restored:
        """Goes back n runs, as Session.undo() does."""
        return row_of(Restored, await self._travel("petri_restore_request", {"undo": cells("undo", n)}))

    async def redo(self, n: int = 1) -> Restored:
        """Goes on n runs, as Session.redo() does."""
        return row_of(Restored, await self._travel("petri_restore_request", {"redo": cells("redo", n)}))

    async def forget(self, name: str) -> None:
        """Takes a name away, as Session.forget() does."""
        await self._travel("petri_forget_request", {"name": checkpoint_text("name", name)})

    async def timeline(self) -> Timeline:
        """The states that the session can go to, as Session.timeline() does. It takes no turn."""
        reply = await self._ask_timeline()
        if reply.get("current") is None:
            async with self._in_turn():
                reply = await self._begin()
        return make_timeline(reply)

    @contextlib.asynccontextmanager
    async def attempt(self) -> AsyncIterator[Trial]:
        """What happens inside is undone at the end, as by Session.attempt().

            async with session.attempt() as trial:
                if (await session.run(code)).ok:
                    trial.keep()
        """
        trial = await self.open_trial()
        try:
            yield trial
        finally:
            await self.close_trial(trial)

    async def open_trial(self) -> Trial:
        """The begin of attempt()."""
        async with self._in_turn():
            reply = await self._begin()
            trial = Trial(str(reply.get("state") or reply["current"]), self._kernel)
        name = f"attempt-{secrets.token_hex(4)}"
        with contextlib.suppress(BadRequest):  # there are as many names as there may be: it stays as long as others do
            trial.image = str((await self._travel("petri_checkpoint_request", {"name": name}))["image"])
            trial.name = name
        return trial

    async def close_trial(self, trial: Trial) -> None:
        """The end of attempt(). Where that kernel was ended on purpose, its state has gone, and nothing is undone."""
        if self._kernel is not trial.kernel:
            return
        try:
            if not trial.kept:
                await self.restore(trial.image)
        finally:
            if trial.name:
                with contextlib.suppress(UnknownImage, SessionError):
                    await self.forget(trial.name)

    async def branch(self, from_: ImageName | None = None) -> AsyncBranch:
        """A branch that begins in the present state, or in another one, as Session.branch() makes one."""
        kernel, image = await self._origin(from_)
        return AsyncBranch(self, kernel, image)

    async def best_of(
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
        """Runs several pieces of code at once, each from the same state, as Session.best_of() does.

        key is an ordinary function. Where best_of() is cancelled, its runs are interrupted, and CancelledError is raised
        once they have ended.
        """
        check_key(key)
        asked = Request(files, stdin, env, timeout, memory, limits, task, expect=expect, inline_bytes=inline_bytes)
        kernel, results = await self.run_branches(codes, asked, from_)
        found = best_of(results, key)
        if keep and found.best is not None:
            with keeping(found):
                await self.go(kernel, str(found.best.image))
        return found

    async def run_branches(
        self, codes: Sequence[str], asked: Request, from_: ImageName | None
    ) -> tuple[Kernel, list[Result]]:
        """The runs of best_of(), and the kernel that has what they have left."""
        codes = check_codes(codes)
        asked.metadata()  # raises before anything is started
        kernel, image = await self._origin(from_)
        metadata = dataclasses.replace(asked, from_=image, branch=True).metadata()
        await self._started(kernel)
        runs = [self._send(kernel, code, metadata) for code in codes]
        await self._attend_all(runs)
        return kernel, [run.result() for run in runs]

    async def _attend_all(self, runs: Sequence[Run]) -> None:
        """Waits for the ends of all; gives up all where one raises something."""
        tasks = [asyncio.create_task(self._attend(run, None)) for run in runs]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        for task in tasks:
            if not task.cancelled():
                task.result()

    async def _origin(self, from_: ImageName | None) -> tuple[Kernel, str]:
        """The id of an image, the present one where none is named, and the kernel that has it. Raises UnknownImage."""
        named = image_text("from_", from_) if from_ is not None else None
        while True:
            kernel = await self._started()
            timeline = await self.timeline()
            if kernel is self._kernel:
                return kernel, (timeline.current if named is None else find_image(timeline, named)).image

    async def go(self, kernel: Kernel, image: str) -> Restored:
        """restore() for an image of that kernel. Raises KernelDied where the session has another one by now."""
        return row_of(Restored, await self._travel("petri_restore_request", {"to": image}, kernel))

    async def _travel(self, msg_type: str, content: dict[str, Any], meant: Kernel | None = None) -> Mapping[str, Any]:
        """The answer to what changes the session's state or names. Raises UnknownImage, BadRequest, SessionError."""
        async with self._in_turn():
            asked = (await self._started(meant)).ask(msg_type, content)
            self._last = asked
            return answered(await asked.reply())

    async def _ask_timeline(self) -> Mapping[str, Any]:
        return answered(await (await self._started()).ask("petri_timeline_request", {}).reply())

    async def _begin(self) -> Mapping[str, Any]:
        """What the kernel says of the timeline. Raises SessionError where it has no session."""
        reply = await self._ask_timeline()
        if reply.get("current") is None:
            raise SessionError("the kernel has no session; a run says why")
        return reply

    async def interrupt(self) -> None:
        """Interrupts every run that was sent, as Ctrl-C does; its run() returns with the outcome "interrupted".

        That is what runs now; and a fresh run that has not begun, as soon as it does.
        """
        for run in self._runs:
            if not run.begun:
                run.interrupt_once_begun()
        if self._kernel is not None and any(run.begun for run in self._runs):
            await self._kernel.interrupt()

    async def restart(self) -> None:
        """Ends the kernel, with all its state, and starts another one. Every run on its way raises KernelDied.

        So do runs that wait for their turn, which may need that state. A run that is asked for from now on waits.
        """
        self._check_not_attending()
        self._restarts += 1
        async with self._change:
            await self._stop_kernel()
            await self._start_kernel()

    async def close(self) -> None:
        """Ends the kernel. Every run on its way raises KernelDied. A second close does nothing."""
        self._check_not_attending()
        self._closed = True
        async with self._change:
            await self._stop_kernel()

    def _check_not_attending(self) -> None:
        if asyncio.current_task() in self._attending:
            raise inside_error()

    async def _stop_kernel(self) -> None:
        if self._kernel is None:
            return
        if self._runs:
            await self._kernel.kill()
        if self._runs:  # still: some may have ended by themselves
            await asyncio.wait({run.ended for run in self._runs})
        self._last = None
        kernel, self._kernel = self._kernel, None
        await kernel.close()

    async def __aenter__(self) -> AsyncSession:
        return await self.start()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
