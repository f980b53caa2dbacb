"""Where a sandbox can't be made, nothing runs, and the reply says what is missing."""

import json
import pathlib
import re
import shutil
import signal
import sys

import pytest

from kernels import ROOT

DENY = str(ROOT / "tests" / "e2e" / "deny.py")

def used_up(kind):
    """A command that starts a kernel where there can be no more namespaces of this kind."""
    limit = f'echo 0 >/proc/sys/user/max_{kind}_namespaces && exec "$@"'
    return ["unshare", "--user", "--map-root-user", "sh", "-c", limit, "sh"]


# How a machine may lack what petri needs: a command that starts the kernel there.
LACKS = {
    **{f"{kind} namespaces used up": used_up(kind) for kind in ("user", "pid", "mnt", "net")},
    **{f"{name} denied": [sys.executable, DENY, name] for name in ("unshare", "setns", "mount", "ptrace", "seccomp")},
    "privileges that it doesn't need": ["unshare", "--user", "--map-user=1000", "--map-group=1000", "--keep-caps"],
}


def wrapped(kernel_dir, folder, prefix):
    """A copy of the kernelspec whose kernel is started by another command."""
    target = pathlib.Path(folder) / "wrapped" / "petri"
    shutil.copytree(pathlib.Path(kernel_dir) / "petri", target)
    spec = json.loads((target / "kernel.json").read_text())
    spec["argv"] = [*prefix, *spec["argv"]]
    (target / "kernel.json").write_text(json.dumps(spec))
    return target.parent


def blocked_signals(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    mask = int(re.search(r"SigBlk:\t([0-9a-f]+)", status).group(1), 16)
    return {number for number in range(1, signal.NSIG) if mask >> (number - 1) & 1}


@pytest.mark.parametrize("lack", LACKS)
def test_nothing_runs_without_a_sandbox(start, kernel_dirs, tmp_path, lack):
    kernel = start(kernel_dir=wrapped(kernel_dirs["venv"], tmp_path, LACKS[lack]))
    assert kernel.shell_reply(kernel.client.kernel_info())["content"]["status"] == "ok"
    for _ in range(2):
        cell = kernel.run("print('it ran')")
        assert cell.ename == "SandboxError", str(cell)
        assert len(cell.reply["evalue"]) > 20
        assert cell.stdout == ""
        assert [content["ename"] for content in cell.of("error")] == ["SandboxError"]
    assert kernel.control("shutdown_request", {"restart": False})["status"] == "ok"


@pytest.mark.parametrize("kind", ["user", "pid"])
def test_kernel_without_a_sandbox_blocks_only_signals_it_reads(start, kernel_dirs, tmp_path, kind):
    kernel = start(kernel_dir=wrapped(kernel_dirs["venv"], tmp_path, used_up(kind)))
    assert kernel.run("print('it ran')").ename == "SandboxError"
    assert blocked_signals(kernel.pid) == {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}


def test_cell_runs_where_only_an_unused_system_call_is_denied(start, kernel_dirs, tmp_path):
    kernel = start(kernel_dir=wrapped(kernel_dirs["venv"], tmp_path, [sys.executable, DENY, "acct"]))
    assert kernel.run("print('it ran')").stdout == "it ran\n"
