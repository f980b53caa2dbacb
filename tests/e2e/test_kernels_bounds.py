"""The bounds of all kernels of a user together: the key "kernels" of the configuration."""

import os
import signal

import pytest

from kernels import STUCK_S
from processes import open_family, wait_for_end
from test_ps import listed

pytestmark = pytest.mark.xdist_group("user")  # one process: the number is that of all of a user's kernels


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
