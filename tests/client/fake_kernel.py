"""A kernel with wrong answers, each of which a client has to survive, and one with right ones that come mixed.

usage: fake_kernel.py WAY kernel CONNECTION_FILE [ARGUMENT...]
"""

import json
import sys

import zmq
from jupyter_client.session import Session

REPORT = {"petri": {"outcome": "ok"}}


def bad_signature(session, shell, iopub, request, ids):
    session.key = b"another"
    session.send(shell, "execute_reply", {"status": "ok"}, parent=request, ident=ids, metadata=REPORT)


def garbage(session, shell, iopub, request, ids):
    iopub.send_multipart([b"<IDS|MSG>", b"signature"])
    session.send(shell, "execute_reply", {"status": "ok"}, parent=request, ident=ids, metadata=REPORT)


def no_report(session, shell, iopub, request, ids):
    session.send(shell, "execute_reply", {"status": "aborted"}, parent=request, ident=ids)
    session.send(iopub, "status", {"execution_state": "idle"}, parent=request)


def no_room(session, shell, iopub, request, ids):
    content = {"status": "error", "ename": "CellRefused", "evalue": "there is no room for it", "traceback": []}
    session.send(shell, "execute_reply", content, parent=request, ident=ids)
    session.send(iopub, "status", {"execution_state": "idle"}, parent=request)


def no_idle(session, shell, iopub, request, ids):
    session.send(shell, "execute_reply", {"status": "ok"}, parent=request, ident=ids, metadata=REPORT)


def idle_but_once(session, shell, iopub, request, ids):
    session.send(shell, "execute_reply", {"status": "ok"}, parent=request, ident=ids, metadata=REPORT)
    if request["content"]["code"] != "never idle":
        session.send(iopub, "status", {"execution_state": "idle"}, parent=request)


def odd_report(session, shell, iopub, request, ids):
    report = {"outcome": "ok", "artifacts": 3, "error": [], "metrics": "fast", "denied": [1], "validation": None}
    session.send(shell, "execute_reply", {"status": "ok"}, parent=request, ident=ids, metadata={"petri": report})
    session.send(iopub, "status", {"execution_state": "idle"}, parent=request)


LOOPS = {}  # what runs, and by whom it is asked for, by the id of its request


def side_by_side(session, shell, iopub, request, ids):
    """Code "loop" runs until it is interrupted, other code not at all."""
    session.send(iopub, "status", {"execution_state": "busy"}, parent=request)
    session.send(iopub, "stream", {"name": "stdout", "text": request["content"]["code"]}, parent=request)
    LOOPS[request["header"]["msg_id"]] = request, ids
    if request["content"]["code"] != "loop":
        end(session, shell, iopub, request["header"]["msg_id"], "ok")


def end(session, shell, iopub, name, outcome):
    request, ids = LOOPS.pop(name)
    metadata = {"petri": {"outcome": outcome}}
    session.send(shell, "execute_reply", {"status": "ok"}, parent=request, ident=ids, metadata=metadata)
    session.send(iopub, "status", {"execution_state": "idle"}, parent=request)


def interrupt(session, shell, iopub, request):
    """The run that is named, or all."""
    named = request["metadata"].get("petri", {}).get("request")
    for name in [named] if named else list(LOOPS):
        end(session, shell, iopub, name, "interrupted")


def stays_mute(session, shell, iopub, request, ids):
    """Control requests that it does not know get no reply, as with kernels other than petri."""


RUNS = (bad_signature, garbage, no_report, no_room, no_idle, idle_but_once, odd_report, side_by_side, stays_mute)
WAYS = {way.__name__: way for way in RUNS}


def bind(kind, info, channel):
    socket = zmq.Context.instance().socket(kind)
    separator = ":" if info["transport"] == "tcp" else "-"
    socket.bind(f"{info['transport']}://{info['ip']}{separator}{info[channel + '_port']}")
    return socket


def main(way, connection_file):
    with open(connection_file, encoding="utf-8") as file:
        info = json.load(file)
    session = Session(key=info["key"].encode(), signature_scheme=info["signature_scheme"])
    shell, iopub = bind(zmq.ROUTER, info, "shell"), bind(zmq.PUB, info, "iopub")
    control = bind(zmq.ROUTER, info, "control")
    while True:
        [channel, *_], _, _ = zmq.select([shell, control], [], [])
        ids, frames = session.feed_identities(channel.recv_multipart())
        request = session.deserialize(frames)
        if channel is control:
            if request["msg_type"] == "interrupt_request":
                interrupt(session, shell, iopub, request)
            if way == "stays_mute" and request["msg_type"].startswith("petri_"):
                session.send(iopub, "status", {"execution_state": "idle"}, parent=request)
                continue
            session.send(control, request["msg_type"].replace("request", "reply"), {}, parent=request, ident=ids)
            if request["msg_type"] == "shutdown_request":
                break
        elif request["msg_type"] == "kernel_info_request":
            session.send(shell, "kernel_info_reply", {"status": "ok"}, parent=request, ident=ids)
            session.send(iopub, "status", {"execution_state": "idle"}, parent=request)
        else:
            WAYS[way](session, shell, iopub, request, ids)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[3])
