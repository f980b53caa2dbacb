"""The bounds of all kernels of a user together: the key "kernels" of the configuration."""

import functools
import glob
import json
import os
import signal
import subprocess

import pytest

from kernels import PETRI, STUCK_S, wait_for
from processes import open_family, wait_for_end
from roster import NOBODY, listed, nobodys_place, own_list
from surroundings import SYSTEM_PYTHON

pytestmark = pytest.mark.xdist_group("user")  # one process: bounds are those of all of a user's kernels

COMMON = f"petri-user-{os.geteuid()}"


def groups():
    """The common groups of the user that there are, of all controllers."""
    return glob.glob(f"/sys/fs/cgroup/**/{COMMON}", recursive=True)


def are_swept():
    """Whether the next kernel, which has no bounds, has removed what was left."""
    subprocess.run([PETRI, "run", "-"], input="", text=True, capture_output=True, check=True)
    return not groups()


@pytest.fixture
def grouped(configure, start, skip_or_fail):
    """Starts kernels with bounds, whose own limits are far above these; skips where Linux has no group for them."""
    wait_for(are_swept)  # what the killed kernels of an earlier test have left: their processes need a moment to end

    def begin(n, **bounds):
        profile = {"memory": "2G", "processes": 200, "ceilings": {"memory": "8G", "processes": 400}}
        configure(kernels=bounds, profiles={"notebook": profile})
        kernels = [start() for _ in range(n)]
        if not groups():
            skip_or_fail("no control group can be had here")
        return kernels

    return begin


def end_well(kernel):
    """By a request: close() kills, and so does the manager where the end takes seconds."""
    ended = open_family(kernel.pid)
    assert kernel.control("shutdown_request", {"restart": False})["status"] == "ok"
    assert wait_for_end(ended, STUCK_S) == 0


def running():
    """The pids of the kernels of the user without others that run a cell."""
    return [pid for pid, row in listed().items() if (row["uid"], row["state"]) == (NOBODY, "running")]


class Runs:
    """`petri run` as a user who has no other kernels, with a configuration."""

    def __init__(self, place, command, **config):
        self.place = place
        self.command = [*command, "run", "--python", SYSTEM_PYTHON, "--config", place.write_config(**config), "-"]
        self.started = []

    def begin(self, code):
        """Does not wait for the end."""
        pipe = subprocess.PIPE
        run = subprocess.Popen(self.command, cwd=self.place.path, text=True, stdin=pipe, stdout=pipe, stderr=pipe)
        self.started.append(run)
        run.stdin.write(code)
        run.stdin.close()
        run.stdin = None
        return run

    def hold(self):
        """One that runs until end(), and runs already."""
        run = self.begin("while True: pass")
        (run.kernel,) = wait_for(running)
        return run

    def report(self, run):
        out, err = run.communicate(timeout=STUCK_S)
        assert out, err
        return json.loads(out)

    def end(self):
        for run in self.started:
            if run.poll() is None:
                run.kill()
            run.communicate()


@pytest.fixture
def runs():
    made = []
    with nobodys_place() as (place, command):
        yield lambda **config: made.append(Runs(place, command, **config)) or made[-1]
        for one in made:
            one.end()


def test_kernel_beyond_the_number_runs_no_cell_and_says_who_allows_how_many(runs):
    one = runs(kernels={"number": 1})
    held = one.hold()
    report = one.report(one.begin("print(1)"))
    assert report["outcome"] == "sandbox" and report["error"]["ename"] == "SandboxError"
    why = '1 kernel of this user runs, and your configuration ("kernels") allows no more than 1 at once'
    assert why in report["error"]["evalue"], report
    assert "petri ps lists them: shut one down" in report["error"]["traceback"][-1]
    ended = open_family(held.kernel)
    os.kill(held.kernel, signal.SIGKILL)  # as others see it, it counts no more
    wait_for_end(ended, STUCK_S)
    assert one.report(one.begin("print(1)"))["outcome"] == "ok"


def test_of_five_that_start_at_once_as_many_run_cells_as_may(runs):
    five = runs(kernels={"number": 2})
    all_started = [five.begin("import time\ntime.sleep(1000)") for _ in range(5)]
    refused = wait_for(lambda: len(ended := [run for run in all_started if run.poll() is not None]) >= 3 and ended)
    assert {five.report(run)["outcome"] for run in refused} == {"sandbox"}
    wait_for(lambda: len(running()) == 2)


@pytest.fixture
def alone(start, kernel_dirs, tmp_path):
    """Starts kernels that are the only ones of the user for each other, and the beginning of a command among them."""
    with own_list(tmp_path) as before:
        spec = json.loads((kernel_dirs["venv"] / "petri" / "kernel.json").read_text())
        own = tmp_path / "kernels"
        (own / "petri").mkdir(parents=True)
        (own / "petri" / "kernel.json").write_text(json.dumps({**spec, "argv": [*before, *spec["argv"]]}))
        yield functools.partial(start, kernel_dir=own), before


def test_kernel_beyond_the_number_is_in_the_list_and_answers_each_request(configure, alone):
    start, before = alone
    configure(kernels={"number": 1})
    first = start()
    assert first.value("6 * 7") == "42"
    beyond = start(wait=False)
    for _ in range(2):
        refused = beyond.run("1 + 1")
        assert refused.ename == "SandboxError" and "allows no more than 1 at once" in refused.reply["evalue"]
    mine = {pid: row["state"] for pid, row in listed(*before).items() if row["uid"] == os.geteuid()}
    assert set(mine) == {first.pid, beyond.pid} and mine[beyond.pid] == "unavailable"
    assert not set(mine) & set(listed())


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
    assert groups()
    ended = open_family(killed.pid)
    os.kill(killed.pid, signal.SIGKILL)
    wait_for_end(ended, STUCK_S)
    killed.manager.provisioner.process.wait()
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


def test_kernel_without_a_group_says_once_that_the_bounds_do_not_hold():
    with nobodys_place() as (place, command):
        file = place.write_config(kernels={"memory": "1G", "processes": 100, "number": 50})
        done = subprocess.run([*command, "run", "--config", file, "--python", SYSTEM_PYTHON, "--text", "-"],
                              input="print(1 + 1)", cwd=place.path, capture_output=True, text=True,
                              check=True)  # fmt: skip
    assert done.stdout == "2\n"
    said = [line for line in done.stderr.splitlines() if "not bounded" in line]
    assert len(said) == 1 and "the memory and the processes of all kernels together are not bounded" in said[0], done
