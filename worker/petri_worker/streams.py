"""
sys.stdout and sys.stderr: what Python prints, on the pipes behind descriptors 1 and 2.

The streams have numbers of their own for these pipes, so a cell that closes or
redirects 1 or 2 still prints under itself; C code and children have the two
numbers. sys.__stdout__ and sys.__stderr__ are on 1 and 2 themselves.

Three things have to hold at once. What was printed is on the descriptor before
the next statement runs, so that a crash or a time-out loses none of it. A
flood is cheap. And the order of stdout, stderr, rich output and the output of
children is the order in which it was made.

So every write goes out at once, until there have been more than BURST of them
within WINDOW_S. From then on writes are gathered: for FLOOD_S the stream's
write() is the C function itself, then a helper thread flushes and puts ours
back. Where other threads could write too ours stays in place, so that their
lines keep their order and their cell, and gathers for GATHER_S at a time. What
a crash in the middle of a flood can lose is the last few milliseconds of it.
The helper lives for one flush and is gone before the request ends: between
cells there must be no thread of ours, as each one costs every later cell.

Order: a stream that takes turns with the other one first makes the kernel
process read both pipes empty (`sync`). Children are let go only after a flush.
"""

import _thread
import errno
import fcntl
import io
import os
import sys
import threading
from time import monotonic

from petri_worker import libc

WINDOW_S = 0.010
BURST = 200
GATHER_S = 0.001
FLOOD_S = 0.010
BUFFER_BYTES = 8192
SPARE_FD = 200
PIECE_CHARS = 1 << 20

# A new thread is among them: with a second writer, write() has to be ours.
_EVENTS = frozenset(
    (
        *("subprocess.Popen", "os.system", "os.posix_spawn", "os.spawn", "os.exec", "os.fork", "os.forkpty"),
        *("pty.spawn", "_thread.start_new_thread"),
    )
)

_text_write = io.TextIOWrapper.write
_text_flush = io.TextIOWrapper.flush

# Another process may have written last: the next writer does not know what is in which pipe.
_UNKNOWN = object()


def _identity(fd):
    """Which file is open as fd; None where none is."""
    try:
        status = os.fstat(fd)
    except OSError:
        return None
    return status.st_dev, status.st_ino


class _Open:
    """A layer of a stream that nobody can close or take away: later cells print, too."""

    def close(self):
        """Flushes only."""
        if not self.closed:
            self.flush()

    def detach(self):
        """io.UnsupportedOperation."""
        raise io.UnsupportedOperation("detach")


class _Buffer(_Open, io.BufferedWriter):
    pass


class _Pipe(_Open, io.FileIO):
    """
    The pipe behind a descriptor, by a number that is out of the way of code that closes the first few, or all that it
    opened. Its write() is C's: an interrupt in one of ours, behind the system call, would have the text written twice.
    """

    def __init__(self, fd, name):
        super().__init__(fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, SPARE_FD), "wb", closefd=False)
        self.name = f"<{name}>"
        self._fd = fd
        self._spare = self.fileno()
        self._pipe = _identity(fd)

    def mend(self):
        """Puts the pipe back under both numbers where a cell has closed or replaced one."""
        number, spare = _identity(self._fd), _identity(self._spare)
        if number == spare == self._pipe:
            return
        if spare == self._pipe:
            os.dup2(self._spare, self._fd)
        elif number == self._pipe:
            os.dup2(self._fd, self._spare, inheritable=False)
        elif number is not None and number == spare:
            self._pipe = number  # a cell beside the session's own has another pipe, under all numbers
        else:
            self._write_nowhere()

    def _write_nowhere(self):
        # What was printed has to go somewhere, or no flush would ever end well.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._spare, inheritable=False)
        os.close(nowhere)


class _Original(_Open, io.FileIO):
    """Descriptor 1 or 2 itself, whatever a cell has made of it, in order with what the stream writes."""

    def __init__(self, fd, stream, pair):
        super().__init__(fd, "wb", closefd=False)
        self.name = f"<{stream.kind}>"
        self._stream, self._pair = stream, pair

    def write(self, data):
        """Writes all of it at once."""
        with self._pair.lock:
            self._pair.flush_text()
            if self._pair.last is not self._stream:
                self._pair.turn(self._stream)
            rest = memoryview(data).cast("B")
            while rest:
                rest = rest[super().write(rest) :]
        return len(data)


# Libraries recognise a notebook's streams by this very name and module, as they do its shell: click before it colours,
# astropy and iminuit before they draw a progress bar.
class OutStream(_Open, io.TextIOWrapper):
    """A text stream on the pipe behind a descriptor; `pair` is the Streams that it belongs to."""

    __module__ = "ipykernel.iostream"
    __repr__ = object.__repr__

    def __init__(self, fd, name, pair):
        raw = _Pipe(fd, name)
        super().__init__(_Buffer(raw, BUFFER_BYTES), encoding="UTF-8", errors="backslashreplace", newline="\n")
        self.mend = raw.mend
        self.mode = "w"
        self.kind = name
        self._pair = pair
        self._lock = pair.lock
        self._cell = pair.origin.named
        self._origin = pair.origin
        self._window = self._gather = 0.0
        self._left = 0
        self._c_write = super().write

    def write(self, text):
        """As TextIOWrapper.write; what it does with the flush is told at the module's head."""
        with self._lock:
            cell = self._cell()
            if cell != self._origin.running and cell is not None and not self._pair.in_child():
                self._pair.write_late(self, cell, text)
                return len(text)
            if self._pair.last is not self:
                self._pair.turn(self)
            try:
                count = _text_write(self, text)
            except OSError as error:
                self._go_on(error)
                count = _text_write(self, text)
            now = monotonic()
            if now > self._window:
                self._window = now + WINDOW_S
                self._left = BURST
            if self._left:
                self._left -= 1
                self.flush_text()
            elif now > self._gather:
                self._gather = now + GATHER_S
                self.flush_text()
            elif not self._pair.gathering:
                self._pair.gather(self)
            return count

    def flush_text(self):
        """As TextIOWrapper.flush; it goes on where a cell has closed our number."""
        try:
            _text_flush(self)
        except OSError as error:
            self._go_on(error)
            _text_flush(self)

    def _go_on(self, error):
        if error.errno != errno.EBADF:
            raise error
        self.mend()

    def swap(self):
        """Makes write() the C function, unless the user's code has replaced it."""
        self.__dict__.setdefault("write", self._c_write)

    def swap_back(self):
        """Undoes swap()."""
        if self.__dict__.get("write") is self._c_write:
            del self.write

    def flush(self):
        """As TextIOWrapper.flush."""
        with self._lock:
            self.flush_text()
            self._pair.flush_late()

    def isatty(self):
        """False: no terminal."""
        return False

    def _is_master_process(self):
        # By this attribute ipykernel's streams say whether they are the notebook's own or a forked child's.
        return not self._pair.in_child()


class Streams:
    """
    Both streams, and what they have in common.

    channel: for `sync`. publish(msg_type, content, parent=): for the output of
    tasks of earlier cells. origin: whose output it is. held: keeps signal
    handlers waiting while the helper changes.
    """

    def __init__(self, channel, origin, publish, held):
        self.lock = threading.RLock()
        self.origin = origin
        self.last = None
        self.gathering = False
        self._channel = channel
        self._publish = publish
        self._late = {}
        self._flusher = None
        self._held = held
        self.stdout = OutStream(1, "stdout", self)
        self.stderr = OutStream(2, "stderr", self)

    def install(self):
        """Puts the streams in Python's place, and the hooks that flush before a child starts."""
        sys.stdout.flush()
        sys.stderr.flush()
        sys.stdout, sys.stderr = self.stdout, self.stderr
        sys.__stdout__, sys.__stderr__ = self._original(1, self.stdout), self._original(2, self.stderr)
        libc.unbuffer()
        sys.addaudithook(self._audit)
        os.register_at_fork(
            before=self._before_fork, after_in_parent=self.lock.release, after_in_child=self._after_in_child
        )

    def _original(self, fd, stream):
        raw = _Original(fd, stream, self)
        return io.TextIOWrapper(raw, encoding="UTF-8", errors="backslashreplace", newline="\n", write_through=True)

    def in_child(self):
        """True in a process that the user's code has forked."""
        return self._channel.in_child()

    def begin(self):
        """A request starts: nothing is in the pipes, and they are where they belong."""
        self.stdout.mend()
        self.stderr.mend()
        self.last = None

    def flush(self):
        """Everything written so far is on the descriptors, or published."""
        with self.lock:
            self.flush_text()
            self.flush_late()

    def flush_text(self):
        """The same, for what goes to the descriptors; called with the lock held."""
        self.stdout.swap_back()
        self.stderr.swap_back()
        self.stdout.flush_text()
        self.stderr.flush_text()

    def flush_late(self):
        """The same, for what belongs to earlier cells; called with the lock held."""
        while self._late:
            (cell, kind), text = self._late.popitem()
            self._publish_late(cell, kind, text)

    def flush_all(self):
        """The same, with what C code has printed."""
        libc.flush()
        self.flush()

    def end(self):
        """The request ends: everything is on the descriptors, and the helper is gone."""
        self.stdout.mend()
        self.stderr.mend()
        libc.flush()
        self.flush()
        self._finish_flusher()

    def _finish_flusher(self):
        flusher, self._flusher = self._flusher, None
        if flusher is not None:
            flusher.finish()

    def _start_flusher(self):
        """False where the cell has reached its limit of threads."""
        self._finish_flusher()
        try:
            self._flusher = _Flusher(self)
        except RuntimeError:
            return False
        return True

    def turn(self, stream):
        """Called with the lock held, by the stream that is about to write and was not the last to do so."""
        if self.last is not None:
            self.flush_text()
            self._channel.exchange({"type": "sync"})
        self.last = stream

    def gather(self, stream):
        """Called with the lock held: some of the stream's text waits, and nothing else may flush it."""
        alone = threading.active_count() == 1
        with self._held:
            self.gathering = self._start_flusher()
            if self.gathering and alone:
                stream.swap()
        if not self.gathering:
            self.flush_text()  # then only a flood is slower

    def write_late(self, stream, cell, text):
        """
        Called with the lock held, for a task of an earlier cell: whole lines are published as that cell's at once, the
        rest with the next flush.
        """
        key = (cell, stream.kind)
        text = self._late.pop(key, "") + text
        lines, newline, rest = text.rpartition("\n")
        if newline:
            self._publish_late(cell, stream.kind, lines + newline)
        if rest:
            self._late[key] = rest

    def _publish_late(self, cell, kind, text):
        for start in range(0, len(text), PIECE_CHARS):
            self._publish("stream", {"name": kind, "text": text[start : start + PIECE_CHARS]}, parent=cell)

    def _audit(self, event, args):
        if event in _EVENTS:
            self.flush()
            if event != "_thread.start_new_thread":
                self.last = _UNKNOWN

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
    """A thread for one flush, FLOOD_S from now: what a flood has left behind is not seen later than that."""

    def __init__(self, pair):
        self._pair = pair
        self._wait = _thread.allocate_lock()
        self._wait.acquire()
        self._id = None
        self._over = _thread.allocate_lock()
        self._over.acquire()
        # Not a threading.Thread: starting one waits for it, and an interrupt in that wait would lose it.
        _thread.start_new_thread(self._run, ())

    def finish(self):
        """Flushes now, and returns when the thread is gone, for the operating system too."""
        self._wait.release()
        self._over.acquire()
        while os.path.exists(f"/proc/self/task/{self._id}"):
            os.sched_yield()

    def _run(self):
        self._id = _thread.get_native_id()
        self._wait.acquire(timeout=FLOOD_S)
        try:
            with self._pair.lock:
                self._pair.gathering = False
                self._pair.flush_text()
        finally:
            self._over.release()
