"""Questions that harm nobody: what stands between a cell and the machine is there, before anything relies on it."""

import ast
import os
import pathlib

from harness import FILTERED
from processes import NAMESPACES, namespace_ids

CODE = f"""
import ctypes, errno, os

def attempt(call, *arguments):
    try:
        call(*arguments)
        return 0
    except OSError as error:
        return error.errno

def syscall(number, *arguments):
    library = ctypes.CDLL(None, use_errno=True)
    return 0 if library.syscall(number, *arguments) >= 0 else ctypes.get_errno()

status = dict(line.split(":\\t", 1) for line in open("/proc/self/status").read().splitlines() if ":\\t" in line)
print(dict(
    namespaces={{name: os.readlink("/proc/self/ns/" + name) for name in {NAMESPACES!r}}},
    capabilities=sorted({{int(status[key], 16) for key in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")}}),
    no_new_privileges=status["NoNewPrivs"],
    filter=status["Seccomp"],
    processes=sorted(int(name) for name in os.listdir("/proc") if name.isdigit()),
    interfaces=[line.split(":")[0].strip() for line in open("/proc/net/dev").read().splitlines()[2:]],
    nothing_to_kill=attempt(os.kill, 1, 0),
    unshare=syscall(272, 0),
    mount=syscall(165, 0, 0, 0, 0, 0),
    reboot=syscall(169, 0, 0, 0, 0),
    ptrace=syscall(101, 0, 0, 0, 0),
    sysrq=attempt(os.close, os.open("/proc/sysrq-trigger", os.O_WRONLY)) if os.path.exists("/proc/sysrq-trigger")
        and os.access("/proc/sysrq-trigger", os.W_OK) else "closed",
    core_pattern=os.access("/proc/sys/kernel/core_pattern", os.W_OK),
    cgroups=os.path.exists("/sys/fs/cgroup/cgroup.procs") or os.path.isdir("/sys/fs/cgroup/memory"),
    root_is_writable=os.access("/", os.W_OK) or os.access("/usr", os.W_OK) or os.access("/etc", os.W_OK),
    shadow=os.path.exists("/etc/shadow") and os.access("/etc/shadow", os.R_OK),
    devices=sorted(os.listdir("/dev")),
))
"""

EPERM = 1
REFUSED = {EPERM, 38} if FILTERED else {EPERM}  # ENOSYS: what a container's filter says, which comes first
DEVICES = {"null", "zero", "full", "random", "urandom", "shm", "fd", "stdin", "stdout", "stderr", "ptmx", "pts", "tty"}


def check(session):
    """Asks all; returns the Run."""
    run = session.attempt(CODE, {"timeout": "20s"})
    assert run.cell.ok, str(run)
    found = ast.literal_eval(run.cell.stdout)
    ours, cells = namespace_ids(), found["namespaces"]
    assert all(cells[name] != ours[name] for name in NAMESPACES), cells
    assert found["capabilities"] == [0]
    assert (found["no_new_privileges"], found["filter"]) == ("1", "2")
    assert len(found["processes"]) <= 4 and os.getpid() not in found["processes"], found["processes"]
    assert found["interfaces"] == ["lo"]
    assert found["nothing_to_kill"] in (0, EPERM)
    assert {found[call] for call in ("unshare", "mount", "reboot", "ptrace")} <= REFUSED, found
    assert found["sysrq"] == "closed"
    assert not found["core_pattern"]
    assert not found["cgroups"]
    assert not found["root_is_writable"]
    assert not found["shadow"]
    assert set(found["devices"]) <= DEVICES, found["devices"]
    assert pathlib.Path("/proc/self/status").exists()
    return run
