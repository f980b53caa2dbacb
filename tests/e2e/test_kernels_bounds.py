"""The bounds of all kernels of a user together: the key "kernels" of the configuration."""

import glob
import os
import signal
import subprocess

import pytest

from kernels import PETRI, STUCK_S
from processes import open_family, wait_for_end
from surroundings import SYSTEM_PYTHON
from test_ps import AS_NOBODY, listed, place

pytestmark = pytest.mark.xdist_group("user")  # one process: the number is that of all of a user's kernels


__all__ = ["place"]  # a fixture

COMMON = f"petri-user-{os.geteuid()}"


def groups():
    """The common groups of the user that there are, of all controllers."""
    return glob.glob(f"/sys/fs/cgroup/**/{COMMON}", recursive=True)


@pytest.fixture
def grouped(configure, start, skip_or_fail):
    """Starts kernels with bounds, whose own limits are far above these; skips where Linux has no group for them."""
    subprocess.run([PETRI, "run", "-"], input="", text=True, capture_output=True, check=True)
    assert not groups()  # what killed kernels had left is gone with the next one, which has no bounds

    def begin(n, **bounds):
        profile = {"memory": "2G", "processes": 200, "ceilings": {"memory": "8G", "processes": 400}}
        configure(kernels=bounds, profiles={"notebook": profile})
        kernels = [start() for _ in range(n)]
        if not groups():
            skip_or_fail("no control group can be had here")
        return kernels

    return begin


def end_well(kernel):
    """Not as close() does it, which kills: by a request."""
    ended = open_family(kernel.pid)
    kernel.manager.shutdown_kernel()
    wait_for_end(ended, STUCK_S)


def fits(most):
    """The number that allows so many kernels beside those that run already."""
    return len(listed()) + most


def test_kernel_beyond_the_number_runs_no_cell_and_says_who_allows_how_many(configure, start):
    most = fits(1)
    configure(kernels={"number": most})
    first = start()
    assert first.value("1 + 1") == "2"
    beyond = start(wait=False)
    refused = beyond.run("1 + 1")
    assert refused.ename == "SandboxError"
    assert f"{most} kernel" in refused.reply["evalue"]
    assert f'your configuration ("kernels") allows no more than {most} at once' in refused.reply["evalue"]
    assert "petri ps lists them: shut one down" in refused.reply["traceback"][-1]
    row = listed()[beyond.pid]
    assert row["state"] == "unavailable"
    assert first.value("1 + 1") == "2"
    first.close()
    beyond.manager.restart_kernel(now=True)
    beyond.wait_until_up()
    assert beyond.value("1 + 1") == "2"


def test_killed_kernel_counts_no_more(configure, start):
    configure(kernels={"number": fits(1)})
    first = start()
    ended = open_family(first.pid)
    os.kill(first.pid, signal.SIGKILL)
    wait_for_end(ended, STUCK_S)
    assert start().value("1 + 1") == "2"


def test_of_five_that_start_at_once_as_many_run_cells_as_may(configure, start):
    configure(kernels={"number": fits(2)})
    kernels = [start(wait=False) for _ in range(5)]
    cells = [kernel.run("1 + 1") for kernel in kernels]
    assert sorted(cell.ok for cell in cells) == [False, False, False, True, True]
    assert {cell.ename for cell in cells if not cell.ok} == {"SandboxError"}


def test_memory_of_all_is_bounded_and_the_cell_is_told_that_it_was_all(grouped):
    one, other = grouped(2, memory="700M")
    one.good("held = bytearray(400 << 20)")
    cell = other.run("more = bytearray(500 << 20)")
    assert cell.ename == "CellMemoryLimit" and cell.report["outcome"] == "memory"
    assert cell.reply["evalue"].startswith(
        "All kernels of this user together held as much memory as they may (700 MiB), and Linux ended this cell"
    )
    assert "petri ps lists the kernels" in cell.reply["traceback"][-1]
    assert one.value("len(held) >> 20") == "400" and other.value("'more' in globals()") == "False"
    assert other.value("len(bytearray(100 << 20)) >> 20") == "100"


def test_cell_over_its_own_limit_is_told_that_below_the_bound_of_all(grouped):
    (kernel,) = grouped(1, memory="2G")
    cell = kernel.run("%%limits memory=200M\nheld = bytearray(1 << 30)\nheld[:] = b'1' * len(held)")
    assert "more memory than its limit of 200 MiB" in cell.reply["evalue"], cell


START = """
import subprocess
started = []
try:
    for _ in range(60):
        started.append(subprocess.Popen(["/bin/sleep", "100"]))
except OSError as error:
    print(type(error).__name__)
"""


def test_processes_of_all_are_bounded_and_cells_go_on_where_they_end(grouped):
    one, other = grouped(2, processes=100)
    fresh = {"fresh": True}  # what has ended stays as long as its parent may wait for it, and counts
    assert "BlockingIOError" not in one.run(START).stdout
    assert "BlockingIOError" in other.ask(START, fresh).stdout
    assert other.value("1 + 1") == "2" and one.value("1 + 1") == "2"
    end_well(one)
    assert "BlockingIOError" not in other.ask(START, fresh).stdout


def test_common_group_is_removed_with_the_last_kernel(grouped):
    one, other = grouped(2, memory="1G", processes=500)
    end_well(one)
    assert groups() and other.value("1 + 1") == "2"
    end_well(other)
    assert not groups()


def test_group_that_kill_9_leaves_is_taken_over_and_removed_by_the_next(grouped, start):
    (killed,) = grouped(1, memory="1G", processes=500)
    ended = open_family(killed.pid)
    os.kill(killed.pid, signal.SIGKILL)
    wait_for_end(ended, STUCK_S)
    killed.manager.provisioner.process.wait()
    assert groups()
    following = start()
    below = [name for group in groups() for name in os.listdir(group) if name.startswith("petri-")]
    assert below and not any(f"-{killed.pid}-" in name for name in below)
    end_well(following)
    assert not groups()


def test_kernels_that_start_and_end_at_once_all_get_the_group(grouped, start):
    kernels = grouped(1, memory="3G") + [start(wait=False) for _ in range(4)]
    end_well(kernels[0])
    for kernel in kernels[1:]:
        kernel.wait_until_up()
        assert f"{kernel.pid}-cells" in "".join(name for group in groups() for name in os.listdir(group))
        end_well(kernel)
    assert not groups()


def test_kernel_without_a_group_says_once_that_the_bounds_do_not_hold(place):
    file = place.write_config(kernels={"memory": "1G", "processes": 100, "number": 50})
    done = subprocess.run(
        [*AS_NOBODY, "env", "-i", "PATH=/usr/bin:/bin", f"HOME={place.path}", place.petri, "run", "--config", file,
         "--python", SYSTEM_PYTHON, "--text", "-"],
        input="print(1 + 1)", cwd=place.path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "2\n"
    said = [line for line in done.stderr.splitlines() if "not bounded" in line]
    assert len(said) == 1 and "the memory and the processes of all kernels together are not bounded" in said[0], done
