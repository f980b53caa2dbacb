"""
The cell that output belongs to.

A thread or an asyncio task that a cell has started may go on during later
cells. What it prints or displays belongs to the cell that started it. Tasks
copy the context that they are made in, so a context variable finds theirs;
threads are given the number when they are started.
"""

import threading
from contextvars import ContextVar

_cell = ContextVar("petri_cell", default=None)
_start = threading.Thread.start


class Origin:
    """`running` is the number of the request that is being served, None outside of execute requests."""

    def __init__(self):
        self.running = None
        # Where to look first: equal to `running` for everything the running cell does itself.
        self.fast = _cell.get

    def begin(self, cell):
        """The main thread's output belongs to `cell` from now on."""
        self.running = cell
        _cell.set(cell)

    def cell(self):
        """The cell that the calling thread or task belongs to: `running` where nothing else is known."""
        cell = _cell.get()
        if cell is None:
            cell = getattr(threading.current_thread(), "_petri_cell", None)
            if cell is None:
                return self.running
            _cell.set(cell)
        return cell

    def install(self):
        """Gives threads their cell's number from now on."""
        origin = self

        def start(self):
            self._petri_cell = origin.cell()
            _start(self)

        start.__doc__ = _start.__doc__
        threading.Thread.start = start
