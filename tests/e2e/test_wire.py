"""Messages that no honest client sends, over real sockets: each is answered or logged, and nothing is stuck."""

import dataclasses
import json
import socket as network
import time

import pytest
import zmq

from conftest import INTERPRETERS
from kernels import STUCK_S, Kernel, is_idle

pytestmark = pytest.mark.xdist_group("wire")  # one process: the kernel is there once

CHANNELS = ("shell", "control", "stdin")
DELIMITER = b"<IDS|MSG>"

# Bytes of a frame: more than any message may have, and few enough that a machine would give them.
OVER_CAP = 1 << 30

# What is in the log where no reply is due.
DROPPED = "a message was dropped"


def make_frames(session, msg_type="kernel_info_request", **content):
    """A well-formed signed message as [delimiter, signature, header, parent, metadata, content]."""
    return session.serialize(session.msg(msg_type, content))


def resign(session, frames, **parts):
    """The same with other parts, signed as they are."""
    names = ("header", "parent", "metadata", "content")
    body = [parts.get(name, frame) for name, frame in zip(names, frames[2:6])]
    return [DELIMITER, session.sign(body), *body, *frames[6:]]


def deep(levels):
    return b'{"a":' * levels + b"1" + b"}" * levels


# name: how a good message is spoilt. Nobody can be answered: whom it is from can't be known, or is not proven.
UNANSWERED = {
    "empty": lambda session, frames: [b""],
    "no_delimiter": lambda session, frames: frames[1:],
    "delimiter_only": lambda session, frames: [DELIMITER],
    "truncated": lambda session, frames: frames[:4],
    "two_frames": lambda session, frames: [DELIMITER, b""],
    "unsigned": lambda session, frames: [frames[0], b"", *frames[2:]],
    "wrongly_signed": lambda session, frames: [frames[0], b"0" * 64, *frames[2:]],
    "signature_of_binary": lambda session, frames: [frames[0], b"\xff\x00" * 32, *frames[2:]],
    "long_signature": lambda session, frames: [frames[0], b"0" * 100_000, *frames[2:]],
    "changed_after_signing": lambda session, frames: [*frames[:5], b'{"code":"changed"}'],
    "many_frames": lambda session, frames: [*frames, *[b"x"] * 5000],
    "many_identities": lambda session, frames: [*[b"i"] * 5000, *frames],
    "header_no_json": lambda session, frames: resign(session, frames, header=b"not json"),
    "header_a_list": lambda session, frames: resign(session, frames, header=b"[]"),
    "header_without_id": lambda session, frames: resign(session, frames, header=b'{"msg_type":"kernel_info_request"}'),
    "header_ids_no_strings": lambda session, frames: resign(session, frames, header=b'{"msg_id":1,"msg_type":[]}'),
    "header_deep": lambda session, frames: resign(session, frames, header=deep(100_000)),
}

# Signed, with a header that can be read: its sender waits for an answer, and gets one.
ANSWERED = {
    "content_no_json": b"not json",
    "content_empty": b"",
    "content_a_list": b"[1, 2]",
    "content_deep": deep(100_000),
    "content_unclosed": b'{"code":',
    "content_binary": bytes(range(256)) * 100,
}


@dataclasses.dataclass
class Raw:
    """A socket of our own beside the client's."""

    kernel: object
    context: zmq.Context

    def connect(self, channel):
        info = self.kernel.client.get_connection_info()
        socket = self.context.socket(zmq.DEALER)
        socket.linger = 0
        socket.connect(f"tcp://{info['ip']}:{info[channel + '_port']}")
        return socket

    def ask(self, channel, frames):
        """Sends frames; returns the reply's msg_type and content."""
        socket = self.connect(channel)
        socket.send_multipart(frames)
        assert socket.poll(STUCK_S * 1000), "no reply"
        reply = socket.recv_multipart()
        socket.close()
        at = reply.index(DELIMITER)
        session = self.kernel.client.session
        assert reply[at + 1] == session.sign(reply[at + 2 : at + 6])
        return json.loads(reply[at + 2])["msg_type"], json.loads(reply[at + 5])


class Log:
    """What the kernel has logged since a test began."""

    def __init__(self, file):
        self.file = file
        self.start = file.stat().st_size

    def lines(self):
        with self.file.open(errors="replace") as log:
            log.seek(self.start)
            return log.read().splitlines()

    def wait_for(self, text, n):
        """Waits until so many lines have the text; nothing tells when one has come."""
        deadline = time.monotonic() + STUCK_S
        while sum(text in line for line in self.lines()) < n:
            assert time.monotonic() < deadline, self.lines()
            time.sleep(0.01)


@pytest.fixture(scope="module")
def log_file(tmp_path_factory):
    return tmp_path_factory.mktemp("log") / "log"


@pytest.fixture(scope="module")
def kernel(kernel_dirs, log_file, tmp_path_factory):
    """One kernel for all tests here: whatever it is sent, it has to be well afterwards."""
    with log_file.open("wb") as stderr, pytest.MonkeyPatch.context() as patch:
        patch.setenv("PETRI_LOG", "info")
        kernel = Kernel(kernel_dirs[INTERPRETERS[0].label], tmp_path_factory.mktemp("wire"), stderr=stderr)
    yield kernel.wait_until_up()
    kernel.close()


@pytest.fixture
def log(kernel, log_file):
    return Log(log_file)


@pytest.fixture
def raw(kernel):
    with zmq.Context() as context:
        yield Raw(kernel, context)


def check_well(kernel):
    """It answers on both channels, and its next cell is busy, then idle."""
    assert kernel.control("kernel_info_request")["status"] == "ok"
    cell = kernel.run("1 + 1")
    assert cell.result == "2"
    assert [content["execution_state"] for content in cell.of("status")] == ["busy", "idle"]


@pytest.mark.check
@pytest.mark.parametrize("channel", ["shell", "control"])
def test_malformed_or_unsigned_message_is_logged_and_dropped(kernel, raw, log, channel):
    session = kernel.client.session
    socket = raw.connect(channel)
    for spoil in UNANSWERED.values():
        socket.send_multipart(spoil(session, make_frames(session)))
    log.wait_for(DROPPED, len(UNANSWERED))
    assert not socket.poll(0)
    socket.close()
    check_well(kernel)


def test_a_replayed_message_is_dropped(kernel, raw, log):
    code = "ran = globals().get('ran', 0) + 1"
    frames = make_frames(kernel.client.session, "execute_request", code=code, silent=False)
    assert raw.ask("shell", frames)[1]["status"] == "ok"
    socket = raw.connect("shell")
    socket.send_multipart(frames)
    log.wait_for(DROPPED, 1)
    assert not socket.poll(0)
    socket.close()
    assert kernel.value("ran") == "1"


@pytest.mark.parametrize("name", ANSWERED)
@pytest.mark.parametrize(
    "msg_type, channel",
    [
        ("execute_request", "shell"),
        ("complete_request", "shell"),
        ("shutdown_request", "control"),
        ("kernel_info_request", "control"),
    ],
)
def test_signed_but_malformed_request_gets_an_error_reply(kernel, raw, name, msg_type, channel):
    session = kernel.client.session
    frames = resign(session, make_frames(session, msg_type), content=ANSWERED[name])
    reply_type, content = raw.ask(channel, frames)
    assert reply_type == msg_type.replace("_request", "_reply")
    assert (content["status"], content["ename"]) == ("error", "MalformedRequest")
    # Whoever listens sees that it was looked at, and that it is over.
    request = json.loads(frames[2])["msg_id"]
    messages = kernel.iopub_until(request, is_idle)
    assert [message["content"]["execution_state"] for message in messages] == ["busy", "idle"]
    check_well(kernel)


@pytest.mark.parametrize(
    "content",
    [
        b'{"code":5,"silent":"no","user_expressions":[],"store_history":null}',
        b"{}",
        b'{"code":"1","user_expressions":{"a":{"b":[1]}}}',
        b'{"code":null,"stop_on_error":"maybe"}',
    ],
)
def test_fields_of_the_wrong_type_get_a_reply(kernel, raw, content):
    session = kernel.client.session
    reply_type, reply = raw.ask("shell", resign(session, make_frames(session, "execute_request"), content=content))
    assert reply_type == "execute_reply"
    assert reply["status"] in ("ok", "error")
    check_well(kernel)


@pytest.mark.parametrize(
    "code",
    [
        b"'\xff\xfe not utf-8 \xed\xa0\x80'",
        b"'\\ud800'.encode('utf-8', 'surrogatepass')",
        b"1 + 1 # \\u0000",
        b"'a\\u0000b'",
        b"\\u0000",
    ],
)
def test_code_with_invalid_utf8_or_nul_gets_a_reply(kernel, raw, code):
    session = kernel.client.session
    content = b'{"code":"' + code + b'","silent":false}'
    frames = resign(session, make_frames(session, "execute_request"), content=content)
    reply_type, reply = raw.ask("shell", frames)
    assert (reply_type, reply["status"] in ("ok", "error")) == ("execute_reply", True)
    check_well(kernel)


def test_a_number_too_large_for_any_field_gets_a_reply(kernel, raw):
    session = kernel.client.session
    content = b'{"code":"abc","cursor_pos":' + b"9" * 1000 + b"}"
    reply_type, reply = raw.ask("shell", resign(session, make_frames(session, "complete_request"), content=content))
    assert reply_type == "complete_reply"
    assert "status" in reply
    check_well(kernel)


def test_code_over_its_limit_is_refused(kernel):
    cell = kernel.run("#" * (2 << 20))
    assert cell.ename == "CellRefused"
    check_well(kernel)


def test_a_message_over_the_cap_is_logged_and_dropped(kernel, raw, log):
    session = kernel.client.session
    socket = raw.connect("shell")
    socket.send_multipart([*make_frames(session, "comm_msg", comm_id="none", data={}), *[bytes(64 << 20)] * 5])
    log.wait_for(DROPPED, 1)
    socket.close()
    check_well(kernel)


def test_peer_that_sends_a_frame_over_the_cap_is_disconnected(kernel, raw):
    # Nobody needs the key for this: it must not cost the kernel the memory.
    info = kernel.client.get_connection_info()
    with network.create_connection((info["ip"], info["shell_port"]), STUCK_S) as peer:
        peer.settimeout(STUCK_S)
        greeting = b"\xff" + b"\x00" * 8 + b"\x7f\x03\x00" + b"NULL".ljust(20, b"\x00") + b"\x00" * 32
        ready = b"\x05READY\x0bSocket-Type\x00\x00\x00\x06DEALER"
        peer.sendall(greeting + b"\x04" + bytes([len(ready)]) + ready)
        peer.sendall(b"\x02" + OVER_CAP.to_bytes(8, "big") + b"x" * 1000)
        while peer.recv(4096):
            pass  # its own greeting; then it hangs up
    check_well(kernel)


@pytest.mark.parametrize("channel", CHANNELS)
def test_peer_that_does_not_speak_zmtp_is_disconnected(kernel, channel):
    info = kernel.client.get_connection_info()
    for garbage in (b"GET / HTTP/1.1\r\n\r\n", b"\x00" * 100, b"\xff" * 10 + b"\x7f" + b"\x00" * 1000, b""):
        with network.create_connection((info["ip"], info[channel + "_port"]), STUCK_S) as peer:
            if garbage:
                peer.sendall(garbage)
    check_well(kernel)


def test_unrequested_input_reply_is_ignored(kernel, raw):
    session = kernel.client.session
    socket = raw.connect("stdin")
    socket.send_multipart(make_frames(session, "input_reply", value="unasked"))
    socket.send_multipart([b"junk"])
    socket.send_multipart(resign(session, make_frames(session, "input_reply"), content=deep(100_000)))
    request = kernel.send("input()", allow_stdin=True)
    kernel.client.get_stdin_msg(timeout=STUCK_S)
    kernel.client.input("asked")
    assert kernel.finish(request).result == "'asked'"
    socket.close()


def test_an_unknown_request_is_busy_and_idle_without_a_reply(kernel):
    message = kernel.client.session.msg("nosuch_request", {})
    kernel.client.shell_channel.send(message)
    messages = kernel.iopub_until(message["header"]["msg_id"], is_idle)
    assert [one["msg_type"] for one in messages] == ["status", "status"]
    check_well(kernel)
