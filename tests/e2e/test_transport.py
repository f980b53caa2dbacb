"""How a kernel is reached: encrypted sockets, and ports that it chooses itself."""

import contextlib
import json
import os
import pathlib
import socket as network
import subprocess
import sys

import pytest
import zmq
from jupyter_client.blocking import BlockingKernelClient
from jupyter_client.session import Session

from kernels import PETRI, STUCK_S, Kernel, wait_for
from processes import family, namespace_ids

CHANNELS = ("shell", "control", "stdin", "iopub", "hb")
KINDS = {"shell": zmq.DEALER, "control": zmq.DEALER, "stdin": zmq.DEALER, "iopub": zmq.SUB, "hb": zmq.REQ}
TURNED_AWAY = (
    zmq.EVENT_HANDSHAKE_FAILED_AUTH
    | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
    | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL
    | zmq.EVENT_DISCONNECTED
)
KEY = "b7a1e0d2-5b1c-4f3c-9a52-0f6d7a9c1e34"


def open_socket(context, kind, endpoint, keys=None, monitored=0):
    """A connected socket; its monitor, which socket.get_monitor_socket() then gives, misses none of these events."""
    socket = context.socket(kind)
    socket.linger = 0
    if monitored:
        socket.get_monitor_socket(monitored)
    if keys:
        socket.curve_serverkey = keys["server"]
        socket.curve_publickey, socket.curve_secretkey = keys["public"], keys["secret"]
    if kind == zmq.SUB:
        socket.subscribe(b"")
    socket.connect(endpoint)
    return socket


@pytest.fixture
def context():
    with zmq.Context() as found:
        yield found


# Before anything else

# An interpreter that tells who asks it what it is, and waits to be let on. It is asked outside of any sandbox.
SLOW_PYTHON = """#!/bin/sh
echo "$PPID" > '{folder}/asked'
read -r _ < '{folder}/go'
exec {python} "$@"
"""


def listening(ports):
    """The sockets that listen at these ports, as links of /proc/PID/fd name them. See: proc_net_tcp(5)."""
    rows = [line.split() for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return {f"socket:[{row[9]}]" for row in rows if row[3] == "0A" and int(row[1].rpartition(":")[2], 16) in ports}


def sockets(pid):
    """The sockets of a process; what it closes meanwhile, and all of one that ends, is left out."""
    found = set()
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for entry in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(FileNotFoundError):
                found.add(os.readlink(f"/proc/{pid}/fd/{entry}"))
    return found


@pytest.fixture
def slow_start(tmp_path, monkeypatch, write_connection):
    """A connection file, and the process of a kernel that has read it and has come to nothing more."""
    asked, go, program = tmp_path / "asked", tmp_path / "go", tmp_path / "slow-python"
    asked.touch()
    os.mkfifo(go)
    program.write_text(SLOW_PYTHON.format(folder=tmp_path, python=sys.executable))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    file, _ = write_connection(key=KEY.encode())
    process = subprocess.Popen([PETRI, "kernel", file, "--python", program.name], cwd=tmp_path)
    try:
        wait_for(lambda: asked.read_text() or process.poll() is not None)
        assert asked.read_text() == f"{process.pid}\n"
        yield file, process, go
    finally:
        process.kill()
        process.wait(STUCK_S)


def test_client_that_comes_before_there_is_a_sandbox_is_not_refused_and_is_served(slow_start):
    file, process, go = slow_start
    client = BlockingKernelClient(connection_file=file)
    client.load_connection_file()
    assert namespace_ids(process.pid) == namespace_ids()
    ports = [client.get_connection_info()[f"{channel}_port"] for channel in CHANNELS]
    for port in ports:
        network.create_connection(("127.0.0.1", port), STUCK_S).close()
    client.start_channels(hb=False)
    request = client.kernel_info()
    go.write_text("on\n")
    try:
        reply = client.get_shell_msg(timeout=STUCK_S)
        assert reply["parent_header"]["msg_id"] == request
        assert reply["content"]["status"] == "ok"
        assert namespace_ids(process.pid) != namespace_ids()
    finally:
        client.stop_channels()


def test_listening_sockets_are_the_kernels_own_and_no_other_process_has_them(slow_start):
    file, process, go = slow_start
    client = BlockingKernelClient(connection_file=file)
    client.load_connection_file()
    found = listening([client.get_connection_info()[f"{channel}_port"] for channel in CHANNELS])
    assert len(found) == len(CHANNELS)
    assert found <= sockets(process.pid)
    client.hb_channel.time_to_dead = STUCK_S  # it gives up on a kernel that does not beat every second
    client.start_channels()
    go.write_text("on\n")
    try:
        client.wait_for_ready(timeout=STUCK_S)
        client.execute_interactive("pass", timeout=STUCK_S)
        outer, inner, *others = family(process.pid)
        assert found <= sockets(inner)
        assert others, "the cell that is made ahead"
        for pid in (outer, *others):
            assert not found & sockets(pid)
    finally:
        client.stop_channels()


def test_taken_port_is_named(tmp_path, write_connection):
    file, info = write_connection(key=KEY.encode())
    with network.create_server(("127.0.0.1", info["stdin_port"])):
        run = subprocess.run([PETRI, "kernel", file], capture_output=True, text=True, timeout=STUCK_S, cwd=tmp_path)
    assert run.returncode == 1
    assert f"tcp://127.0.0.1:{info['stdin_port']} can't be bound: Address already in use" in run.stderr


# Encryption


@pytest.fixture
def encrypted(kernel_dirs, tmp_path):
    kernel = Kernel(next(iter(kernel_dirs.values())), tmp_path, transport_encryption="required")
    yield kernel.wait_until_up()
    kernel.close()


@pytest.mark.check
def test_encrypted_kernel_runs_cells_and_answers_heartbeats(encrypted):
    assert encrypted.value("1 + 1") == "2"
    assert encrypted.control("kernel_info_request")["status"] == "ok"
    request = encrypted.send("input('name? ')", allow_stdin=True)
    encrypted.client.get_stdin_msg(timeout=STUCK_S)
    encrypted.client.input("Ada")
    assert encrypted.finish(request).result == "'Ada'"


def latecomer(kernel):
    """Another client of the kernel's, which is not on stdin yet."""
    client = BlockingKernelClient()
    client.load_connection_info(kernel.client.get_connection_info())
    client.start_channels(shell=True, iopub=False, stdin=False, hb=False, control=True)
    return client


@pytest.mark.parametrize("encryption", ["disabled", "required"])
def test_question_waits_for_a_client_that_comes_to_stdin_later(kernel_dirs, tmp_path, encryption):
    kernel = Kernel(next(iter(kernel_dirs.values())), tmp_path, transport_encryption=encryption).wait_until_up()
    client = latecomer(kernel)
    try:
        request = client.execute("print('asks', flush=True); input('name? ')", allow_stdin=True)
        kernel.iopub_until(request, lambda message: message["msg_type"] == "stream")
        for _ in range(20):  # turns of the kernel's, in which the question could be lost
            assert kernel.control("kernel_info_request")["status"] == "ok"
        client.stdin_channel.start()
        assert client.get_stdin_msg(timeout=STUCK_S)["content"]["prompt"] == "name? "
        client.input("Ada")
        assert client.get_shell_msg(timeout=STUCK_S)["content"]["status"] == "ok"
    finally:
        client.stop_channels()
        kernel.close()


def knock(socket, channel, key):
    """Sends what a client would send first on this channel; False where libzmq has nobody to send it to."""
    session = Session(key=key)
    message = [b"ping"] if channel == "hb" else session.serialize(session.msg("kernel_info_request"))
    try:
        socket.send_multipart(message, zmq.NOBLOCK)
    except zmq.Again:
        return False
    return True


@pytest.mark.parametrize("channel", [channel for channel in CHANNELS if channel != "stdin"])
def test_client_without_the_right_keys_is_not_let_in(encrypted, context, channel):
    info = encrypted.client.get_connection_info()
    endpoint = f"tcp://{info['ip']}:{info[channel + '_port']}"
    public, secret = zmq.curve_keypair()
    keys = {"server": info["curve_publickey"].encode(), "public": public, "secret": secret}
    plain = open_socket(context, KINDS[channel], endpoint, monitored=TURNED_AWAY)
    stranger = {**keys, "server": zmq.curve_keypair()[0]}
    wrong = open_socket(context, KINDS[channel], endpoint, stranger, monitored=TURNED_AWAY)
    right = open_socket(context, KINDS[channel], endpoint, keys)
    # Turned away before it could say or hear a thing; libzmq tries again with wrong keys, but not without any.
    for socket in (plain, wrong):
        assert socket.get_monitor_socket().poll(STUCK_S * 1000)
    if channel == "iopub":
        encrypted.run("print('to be heard')")
    else:
        for socket in (plain, wrong):
            knock(socket, channel, info["key"])
        while not knock(right, channel, info["key"]):
            right.poll(10, zmq.POLLOUT)
    assert right.poll(STUCK_S * 1000)
    for socket in (plain, wrong):
        assert not socket.poll(0)
        socket.disable_monitor()
    for socket in (plain, wrong, right):
        socket.close()


def test_invalid_curve_keys_are_refused(tmp_path, write_connection):
    keys = {"curve_publickey": b"~" * 40, "curve_secretkey": b"~" * 40}
    file, _ = write_connection(**keys)
    run = subprocess.run([PETRI, "kernel", file], capture_output=True, text=True, timeout=STUCK_S, cwd=tmp_path)
    assert run.returncode != 0
    assert "no CURVE keys" in run.stderr


# Without a key, and in the file system


@pytest.mark.parametrize("transport, warned", [("tcp", True), ("ipc", False)])
def test_empty_key_is_served_and_warned_of_where_others_can_connect(kernel_dirs, tmp_path, transport, warned):
    file = tmp_path / "log"
    options = {"transport": transport, "session": Session(key=b"")}
    if transport == "ipc":
        options["ip"] = str(tmp_path / "socket")
    with file.open("wb") as stderr:
        kernel = Kernel(next(iter(kernel_dirs.values())), tmp_path, stderr=stderr, **options)
    try:
        assert kernel.wait_until_up().value("1 + 1") == "2"
        assert ("key is empty" in file.read_text()) == warned
    finally:
        kernel.close()


def start_at(folder, path):
    """A kernel whose sockets are to be at path-1 to path-5, as far as it comes."""
    file = folder / "connection.json"
    ports = {f"{channel}_port": n for n, channel in enumerate(CHANNELS, 1)}
    file.write_text(json.dumps({**ports, "key": KEY, "transport": "ipc", "ip": str(path)}))
    return subprocess.run([PETRI, "kernel", file], capture_output=True, text=True, timeout=STUCK_S, cwd=folder)


def test_socket_takes_the_place_of_no_file(tmp_path):
    thesis = tmp_path / "thesis-4"  # iopub's, which is the first to be bound
    thesis.write_text("years of work")
    run = start_at(tmp_path, tmp_path / "thesis")
    assert run.returncode != 0
    assert "something is there that is no socket" in run.stderr
    assert thesis.read_text() == "years of work"


def test_socket_is_not_made_where_everybody_could_replace_it(tmp_path):
    place = tmp_path / "open"
    place.mkdir()
    place.chmod(0o777)
    run = start_at(tmp_path, place / "socket")
    assert run.returncode != 0
    assert "everybody can write to its folder" in run.stderr
    assert not list(place.iterdir())


def test_socket_takes_the_place_of_one_that_a_dead_kernel_left(kernel_dirs, tmp_path):
    place = tmp_path / "left"
    place.mkdir()
    place.chmod(0o1777)  # as /tmp is
    for channel in range(1, 6):
        with network.socket(network.AF_UNIX) as left:
            left.bind(str(place / f"socket-{channel}"))
    kernel = Kernel(next(iter(kernel_dirs.values())), tmp_path, transport="ipc", ip=str(place / "socket"))
    try:
        assert kernel.wait_until_up().value("1 + 1") == "2"
    finally:
        kernel.close()


# Registration


class Launcher:
    """What starts a kernel with a registration file, and hears of its ports."""

    def __init__(self, context, folder):
        self.socket = context.socket(zmq.ROUTER)
        self.socket.linger = 0
        port = self.socket.bind_to_random_port("tcp://127.0.0.1")
        self.session = Session(key=KEY.encode())
        self.file = folder / "registration.json"
        registration = {
            "kernel_id": "the one",
            "transport": "tcp",
            "registration_ip": "127.0.0.1",
            "registration_port": port,
            "signature_scheme": "hmac-sha256",
            "key": KEY,
        }
        self.file.write_text(json.dumps(registration))
        self.process = subprocess.Popen([PETRI, "kernel", self.file], cwd=folder, stderr=subprocess.PIPE)

    def hear(self):
        """The kernel's way back and what it says; the signature is checked."""
        assert self.socket.poll(STUCK_S * 1000), "no registration has come"
        identity, delimiter, signature, content = self.socket.recv_multipart()
        assert delimiter == b"<IDS|MSG>"
        assert signature == self.session.sign([content])
        return identity, json.loads(content)

    def acknowledge(self, identity, signature=None):
        content = b'{"status":"ok"}'
        signature = self.session.sign([content]) if signature is None else signature
        self.socket.send_multipart([identity, b"<IDS|MSG>", signature, content])

    def close(self):
        self.process.kill()
        self.process.wait(STUCK_S)
        self.process.stderr.close()
        self.socket.close()


@pytest.fixture
def launcher(context, tmp_path):
    found = Launcher(context, tmp_path)
    yield found
    found.close()


def client_of(content):
    client = BlockingKernelClient()
    ports = {name: int(port) for name, port in content.items() if name.endswith("_port")}
    client.load_connection_info({**ports, "ip": "127.0.0.1", "transport": "tcp", "key": KEY})
    client.hb_channel.time_to_dead = STUCK_S  # it gives up on a kernel that does not beat every second
    client.start_channels()
    client.wait_for_ready(timeout=STUCK_S)
    return client


def test_registered_kernel_serves_at_the_ports_it_reported(context, launcher):
    identity, content = launcher.hear()
    assert content.pop("kernel_id") == "the one"
    assert sorted(content) == sorted(f"{channel}_port" for channel in CHANNELS)
    assert all(isinstance(port, str) for port in content.values())
    assert len(set(content.values())) == len(CHANNELS)
    launcher.acknowledge(identity, b"0" * 64)  # somebody else's: it is not what the kernel waits for
    launcher.acknowledge(identity)
    client = client_of(content)
    try:
        reply = client.execute_interactive("1 + 1", timeout=STUCK_S, output_hook=lambda message: None)
        assert reply["content"]["status"] == "ok"
        request = client.session.msg("connect_request")
        client.control_channel.send(request)
        ports = client.get_control_msg(timeout=STUCK_S)["content"]
        assert {name: int(port) for name, port in content.items()}.items() <= ports.items()
        heart = open_socket(context, zmq.REQ, f"tcp://127.0.0.1:{content['hb_port']}")
        heart.send(b"ping")
        assert heart.poll(STUCK_S * 1000) and heart.recv() == b"ping"
        heart.close()
    finally:
        client.stop_channels()


def test_many_registered_kernels_have_ports_of_their_own(context, tmp_path):
    launchers = []
    try:
        for n in range(4):
            folder = tmp_path / str(n)
            folder.mkdir()
            launchers.append(Launcher(context, folder))
        ports = [port for each in launchers for name, port in each.hear()[1].items() if name.endswith("_port")]
        assert len(set(ports)) == 4 * len(CHANNELS)
    finally:
        for each in launchers:
            each.close()


def test_a_bad_registration_file_is_a_usage_error(tmp_path):
    file = tmp_path / "registration.json"
    file.write_text('{"key": "", "registration_port": 5}')
    run = subprocess.run([PETRI, "kernel", file], capture_output=True, text=True, timeout=STUCK_S, cwd=tmp_path)
    assert run.returncode == 2
    assert 'no "kernel_id"' in run.stderr
