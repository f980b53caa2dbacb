"""A cell leaves what Linux doesn't give to another cell, and the session goes on without that cell."""

import re
import subprocess
import sys

import pytest

from kernels import ROOT, STUCK_S
from processes import family

MARK = b"a mark of a test"
# load: movdqu mark(%rip), %xmm15; movb $1, done(%rip); 1: movl $34, %eax; syscall; jmp 1b; mark: ...; done: 0
CODE = bytes.fromhex("f3440f6f3d10000000 c6051900000001 b822000000 0f05 ebf7") + MARK + bytes(1)
LEAVE = f"""
import ctypes, mmap, threading, time
code = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=7)
code.write({CODE!r})
hold = ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
threading.Thread(target=hold, daemon=True).start()
while code[{len(CODE) - 1}] == 0:
    time.sleep(0)
x = 3
"""
ERRORS = ["EINVAL", "EIO", "EFAULT", "ENOMEM", "EPERM", "ESRCH"]
BACK = r"; the session is back before \[3\]: 1 cell \(.*\), .* of memory\."


@pytest.fixture
def refuse(skip_or_fail):
    """Has Linux refuse to give marked registers to the cells of a kernel."""
    started = []

    def refuse_for(kernel, error):
        inner = family(kernel.pid)[1]  # the kernel process, the child of the one that Jupyter knows
        program = [sys.executable, ROOT / "tests" / "e2e" / "refusing.py", str(inner), error, MARK.hex()]
        refusing = subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        started.append(refusing)
        if refusing.stdout.readline() != "ready\n":
            why = refusing.communicate(timeout=STUCK_S)[1]
            (skip_or_fail if "PermissionError" in why else pytest.fail)(why)
        return refusing

    yield refuse_for
    for refusing in started:
        refusing.kill()
        refusing.communicate()


@pytest.fixture
def kernel(patient, start):
    kernel = start()
    kernel.good("x = 1")
    kernel.good("x = 2")
    return kernel


def check_is_back(cell):
    text = re.sub(r"\x1b\[[0-9;]*m", "", cell.reply["evalue"])
    assert cell.ename == "SandboxError"
    assert re.search("setting the registers of the state's threads failed: .*" + BACK, text), text


@pytest.mark.parametrize("error", ERRORS)
def test_cell_whose_registers_no_other_can_have_is_undone_and_said(kernel, refuse, error):
    refusing = refuse(kernel, error)
    kernel.good(LEAVE)
    check_is_back(kernel.run("x"))
    assert refusing.stdout.readline() == "refused\n"
    assert kernel.value("x") == "2"
    assert kernel.run("%undo").ok
    assert kernel.value("x") == "2"


def test_state_that_no_cell_can_have_can_be_left_and_gone_to(kernel, refuse):
    refuse(kernel, "EINVAL")
    state = kernel.good(LEAVE).report["run_id"]
    assert kernel.client.complete("x.") and not kernel.ask("x", {"from": state, "commit": "branch"}).ok
    assert kernel.run("%undo").ok
    assert kernel.value("x") == "2"
    assert kernel.run(f"%restore {state}").ok
    check_is_back(kernel.run("x"))
    assert kernel.value("x") == "2"


def test_state_is_whole_once_its_cells_can_be_made_again(kernel, refuse):
    refusing = refuse(kernel, "EINVAL")
    state = kernel.good(LEAVE).report["run_id"]
    check_is_back(kernel.run("x"))
    refusing.kill()
    refusing.wait(STUCK_S)
    assert kernel.run(f"%restore {state}").ok
    assert kernel.value("x") == "3"
