"""From the first answer to the last process: start, busy, interrupt, shutdown, death."""

import contextlib
import ctypes
import os
import pathlib
import select
import signal
import subprocess
import sys
import venv

import pytest
import zmq

from conftest import INTERPRETERS
from kernels import PETRI, STUCK_S, install, wait_for
from processes import at_rest, beyond, family, open_family, private_bytes, wait_for_end, zombies

CELLS = 1000
WARM_UP = 4096  # until the timeline has as many states as it ever names, of most only the name; docs/threat-model.md
HISTORY = 50  # states that are kept: from then on one goes for each that comes

PR_SET_THP_DISABLE = 41

# Put into an environment's site-packages: importing IPython waits until the test opens the gate, a file of one byte.
# A FIFO would lead nowhere: cells have their own in place of the host's.
GATE = """
import sys
import time

class Gate:
    def find_spec(self, name, path=None, target=None):
        if name == "IPython":
            sys.meta_path.remove(self)
            while not open({gate!r}, "rb").read(1):
                time.sleep(0.01)

sys.meta_path.insert(0, Gate())
"""


def heartbeat(kernel):
    """Sends bytes to the heartbeat; returns what comes back."""
    info = kernel.manager.get_connection_info()
    with zmq.Context() as context, context.socket(zmq.REQ) as socket:
        socket.linger = 0
        socket.connect(f"tcp://{info['ip']}:{info['hb_port']}")
        socket.send(b"\x00ping\xff")
        assert socket.poll(STUCK_S * 1000), "no heartbeat"
        return socket.recv()


@pytest.fixture
def gated(tmp_path_factory):
    """An environment that is warm only once a byte is written to a file: its kernelspecs, and the file."""
    environment = tmp_path_factory.mktemp("environment")
    environment.chmod(0o755)
    venv.create(environment, with_pip=False, symlinks=True)
    kernel_dir = install(environment, str(environment / "bin" / "python"))
    [site] = environment.glob("lib/python*/site-packages")
    gate = site / "gate"
    gate.touch()
    (site / "gate.py").write_text(GATE.format(gate=str(gate)))
    (site / "gate.pth").write_text("import gate\n")
    return kernel_dir, gate


def test_kernel_info_is_answered_before_the_interpreter_is_warm(start, gated):
    kernel_dir, gate = gated
    kernel = start(kernel_dir=kernel_dir, wait=False)
    assert kernel.shell_reply(kernel.client.kernel_info())["content"]["status"] == "ok"
    request = kernel.send("1 + 1")
    gate.write_bytes(b"x")
    assert kernel.shell_reply(request)["content"]["status"] == "ok"
    finders = "[type(finder).__name__ for finder in sys.meta_path]"
    assert kernel.value(f"import sys; 'gate' in sys.modules and 'Gate' not in {finders}") == "True"


def test_heartbeat_and_control_answer_while_a_cell_is_busy(patient, kernel):
    request, messages = kernel.start_busy("while True: pass")
    assert heartbeat(kernel) == b"\x00ping\xff"
    assert kernel.control("kernel_info_request")["status"] == "ok"
    assert not kernel.has_reply(request)
    assert kernel.control("interrupt_request")["status"] == "ok"
    assert kernel.finish(request, messages).ename == "KeyboardInterrupt"


@pytest.mark.check
@pytest.mark.parametrize("how", ["message", "SIGINT"])
def test_interrupt_ends_the_cell_and_keeps_its_state(patient, kernel, how):
    request, messages = kernel.start_busy("while True: pass", before="kept = 'kept'")
    if how == "message":
        kernel.control("interrupt_request")
    else:
        os.kill(kernel.pid, signal.SIGINT)
    assert kernel.finish(request, messages).ename == "KeyboardInterrupt"
    assert kernel.value("kept") == "'kept'"


def test_interrupt_as_soon_as_the_kernel_is_busy_is_a_keyboard_interrupt(patient, kernel):
    kernel.value("kept = 0")
    for i in range(30):
        request = kernel.send(f"kept = {i}\nwhile True: pass")
        messages = kernel.iopub_until(request, lambda message: message["msg_type"] == "status")
        kernel.control("interrupt_request")
        cell = kernel.finish(request, messages)
        assert (cell.ename, cell.report["outcome"], cell.report["rolled_back"]) == (
            "KeyboardInterrupt",
            "interrupted",
            False,
        )
    assert kernel.value("kept in range(30)") == "True"


def test_interrupt_while_idle_does_nothing(kernel):
    kernel.value("x = 1")
    for _ in range(20):
        assert kernel.control("interrupt_request")["status"] == "ok"
        assert kernel.value("x") == "1"


@pytest.mark.parametrize("restart", [False, True])
def test_shutdown_request_is_answered_and_leaves_no_process(kernel, restart):
    kernel.value("import threading; threading.Thread(target=threading.Event().wait, daemon=True).start()")
    pidfds = open_family(kernel.pid)
    reply = kernel.control("shutdown_request", {"restart": restart})
    assert reply == {"status": "ok", "restart": restart}
    assert wait_for_end(pidfds, STUCK_S) == 0


def test_restart_forgets_everything(kernel):
    kernel.value("x = 1")
    kernel.manager.restart_kernel(now=False)
    kernel.wait_until_up()
    assert kernel.run("x").ename == "NameError"


def test_kernel_that_was_killed_leaves_its_ports_to_the_next_one(kernel):
    for n in range(5):
        kernel.value(f"n = {n}")
        kernel.manager.restart_kernel(now=True)
        kernel.wait_until_up()
        assert kernel.run("n").ename == "NameError"


@pytest.mark.check
@pytest.mark.parametrize("victim", ["the process that Jupyter knows", "its first child"])
def test_kill_9_leaves_no_process_behind(kernel, victim):
    kernel.value("import threading; threading.Thread(target=threading.Event().wait, daemon=True).start()")
    assert kernel.ask("pass", {"files": [{"path": "given.txt", "text": "put there as somebody else"}]}).ok
    kernel.start_busy("child.wait()", before="import subprocess; child = subprocess.Popen(['sleep', 'infinity'])")
    members = family(kernel.pid)
    assert len(members) >= 4, "the kernel, its parent, the cell and its child"
    pidfds = open_family(kernel.pid)
    os.kill(members[0] if victim == "the process that Jupyter knows" else members[1], signal.SIGKILL)
    assert wait_for_end(pidfds, STUCK_S) == 0


STEPPED = pathlib.Path(__file__).with_name("stepped.py")
WHOLE = 1_000_000  # more stops than a start has


def end(pids):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def start_and_kill(connection_file, folder, stops, victim):
    """Kills a process of a kernel that starts, after so many stops. Returns how many there were, and who was left."""
    kernel = [PETRI, "kernel", connection_file, "--python", INTERPRETERS[0].path]
    alive, held = os.pipe()  # who has what a process of the kernel's has, such as its ports, has this, too
    command = [sys.executable, STEPPED, str(stops), victim, *kernel]
    stepped = subprocess.run(
        command, pass_fds=[held], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=folder, timeout=STUCK_S
    )
    os.close(held)
    made, first, *others = map(int, stepped.stdout.split())
    if victim == "last":
        end([first])
    left = not select.select([alive], [], [], STUCK_S)[0]
    os.close(alive)
    end(others if left else [])
    return made, left


@pytest.mark.parametrize("victim", ["first", "last"])
@pytest.mark.parametrize("apart", [pytest.param(3, marks=[pytest.mark.thorough, pytest.mark.long]), 17])
def test_kernel_killed_at_any_step_of_its_start_leaves_no_process_that_has_its_ports(
    write_connection, tmp_path, apart, victim
):
    file, _ = write_connection(key=b"key")
    whole, left = start_and_kill(file, tmp_path, WHOLE, victim)
    assert whole > 100
    assert not left
    assert [stops for stops in range(1, whole, apart) if start_and_kill(file, tmp_path, stops, victim)[1]] == []


@pytest.fixture
def no_huge_pages():
    """For kernels that come after it: where all memory may become huge pages, a few bytes more can be two megabytes."""
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    assert prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) == 0, os.strerror(ctypes.get_errno())
    yield
    assert prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0) == 0, os.strerror(ctypes.get_errno())


def run_cells(kernel, cells):
    """Runs cells, after which there is no process, descriptor, namespace, mount or cgroup that wasn't before."""
    for _ in range(HISTORY):
        kernel.value("n = 0")
    before = at_rest(kernel, STUCK_S)
    for _ in range(cells):
        kernel.value("n += 1")
    assert kernel.value("n") == str(cells)
    assert beyond(kernel, before, STUCK_S) == {}
    wait_for(lambda: zombies(kernel.pid) <= 1)  # the last cell's may wait for the next cell


@pytest.mark.thorough
def test_hundred_cells_leave_nothing_but_memory(venv_kernel):
    run_cells(venv_kernel, 100)


@pytest.mark.thorough
@pytest.mark.alone
def test_thousand_cells_leave_no_process_descriptor_or_memory(no_huge_pages, venv_kernel):
    kernel = venv_kernel
    for _ in range(WARM_UP):
        kernel.value("n = 0")
    members = family(kernel.pid)[:2]
    memory_before = sum(map(private_bytes, members))
    run_cells(kernel, CELLS)
    grown = sum(map(private_bytes, members)) - memory_before
    print(f"{CELLS} cells: the kernel's private memory grew by {grown} bytes")
    assert grown < 256 * 1024, f"{grown} bytes in {CELLS} cells"
