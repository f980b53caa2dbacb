"""Subscribers of iopub that don't read what a cell prints, or too slowly, each kind over each transport.

A cell waits for none of them for long, and they are disconnected; a slow one that reads is not, and gets all.
What they are charged is kernel/jupyter/test_subscribers.c's; here is the whole kernel, at its real bounds.
"""

import contextlib
import select
import socket
import threading

import pytest
import zmq

from kernels import STUCK_S, Kernel
from test_gate import MIB, PRINTS, kernel_process, memory
from zmtp_peers import SUBSCRIBE, Stranger, dial

LINES = 2000
BYTES = sum(len(str(i)) + 30002 for i in range(LINES))  # far over what a subscriber may leave unread
LIMITS = {"limits": {"timeout": "10s", "output": "256M"}}
HALF_WAY = 6 << 20
LOOK_MS = 10  # a trickle takes a byte as often


def pump(sides, subscriber):
    """Carries bytes between two connections until the subscriber has heard something."""
    while True:
        readable, _, _ = select.select([*sides, subscriber.fd], [], [], STUCK_S)
        assert readable, "the kernel says nothing"
        for one, other in (sides, sides[::-1]):
            if one in readable:
                data = one.recv(1 << 16)
                assert data, "the connection was ended"
                other.sendall(data)
        if subscriber.events & zmq.POLLIN:
            return


def authenticated(kernel):
    """
    A subscribed connection of a client that has the key. A client of libzmq's makes it, through the test, and leaves
    it to the test.
    """
    info = kernel.client.get_connection_info()
    found = dial(kernel, "iopub")
    with socket.create_server(("127.0.0.1", 0)) as server, zmq.Context() as context:
        client = context.socket(zmq.SUB)
        client.linger, client.reconnect_ivl = 0, -1
        client.curve_serverkey = info["curve_publickey"].encode()
        client.curve_publickey, client.curve_secretkey = zmq.curve_keypair()
        client.subscribe(b"")
        client.connect(f"tcp://127.0.0.1:{server.getsockname()[1]}")
        near, _ = server.accept()
        with near:
            pump((near, found), client)
            client.close()
    return found


def subscribed(kernel):
    """A connection to iopub that has subscribed to everything, and is the test's to read."""
    if kernel.client.get_connection_info().get("curve_publickey"):
        return authenticated(kernel)
    stranger = Stranger(kernel, "iopub", b"SUB")
    stranger.send(SUBSCRIBE)
    return stranger.socket


class Crowd:
    """Connections that do the same, on a thread; `ended` once the kernel has ended as many as there were."""

    def __init__(self, kernel, n, half_way=0, trickles=False, comes_again=False):
        self.kernel, self.left, self.half_way = kernel, n, half_way
        self.trickles, self.comes_again = trickles, comes_again
        self.poller = select.poll()
        self.unread = {}
        self.ended, self.over = threading.Event(), threading.Event()
        for _ in range(n):
            self.enter()
        self.thread = threading.Thread(target=self.live)
        self.thread.start()

    def enter(self):
        one = subscribed(self.kernel)
        self.unread[one] = self.half_way
        self.poller.register(one, select.POLLIN if self.half_way else 0)

    def leave(self, one):
        self.poller.unregister(one)
        del self.unread[one]
        one.close()

    def read(self, one):
        """The first half of what it would hear."""
        self.unread[one] -= len(one.recv(min(1 << 16, self.unread[one])))
        if self.unread[one] == 0:
            self.poller.modify(one, 0)

    def live(self):
        while not self.over.is_set():
            there = {one.fileno(): one for one in self.unread}
            for fd, events in self.poller.poll(LOOK_MS):
                if events == select.POLLIN:
                    self.read(there[fd])
                else:
                    self.is_ended(there[fd])
            if self.trickles:
                for one in self.unread:
                    with contextlib.suppress(BlockingIOError, ConnectionResetError):
                        one.recv(1, socket.MSG_DONTWAIT)

    def is_ended(self, one):
        self.leave(one)
        self.left -= 1
        if self.left == 0:
            self.ended.set()
        if self.comes_again:
            with contextlib.suppress(AssertionError, OSError):  # too many come at once
                self.enter()

    def close(self):
        self.over.set()
        self.thread.join(STUCK_S)
        for one in list(self.unread):
            self.leave(one)


class SlowReader:
    """A subscriber with little room that reads all, in small pieces, on a thread."""

    def __init__(self, kernel):
        self.socket = subscribed(kernel)
        self.heard = 0
        self.thread = threading.Thread(target=self.live)
        self.thread.start()

    def live(self):
        while self.heard < BYTES and (data := self.socket.recv(1 << 15)):
            self.heard += len(data)

    def close(self):
        self.thread.join(STUCK_S)
        self.socket.close()
        assert self.heard >= BYTES, "the slow one was disconnected"


KINDS = {
    "never_reads": {},
    "trickles": {"trickles": True},
    "stops_half_way": {"half_way": HALF_WAY},
    "comes_again": {"comes_again": True},
}
WAYS = {
    "without_key": lambda folder: {"transport_encryption": "disabled"},
    "with_key": lambda folder: {"transport_encryption": "required"},
    "ipc": lambda folder: {"transport": "ipc", "ip": str(folder / "socket")},
}
COMPANY = {"alone": (1, False), "beside_a_slow_one": (1, True), "a_hundred": (100, True)}

# One of each, for `make test`.
QUICK = {
    ("never_reads", "without_key", "a_hundred"),
    ("trickles", "with_key", "alone"),
    ("stops_half_way", "without_key", "beside_a_slow_one"),
    ("comes_again", "ipc", "beside_a_slow_one"),
}
ROWS = [
    pytest.param(*row, id="-".join(row), marks=[] if row in QUICK else [pytest.mark.thorough])
    for row in ((kind, way, company) for kind in KINDS for way in WAYS for company in COMPANY)
]


@contextlib.contextmanager
def started(kernel_dirs, tmp_path, way, log):
    with log.open("wb") as stderr:
        kernel = Kernel(next(iter(kernel_dirs.values())), tmp_path, stderr=stderr, **WAYS[way](tmp_path))
        try:
            yield kernel.wait_until_up()
        finally:
            kernel.close()


@pytest.mark.parametrize(("kind", "way", "company"), ROWS)
def test_subscriber_that_does_not_read_is_disconnected_and_others_hear_all(kernel_dirs, tmp_path, kind, way, company):
    number, has_slow_one = COMPANY[company]
    log = tmp_path / "log"
    with started(kernel_dirs, tmp_path, way, log) as kernel, contextlib.ExitStack() as there:
        crowd = there.enter_context(contextlib.closing(Crowd(kernel, number, **KINDS[kind])))
        if has_slow_one:
            there.enter_context(contextlib.closing(SlowReader(kernel)))
        cell = kernel.ask(PRINTS.format(n=LINES), LIMITS)
        assert cell.ok, str(cell)[-1000:]
        assert len(cell.stdout) == BYTES
        assert cell.report["metrics"]["dropped_bytes"] == 0
        assert crowd.ended.wait(STUCK_S)
        assert kernel.value("1 + 1") == "2"
    assert "does not read, or too slowly: it was disconnected" in log.read_text()


SHOWS = "from IPython.display import display\nfor i in range(900): display({'text/plain': ''}, raw=True)"


@pytest.mark.alone
@pytest.mark.thorough
def test_small_messages_that_hundreds_of_subscribers_do_not_read_are_bounded(kernel_dirs, tmp_path):
    """Of a message libzmq keeps one copy, and some bytes of each of its frames for each subscriber."""
    with started(kernel_dirs, tmp_path, "without_key", tmp_path / "log") as kernel:
        pid = kernel_process(kernel)
        before = memory(pid)
        with contextlib.closing(Crowd(kernel, 200)):
            for _ in range(40):
                assert kernel.good(SHOWS)
                assert memory(pid) - before < 100 * MIB
