"""What petri's own processes keep for a session has a bound, whatever its cells and its client make many or large."""

import dataclasses
import pathlib
import typing

import pytest

from kernels import STUCK_S, is_idle, wait_for
from processes import family, name_of

CELLS = 20
HISTORY_MIB = 16
# Beside what the limit history_memory allows: docs/threat-model.md, "What the kernel process keeps".
OWN_MIB = 48


def own_memory(kernel):
    """Anonymous memory of petri's processes outside of sandboxes, in MiB."""
    kib = 0
    for pid in family(kernel.pid):
        if name_of(pid) in ("petri", "petri-zygote"):
            lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
            kib += sum(int(line.split()[1]) for line in lines if line.startswith("RssAnon:"))
    return kib / 1024


@dataclasses.dataclass(frozen=True)
class Kind:
    """Cells that make many of one thing: code runs CELLS times with its number as N, after setup."""

    code: str = ""
    setup: str = "1"
    limits: str = ""  # of each cell
    step: typing.Callable | None = None  # step(kernel, n) in the place of a cell: what a client does
    stdin: bool = False  # the client says that it may be asked, and never answers
    outcomes: tuple = ("ok",)


LONG = "n" * 240

FILES = f"folder = f'/tmp/{{N}}'\nos.mkdir(folder)\nfor i in range(2000): open(f'{{folder}}/{LONG}{{i}}', 'w').close()"
COMM = "from comm import create_comm\n"
NAMES = "target_name='t' * 250"


def ask_for_comms(kernel, _):
    kernel.shell_reply(kernel.client.comm_info())


def ask_for_history(kernel, n):
    kernel.good(f"'{n} {'h' * 100000}'")
    kernel.shell_reply(kernel.client.history(hist_access_type="tail", n=1000, output=False, raw=True))


def send_comm_messages(kernel, n):
    """A client's own comms: their names may be of any length in a message."""
    for i in range(5):
        content = {"comm_id": f"{n} {i} {LONG}", "target_name": "t" * 400000, "data": {"d": "x" * 10000}}
        message = kernel.client.session.msg("comm_open", content)
        kernel.client.shell_channel.send(message)
        kernel.iopub_until(message["header"]["msg_id"], is_idle)


def ask_with_a_long_header(kernel, n):
    content = {"code": f"{n}", "silent": False, "store_history": True, "allow_stdin": False}
    message = kernel.client.session.msg("execute_request", content)
    message["header"]["more"] = "h" * (3 << 20)
    kernel.client.shell_channel.send(message)
    assert kernel.finish(message["header"]["msg_id"]).ok


def ask_with_files(kernel, n):
    files = [{"path": f"{n}/{i}{LONG[:100]}.txt", "text": "x" * 1000} for i in range(60)]
    cell = kernel.ask(f"{n}", {"files": files, "env": {}, "task": f"task {n}", "checkpoint": f"c{n}"})
    assert cell.ok, cell


KINDS = {
    "pipes": Kind(
        setup="import os\nP = []",
        code="for end in sum(P, ()): os.close(end)\nP = [os.pipe() for _ in range(150)]\n"
        "for r, w in P: os.write(w, os.urandom(65536))",
    ),
    "sockets": Kind(
        setup="import os, socket\nS = []",
        code="for end in sum(S, ()): end.close()\nS = [socket.socketpair() for _ in range(100)]\n"
        "for a, b in S: a.send(os.urandom(100000))",
    ),
    "packets": Kind(
        setup="import socket\nS = [socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM) for _ in range(150)]",
        code="for a, b in S:\n    for _ in range(5): b.send(b'x')",  # one of some 270 would wait for a reader
    ),
    "descriptors in descriptors": Kind(
        setup="import array, socket\nS = [socket.socketpair() for _ in range(100)]",
        code="for a, b in S:\n    ends = array.array('i', [b.fileno()] * 50)\n"
        "    a.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, ends)])",
        outcomes=("crash",),  # what is on its way can't be kept
    ),
    "files without a name": Kind(
        setup="import os\nF = [os.memfd_create(f'{i}' + 'm' * 200) for i in range(400)]",
        code="for f in F: os.pwrite(f, b'x' * 4096, N * 4096)",
    ),
    "locks": Kind(
        setup="import fcntl\nF = [open(f'/tmp/{i}', 'wb') for i in range(100)]",
        code="for f in F:\n    for i in range(60): fcntl.lockf(f, fcntl.LOCK_EX, 1, 2 * i + N % 2)",
    ),
    "mappings": Kind(
        setup="import ctypes, mmap\nM = mmap.mmap(-1, 4096 * 60000, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\n"
        "at = ctypes.addressof(ctypes.c_char.from_buffer(M))\n"
        "for i in range(0, 58000, 2): ctypes.CDLL(None).mprotect(ctypes.c_void_p(at + 4096 * i), 4096, 1)",
        code="sum(1 for line in open('/proc/self/maps'))",
    ),
    "shared mappings": Kind(
        setup="import mmap\nM = [mmap.mmap(-1, 1 << 16) for _ in range(300)]", code="for m in M: m[N] = 1"
    ),
    "processes": Kind(setup="import subprocess", code="P = [subprocess.Popen(['true']) for _ in range(30)]"),
    "threads": Kind(
        setup="import threading\ngo = threading.Event()",
        code="for _ in range(4): threading.Thread(target=go.wait, daemon=True).start()",
    ),
    "files": Kind(setup="import os", code=FILES),
    "files that are other ones": Kind(
        setup="import os, shutil", code=f"shutil.rmtree(f'/tmp/{{N - 1}}', ignore_errors=True)\n{FILES}"
    ),
    "files that are renamed": Kind(
        setup=f"import os\nN = 0\n{FILES}", code="os.rename(f'/tmp/{N}', f'/tmp/{N + 1}')"
    ),
    "attributes of files": Kind(
        setup="import os",
        code="for i in range(300):\n    open(f'/tmp/{N}-{i}', 'w').close()\n"
        "    try: os.setxattr(f'/tmp/{N}-{i}', 'user.a', b'x' * 4000)\n    except OSError: pass",
    ),
    "artifacts": Kind(
        setup="import os", code=f"os.mkdir(f'{{N}}')\nfor i in range(500): open(f'{{N}}/{LONG}{{i}}', 'w').write('x')"
    ),
    "variables": Kind(code="globals().update({f'v{N}_{i}': i for i in range(3000)})"),
    "variables of the environment": Kind(
        setup="ip = get_ipython()", code="for i in range(100): ip.run_line_magic('env', f'V{N}_{i}=' + 'v' * 500)"
    ),
    "comms": Kind(
        setup=COMM, code=f"for i in range(500): create_comm({NAMES}, data={{'d': 'x' * 2000}}, metadata={{'m': 1}})"
    ),
    "comms that come and go": Kind(
        setup=f"{COMM}C = [create_comm({NAMES}, comm_id=f'{{i:0250}}') for i in range(9990)]",
        code=f"C.pop(0).close()\nC.append(create_comm({NAMES}, comm_id=f'c{{N:0250}}'))",
    ),
    "comms of a client": Kind(setup=COMM, step=send_comm_messages),
    "asking for comms": Kind(setup=f"{COMM}for i in range(5000): create_comm({NAMES})", step=ask_for_comms),
    "displays": Kind(code="for i in range(3): display({'text/plain': 'x' * (8 << 20)}, raw=True)"),
    "displays with an id": Kind(code=f"for i in range(500): display(i, display_id=f'{{N}} {{i}} {LONG}')"),
    "updates": Kind(
        setup="H = [display(i, display_id=True) for i in range(500)]", code="for h in H: h.update('x' * 1000)"
    ),
    "lines": Kind(code="for i in range(200000): print(i)"),
    "long output": Kind(code="print('x' * (7 << 20))"),
    "tracebacks": Kind(code="raise ValueError('x' * (8 << 20))", outcomes=("error",)),
    "deep tracebacks": Kind(code="def f(n):\n    f(n - 1) if n else 1 / 0\nf(400)", outcomes=("error",)),
    "sources": Kind(code=f"'''{'s' * 900000}'''\n1"),
    "sources of cells that end": Kind(code=f"#{'s' * 900000}\nimport os; os._exit(1)", outcomes=("crash",)),
    "questions": Kind(
        limits="input_wait=200ms",
        code="import threading\nfor _ in range(20): threading.Thread(target=input, args=('q' * 10000,)).start()\n"
        "input('q' * 1000000)",
        stdin=True,
        outcomes=("timeout", "crash", "error"),
    ),
    "names of refused calls": Kind(
        code="import socket\nfor _ in range(1000):\n    try: socket.socket(socket.AF_PACKET, socket.SOCK_RAW)\n"
        "    except OSError: pass"
    ),
    "limits": Kind(code="1", limits="timeout=1{N}s"),
    "history": Kind(step=ask_for_history),
    "headers of requests": Kind(step=ask_with_a_long_header),
    "files of requests, tasks and checkpoints": Kind(step=ask_with_files),
}


def run_step(kernel, kind, n):
    if kind.step:
        kind.step(kernel, n)
        return
    limits = f"%%limits {kind.limits.replace('{N}', str(n))}\n" if kind.limits else ""
    cell = kernel.run(f"{limits}N = {n}\n{kind.code}", allow_stdin=kind.stdin)
    assert cell.report["outcome"] in kind.outcomes, cell


# The quickest of each place where petri's processes keep something; the others are left to `make test-all`.
QUICK = ["pipes", "files that are renamed", "comms that come and go", "sources of cells that end", "questions"]


@pytest.mark.parametrize("what", [pytest.param(w, marks=[] if w in QUICK else pytest.mark.thorough) for w in KINDS])
def test_many_cells_of_a_kind_leave_no_more_in_petri_s_processes_than_the_bound(venv_kernel, what):
    kind = KINDS[what]
    venv_kernel.good(f"%limits history=1000 history_memory={HISTORY_MIB}M")
    before = own_memory(venv_kernel)
    venv_kernel.good(kind.setup)
    for n in range(CELLS):
        run_step(venv_kernel, kind, n)
    # What is over the limit goes some time after the last cell.
    wait_for(lambda: own_memory(venv_kernel) - before < OWN_MIB + HISTORY_MIB)
    assert venv_kernel.value("'still ' + 'there'") == "'still there'"


@pytest.mark.thorough
def test_requests_over_what_may_wait_are_refused_at_once_and_the_others_run(venv_kernel):
    before = own_memory(venv_kernel)
    asking = venv_kernel.send("input()", allow_stdin=True)
    venv_kernel.client.get_stdin_msg(timeout=STUCK_S)
    large = "x" * (70 << 20)
    waiting = [venv_kernel.send_asking("1 + 1", {}, anything=large) for _ in range(5)]
    for request in waiting[3:]:
        refused = venv_kernel.finish(request)
        assert refused.ename == "CellRefused" and "may have 256 MiB of memory" in refused.reply["evalue"], refused
        assert [error["ename"] for error in refused.of("error")] == ["CellRefused"]
    assert not venv_kernel.has_reply(asking)
    venv_kernel.client.input("answer")
    for request in waiting[:3]:
        assert venv_kernel.finish(request).result == "2"
    assert venv_kernel.value("Out[1]") == "'answer'"
    wait_for(lambda: own_memory(venv_kernel) - before < OWN_MIB)
