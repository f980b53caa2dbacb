"""The sockets, and messages that no honest client sends."""

import json
import subprocess
import tempfile
from pathlib import Path

import zmq
from jupyter_client.session import Session
from probes import probe

DELIMITER = b"<IDS|MSG>"


@probe("heartbeat", "bytes back, while a cell runs")
def heartbeat(kernel):
    waiting = kernel.start_waiting()
    socket = kernel.raw_socket("hb", zmq.REQ)
    try:
        socket.send(b"any bytes")
        assert socket.poll(1000 * kernel.wait_s) and socket.recv() == b"any bytes"
    finally:
        socket.close()
        kernel.finish_waiting(waiting)


def welcomed(kernel, topic):
    """Whether a new subscriber to a topic is welcomed."""
    socket = kernel.raw_socket("iopub", zmq.SUB)
    socket.subscribe(topic)
    try:
        while socket.poll(1000 * kernel.wait_s):
            frames = socket.recv_multipart()
            if json.loads(frames[frames.index(DELIMITER) + 2])["msg_type"] == "iopub_welcome":
                return True
        return False
    finally:
        socket.close()


@probe("iopub_welcome", "`subscription`")
def iopub_welcome(kernel):
    assert welcomed(kernel, b"a topic of its own")


@probe("iopub_welcome", "for each subscriber to a topic, not only the first")
def iopub_welcome_each(kernel):
    assert welcomed(kernel, b"")


@probe("connection file", "`curve_publickey`, `curve_secretkey`: encrypted sockets", fresh=True)
def curve(kernel):
    kernel.renew(transport_encryption="required")
    assert kernel.value("1 + 1") == "2"
    socket = kernel.raw_socket("hb", zmq.REQ)
    try:
        socket.send(b"without keys")
        assert not socket.poll(500)
    finally:
        socket.close()


def registered(kernel, socket, port, folder):
    """What a kernel that is started with a registration file says there."""
    file = Path(folder) / "registration.json"
    key = "of the registration"
    where = {"kernel_id": "the one", "transport": "tcp", "registration_ip": "127.0.0.1", "registration_port": port}
    file.write_text(json.dumps({**where, "signature_scheme": "hmac-sha256", "key": key}))
    command = kernel.manager.format_kernel_cmd()
    argv = [part.replace(kernel.manager.connection_file, str(file)) for part in command]
    process = subprocess.Popen(argv, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        assert socket.poll(1000 * kernel.wait_s), "nobody registers"
        _, delimiter, signature, content = socket.recv_multipart()
        assert delimiter == DELIMITER and signature == Session(key=key.encode()).sign([content])
        return json.loads(content)
    finally:
        process.kill()
        process.wait()


@probe("registration file", "the handshake of 5.6: the kernel chooses its ports and tells them")
def handshake(kernel):
    socket = kernel.client.context.socket(zmq.ROUTER)
    socket.linger = 0
    try:
        with tempfile.TemporaryDirectory() as folder:
            found = registered(kernel, socket, socket.bind_to_random_port("tcp://127.0.0.1"), folder)
    finally:
        socket.close()
    assert found["kernel_id"] == "the one"
    assert {name for name in found if name.endswith("_port")} == {
        f"{channel}_port" for channel in ("shell", "control", "stdin", "iopub", "hb")
    }


def spoiled(kernel, spoil):
    session = kernel.client.session
    frames = spoil(session, session.serialize(session.msg("kernel_info_request", {})))
    socket = kernel.raw_socket("shell")
    try:
        socket.send_multipart(frames)
        # What is sent after it is answered; it itself is not.
        assert kernel.ask("kernel_info_request").content["status"] == "ok"
        return socket.poll(200) != 0
    finally:
        socket.close()


@probe("the wire", "an unsigned message is dropped")
def wire_unsigned(kernel):
    assert not spoiled(kernel, lambda session, frames: [frames[0], b"", *frames[2:]])


@probe("the wire", "a wrongly signed message is dropped")
def wire_wrongly_signed(kernel):
    assert not spoiled(kernel, lambda session, frames: [frames[0], b"0" * 64, *frames[2:]])


@probe("the wire", "two frames without a signature don't end the kernel", fresh=True)
def wire_two_frames(kernel):
    assert not spoiled(kernel, lambda session, frames: [DELIMITER, b""])


@probe("the wire", "a replayed message is dropped")
def wire_replayed(kernel):
    session = kernel.client.session
    frames = session.serialize(session.msg("kernel_info_request", {}))
    socket = kernel.raw_socket("shell")
    try:
        socket.send_multipart(frames)
        assert socket.poll(1000 * kernel.wait_s)
        socket.recv_multipart()
        socket.send_multipart(frames)
        assert kernel.ask("kernel_info_request").content["status"] == "ok"
        assert not socket.poll(200)
    finally:
        socket.close()


@probe("the wire", "signed, but not JSON: an error reply", fresh=True)
def wire_not_json(kernel):
    session = kernel.client.session
    frames = session.serialize(session.msg("execute_request", {}))
    body = [*frames[2:5], b"not json"]
    socket = kernel.raw_socket("shell")
    try:
        socket.send_multipart([DELIMITER, session.sign(body), *body])
        assert socket.poll(1000 * kernel.wait_s), "no reply"
        reply = socket.recv_multipart()
        assert json.loads(reply[reply.index(DELIMITER) + 5])["status"] == "error"
    finally:
        socket.close()


@probe("the wire", "an unknown request is busy and idle, without a reply")
def wire_unknown(kernel):
    assert kernel.ask("nosuch_request", replied=False).states == ["busy", "idle"]
