"""Whatever a session has much of, control is answered and other runs' limits hold while petri keeps it or puts it back."""

import pytest

from kernels import STUCK_S

MAPPINGS = (
    "import mmap, os\n"
    "held = [mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=1 + i % 2 * 2) for i in range(40000)]"
)
FILES = "import os\nos.mkdir('/tmp/d')\nfor i in range(10000): open(f'/tmp/d/{i}', 'w').close()"
BYTES = "import os\nwith open('/tmp/f', 'wb') as f:\n    for _ in range(400): f.write(os.urandom(1 << 20))"
NAMES = f"{BYTES}\nfor i in range(200): os.link('/tmp/f', f'/tmp/{{i}}')"
PROCESSES = f"{MAPPINGS}\nfor _ in range(100):\n    if os.fork() == 0:\n        import signal\n        signal.pause()"
REMOVES = "import shutil\nshutil.rmtree('/tmp/d')"
DIES = "os.kill(os.getpid(), 9)"
PRINTS = "import os\nfor _ in range(16): print(os.urandom(1 << 17).hex())"

# What cells leave; and what then takes long: to undo the last of them, or the end of a cell, which has run up to there.
UNDONE = {
    "files that an undo takes away": [FILES],
    "files that an undo puts back": [FILES, REMOVES],
    "bytes that an undo takes away": [BYTES],
}
ENDED = {
    "files that a rollback puts back": (FILES, REMOVES, DIES),
    "names of one file that a rollback puts back": (NAMES, "f = open('/tmp/f', 'r+b')\nf.write(b'x')\nf.flush()", DIES),
    "mappings of processes that a cell leaves": ("", PROCESSES, ""),
    "output that is recorded": ("", PRINTS, ""),
}
AT_LEAST = 8  # replies, of dozens: a kernel that does one thing at a time gives two, and up to six while it measures


@pytest.fixture
def kernel(start):
    kernel = start()
    kernel.good("%limits timeout=300s")
    return kernel


def ask_until_replied(kernel, request):
    """How often control was answered before a request was."""
    answered = 0
    while not kernel.has_reply(request):
        kernel.control("kernel_info_request")
        answered += 1
    return answered


def start_and_hold(kernel, code, end="", asks=None):
    """A cell that has run its code, and goes on to its end once its question is answered; its request."""
    request = kernel.send_asking(f"{code}\ninput()\n{end}", asks or {}, allow_stdin=True)
    kernel.client.get_stdin_msg(timeout=STUCK_S)
    return request


def check_control(kernel, request):
    assert ask_until_replied(kernel, request) >= AT_LEAST
    kernel.finish(request)
    assert kernel.value("1 + 1") == "2"


@pytest.mark.parametrize("kind", UNDONE)
def test_control_is_answered_while_a_step_is_undone(kernel, kind):
    for code in UNDONE[kind]:
        kernel.good(code)
    check_control(kernel, kernel.send("%undo"))


@pytest.mark.parametrize("kind", ENDED)
def test_control_is_answered_while_a_cell_ends(kernel, kind):
    has, code, end = ENDED[kind]
    kernel.good(has)
    request = start_and_hold(kernel, code, end)
    kernel.client.input("")
    check_control(kernel, request)


def test_control_is_answered_while_files_of_a_run_are_recorded(kernel):
    text = "".join(f"{i} {i * i} {i ** 3}\n" for i in range(100_000))
    files = [{"path": f"{i}.txt", "text": text} for i in range(4)]
    request = start_and_hold(kernel, "", asks={"files": files})
    kernel.client.input("")
    check_control(kernel, request)


def test_time_limit_of_a_run_beside_holds_while_another_takes_long_to_end(kernel):
    long = start_and_hold(kernel, PROCESSES)
    ticks = "import time\nfor i in range(1000):\n    print(i, flush=True)\n    time.sleep(0.1)"
    beside = kernel.send_asking(ticks, {"fresh": True, "limits": {"timeout": "300ms"}})
    begun = kernel.iopub_until(beside, lambda message: message["msg_type"] == "stream")
    kernel.client.input("")
    cell = kernel.finish(beside, begun)
    assert cell.ename == "CellTimeout"
    assert len(cell.stdout.split()) < 12  # two or three; without a limit it ticks as long as the other's end takes
    assert kernel.shell_reply(long)["content"]["status"] == "ok"
