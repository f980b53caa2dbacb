"""Whatever a session has much of, control is answered and other runs' limits hold while petri keeps it or puts it back."""

import pytest

MAPPINGS = (
    "import mmap, os\n"
    "held = [mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=1 + i % 2 * 2) for i in range(20000)]"
)
FILES = "import os\nos.mkdir('/tmp/d')\nfor i in range(6000): open(f'/tmp/d/{i}', 'w').close()"
BYTES = "import os\nwith open('/tmp/f', 'wb') as f:\n    for _ in range(200): f.write(os.urandom(1 << 20))"
NAMES = f"{BYTES}\nfor i in range(200): os.link('/tmp/f', f'/tmp/{{i}}')"
PROCESSES = f"{MAPPINGS}\nfor _ in range(60):\n    if os.fork() == 0:\n        import signal\n        signal.pause()"
DIES = "os.kill(os.getpid(), 9)"

# What a session has before, and the request that then takes long.
LONG = {
    "files that an undo takes away": (FILES, "%undo"),
    "files that an undo puts back": (f"{FILES}\n", "%undo", "import shutil\nshutil.rmtree('/tmp/d')"),
    "files that a rollback puts back": (FILES, f"import shutil\nshutil.rmtree('/tmp/d')\n{DIES}"),
    "bytes that an undo takes away": (BYTES, "%undo"),
    "names of one file that a rollback puts back": (NAMES, f"open('/tmp/f', 'r+b').write(b'x')\n{DIES}"),
    "mappings of a state that an undo leaves": (MAPPINGS, "%undo"),
    "mappings of processes that a cell leaves": (PROCESSES, None),
}
AT_LEAST = 4  # replies: a kernel that does one thing at a time gives one or two


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


def start_and_hold(kernel, code):
    """A cell that has run all of its code, and ends once its question is answered; its request."""
    request = kernel.send(f"{code}\ninput()", allow_stdin=True)
    kernel.client.get_stdin_msg(timeout=120)
    return request


@pytest.mark.parametrize("kind", LONG)
def test_control_is_answered_while_something_takes_long(kernel, kind):
    has, request, *then = LONG[kind]
    if request is None:
        long = start_and_hold(kernel, has)
        kernel.client.input("")
    else:
        for code in (has, *then):
            kernel.good(code)
        long = kernel.send(request)
    assert ask_until_replied(kernel, long) >= AT_LEAST
    kernel.finish(long)
    assert kernel.value("1 + 1") == "2"


def test_time_limit_of_a_run_beside_holds_while_another_takes_long_to_end(kernel):
    long = start_and_hold(kernel, PROCESSES)
    ticks = "import time\nfor i in range(1000):\n    print(i, flush=True)\n    time.sleep(0.1)"
    beside = kernel.send_asking(ticks, {"fresh": True, "limits": {"timeout": "300ms"}})
    begun = kernel.iopub_until(beside, lambda message: message["msg_type"] == "stream")
    kernel.client.input("")
    cell = kernel.finish(beside, begun)
    assert cell.ename == "CellTimeout"
    assert len(cell.stdout.split()) < 15  # without a limit it ticks as long as the other's end takes
    assert kernel.shell_reply(long)["content"]["status"] == "ok"
