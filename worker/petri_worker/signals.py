"""
Interrupts: SIGINT becomes KeyboardInterrupt in the user's code only.

While a frame is on its way nothing may raise, or half a frame would stay on
the wire. So every handler, ours for SIGINT and those that the user's code
installs (an alarm that raises is a common time-out), waits while the main
thread is inside `with signals.held`. A blocked signal mask would not do:
another thread of the process can receive the signal, and Python then runs the
handler in the main thread all the same.

The same goes for our own code around the user's: a handler runs only where the
interrupted frame is below `Signals.call`, so what it raises ends there. What
comes earlier waits for that call, or where there is a cell's code for its first
statement: IPython's preparations would swallow it. What comes later ends with
its request.

See: Jupyter messaging, "Kernel interrupt".
"""

import _signal
import _thread
import functools
import os
import signal
import sys

# The kernel process asks for the Python stack with this one.
TRACE = signal.SIGRTMAX - 1

# CPython looks for signals between its instructions and when a system call is interrupted. One that
# comes just before a call that blocks is seen only after that call: for time.sleep(1000), too late.
# So the kernel process lets this one follow a SIGINT, again and again until the request is over.
NUDGE = signal.SIGRTMAX - 2


class Signals:
    """The main thread's signals."""

    def __init__(self):
        self.held = self
        self._ready = self._heard = False
        self._main = _thread.get_ident()
        self._is_ours = True
        os.register_at_fork(after_in_child=self._forked)
        self._depth = 0
        self._waiting = []
        self.raised = lambda: None  # called when a handler has raised
        self._set, self._get = _signal.signal, signal.getsignal  # begin() is a part of each request
        self._interrupt = self._deferring(signal.default_int_handler)
        self._set(signal.SIGINT, self._interrupt)
        self._set(NUDGE, self._remind)

    def install(self):
        """Handlers that are installed from now on wait for frames; getsignal() shows them as they were given."""
        real_set, real_get = signal.signal, signal.getsignal

        @functools.wraps(real_set)
        def set_handler(signalnum, handler):
            if callable(handler) and not isinstance(handler, signal.Handlers):
                handler = self._deferring(handler)
            return _given(real_set(signalnum, handler))

        @functools.wraps(real_get)
        def get_handler(signalnum):
            return _given(real_get(signalnum))

        signal.signal, signal.getsignal = set_handler, get_handler

    def begin(self):
        """A request starts: what the last one has done to SIGINT and to this object is undone."""
        self._ready = self._heard = False
        self._depth = 0
        self._waiting.clear()
        self._set(signal.SIGINT, self._interrupt)

    def call(self, function, *arguments, has_code):
        """
        Calls a function in which handlers may raise, from its first instruction
        or, where it has a cell's code, from code_begins() to its last.
        """
        self._ready = not has_code
        self._run_waiting(sys._getframe())
        return function(*arguments)

    def code_begins(self):
        """A statement of the cell begins: what has waited for the first one raises here."""
        self._ready = True
        self._run_waiting(sys._getframe(1))

    def _remind(self, signum, frame):
        """The kernel process has interrupted this request: a SIGINT that came before it had begun had no effect."""
        raises = _given(self._get(signal.SIGINT)) is signal.default_int_handler
        if raises and not self._heard and signal.SIGINT not in signal.sigpending():
            self._interrupt(signal.SIGINT, frame)

    def _may_run(self, frame):
        """Whether a handler may run now, in `frame` of the main thread."""
        if self._depth or not self._ready:
            return False
        if not self._is_ours:
            return True
        while frame is not None and frame.f_code is not Signals.call.__code__:
            frame = frame.f_back
        return frame is not None

    def _forked(self):
        """A child of another thread's has that one as its main thread, and no code of ours below the user's."""
        if not self.is_main():
            self._main = _thread.get_ident()
            self._is_ours, self._depth = False, 0

    def _run_waiting(self, frame):
        while self._waiting and self._may_run(frame):
            handler, signum = self._waiting.pop(0)
            self._run(handler, signum, frame)

    def _run(self, handler, signum, frame):
        try:
            handler(signum, frame)
        except BaseException:
            self.raised()
            raise

    def _deferring(self, handler):
        def handle(signum, frame):
            self._heard |= signum == signal.SIGINT
            if self._may_run(frame):
                self._run(handler, signum, frame)
            else:
                self._waiting.append((handler, signum))

        handle.given = handler
        return handle

    def is_main(self):
        """Whether the calling thread is the one that handlers run in. The others need no care."""
        return _thread.get_ident() == self._main

    def __enter__(self):
        if self.is_main():
            self._depth += 1

    def __exit__(self, *exc):
        if not self.is_main():
            return
        self._depth -= 1
        self._run_waiting(sys._getframe(1))


def _given(handler):
    return getattr(handler, "given", handler)


def install_trace(fd):
    """
    SIGRTMAX-1 makes the main thread write its Python stack to `fd`, whatever it is doing.

    A thread that crashes (SIGSEGV, SIGABRT and the like) writes its own there, too.
    """
    import faulthandler

    faulthandler.register(TRACE, file=fd, all_threads=False, chain=False)
    python_only = {"c_stack": False} if sys.version_info >= (3, 14) else {}
    faulthandler.enable(file=fd, all_threads=False, **python_only)
