"""
sys.stdout and sys.stderr on descriptors 1 and 2.

Three things are wanted at once. What was printed is on the descriptor before
the next statement runs, so that a crash or a time-out loses none of it. A
flood is cheap. And the order of stdout, stderr, rich output and the output of
children is the order in which it was made.

So every write goes out at once, until there have been more than BURST of them
within WINDOW_S; then writes are gathered for GATHER_S at most. Only what such
a flood leaves behind needs somebody else to flush it: a thread that starts
with the flood and is gone before the request's end (between cells there must
be no thread of ours: each one costs every cell that follows).

Order: a stream that takes turns with the other one first makes the kernel
process read both pipes empty (`sync`). Children are let go only after a flush.
"""

import io
import os
import sys
import threading
from time import monotonic

WINDOW_S = 0.010
BURST = 200
GATHER_S = 0.001
LATEST_S = 0.020

_EVENTS = frozenset(
    ("subprocess.Popen", "os.system", "os.posix_spawn", "os.spawn", "os.exec", "os.fork", "os.forkpty", "pty.spawn")
)

_text_write = io.TextIOWrapper.write
_text_flush = io.TextIOWrapper.flush

# Somebody else may have written last: the next writer does not know what is in which pipe.
_UNKNOWN = object()


class Stream(io.TextIOWrapper):
    """A text stream on a descriptor number; `pair` is the Streams that it belongs to."""

    def __init__(self, fd, name, pair):
        raw = io.FileIO(fd, "wb", closefd=False)
        raw.name = f"<{name}>"
        super().__init__(io.BufferedWriter(raw, 1 << 16), encoding="utf-8", errors="backslashreplace", newline="\n")
        self.mode = "w"
        self.kind = name
        self._pair = pair
        self._lock = pair.lock
        self._cell = pair.origin.fast
        self._origin = pair.origin
        self._window = self._gather = 0.0
        self._left = 0

    def write(self, text):
        """As TextIOWrapper.write; what it does with the flush is told at the module's head."""
        with self._lock:
            if self._cell() != self._origin.running and self._pair.elsewhere(self, text):
                return len(text)
            if self._pair.last is not self:
                self._pair.turn(self)
            count = _text_write(self, text)
            now = monotonic()
            if now > self._window:
                self._window = now + WINDOW_S
                self._left = BURST
            if self._left:
                self._left -= 1
                _text_flush(self)
            elif now > self._gather:
                self._gather = now + GATHER_S
                _text_flush(self)
            elif not self._pair.gathering:
                self._pair.gather()
            return count

    def flush(self):
        """As TextIOWrapper.flush."""
        with self._lock:
            _text_flush(self)

    def close(self):
        """Flushes only: closing sys.stdout in a cell must not silence all the cells that follow."""
        if not self.closed:
            self.flush()

    def isatty(self):
        """False: no terminal."""
        return False


class Streams:
    """
    Both streams, and what they have in common.

    channel: for `sync`. publish(msg_type, content, parent=): for the output of
    threads of earlier cells. origin: whose output it is.
    """

    def __init__(self, channel, origin, publish):
        self.lock = threading.RLock()
        self.origin = origin
        self.last = None
        self.gathering = False
        self._channel = channel
        self._publish = publish
        self._late = {}
        self._flusher = None
        self.stdout = Stream(1, "stdout", self)
        self.stderr = Stream(2, "stderr", self)

    def install(self):
        """Puts the streams in Python's place, and the hooks that flush before a child starts."""
        sys.stdout.flush()
        sys.stderr.flush()
        sys.stdout = sys.__stdout__ = self.stdout
        sys.stderr = sys.__stderr__ = self.stderr
        sys.addaudithook(self._audit)
        os.register_at_fork(
            before=self._before_fork, after_in_parent=self.lock.release, after_in_child=self._after_in_child
        )

    def begin(self):
        """A request starts: nothing is in the pipes."""
        self.last = None

    def flush(self):
        """Everything written so far is on the descriptors."""
        with self.lock:
            _text_flush(self.stdout)
            _text_flush(self.stderr)

    def end(self):
        """The request ends: everything is on the descriptors, and the helper is gone."""
        self._flush_libc()
        with self.lock:
            self.flush()
            for key in list(self._late):
                self._publish_late(*key, self._late.pop(key))
        if self._flusher is not None:
            self._flusher.finish()
            self._flusher = None

    def turn(self, stream):
        """Called with the lock held, by the stream that is about to write and was not the last to do so."""
        if self.last is not None:
            self.flush()
            self._channel.exchange({"type": "sync"})
        self.last = stream

    def gather(self):
        """Called with the lock held: some text waits in a stream, and nobody may come to flush it."""
        try:
            self._flusher = _Flusher(self)
            self.gathering = True
        except RuntimeError:
            # The cell has used up all the threads that it may have: then a flood is slower, no more.
            self.flush()

    def elsewhere(self, stream, text):
        """
        Output of a thread or task of an earlier cell: whole lines of it are
        published as that cell's. False where it is the running cell's after all.
        """
        cell = self.origin.cell()
        if cell == self.origin.running:
            return False
        key = (cell, stream.kind)
        text = self._late.pop(key, "") + text
        lines, newline, rest = text.rpartition("\n")
        if rest:
            self._late[key] = rest
        if newline:
            self._publish_late(cell, stream.kind, lines + newline)
        return True

    def _publish_late(self, cell, kind, text):
        self._publish("stream", {"name": kind, "text": text}, parent=cell)

    def _audit(self, event, args):
        if event in _EVENTS:
            self._flush_libc()
            self.flush()
            self.last = _UNKNOWN

    def _flush_libc(self):
        # C code prints into libc's buffer, which a forked child would print once more. Whoever
        # calls C has loaded ctypes, or an extension that did (numpy); it is not loaded for this alone.
        ctypes = sys.modules.get("ctypes")
        if ctypes is not None and hasattr(ctypes, "pythonapi"):
            ctypes.pythonapi.fflush(None)

    def _before_fork(self):
        # With the lock held no other thread is inside a stream, so the child's copy of it is whole.
        self.lock.acquire()
        self.flush()

    def _after_in_child(self):
        self.lock.release()
        self.gathering = False
        self._flusher = None
        # No thread flushes for a child: its writes go out at once.
        for stream in (self.stdout, self.stderr):
            stream._window, stream._left = float("inf"), sys.maxsize


class _Flusher:
    """A thread for one flush, LATEST_S from now: what a flood has left behind is not seen later than that."""

    def __init__(self, pair):
        self._pair = pair
        self._now = threading.Event()
        self._thread = threading.Thread(target=self._run, name="petri-flush", daemon=True)
        self._thread.start()

    def finish(self):
        """Flushes now, and returns when the thread is gone."""
        self._now.set()
        self._thread.join()

    def _run(self):
        self._now.wait(LATEST_S)
        with self._pair.lock:
            self._pair.gathering = False
            self._pair.flush()
