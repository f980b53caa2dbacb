"""
The event loop that cells await on.

There is one loop, it is part of the session's state, and it runs only while a
cell does, or what handles a comm's message. Code may count on a running loop,
as in other kernels: once asyncio is loaded all of these run inside it, so
create_task() works in a cell without an await. After the cell's own code the
loop goes on until it has nothing left that is ready, for DRAIN_S at most: a new
task gets as far as its first wait. Tasks that still wait go on during later cells.

asyncio itself costs as much to load as a tenth of our start, so it is loaded
by the first cell that names it or awaits.

Context variables go on from cell to cell (with them decimal's context and
numpy's errstate): all code of the user's runs in one context, the session's.
Tasks that the code itself makes have a copy, as everywhere.
"""

import sys
from contextvars import copy_context
from time import monotonic

from IPython.core.interactiveshell import _pseudo_sync_runner

DRAIN_S = 0.050


class CellLoop:
    """Runs the user's code: in the session's context, and inside the loop where one is wanted."""

    def __init__(self, shell):
        self._shell = shell
        self._loop = None
        self._context = copy_context()

    def call(self, function, *arguments):
        """Calls function(*arguments) in the session's context, outside of the loop."""
        return self._context.run(function, *arguments)

    def run_cell(self, code, transformed, coroutine):
        """
        code: the cell as written; transformed: as Python; coroutine: runs it.
        Returns the coroutine's result. KeyboardInterrupt where one came that
        the cell's own code did not get.
        """
        return self.run(coroutine, self._names_or_awaits(code, transformed))

    def run(self, coroutine, wanted=False):
        """The same for a coroutine; wanted: it needs a running loop even if asyncio is not loaded yet."""
        if wanted or "asyncio" in sys.modules:
            return self._in_loop(coroutine)
        return self.call(_pseudo_sync_runner, coroutine)

    def _names_or_awaits(self, code, transformed):
        should_run_async = self._shell.should_run_async
        return "asyncio" in code or should_run_async(code, transformed_cell=transformed, preprocessing_exc_tuple=None)

    def _in_loop(self, coroutine):
        import asyncio

        if self._loop is None or self._loop.is_closed():
            self._loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self._loop)
        task = self._task(coroutine)
        try:
            self._until_done(task)
        finally:
            self._loop.run_until_complete(self._drain())
        return task.result()

    def _task(self, coroutine):
        """A task whose context is the session's own."""
        if sys.version_info >= (3, 11):
            return self._loop.create_task(coroutine, context=self._context)
        return self.call(self._loop.create_task, self._keeping(coroutine))

    async def _keeping(self, coroutine):
        # Before 3.11 every task has a copy: the one that the cell leaves becomes the session's.
        try:
            return await coroutine
        finally:
            self._context = copy_context()

    def _until_done(self, task):
        # An interrupt that comes while the loop waits for something is raised inside the loop,
        # not in the cell. Cancelling the cell's task carries it to the await that it is at.
        while not task.done():
            try:
                self._loop.run_until_complete(task)
            except KeyboardInterrupt:
                if task.done():
                    raise
                self._shell.interrupted = True
                task.cancel()

    async def _drain(self):
        import asyncio

        end = monotonic() + DRAIN_S
        await asyncio.sleep(0)
        while getattr(self._loop, "_ready", None) and monotonic() < end:
            await asyncio.sleep(0)
