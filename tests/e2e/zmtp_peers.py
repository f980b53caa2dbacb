"""Peers of a kernel that speak ZMTP by hand, so that they do what no client does."""

import contextlib
import select
import socket

from kernels import STUCK_S


ROOM = 1 << 16  # of a subscriber's buffer, which Linux would let grow to 32 MiB and more


def dial(kernel, channel):
    """A connection to a channel, over which nothing was said yet. What a subscriber leaves stays with the kernel."""
    info = kernel.client.get_connection_info()
    port = info[f"{channel}_port"]
    tcp = info["transport"] == "tcp"
    found = socket.socket(socket.AF_INET if tcp else socket.AF_UNIX)
    if channel == "iopub":
        found.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, ROOM)
    found.settimeout(STUCK_S)
    found.connect((info["ip"], port) if tcp else f"{info['ip']}-{port}")
    return found


def frame(data, more):
    """A frame as ZMTP has it."""
    long = len(data) > 255
    length = len(data).to_bytes(8 if long else 1, "big")
    return bytes([more | long << 1]) + length + data


class Stranger:
    """A connection to a channel that has made itself known, and sends what it likes."""

    def __init__(self, kernel, channel, kind):
        self.socket = dial(kernel, channel)
        greeting = b"\xff" + bytes(7) + b"\x01\x7f\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32)
        ready = b"\x05READY\x0bSocket-Type" + len(kind).to_bytes(4, "big") + kind
        self.socket.sendall(greeting + bytes([4, len(ready)]) + ready)
        self.receive(len(greeting))
        self.receive(self.receive(2)[1])  # libzmq ends who goes on before it has said the same
        self.sent = 0

    def receive(self, n):
        data = b""
        while len(data) < n:
            more = self.socket.recv(n - len(data))
            assert more, "the connection was ended"
            data += more
        return data

    def send(self, data):
        """False where the kernel has ended the connection."""
        try:
            self.socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            return False
        self.sent += len(data)
        return True

    def take(self):
        """Takes what has arrived: once a peer's buffer is full, Linux may let it send no more, and no cap is met."""
        with contextlib.suppress(ConnectionResetError):
            while select.select([self.socket], [], [], 0)[0] and self.socket.recv(ROOM):
                pass

    def close(self):
        self.socket.close()


SUBSCRIBE = frame(b"\x01", more=False)
