"""AsyncSession: runs code in a petri kernel, on the caller's event loop."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pathlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from types import TracebackType
from typing import Any, Literal, Union

from petri_kernel.collect import KEEP_BYTES, Collector, Progress
from petri_kernel.errors import BadRequest, SessionClosed, SessionError
from petri_kernel.kernel import POLL_S, Config, Kernel, config_profiles, config_text, kernel_argv
from petri_kernel.limits import Duration, LimitValue, Size
from petri_kernel.request import Expect, FileContent, Request, unicode_bytes
from petri_kernel.result import Result, make_result

OnProgress = Callable[[Progress], Union[None, Awaitable[None]]]

# The idle status is sent with the reply; a kernel that has not sent it for this long has lost it.
IDLE_S = 60.0


class _Run:
    """One request on its way. It is read to its end by a task of its own, whatever becomes of who waits for it.

    tells: whether progress() is going to be listened to.
    """

    def __init__(self, kernel: Kernel, collector: Collector, tells: bool) -> None:
        self.kernel = kernel
        self.collector = collector
        self.task: asyncio.Task[None] | None = None
        self._request = ""
        self._reply: dict[str, Any] | None = None
        self._interrupt_wanted = False
        self._progress: asyncio.Queue[Progress | None] | None = asyncio.Queue() if tells else None

    def start(self, content: dict[str, Any], metadata: dict[str, Any]) -> None:
        """Sends the request."""
        self._request = self.kernel.send("execute_request", content, metadata)
        self.task = asyncio.create_task(self._read())
        # Who gave up waiting does not ask what became of it either.
        self.task.add_done_callback(lambda task: task.cancelled() or task.exception())

    async def interrupt(self) -> None:
        """Now, or as soon as the kernel has begun with it: an interrupt that comes before its run is lost."""
        self._interrupt_wanted = True
        await self._interrupt_if_begun()

    async def _interrupt_if_begun(self) -> None:
        if self._interrupt_wanted and self.collector.busy and not self.collector.idle:
            self._interrupt_wanted = False
            await self.kernel.interrupt()

    async def give_up(self) -> None:
        """Interrupts it, as nobody waits for it any more, and waits for its end."""
        await self.interrupt()
        assert self.task is not None
        await asyncio.wait({self.task})

    async def progress(self) -> AsyncIterator[Progress]:
        """What is put out, as it comes, up to the end."""
        while self._progress is not None:
            progress = await self._progress.get()
            if progress is None:
                break
            yield progress

    async def _read(self) -> None:
        """Until the reply and the idle status are there. Raises KernelDied, SessionError."""
        reply = asyncio.create_task(self._wait_for_reply())
        try:
            while not self.collector.idle:
                await self._take(await self._next_message(reply))
            await reply
        finally:
            reply.cancel()
            if self._progress is not None:
                self._progress.put_nowait(None)

    async def _take(self, message: dict[str, Any]) -> None:
        if message["parent_header"].get("msg_id") != self._request:
            return
        progress = self.collector.take(message)
        if progress is not None and self._progress is not None:
            self._progress.put_nowait(progress)
        await self._interrupt_if_begun()

    async def _next_message(self, reply: asyncio.Task[None]) -> dict[str, Any]:
        silence_s = 0.0
        while True:
            message = await self.kernel.receive("iopub")
            if message is not None:
                return message
            if reply.done():
                reply.result()
                silence_s += POLL_S
            if silence_s >= IDLE_S:
                raise SessionError("the kernel has replied and not said that it is idle")

    async def _wait_for_reply(self) -> None:
        while self._reply is None:
            message = await self.kernel.receive("shell")
            if message is not None and message["parent_header"].get("msg_id") == self._request:
                self._reply = message

    def report(self) -> dict[str, Any]:
        """The run report. Raises SessionError where the reply has none."""
        reply = self._reply or {"metadata": {}, "content": {}}
        report = reply["metadata"].get("petri")
        if not isinstance(report, dict) or "outcome" not in report:
            status = reply["content"].get("status")
            raise SessionError(f"the reply ({status}) has no run report; is the kernel really petri?")
        return report


class AsyncSession:
    """A petri kernel whose runs share their state, as the cells of a notebook do; the async twin of Session.

    Its parameters are those of Session. It belongs to the event loop that it was first used on.

        async with AsyncSession() as session:
            result = await session.run("1 + 1")
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
        self._last: _Run | None = None
        self._closed = False
        self._turn = asyncio.Lock()
        self._holder: asyncio.Task[Any] | None = None

    @contextlib.asynccontextmanager
    async def _in_turn(self) -> AsyncIterator[None]:
        """Inside of it nobody else uses the kernel. Raises SessionError where it would be waited for for ever."""
        self._check_not_inside()
        async with self._turn:
            self._holder = asyncio.current_task()
            try:
                yield
            finally:
                self._holder = None

    def _check_not_inside(self) -> None:
        if self._holder is not None and self._holder is asyncio.current_task():
            raise SessionError("on_progress can't wait for the end of its own run; it may interrupt() it, or raise")

    async def start(self) -> AsyncSession:
        """Starts the kernel, where run() would do so; does nothing where it is there. Raises SessionError."""
        async with self._in_turn():
            await self._started()
        return self

    async def _started(self) -> Kernel:
        """The kernel, idle and alive. Only for who has the turn."""
        if self._closed:
            raise SessionClosed("the session is closed")
        if self._last is not None and self._last.task is not None:
            await asyncio.wait({self._last.task})
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
        on_progress: OnProgress | None = None,
    ) -> Result:
        """Runs code as Session.run() does. on_progress may be a coroutine function.

        A cancelled run is interrupted, and CancelledError raised once it has ended; the session goes on. Runs that are
        asked for at once run one after the other.
        """
        asked = Request(files, stdin, env, timeout, memory, limits, task, fresh, expect, inline_bytes, cache)
        return await self.run_request(code, asked, on_progress)

    async def run_request(self, code: str, asked: Request, on_progress: OnProgress | None = None) -> Result:
        """run() with what it asks for in one object."""
        if not isinstance(code, str):
            raise TypeError(f"code has to be a str, not {type(code).__name__}")
        unicode_bytes("code", code)
        metadata = asked.metadata()
        async with self._in_turn():
            kernel = await self._started()
            run = self._last = _Run(kernel, Collector(self._keep_bytes), on_progress is not None)
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
            try:
                await self._attend(run, on_progress)
            except BaseException:
                await run.give_up()
                raise
            return make_result(run.report(), run.collector.output(), kernel.folder, kernel.temporary)

    async def _attend(self, run: _Run, on_progress: OnProgress | None) -> None:
        async for progress in run.progress():
            told = on_progress(progress) if on_progress is not None else None
            if told is not None:
                await told
        assert run.task is not None
        await asyncio.shield(run.task)

    async def interrupt(self) -> None:
        """Interrupts what runs, as Ctrl-C does; its run() returns with the outcome "interrupted"."""
        if self._last is not None and not self._last.collector.idle:
            await self._last.interrupt()

    async def restart(self) -> None:
        """Ends the kernel, with all its state, and starts another one. A run on its way raises KernelDied."""
        self._check_not_inside()
        await self._stop()
        async with self._in_turn():
            await self._started()

    async def close(self) -> None:
        """Ends the kernel. A run on its way raises KernelDied. A second close does nothing."""
        self._check_not_inside()
        self._closed = True
        await self._stop()

    async def _stop(self) -> None:
        if self._kernel is not None and self._last is not None and not self._last.collector.idle:
            await self._kernel.kill()
        async with self._in_turn():
            kernel, self._kernel = self._kernel, None
            if self._last is not None and self._last.task is not None:
                await asyncio.wait({self._last.task})
            self._last = None
            if kernel is not None:
                await kernel.close()

    async def __aenter__(self) -> AsyncSession:
        return await self.start()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
