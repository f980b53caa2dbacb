"""A user of the same machine who hasn't the key: what she can take from a client, or have the kernel do in its name.

She can connect, for these kernels are reached by TCP without encryption; and she reads iopub, so she knows the
client's session id, which is its identity.
"""

import json
import time

import pytest
import zmq
from jupyter_client.session import Session

from conftest import INTERPRETERS
from kernels import STUCK_S, Kernel, is_idle
from test_transport import open_socket

pytestmark = pytest.mark.xdist_group("strangers")  # one process: the kernel is there once

DELIMITER = b"<IDS|MSG>"


@pytest.fixture(scope="module")
def log_file(tmp_path_factory):
    return tmp_path_factory.mktemp("log") / "log"


@pytest.fixture(scope="module")
def kernel(kernel_dirs, log_file, tmp_path_factory):
    with log_file.open("wb") as stderr:
        kernel = Kernel(kernel_dirs[INTERPRETERS[0].label], tmp_path_factory.mktemp("notebook"), stderr=stderr)
    yield kernel.wait_until_up()
    kernel.close()


@pytest.fixture
def context():
    with zmq.Context() as found:
        yield found


def parent_of(frames):
    """The id of the request that a message is about."""
    return json.loads(frames[frames.index(DELIMITER) + 3])["msg_id"]


class Peer:
    """A socket that gives itself a client's identity and is connected: libzmq has shaken hands with the kernel."""

    def __init__(self, context, kernel, channel, identity):
        info = kernel.client.get_connection_info()
        self.socket = context.socket(zmq.DEALER)
        self.socket.linger = 0
        self.socket.identity = identity
        self.events = self.socket.get_monitor_socket(zmq.EVENT_HANDSHAKE_SUCCEEDED | zmq.EVENT_DISCONNECTED)
        self.socket.connect(f"tcp://{info['ip']}:{info[channel + '_port']}")
        assert self.events.poll(STUCK_S * 1000)
        self.events.recv_multipart()

    def send(self, frames):
        self.socket.send_multipart(frames)

    def receive(self):
        assert self.socket.poll(STUCK_S * 1000), "no message came"
        return self.socket.recv_multipart()

    def reply_to(self, session, msg_type, **content):
        """Sends a signed request; returns what the reply to it has to say. Others are dropped, as clients do."""
        message = session.msg(msg_type, content)
        self.send(session.serialize(message))
        while parent_of(frames := self.receive()) != message["msg_id"]:
            pass
        return json.loads(frames[-1])

    def has_heard(self):
        return self.socket.poll(0) != 0

    def was_ended(self):
        return self.events.poll(0) != 0

    def close(self):
        if not self.socket.closed:
            self.socket.disable_monitor()
            self.socket.close()


@pytest.fixture
def peer(context, kernel):
    """Connects with the identity of the kernel's client, or another one."""
    peers = []

    def connect(channel, identity=None):
        peers.append(Peer(context, kernel, channel, identity or kernel.client.session.bsession))
        return peers[-1]

    yield connect
    for each in peers:
        each.close()


def session_of(kernel, name):
    """Another client with the key."""
    return Session(key=kernel.client.session.key, session=name)


@pytest.mark.check
def test_stranger_with_a_clients_identity_gets_no_replies_and_takes_none(kernel, peer):
    strangers = [peer(channel) for channel in ("shell", "control", "shell")]
    for n in range(3):
        assert kernel.value(f"{n} + 1") == str(n + 1)
        assert kernel.control("kernel_info_request")["status"] == "ok"
    assert not any(stranger.has_heard() or stranger.was_ended() for stranger in strangers)


def test_stranger_who_came_first_keeps_nobody_out(kernel, peer):
    strangers = [peer(channel, b"one that was guessed") for channel in ("shell", "control")]
    session = session_of(kernel, "one that was guessed")
    for channel in ("shell", "control"):
        owner = peer(channel, session.bsession)
        assert owner.reply_to(session, "kernel_info_request")["status"] == "ok"
    assert not any(stranger.has_heard() or stranger.was_ended() for stranger in strangers)


def test_client_that_closes_and_comes_back_with_its_identity_is_served(kernel, peer):
    session = session_of(kernel, "one that comes back")
    stranger = peer("shell", session.bsession)
    for _ in range(5):
        owner = peer("shell", session.bsession)
        assert owner.reply_to(session, "kernel_info_request")["status"] == "ok"
        owner.close()
    assert not stranger.has_heard()


def test_two_clients_of_one_session_each_get_the_replies_to_what_they_asked(kernel, peer):
    session = session_of(kernel, "one for both")
    clients = [peer("shell", session.bsession) for _ in range(2)]
    for client in [*clients, *clients]:
        assert client.reply_to(session, "kernel_info_request")["status"] == "ok"
    assert not any(client.was_ended() for client in clients)


@pytest.mark.parametrize("is_known", [True, False], ids=["closed", "lost_unnoticed"])
def test_reply_to_a_client_that_came_back_meanwhile_goes_to_its_new_connection(kernel, peer, is_known):
    """The kernel sees that a connection has gone a little later than the client, or, without a word from it, never."""
    session = session_of(kernel, f"one that loses its connection, {is_known}")
    stranger = peer("shell", session.bsession)
    first = peer("shell", session.bsession)
    code = "print('started', flush=True); answer = input()"
    request = session.msg("execute_request", {"code": code, "silent": False, "allow_stdin": True})
    stdin = peer("stdin", session.bsession)
    first.send(session.serialize(request))
    question = stdin.receive()
    if is_known:
        first.close()
    second = peer("shell", session.bsession)
    assert second.reply_to(session, "kernel_info_request")["status"] == "ok"
    stdin.send(session.serialize(session.msg("input_reply", {"value": "yes"})))
    assert parent_of(second.receive()) == parent_of(question) == request["header"]["msg_id"]
    assert not stranger.has_heard()
    kernel.iopub_until(request["header"]["msg_id"], is_idle)


@pytest.mark.parametrize("first", [True, False], ids=["came_first", "came_later"])
def test_stranger_with_a_clients_identity_keeps_no_question_from_it(kernel, peer, first):
    session = session_of(kernel, f"one that is asked, {first}")
    if first:
        stranger = peer("stdin", session.bsession)
    stdin, shell = peer("stdin", session.bsession), peer("shell", session.bsession)
    if not first:
        stranger = peer("stdin", session.bsession)
    request = session.msg("execute_request", {"code": "input('name? ')", "silent": False, "allow_stdin": True})
    shell.send(session.serialize(request))
    question = stdin.receive()
    assert json.loads(question[-1])["prompt"] == "name? "
    forged = Session(key=b"another key", session=session.session)
    stranger.send(forged.serialize(forged.msg("input_reply", {"value": "Eve"})))
    stranger.send(question)  # the kernel's own, sent back
    stdin.send(session.serialize(session.msg("input_reply", {"value": "Ada"})))
    assert json.loads(shell.receive()[-1])["status"] == "ok"
    messages = kernel.iopub_until(request["header"]["msg_id"], is_idle)
    results = [message["content"]["data"] for message in messages if message["msg_type"] == "execute_result"]
    assert results == [{"text/plain": "'Ada'"}]


def dropped(log_file):
    return sum("a kernel with this key has sent" in line for line in log_file.read_text().splitlines())


def wait_until_dropped(log_file, n):
    deadline = time.monotonic() + STUCK_S
    while dropped(log_file) < n:
        assert time.monotonic() < deadline, log_file.read_text()
        time.sleep(0.01)  # nothing tells when a line has come


@pytest.mark.check
def test_message_of_the_kernels_that_is_sent_back_is_no_request(kernel, context, peer, log_file):
    """What is on iopub is signed, widget messages among it; and their buffers are not."""
    info = kernel.client.get_connection_info()
    listener = open_socket(context, zmq.SUB, f"tcp://{info['ip']}:{info['iopub_port']}")
    assert listener.poll(STUCK_S * 1000)
    code = """
from comm import create_comm
heard = []
comm = create_comm(target_name='x')
comm.on_msg(lambda message: heard.append(message['content']['data']))
comm.send({'a': 1})
"""
    kernel.good(code)
    frames = []
    while not frames or json.loads(frames[2])["msg_type"] != "comm_msg":
        frames = listener.recv_multipart()
        frames = frames[frames.index(DELIMITER) :]
    before = dropped(log_file)
    stranger = peer("shell")
    stranger.send(frames)
    stranger.send([*frames, b"and a buffer"])
    wait_until_dropped(log_file, before + 1)  # the second is known as a replay
    listener.close()
    assert kernel.value("heard") == "[]"
    # Nor is she taken for the client now.
    assert not stranger.has_heard()
