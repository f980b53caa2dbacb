"""
The cell that output belongs to.

An asyncio task that a cell has started may go on during later cells. What it
prints or displays belongs to the cell that started it: tasks copy the context
that they are made in, so a context variable finds theirs. A thread has no such
context. Its output belongs to whichever cell is running, as in ipykernel: it
may be a pool's, which works for later cells than the one that began it, and
clients that execute notebooks drop what comes for a cell that has ended. Code
in a thread can name another cell (`set_parent`, `set_thread_parent` of the shell).
"""

from contextvars import ContextVar

_cell = ContextVar("petri_cell", default=None)
_KEY = "petri_cell"  # of a parent, the request as libraries see it


class Origin:
    """`running` is the number of the request that is being served, None outside of execute requests."""

    def __init__(self):
        self.running = None
        # The calling task's, or what its thread has named; None in other threads.
        self.named = _cell.get

    def begin(self, cell):
        """The main thread's output belongs to `cell` from now on."""
        self.running = cell
        _cell.set(cell)

    def earlier(self):
        """The number of the cell that the calling task or thread belongs to; None where that is the running one."""
        cell = _cell.get()
        return None if cell == self.running else cell

    def parent(self, header):
        """The running request as libraries see it, with its Jupyter header."""
        return {"header": header, _KEY: self.running}

    def name(self, parent):
        """
        From now on the calling thread's or task's output belongs to the request `parent`, which parent() has
        returned; to the running cell where it is none of these. Returns what forget() takes.
        """
        return _cell.set(parent.get(_KEY) if isinstance(parent, dict) else None)

    def forget(self, token):
        """Undoes name() of the same thread or task."""
        _cell.reset(token)
