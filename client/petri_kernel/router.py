"""Router: reads the channels of a kernel in one place, for all requests that are on their way."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Awaitable, Callable
from typing import Any, Literal, Protocol, Union

Channel = Literal["shell", "iopub", "control"]
CHANNELS: tuple[Channel, ...] = ("shell", "iopub", "control")

# The next message of a channel, or None where there is none for a while.
Receive = Callable[[Channel], Awaitable[Union[dict[str, Any], None]]]


class Listener(Protocol):
    """Who has sent a request; it is listened to until `ended` is done."""

    ended: asyncio.Future[None]

    def take(self, channel: Channel, message: dict[str, Any]) -> None:
        """Takes one message about its request. What it raises ends it alone."""

    def fail(self, error: Exception) -> None:
        """Ends it, with an error. Does nothing where it has ended."""


class Router:
    """Gives each message to the listener whose request it is about, in its order, and throws the others away.

    There is one reading task a channel as long as there are listeners, and none otherwise. What receive() raises ends
    every listener.
    """

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._listeners: dict[str, Listener] = {}
        self._readers: list[asyncio.Task[None]] = []
        # Those that were told to stop, too, until they have.
        self._tasks: set[asyncio.Task[None]] = set()

    def add(self, request: str, listener: Listener) -> None:
        """Listens until listener.ended is done. For who has just sent the request, with no await in between."""
        self._listeners[request] = listener
        listener.ended.add_done_callback(lambda _: self._forget(request))
        if not self._readers:
            self._readers = [asyncio.create_task(self._read(channel)) for channel in CHANNELS]
            self._tasks.update(self._readers)
            for reader in self._readers:
                reader.add_done_callback(self._tasks.discard)

    async def stopped(self) -> None:
        """Waits until nothing reads. For when every listener has ended."""
        if self._tasks:
            await asyncio.wait(self._tasks)

    def _forget(self, request: str) -> None:
        self._listeners.pop(request, None)
        if not self._listeners:
            self._stop()

    def _stop(self) -> None:
        for reader in self._readers:
            reader.cancel()
        self._readers = []

    async def _read(self, channel: Channel) -> None:
        try:
            while True:
                message = await self._receive(channel)
                if message is not None:
                    self._give(channel, message)
        except Exception as error:
            self.fail(error)

    def _give(self, channel: Channel, message: dict[str, Any]) -> None:
        listener = self._listeners.get(message["parent_header"].get("msg_id", ""))
        if listener is None:
            return
        try:
            listener.take(channel, message)
        except Exception as error:
            listener.fail(error)

    def fail(self, error: Exception) -> None:
        """Ends every listener, with an error."""
        # First of all: a listener that comes next has readers of its own.
        listeners, self._listeners = self._listeners, {}
        self._stop()
        for listener in listeners.values():
            own = copy.copy(error)  # as each is raised in another task, which adds to its traceback
            own.__cause__ = error
            listener.fail(own)
