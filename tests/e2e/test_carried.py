"""What messages carry beside what one thinks of, and what the kernel process keeps for a cell: all of it counts."""

import os
import stat

import pytest

from conftest import INTERPRETERS
from kernels import Kernel, printed_by, wait_for
from test_caps import RAW

MIB = 1 << 20
STRICT_DISPLAY = 5 * MIB
LARGE = STRICT_DISPLAY + MIB

FRAMES = (
    RAW
    + """
import select
def raw(msg_type, content, **more):
    send({"type": "publish", "seq": 1, "msg_type": msg_type, "metadata": {}, "content": content, **more})
    select.select([3], [], [])  # until it is acknowledged, however busy the machine: the worker doesn't know of it
    while select.select([3], [], [], 0)[0]:
        os.read(3, 1 << 20)
large = "x" * LARGE
"""
)
TEXT = {"data": {"text/plain": "small"}, "metadata": {}}


def memory(kernel, what):
    """MiB of the kernel process, the child of the one that Jupyter knows. what: VmRSS, or VmHWM for the most."""
    with open(f"/proc/{kernel.pid}/task/{kernel.pid}/children") as file:
        pids = [kernel.pid, *map(int, file.read().split())]
    found = []
    for pid in pids:
        with open(f"/proc/{pid}/status") as file:
            found += [int(line.split()[1]) for line in file if line.startswith(f"{what}:")]
    return max(found) // 1024


def size(messages):
    return sum(len(str(message["content"])) + len(str(message["metadata"])) for message in messages)


@pytest.fixture(scope="module")
def strict_kernel(kernel_dirs, tmp_path_factory):
    folder = tmp_path_factory.mktemp("strict")
    kernel = Kernel(kernel_dirs[INTERPRETERS[0].label], folder, "petri-strict", interpreter=INTERPRETERS[0])
    kernel.wait_until_up().good("%limits timeout=1m")  # the usual 5 s are little for large frames on a busy machine
    yield kernel
    kernel.close()


CARRIED = {
    "metadata of a display": f"raw('display_data', {TEXT}, metadata={{'m': large}})",
    "metadata in a display": "raw('display_data', {'data': {}, 'metadata': {'m': large}})",
    "transient of a display": f"raw('display_data', {{**{TEXT}, 'transient': {{'t': large}}}})",
    "another key of a display": f"raw('display_data', {{**{TEXT}, 'more': large}})",
    "metadata of an update": f"raw('update_display_data', {{**{TEXT}, 'transient': {{}}}}, metadata={{'m': large}})",
    "metadata of a result": f"raw('execute_result', {TEXT}, metadata={{'m': large}})",
    "metadata of a stream": "raw('stream', {'name': 'stdout', 'text': 'x'}, metadata={'m': large})",
    "another key of a stream": "raw('stream', {'name': 'stdout', 'text': 'x', 'more': large})",
    "another key of an error": "raw('error', {'ename': '', 'evalue': '', 'traceback': [], 'more': large})",
    "another key of clear_output": "raw('clear_output', {'wait': True, 'more': large})",
    "metadata of clear_output": "raw('clear_output', {'wait': True}, metadata={'m': large})",
    "metadata of a comm": "raw('comm_msg', {'comm_id': 'c', 'data': {}}, metadata={'m': large})",
    "another key of a comm": "raw('comm_msg', {'comm_id': 'c', 'data': {}, 'more': large})",
    "numbers of a display": "raw('display_data', {'data': {'application/json': [111111111] * 600000}, 'metadata': {}})",
}


@pytest.mark.parametrize("what", CARRIED)
def test_large_part_of_a_message_is_measured_wherever_it_is(strict_kernel, what):
    cell = strict_kernel.good(f"LARGE = {LARGE}\n{FRAMES}\n{CARRIED[what]}")
    assert size(cell.messages) < MIB
    assert cell.report["metrics"]["dropped_bytes"] > STRICT_DISPLAY


def test_reply_carries_what_a_reply_has_within_its_limits(strict_kernel):
    payload = "{'source': 'page', 'data': {'text/plain': large}}, {'source': 'other', 'text': large}"
    reply = f"{{'status': 'ok', 'more': large, 'payload': [{payload}]}}"
    cell = strict_kernel.good(f"LARGE = {LARGE}\n{FRAMES}\nsend({{'type': 'done', 'reply': {reply}}})")
    assert len(str(cell.reply)) < MIB
    [page] = cell.reply["payload"]
    assert "over the limit of 5 MiB (display)" in page["data"]["text/plain"]
    assert "bytes of the cell's reply were dropped" in cell.stderr


def test_payload_that_a_front_end_would_act_on_is_let_through_by_name(venv_kernel, strict_kernel):
    code = (
        "write = get_ipython().payload_manager.write_payload\n"
        "write(dict(source='edit_magic', filename='x\\\"; touch y; \\\"', line_number=0))\n"
        "write(dict(source='ask_exit', keepkernel=False))\nget_ipython().set_next_input('next')"
    )
    assert {one["source"] for one in venv_kernel.good(code).reply["payload"]} == {"ask_exit", "set_next_input"}
    assert {one["source"] for one in strict_kernel.good(code).reply["payload"]} == {"set_next_input"}


def test_json_of_too_many_values_is_replaced_and_the_cell_goes_on(venv_kernel):
    cell = venv_kernel.good("display({'application/json': [[]] * 300000}, raw=True)\nprint('went on')")
    [shown] = cell.of("display_data")
    assert "JSON values (application/json) is not shown" in shown["data"]["text/plain"]
    assert cell.stdout == "went on\n"
    # What only looks like many values is none.
    text = venv_kernel.good("display({'text/html': '[,' * 1000000}, raw=True)").of("display_data")
    assert len(text[0]["data"]["text/html"]) == 2000000


FLOODS = {
    # Forty-eight million bytes, and seven thousand millions when they are parsed.
    "values": """text = b'{"type":"publish","seq":1,"msg_type":"display_data","metadata":{},"content":{"data":{"a/b":['
text += b"{}," * (15 << 20) + b"1]}}}"
data = struct.pack("<II", len(text), 0) + text
while data: data = data[os.write(3, data):]""",
    "comms": """comm = {"type": "publish", "seq": 1, "msg_type": "comm_open", "metadata": {}}
for n in range(600):
    data = b""
    for m in range(100):
        content = {"comm_id": f"{n}-{m}-" + "x" * 200, "target_name": "y" * 256}
        text = json.dumps({**comm, "content": content}).encode()
        data += struct.pack("<II", len(text), 0) + text
    while data: data = data[os.write(3, data):]
    while select.select([3], [], [], 0)[0]: os.read(3, 1 << 20)""",
    "unread answers": """sync = b'{"type":"sync","seq":1}'
data = (struct.pack("<II", len(sync), 0) + sync) * 5000
os.set_blocking(3, False)
waits = 0
while waits < 3:
    try: data = data[os.write(3, data):] or (struct.pack("<II", len(sync), 0) + sync) * 5000
    except BlockingIOError: waits += not select.select([], [3], [], 0.2)[1]""",
}


# MiB: the most that the kernel process takes for each.
PEAKS = {"values": 160, "comms": 90, "unread answers": 32}


@pytest.mark.alone
@pytest.mark.parametrize("what", FLOODS)
def test_memory_of_the_kernel_process_is_bounded_and_taken_back_at_the_rollback(venv_kernel, what):
    assert venv_kernel.run("LARGE = 1\nkept = 'as it was'").ok
    before = memory(venv_kernel, "VmRSS")
    cell = venv_kernel.run(f"{FRAMES}\n{FLOODS[what]}\nos._exit(3)")
    assert cell.ename == "CellCrashed"
    assert memory(venv_kernel, "VmHWM") - before < PEAKS[what]
    assert memory(venv_kernel, "VmRSS") - before < 32
    assert venv_kernel.value("kept") == "'as it was'"
    message = venv_kernel.client.comm_info()
    assert venv_kernel.shell_reply(message)["content"]["comms"] == {}


def test_comms_over_their_number_are_dropped_and_told_once(venv_kernel):
    opens = "for n in range(12000): raw('comm_open', {'comm_id': f'{n}' + 'x' * 200, 'target_name': 'y' * 256})"
    cell = venv_kernel.good(f"LARGE = 1\n{FRAMES}\n{opens}")
    assert len(cell.of("comm_open")) == 10000
    assert cell.stderr.count("petri: a comm_open was dropped: 10000 comms are open.") == 1
    assert cell.report["metrics"]["dropped_bytes"] > 2000 * 450


def test_later_cell_shows_and_clears_under_an_earlier_one_and_does_nothing_else(venv_kernel):
    """The honest case is a task's; a cell that was rolled back, or none, has no say there."""
    first = venv_kernel.send("LARGE = 1\nprint('mine')\nget_ipython().kernel")
    assert venv_kernel.finish(first).ok
    lost = venv_kernel.send("import os; os._exit(3)")
    assert venv_kernel.finish(lost).ename == "CellCrashed"
    forge = (
        "for number in (1, 2, 1000):\n"  # the first, the lost one, none
        "    raw('clear_output', {'wait': False}, parent=number)\n"
        "    raw('error', {'ename': 'E', 'evalue': '', 'traceback': []}, parent=number)\n"
        "    raw('stream', {'name': 'stdout', 'text': 'added\\n'}, parent=number)"
    )
    request = venv_kernel.send(f"{FRAMES}\n{forge}")
    messages = venv_kernel.all_until_idle(request)
    parents = {kind: {one["parent_header"]["msg_id"] for one in messages if one["msg_type"] == kind} for kind in
               ("clear_output", "error", "stream")}  # fmt: skip
    assert parents["clear_output"] == {first}
    assert parents["error"] == {request}
    assert parents["stream"] == {first, request} and lost not in parents["stream"]
    assert printed_by(messages, first) == "added\n"
    assert printed_by(messages, request) == "added\n" * 2


def modes(folder):
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}


def test_history_and_records_are_closed_to_other_users(start, tmp_path, monkeypatch):
    """Also where they were not: those of an earlier petri, or of a careless copy."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    folder = tmp_path / "data" / "petri"
    folder.mkdir(parents=True)
    folder.chmod(0o755)
    for name in ("history.sqlite", "records.sqlite"):
        (folder / name).touch(0o644)
        os.chmod(folder / name, 0o644)
    before = os.umask(0)
    try:
        kernel = start()
        kernel.good("1")
        kernel.good("2")  # the first one's code is in the history by now
    finally:
        os.umask(before)
    found = modes(folder)
    assert {"history.sqlite-wal", "history.sqlite-shm", "records.sqlite-wal"} <= set(found)
    assert set(found.values()) == {0o600}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


# What the kernel process keeps for each state, outside of it.
WAITS = {
    "pipes": "P = [os.pipe() for _ in range(200)]\nfor r, w in P: os.write(w, os.urandom(65536))",
    "sockets": "P = [socket.socketpair() for _ in range(100)]\nfor a, b in P: a.send(os.urandom(130000))",
    "packets": "P = [socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM) for _ in range(100)]\n"
    "for a, b in P: a.send(os.urandom(130000))",
}


@pytest.mark.alone
@pytest.mark.parametrize("what", WAITS)
def test_what_is_kept_for_each_state_counts_in_history_memory(venv_kernel, what):
    venv_kernel.good("%limits history=200 history_memory=64M")
    venv_kernel.good(f"import os, socket\n{WAITS[what]}")
    before = memory(venv_kernel, "VmRSS")
    for n in range(12):
        venv_kernel.good(f"{n}")
    wait_for(lambda: 24 * MIB < venv_kernel.control("petri_timeline_request")["bytes_kept"] <= 64 * MIB)
    assert memory(venv_kernel, "VmRSS") - before < 64 + 32
    assert venv_kernel.value("len(os.read(P[0][0], 100) if isinstance(P[0][0], int) else P[0][1].recv(100))") == "100"
