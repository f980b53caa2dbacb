"""
Interrupts: SIGINT becomes KeyboardInterrupt in the user's code, and nowhere else.

While a frame is on its way nothing may raise, or half a frame would stay on
the wire. `with signals.held:` keeps signals away from the main thread, and
the handler notes a SIGINT that comes all the same (another thread of the
process can receive it; Python then runs the handler in the main thread).

See: Jupyter messaging, "Kernel interrupt".
"""

import _thread
import signal

# The kernel process asks for the Python stack with this one: it must get through at any time.
TRACE = signal.SIGRTMAX - 1

# CPython looks for signals between its instructions and when a system call is interrupted. One that
# comes just before a call that blocks is seen only after that call: for time.sleep(1000), too late.
# So the kernel process lets a signal that does nothing follow a SIGINT that seems to have no effect.
NUDGE = signal.SIGRTMAX - 2

_HELD = signal.valid_signals() - {TRACE}


class Signals:
    """The main thread's signals: `serving` is true from a request's first byte to its reply."""

    def __init__(self):
        self.serving = False
        self.held = self
        self._main = _thread.get_ident()
        self._depth = 0
        self._pending = False
        self._open = signal.pthread_sigmask(signal.SIG_BLOCK, ())
        signal.signal(signal.SIGINT, self._interrupt)
        signal.signal(NUDGE, lambda signum, frame: None)

    def begin(self):
        """A request starts: whatever the last one did to the handler, the mask and us is undone."""
        self._depth = 0
        self._pending = False
        signal.pthread_sigmask(signal.SIG_SETMASK, self._open)
        signal.signal(signal.SIGINT, self._interrupt)
        self.serving = True

    def end(self):
        """The request is over: a SIGINT that comes late is ignored."""
        self.serving = False

    def _interrupt(self, signum, frame):
        if not self.serving:
            return
        if self._depth:
            self._pending = True
        else:
            raise KeyboardInterrupt

    def __enter__(self):
        # Python runs handlers in the main thread only; the others need no care.
        if _thread.get_ident() != self._main:
            return
        if not self._depth:
            try:
                signal.pthread_sigmask(signal.SIG_BLOCK, _HELD)
            except BaseException:
                # What came before the mask was in force has its handler run in there, and that may raise.
                signal.pthread_sigmask(signal.SIG_SETMASK, self._open)
                raise
        self._depth += 1

    def __exit__(self, *exc):
        if _thread.get_ident() != self._main:
            return
        try:
            if self._depth == 1:
                signal.pthread_sigmask(signal.SIG_SETMASK, self._open)
        finally:
            # The handlers that were kept waiting run in there, and the user's may raise.
            self._depth -= 1
        if self._pending and not self._depth:
            self._pending = False
            raise KeyboardInterrupt


def install_trace(fd):
    """SIGRTMAX-1 makes the main thread write its Python stack to `fd`, whatever it is doing."""
    import faulthandler

    faulthandler.register(TRACE, file=fd, all_threads=False, chain=False)
