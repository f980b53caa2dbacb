"""
The event loop that cells await on.

There is one loop, it is part of the session's state, and it runs only while a
cell does. Code may count on a running loop, as in other kernels: once asyncio
is loaded every cell runs inside it, so create_task() works in a cell without
an await. After the cell's own code the loop goes on until it has nothing left
that is ready, for DRAIN_S at most: a new task gets as far as its first wait.
What then still waits goes on during later cells.

asyncio itself costs as much to load as a tenth of our start, so it is loaded
by the first cell that names it or awaits.
"""

import sys
from time import monotonic

from IPython.core.interactiveshell import _pseudo_sync_runner

DRAIN_S = 0.050


class CellLoop:
    """Runs the coroutine of a cell, inside the loop where one is wanted."""

    def __init__(self, shell):
        self._shell = shell
        self._loop = None

    def run(self, code, transformed, coroutine):
        """
        code: the cell as written; transformed: as Python; coroutine: runs it.
        Returns the coroutine's result. KeyboardInterrupt where one came that
        the cell's own code did not get.
        """
        if not self._wanted(code, transformed):
            return _pseudo_sync_runner(coroutine)
        return self._in_loop(coroutine)

    def _wanted(self, code, transformed):
        shell = self._shell
        return (
            "asyncio" in sys.modules
            or "asyncio" in code
            or shell.should_run_async(code, transformed_cell=transformed, preprocessing_exc_tuple=None)
        )

    def _in_loop(self, coroutine):
        import asyncio

        if self._loop is None or self._loop.is_closed():
            self._loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self._loop)
        task = self._loop.create_task(coroutine)
        try:
            self._until_done(task)
        finally:
            self._loop.run_until_complete(self._drain())
        return task.result()

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
