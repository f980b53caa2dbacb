"""Someone without root gets the same: petri, installed by `make install`, started as an ordinary user."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest

import installed
import state
from accounts import account
from branches import answer_next, begin, finish, wait_for_prints
from kernels import STUCK_S, Interpreter, install, wait_for
from processes import open_family, wait_for_end
from test_sandboxes import BAD_CELLS
from travels import check_burst, restore, run

pytestmark = pytest.mark.xdist_group("user")  # one process: the account and what is installed are there once

SYSTEM = Interpreter("system", "/usr/bin/python3")

# Run as root: gives the connection file to the user, and becomes the user for good.
BECOME = """
chown "$1" "$3" && exec setpriv --reuid="$1" --regid="$2" --clear-groups --no-new-privs "$0" kernel "$3" --python "$4"
"""


@pytest.fixture(scope="module")
def user():
    """An account without any rights; root makes it, others are one."""
    with account("petri-test") as found:
        yield found


@pytest.fixture(scope="module")
def shared_folder():
    """A folder that every user can read, unlike pytest's own."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="petri-test-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def kernels(shared_folder):
    """Kernelspecs of petri as `make install` leaves it: the checkout may be where the user can't read."""
    return install(shared_folder / "prefix", SYSTEM.path, program=installed.prefix() / "bin" / "petri")


@pytest.fixture
def start_as_user(start, user, shared_folder, kernels):
    """Starts kernels that run as the user, for the system's interpreter."""
    if os.geteuid() != 0:
        return lambda name: start(SYSTEM, kernel_dir=kernels)
    wrapped = shared_folder / "wrapped" / "petri"
    wrapped.mkdir(parents=True, exist_ok=True)
    spec = json.loads((kernels / "petri" / "kernel.json").read_text())
    spec["argv"] = ["sh", "-c", BECOME, spec["argv"][0], str(user.pw_uid), str(user.pw_gid), "{connection_file}", SYSTEM.path]
    (wrapped / "kernel.json").write_text(json.dumps(spec))
    return lambda name: start(
        SYSTEM, kernel_dir=wrapped.parent, folder=shared_folder, connection_file=str(shared_folder / f"{name}.json")
    )


@pytest.fixture
def user_kernel(start_as_user):
    return start_as_user("c")


# Its pages and mappings take Linux long to count, and with each process of the cell once more.
SLOW_TO_MEASURE = """import ctypes, os, time
libc = ctypes.CDLL(None); libc.mmap.restype = ctypes.c_long
n = 25000
a = libc.mmap(ctypes.c_long(0), ctypes.c_long(n * 8192), 3, 0x22, -1, ctypes.c_long(0))
for i in range(n):
    libc.mprotect(ctypes.c_long(a + i * 8192), ctypes.c_long(4096), 1)
    ctypes.memset(a + i * 8192 + 4096, 1, 1)
"""


@pytest.mark.alone
@pytest.mark.thorough
def test_cell_that_is_slow_to_measure_holds_up_no_limit_and_no_answer(user_kernel):
    """A fresh run beside it would come to its own end in 8 s, and has a limit of 1 s."""
    fork = "for i in range(60):\n    if os.fork() == 0:\n        while True: time.sleep(10)\n"
    code = f"{SLOW_TO_MEASURE}{fork}print('made', flush=True)\ntime.sleep(60)"
    slow = user_kernel.send_asking(code, {"limits": {"timeout": "1m", "memory": "600M"}})
    user_kernel.iopub_until(slow, lambda message: message["msg_type"] == "stream")
    for _ in range(3):
        beside = "import time\nfor i in range(80): time.sleep(0.1)"
        cell = user_kernel.ask(beside, {"fresh": True, "limits": {"timeout": "1s"}})
        assert cell.ename == "CellTimeout", str(cell)
        assert user_kernel.control("kernel_info_request")["status"] == "ok"
        assert not user_kernel.has_reply(slow)
    user_kernel.control("interrupt_request")
    assert user_kernel.finish(slow).ename in {"KeyboardInterrupt", "CellInterrupted"}
    assert user_kernel.value("1") == "1"


@pytest.fixture
def run_as_user(user):
    """Runs a Python program outside of any sandbox, as the user; returns what it prints."""
    become = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
    before = become if os.geteuid() == 0 else []

    def run(code):
        done = subprocess.run([*before, SYSTEM.path, "-c", code], check=False, capture_output=True, text=True, cwd="/")
        return done.stdout + done.stderr

    return run


def test_the_kernel_runs_as_the_user(user_kernel, user):
    assert os.stat(f"/proc/{user_kernel.pid}").st_uid == user.pw_uid


def test_state_goes_on_and_bad_cells_are_rolled_back(user_kernel):
    pieces = state.pieces_for(SYSTEM)
    state.make(user_kernel, pieces)
    user_kernel.value("canary = ['as it was']")
    for n, (ename, code) in enumerate(BAD_CELLS.values()):
        cell = user_kernel.run(code)
        assert cell.ename == ename, str(cell)
        state.check(user_kernel, pieces, n)
    assert user_kernel.value("canary") == "['as it was']"


def test_states_are_gone_back_to_and_branches_run_at_once(user_kernel):
    pieces = state.pieces_for(SYSTEM)
    state.make(user_kernel, pieces)
    made = run(user_kernel, "import os; told = []")
    code = "open('told', 'w').write('{}'); print('began', flush=True); told.append(input())"
    kept = {"from": made, "commit": "branch"}
    failed = user_kernel.ask("told.append(1); os.kill(os.getpid(), 9)", kept)
    assert failed.ename == "CellCrashed", str(failed)
    asks = [begin(user_kernel, code.format(n), **kept) for n in range(2)]
    messages = wait_for_prints(user_kernel, *asks)
    for _ in asks:
        answer_next(user_kernel, "done")
    for n, cell in enumerate(finish(user_kernel, messages, *asks)):
        assert cell.ok, str(cell)
        restore(user_kernel, to=cell.report["image"])
        assert user_kernel.value("told, open('told').read()") == f"(['done'], '{n}')"
        state.check(user_kernel, pieces, 0)
    restore(user_kernel, to=made)
    assert user_kernel.value("told, os.path.exists('told')") == "([], False)"
    state.check(user_kernel, pieces, 0)


def test_states_hold_no_more_than_they_may_though_the_one_that_made_it_is_gone(user_kernel):
    user_kernel.good("%limits history=4 history_memory=100M")
    run(user_kernel, "import os; big = b'x' * (200 << 20)")
    for n in range(4):
        run(user_kernel, f"x = {n}")
    held = user_kernel.control("petri_timeline_request", {})
    assert [image["code_first_line"] for image in held["images"] if image["kept"]] == [f"x = {n}" for n in range(4)]
    assert held["bytes_kept"] < 100 << 20
    run(user_kernel, "del big")
    wait_for(lambda: user_kernel.control("petri_timeline_request", {})["bytes_kept"] < 100 << 20)
    assert user_kernel.value("x") == "3"


def test_states_hold_no_more_than_they_may_while_cells_follow_each_other(user_kernel):
    check_burst(user_kernel)


def test_packages_that_are_not_listed_are_not_there(configure, start_as_user, shared_folder, monkeypatch):
    configure(packages=[])
    pathlib.Path(os.environ["XDG_CONFIG_HOME"], "petri").chmod(0o755)
    shutil.copytree(os.environ["XDG_CONFIG_HOME"], shared_folder / "config", dirs_exist_ok=True)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(shared_folder / "config"))
    (shared_folder / "config").chmod(0o755)
    kernel = start_as_user("p")
    left = (
        "import glob, os\n"
        "folders = glob.glob('/usr/lib/python3*/*-packages') + glob.glob('/usr/local/lib/python3*/*-packages')\n"
        "[name for folder in folders for name in os.listdir(folder) if 'pygments' not in name.lower()]"
    )
    assert kernel.value(left) == "[]"  # Pygments is IPython's, which the worker needs


def test_kill_9_leaves_no_process_behind(user_kernel):
    user_kernel.start_busy("while True: pass")
    pidfds = open_family(user_kernel.pid)
    os.kill(user_kernel.pid, 9)
    assert wait_for_end(pidfds, STUCK_S) == 0


# A cell that takes all it can of what Linux counts by user, and keeps it in the session's state.
HOARD = """
import ctypes, fcntl, os, socket
libc = ctypes.CDLL(None)
def until_refused(take):
    try:
        for _ in range(300): take()
    except OSError: pass
kept = []
def enlarge(ends):
    fcntl.fcntl(ends[1], fcntl.F_SETPIPE_SZ, 1 << 20)
    return fcntl.fcntl(ends[1], fcntl.F_GETPIPE_SZ) > 65536
large = [os.pipe() for _ in range(60)]
print(sum(map(enlarge, large)))
watches = [libc.inotify_init1(0) for _ in range(200)]
until_refused(lambda: [kept.append(os.pipe()) for _ in range(100)])
for ends in kept[-20:]:
    for end in ends: os.close(end)
"""

# Open files in a socket on their way: no image may have them, so the cell is rolled back.
IN_FLIGHT = """
import socket
pair = socket.socketpair()
try:
    for _ in range(300): socket.send_fds(pair[0], [b"x"], [1] * 250)
except OSError: pass
"""

# Another program of the user's, with the limit that most have.
NEIGHBOUR = """
import ctypes, fcntl, os, resource, socket
resource.setrlimit(resource.RLIMIT_NOFILE, (1024, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
pair = socket.socketpair()
socket.send_fds(pair[0], [b"x"], [1])
assert ctypes.CDLL(None).inotify_init1(0) >= 0, "inotify"
assert fcntl.fcntl(os.pipe()[0], fcntl.F_GETPIPE_SZ) == 65536, "pipes"
print("all is there")
"""


def test_a_cell_that_hoards_takes_nothing_from_the_users_other_sessions_and_programs(start_as_user, run_as_user):
    hoarder, other = start_as_user("hoarder"), start_as_user("other")
    assert run_as_user(NEIGHBOUR) == "all is there\n"
    assert hoarder.good(HOARD).stdout == "0\n"  # so many larger pipes
    assert run_as_user(NEIGHBOUR) == "all is there\n"
    assert hoarder.run(IN_FLIGHT).ename == "CellCrashed"
    assert run_as_user(NEIGHBOUR) == "all is there\n"
    for _ in range(3):
        assert other.value("6 * 7") == "42"
        assert hoarder.value("6 * 7") == "42"
