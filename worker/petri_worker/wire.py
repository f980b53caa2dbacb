"""
Frames on descriptor 3: the worker's side of docs/worker-wire.md.

The number is fixed, and the socket is not: between two requests another socket
gets that number. So nothing that was read for one request is kept for the next,
and a whole exchange (a frame and the answer to it) is made under one lock,
which the main thread keeps while no request is being served: no other thread
can be in the middle of a frame at the moment when the socket changes.
"""

import _socket
import _thread
import json
import os
import struct

from petri_worker.caps import Caps, TooLarge
from petri_worker.hello import CONTROL_FD
from petri_worker.jsonable import dumps

_HEADER = struct.Struct("<II")
_decode = json.JSONDecoder().decode


class WireClosed(Exception):
    """The kernel process has closed the socket: the worker's life is over."""


class Channel:
    """
    The control socket.

    signals: the Signals that keep interrupts away from half a frame.
    busy: true from a request's arrival until its `done` is out.
    caps: the largest sizes of messages of the request that is being served.
    """

    def __init__(self, signals, fd=CONTROL_FD):
        self._signals = signals
        self._socket = _socket.socket(fileno=fd)
        self._lock = _thread.RLock()
        self._seq = 0
        self._pid = os.getpid()
        self.busy = False
        self.caps = Caps({})
        os.register_at_fork(after_in_child=self._forked)
        self._lock.acquire()

    def next_request(self):
        """
        Blocks until a request is there and returns it as (object, buffers).

        At the end of the stream WireClosed is raised. The wait consumes
        nothing, so whatever a signal's handler raises in it can be dropped.
        """
        while True:
            try:
                self._wait()
                break
            except (OSError, WireClosed):
                raise
            except BaseException:
                continue
        self._signals.begin()
        with self._signals.held:
            request = self._receive()
            self.caps = Caps(request[0].get("caps") or {})
            self._pid = os.getpid()
            self.busy = True
            self._lock.release()
        return request

    def done(self, reply):
        """
        Ends the request with the content of its reply; the socket may change
        from here on. TypeError where the reply has something that JSON has
        not, TooLarge where it is over the cap.
        """
        frame = self._encode({"type": "done", "reply": reply})
        with self._signals.held:
            self._lock.acquire()
            self.busy = False
            self._be_blocking()
            self._write(frame)

    def send(self, message):
        """Sends a frame that has no answer."""
        with self._signals.held, self._lock:
            self._send(message)

    def exchange(self, message, buffers=()):
        """
        Sends a `publish` or a `sync` and waits for its `ack`: everything that
        was written before comes before it, everything written later after it.
        TypeError where the message has something that JSON has not, TooLarge
        where it is over its cap and nothing can stand in its place.
        """
        if self.in_child():
            return
        with self._signals.held, self._lock:
            self._number(message)
            try:
                self._send(message, buffers)
            except TooLarge as error:
                self._send(self.caps.replacement(message, error))
            self._answer("ack", message["seq"])

    def ask(self, prompt, password):
        """Sends `input` and returns the value of the answer. Interruptible; the socket is ours until then."""
        if self.in_child():
            raise EOFError("a forked child has no front end to ask")
        message = {"type": "input", "prompt": prompt, "password": password}
        with self._lock:
            with self._signals.held:
                self._number(message)
                self._send(message)
            while True:
                self._wait()
                with self._signals.held:
                    frame, _ = self._receive()
                if frame.get("type") == "input_reply" and frame.get("seq") == message["seq"]:
                    return frame.get("value", "")

    def _forked(self):
        # The socket is the parent's: a child that wrote to it would break the parent's frames.
        self._pid = None

    def in_child(self):
        """True in a process that the user's code has forked."""
        return self._pid != os.getpid()

    def _number(self, message):
        self._seq += 1
        message["seq"] = self._seq

    def _wait(self):
        if not self._socket.recv(1, _socket.MSG_PEEK):
            raise WireClosed

    def _answer(self, kind, seq):
        # The late answer to something that was interrupted can still be in the way.
        while True:
            frame, _ = self._receive()
            if frame.get("type") == kind and frame.get("seq") == seq:
                return frame

    def _send(self, message, buffers=()):
        self._write(self._encode(message, buffers))

    def _encode(self, message, buffers=()):
        views = [memoryview(buffer).cast("B") for buffer in buffers]
        text = dumps(message)
        lengths = [view.nbytes for view in views]
        self.caps.check(message, text, 8 + 4 * len(lengths) + len(text) + sum(lengths))
        header = struct.pack("<%dI" % (2 + len(views)), len(text), len(views), *lengths)
        return b"".join([header, text, *views])

    def _write(self, frame):
        try:
            self._socket.sendall(frame)
        except OSError as error:
            raise WireClosed from error

    def _be_blocking(self):
        # The user's code may have changed the descriptor: the wait for the next request has to block.
        try:
            os.set_blocking(self._socket.fileno(), True)
        except OSError as error:
            raise WireClosed from error

    def _receive(self):
        json_bytes, n_buffers = _HEADER.unpack(self._exactly(_HEADER.size))
        lengths = struct.unpack("<%dI" % n_buffers, self._exactly(4 * n_buffers))
        frame = _decode(self._exactly(json_bytes).decode())
        return frame, [memoryview(self._exactly(length)) for length in lengths]

    def _exactly(self, size):
        # One call for all but the largest: a blocking recv() may come back early only for a signal.
        parts = []
        while size:
            part = self._socket.recv(size, _socket.MSG_WAITALL)
            if not part:
                raise WireClosed
            parts.append(part)
            size -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)
