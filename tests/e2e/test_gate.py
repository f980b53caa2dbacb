"""What strangers can make the kernel process keep: peers that speak ZMTP by hand and prove nothing.

How the gate counts is kernel/test_gate.c's; here is the whole kernel, at its real limits.
"""

import contextlib
import os
import pathlib
import socket
import stat
import time

import pytest

from kernels import STUCK_S, Kernel
from processes import family
from zmtp_peers import SUBSCRIBE, Stranger, frame

MIB = 1 << 20

# What a stranger's bytes may cost at most, over what the kernel process had: gate.c, together_bytes, and some room.
BOUND = 330 * MIB

# More than any bound: who could send as much was never ended.
ENDLESS = 3 << 30


def memory(pid):
    """Bytes of its own that a process holds."""
    with contextlib.suppress(OSError):
        for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) << 10
    return 0


def kernel_process(kernel):
    """The one of the kernel's processes that has libzmq's threads."""

    def threads(pid):
        try:
            return len(os.listdir(f"/proc/{pid}/task"))
        except FileNotFoundError:  # one of those that live for a moment while a sandbox is made
            return 0

    return max(family(kernel.pid), key=threads)


@pytest.fixture
def kernel(kernel_dirs, tmp_path):
    found = Kernel(next(iter(kernel_dirs.values())), tmp_path)
    yield found.wait_until_up()
    found.close()


# name: channel, socket type, what is sent again and again. The first has to end, and so do the others.
ENDLESS_MESSAGES = {
    "large frames": ("shell", b"DEALER", frame(bytes(MIB), more=True)),
    "empty frames": ("control", b"DEALER", frame(b"", more=True) * 1000),
    "one byte at a time between heartbeats": ("stdin", b"DEALER", frame(b"x", more=True) + b"\x04\x07\x04PING\0\0"),
    "heartbeat": ("hb", b"DEALER", frame(b"x", more=True) * 1000),
    "large heartbeat": ("hb", b"DEALER", frame(bytes(MIB), more=False)),
    "publication": ("iopub", b"SUB", frame(bytes(1000), more=True)),
}


@pytest.mark.alone
@pytest.mark.parametrize("name", ENDLESS_MESSAGES)
def test_message_without_an_end_ends_its_connection(kernel, name):
    channel, kind, again = ENDLESS_MESSAGES[name]
    pid = kernel_process(kernel)
    before = memory(pid)
    strangers = [Stranger(kernel, channel, kind) for _ in range(4)]
    left, most = list(strangers), before
    while left:
        left = [stranger for stranger in left if stranger.send(again)]
        for stranger in left:
            stranger.take()  # what answers heartbeats
        most = max(most, memory(pid))
        assert most - before < BOUND, f"{sum(stranger.sent for stranger in strangers)} bytes were sent"
        assert all(stranger.sent < ENDLESS for stranger in left)
    for stranger in strangers:
        stranger.close()
    assert kernel.value("1 + 1") == "2"


@pytest.mark.alone
def test_subscriptions_of_strangers_are_bounded(kernel):
    pid = kernel_process(kernel)
    before = memory(pid)
    for n in range(100):
        stranger = Stranger(kernel, "iopub", b"SUB")
        while stranger.send(frame(b"\x01" + os.urandom(200), more=False)):
            assert stranger.sent < ENDLESS
        stranger.close()
    assert kernel.value("1 + 1") == "2"
    assert memory(pid) - before < 30 * MIB


@pytest.mark.alone
def test_heartbeats_that_nobody_takes_back_are_dropped(kernel):
    pid = kernel_process(kernel)
    before = memory(pid)
    strangers = [Stranger(kernel, "hb", b"DEALER")]
    sent = 0
    while sent < 64 * MIB:
        if strangers[-1].send(frame(bytes(4000), more=False) * 100):
            sent += 400_000
        else:  # libzmq now and then ends a connection that it can't read on from
            strangers.append(Stranger(kernel, "hb", b"DEALER"))
    assert memory(pid) - before < 20 * MIB
    for stranger in strangers:
        stranger.close()
    assert kernel.client.hb_channel.is_alive() and kernel.value("1 + 1") == "2"


UNSUBSCRIBE = frame(b"\x00", more=False)
PRINTS = "for i in range({n}): print(i, 'x' * 30000)"


def never_reads(kernel):
    stranger = Stranger(kernel, "iopub", b"SUB")
    stranger.send(SUBSCRIBE)
    return [stranger]


def shakes_half_a_hand(kernel):
    info = kernel.client.get_connection_info()
    half = socket.create_connection((info["ip"], info["iopub_port"]), timeout=STUCK_S)
    half.sendall(b"\xff" + bytes(7) + b"\x01\x7f")
    return [half]


def subscribes_and_unsubscribes(kernel):
    stranger = Stranger(kernel, "iopub", b"SUB")
    stranger.send((SUBSCRIBE + UNSUBSCRIBE) * 100)
    return [stranger]


def dies(kernel):
    never_reads(kernel)[0].close()
    return []


def comes_a_hundred_times(kernel):
    return [one for _ in range(100) for one in subscribes_and_unsubscribes(kernel)]


@pytest.mark.parametrize(
    "stranger",
    [
        shakes_half_a_hand,
        subscribes_and_unsubscribes,
        dies,
        comes_a_hundred_times,
    ],
)
def test_stranger_on_iopub_costs_no_cell_its_output_or_its_time_limit(kernel, stranger):
    """One that subscribes and does not read is test_subscribers.py's."""
    there = stranger(kernel)
    limits = {"limits": {"timeout": "10s", "output": "256M"}}
    try:
        for n in (1, 2000):
            cell = kernel.ask(PRINTS.format(n=n), limits)
            assert cell.ok, str(cell)[-1000:]
            assert len(cell.stdout) == sum(len(str(i)) + 30002 for i in range(n))
        assert kernel.value("1 + 1") == "2"
    finally:
        for one in there:
            one.close()


def test_messages_of_strangers_do_not_fill_the_log(kernel_dirs, tmp_path):
    file = tmp_path / "log"
    with file.open("wb") as stderr:
        kernel = Kernel(next(iter(kernel_dirs.values())), tmp_path, stderr=stderr)
    try:
        kernel.wait_until_up()
        unsigned = frame(b"<IDS|MSG>", more=True) + frame(b"no signature", more=False)
        # The kernel reads its connections in turn: each request of the client's is behind some of these.
        stranger = Stranger(kernel, "shell", b"DEALER")
        assert stranger.send(unsigned * 3000)
        deadline = time.monotonic() + STUCK_S
        while file.read_text().count("a message was dropped") < 64:
            assert time.monotonic() < deadline
            assert kernel.value("1 + 1") == "2"
        for _ in range(20):
            assert kernel.value("1 + 1") == "2"
        assert file.read_text().count("a message was dropped") < 300
        stranger.close()
    finally:
        kernel.close()


def test_socket_files_are_their_owners_alone(kernel_dirs, tmp_path):
    before = os.umask(0)
    try:
        kernel = Kernel(next(iter(kernel_dirs.values())), tmp_path, transport="ipc", ip=str(tmp_path / "socket"))
    finally:
        os.umask(before)
    try:
        kernel.wait_until_up()
        assert kernel.value("1 + 1") == "2"
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.glob("socket-*")}
        assert modes and set(modes.values()) == {0o600}
    finally:
        kernel.close()
