"""ControlRequest: one request on the control channel, from its sending to its reply."""

from __future__ import annotations

import asyncio
from typing import Any

from petri_kernel.errors import SessionError
from petri_kernel.router import Channel

# The reply is sent before the idle status; a kernel that is idle and has not sent it for this long will not.
REPLY_S = 10.0


class ControlRequest:
    """One request on its way, which the kernel answers beside its runs.

    ended: done once the reply is there, or with the error for which it doesn't come.
    """

    def __init__(self, msg_type: str) -> None:
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        # Who gave up waiting does not ask what became of it either.
        self.ended.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
        self._msg_type = msg_type
        self._content: dict[str, Any] = {}
        self._patience: asyncio.TimerHandle | None = None

    async def reply(self) -> dict[str, Any]:
        """The reply's content, once it is there. Raises KernelDied, SessionError."""
        await asyncio.shield(self.ended)
        return self._content

    def take(self, channel: Channel, message: dict[str, Any]) -> None:
        """One message about it, of any channel."""
        if self.ended.done():
            return
        if channel == "control":
            self._content = dict(message["content"])
            self._finish(None)
        elif message["content"].get("execution_state") == "idle" and self._patience is None:
            silent = SessionError(f"the kernel does not answer {self._msg_type}; is it an older petri?")
            self._patience = asyncio.get_running_loop().call_later(REPLY_S, self.fail, silent)

    def fail(self, error: Exception) -> None:
        """Ends it, with an error. Does nothing where it has ended."""
        if not self.ended.done():
            self._finish(error)

    def _finish(self, error: Exception | None) -> None:
        if self._patience is not None:
            self._patience.cancel()
        if error is not None:
            self.ended.set_exception(error)
        else:
            self.ended.set_result(None)
