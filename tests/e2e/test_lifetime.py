"""From the first answer to the last process: start, busy, interrupt, shutdown, death."""

import os
import signal
import time
import venv

import pytest
import zmq

from kernels import STUCK_S, Interpreter, install
from processes import family, footprint, private_bytes, wait_for_end

CELLS = 1000
WARM_UP = 100

# Put into an environment's site-packages: importing IPython waits until the test opens the gate.
GATE = """
import sys

class Gate:
    def find_spec(self, name, path=None, target=None):
        if name == "IPython":
            sys.meta_path.remove(self)
            open({fifo!r}).read()

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


def test_kernel_info_is_answered_before_the_interpreter_is_warm(start, tmp_path):
    fifo = tmp_path / "gate"
    os.mkfifo(fifo, 0o644)
    environment = tmp_path / "environment"
    venv.create(environment, with_pip=False, symlinks=True)
    [site] = environment.glob("lib/python*/site-packages")
    (site / "gate.py").write_text(GATE.format(fifo=str(fifo)))
    (site / "gate.pth").write_text("import gate\n")
    specs = install(tmp_path / "prefix", str(environment / "bin" / "python"))
    kernel = start(Interpreter("gated", str(environment / "bin" / "python")), kernel_dir=specs, wait=False)

    assert kernel.shell_reply(kernel.client.kernel_info())["content"]["status"] == "ok"
    request = kernel.send("1 + 1")
    with open(fifo, "w"):
        pass
    assert kernel.finish(request).result == "2"


def test_heartbeat_and_control_answer_while_a_cell_is_busy(kernel):
    request, messages = kernel.start_busy("while True: pass")
    assert heartbeat(kernel) == b"\x00ping\xff"
    assert kernel.control("kernel_info_request")["status"] == "ok"
    assert not kernel.has_reply(request)
    assert kernel.control("interrupt_request")["status"] == "ok"
    assert kernel.finish(request, messages).ename == "KeyboardInterrupt"


@pytest.mark.parametrize("how", ["message", "SIGINT"])
def test_interrupt_ends_the_cell_and_keeps_its_state(kernel, how):
    request, messages = kernel.start_busy("while True: pass", before="kept = 'kept'")
    if how == "message":
        kernel.control("interrupt_request")
    else:
        os.kill(kernel.pid, signal.SIGINT)
    assert kernel.finish(request, messages).ename == "KeyboardInterrupt"
    assert kernel.value("kept") == "'kept'"


def test_interrupt_while_idle_does_nothing(kernel):
    kernel.value("x = 1")
    assert kernel.control("interrupt_request")["status"] == "ok"
    os.kill(kernel.pid, signal.SIGINT)
    assert kernel.value("x") == "1"


@pytest.mark.parametrize("restart", [False, True])
def test_shutdown_request_is_answered_and_leaves_no_process(kernel, restart):
    kernel.value("import threading; threading.Thread(target=threading.Event().wait, daemon=True).start()")
    pidfds = [os.pidfd_open(pid) for pid in family(kernel.pid)]
    reply = kernel.control("shutdown_request", {"restart": restart})
    assert reply == {"status": "ok", "restart": restart}
    assert wait_for_end(pidfds, STUCK_S) == 0


def test_restart_forgets_everything(kernel):
    kernel.value("x = 1")
    kernel.manager.restart_kernel(now=False)
    kernel.wait_until_up()
    assert kernel.run("x").ename == "NameError"


@pytest.mark.parametrize("victim", ["the process that Jupyter knows", "its first child"])
def test_kill_9_leaves_no_process_behind(kernel, victim):
    kernel.value("import threading; threading.Thread(target=threading.Event().wait, daemon=True).start()")
    kernel.start_busy("child.wait()", before="import subprocess; child = subprocess.Popen(['sleep', 'infinity'])")
    members = family(kernel.pid)
    assert len(members) >= 4, "the kernel, its parent, the cell and its child"
    pidfds = [os.pidfd_open(pid) for pid in members]
    os.kill(members[0] if victim == "the process that Jupyter knows" else members[1], signal.SIGKILL)
    assert wait_for_end(pidfds, STUCK_S) == 0


def settle(kernel, goal):
    """Asks the kernel for something small until its footprint is goal, or for as long as a stuck one would take."""
    deadline = time.monotonic() + STUCK_S
    while (now := footprint(kernel.pid)) != goal and time.monotonic() < deadline:
        kernel.control("kernel_info_request")
    return now


def steady(kernel):
    """The footprint once it is the same twice in a row: what is prepared ahead is prepared."""
    before = None
    while (now := footprint(kernel.pid)) != before:
        before = now
        kernel.control("kernel_info_request")
    return now


def test_thousand_cells_leave_nothing(venv_kernel):
    kernel = venv_kernel
    for _ in range(WARM_UP):
        kernel.value("n = 0")
    members = family(kernel.pid)[:2]
    before, memory_before = steady(kernel), sum(map(private_bytes, members))
    for _ in range(CELLS):
        kernel.value("n += 1")
    assert kernel.value("n") == str(CELLS)
    assert settle(kernel, before) == before
    grown = sum(map(private_bytes, members)) - memory_before
    print(f"{CELLS} cells: the kernel's private memory grew by {grown} bytes")
    assert grown < 1024 * 1024, f"{grown} bytes in {CELLS} cells"
