"""
os.wait() and its kin, in a form that an interrupt takes no status from.

A cell's interrupt reaches its children too. Where one of them dies of it before
the worker has noticed its own, os.waitpid() takes the dead child's status, and
Python raises KeyboardInterrupt just as it returns: nobody has the status, and
the next call finds no child (of which subprocess makes the return code 0, and
multiprocessing none). So the part that waits leaves the status where it is, and
the part that takes it waits for nothing and lets no handler run; what a handler
then raises comes with the status kept for the next call. A handler may also
raise when the status is given back and before it is put anywhere: so the one
that was given last is kept, too, for whoever asks for that child once more.

See: wait(2), waitid(2), "WNOWAIT".
"""

import functools
import os

_wait4, _waitid = os.wait4, os.waitid

_NOBODY = (0, 0, None)


class Waits:
    """signals: keeps signal handlers waiting while a status is taken, and says when one has raised."""

    def __init__(self, signals):
        self._signals, self._held = signals, signals.held
        signals.raised = self._handler_raised
        self._kept = {}  # what os.wait4() has returned, by pid
        # The same of the last call, and of the last one before a handler raised.
        self._given = self._given_before = _NOBODY
        os.register_at_fork(after_in_child=self._forget)

    def _forget(self):
        self._kept.clear()
        self._given = self._given_before = _NOBODY

    def _handler_raised(self):
        self._given_before = self._given

    def install(self):
        """Puts the functions in their places in os. Before subprocess is loaded, which keeps os.waitpid."""
        os.wait = _as(os.wait, lambda: self._reap(-1, 0)[:2])
        os.wait3 = _as(os.wait3, lambda options: self._reap(-1, options))
        os.wait4 = _as(os.wait4, lambda pid, options: self._reap(pid, options))
        os.waitpid = _as(os.waitpid, lambda pid, options, /: self._reap(pid, options)[:2])

    def _reap(self, pid, options):
        """As os.wait4()."""
        found = _NOBODY
        while True:
            if not options & os.WNOHANG:
                self._wait_for(pid, options)
            try:
                with self._held:
                    found = self._take(pid, options | os.WNOHANG)
                if _has_ended(found) and self._signals.is_main():
                    self._given = found
                if found[0] or options & os.WNOHANG:
                    return found
            except BaseException:
                if _has_ended(found):
                    self._kept[found[0]] = found
                raise

    def _wait_for(self, pid, options):
        """Returns once there is something to take; a handler may raise at any moment of it."""
        if pid == -1 and self._kept:
            return
        kind, number = (os.P_ALL, 0) if pid == -1 else (os.P_PID, pid) if pid > 0 else (os.P_PGID, -pid or os.getpgrp())
        try:
            _waitid(kind, number, options | os.WEXITED | os.WNOWAIT)
        except ChildProcessError:
            pass  # os.wait4() says so, where no status was kept either

    def _take(self, pid, options):
        if pid == -1 and self._kept:
            return self._kept.popitem()[1]
        try:
            found = _wait4(pid, options)
        except ChildProcessError:
            if pid in self._kept:
                return self._kept.pop(pid)
            if pid <= 0 or pid != self._given_before[0]:
                raise
            found, self._given_before = self._given_before, _NOBODY
            return found
        self._kept.pop(found[0], None)  # of an earlier child with this pid
        if found[0] == self._given_before[0]:
            self._given_before = _NOBODY
        return found


def _has_ended(found):
    return found[0] and not (os.WIFSTOPPED(found[1]) or os.WIFCONTINUED(found[1]))


def _as(original, function):
    """The function, as the one that it is to replace shows itself."""
    functools.update_wrapper(function, original).__module__ = "os"  # where pickle finds it
    return function
