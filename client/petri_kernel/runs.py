"""Run: one execute_request on its way, from its sending to its end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from petri_kernel.collect import Collector, Progress
from petri_kernel.errors import SessionError
from petri_kernel.kernel import POLL_S, Kernel
from petri_kernel.result import Result, make_result
from petri_kernel.router import Channel

# The idle status is sent with the reply; a kernel that has not sent it for this long has lost it.
IDLE_S = 60.0


class Run:
    """One request on its way. What is said of it is taken up to its end, whatever becomes of who waits for it.

    tells: whether progress() is going to be listened to.
    ended: done once the reply and the idle status are there, or with the error for which they don't come.
    """

    def __init__(self, kernel: Kernel, collector: Collector, tells: bool) -> None:
        self.collector = collector
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        # Who gave up waiting does not ask what became of it either.
        self.ended.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
        self._kernel = kernel
        # Of the kernel as it is now: once closed, it holds no folder any more.
        self._folder, self._temporary = kernel.folder, kernel.temporary
        self._request = ""
        self._reply: dict[str, Any] | None = None
        self._progress: asyncio.Queue[Progress | None] | None = asyncio.Queue() if tells else None
        self._patience: asyncio.TimerHandle | None = None
        self._interrupt_wanted = False
        self._interrupting: asyncio.Task[None] | None = None

    def start(self, content: dict[str, Any], metadata: dict[str, Any]) -> None:
        """Sends the request."""
        self._request = self._kernel.send("execute_request", content, metadata)
        self._kernel.router.add(self._request, self)

    @property
    def begun(self) -> bool:
        """Whether the kernel has begun with it."""
        return self.collector.busy

    @property
    def _runs(self) -> bool:
        return self.begun and not self.collector.idle

    async def interrupt(self) -> None:
        """Now, or as soon as the kernel has begun with it: an interrupt that comes before its run is lost."""
        if self._runs:
            await self._kernel.interrupt(self._request)
        else:
            self.interrupt_once_begun()

    def interrupt_once_begun(self) -> None:
        """Leaves word to interrupt it as soon as the kernel has begun with it."""
        self._interrupt_wanted = True

    async def give_up(self, wait: bool = True) -> None:
        """Interrupts it, as nobody waits for it any more, and waits for its end.

        One that waits for its turn in the kernel is aborted there. wait: whether to wait for that too; where not, it may
        yet begin, and is interrupted then.
        """
        await self.interrupt()
        while not self.begun and not self.ended.done():
            await self._kernel.interrupt(self._request)
            if not wait:
                return
            # Again, as its request, on another channel, may come to the kernel after this one.
            await asyncio.wait({self.ended}, timeout=POLL_S)
        await asyncio.wait({self.ended})
        await self._interrupted()

    async def end(self) -> None:
        """Waits for its end. Raises KernelDied, SessionError."""
        await asyncio.shield(self.ended)
        await self._interrupted()

    async def _interrupted(self) -> None:
        """Until the kernel has heard the interrupt, which may hit the next run otherwise."""
        if self._interrupting is not None:
            await asyncio.wait({self._interrupting})

    async def progress(self) -> AsyncIterator[Progress]:
        """What is put out, as it comes, up to the end."""
        while self._progress is not None:
            progress = await self._progress.get()
            if progress is None:
                break
            yield progress

    def take(self, channel: Channel, message: dict[str, Any]) -> None:
        """One message about it, of the shell or the iopub channel."""
        if self.ended.done():
            return
        if channel == "shell":
            self._reply = message
        elif channel == "iopub":
            self._take_output(message)
        self._stop_waiting_for_idle()
        if self._reply is not None:
            if self.collector.idle:
                self._finish(None)
            else:
                self._wait_for_idle(0.0)

    def _take_output(self, message: dict[str, Any]) -> None:
        progress = self.collector.take(message)
        if progress is not None and self._progress is not None:
            self._progress.put_nowait(progress)
        if self._interrupt_wanted and self._runs:
            self._interrupt_wanted = False
            # A task, as the messages of other runs have to be read meanwhile.
            self._interrupting = asyncio.create_task(self._kernel.interrupt(self._request))
            self._interrupting.add_done_callback(self._fail_with_interrupt)

    def _fail_with_interrupt(self, interrupting: asyncio.Task[None]) -> None:
        error = None if interrupting.cancelled() else interrupting.exception()
        if isinstance(error, Exception):
            self.fail(error)

    def _wait_for_idle(self, silence_s: float) -> None:
        """Each wait counts as POLL_S, however long it was: a loop that was busy has not read in that time."""
        if silence_s >= IDLE_S:
            self.fail(SessionError("the kernel has replied and not said that it is idle"))
        else:
            loop = asyncio.get_running_loop()
            self._patience = loop.call_later(POLL_S, self._wait_for_idle, silence_s + POLL_S)

    def _stop_waiting_for_idle(self) -> None:
        if self._patience is not None:
            self._patience.cancel()

    def fail(self, error: Exception) -> None:
        """Ends it, with an error. Does nothing where it has ended."""
        if not self.ended.done():
            self._finish(error)

    def _finish(self, error: Exception | None) -> None:
        self._stop_waiting_for_idle()
        if self._progress is not None:
            self._progress.put_nowait(None)
        if error is not None:
            self.ended.set_exception(error)
        else:
            self.ended.set_result(None)

    def result(self) -> Result:
        """What came of it, once it has ended. Raises SessionError where the reply has no run report."""
        return make_result(self._report(), self.collector.output(), self._folder, self._temporary)

    def _report(self) -> dict[str, Any]:
        reply = self._reply or {"metadata": {}, "content": {}}
        report = reply["metadata"].get("petri")
        if not isinstance(report, dict) or "outcome" not in report:
            content = reply["content"]
            if content.get("ename") == "CellRefused":  # there was no room for it to wait in, so there is no run
                raise SessionError(str(content.get("evalue")))
            raise SessionError(f"the reply ({content.get('status')}) has no run report; is the kernel really petri?")
        return report
