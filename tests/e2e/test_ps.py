"""petri ps: which kernels run, and what each does and uses, as Linux tells it."""

import json
import os
import pathlib
import shutil
import signal
import subprocess

import pytest

from kernels import PETRI, STUCK_S, wait_for
from processes import family, open_family, wait_for_end
from roster import NOBODY, listed, nobodys_place
from surroundings import SYSTEM_PYTHON

pytestmark = pytest.mark.xdist_group("user")  # one process: the list is the same for all of a user's tests

# What a cell can do to look like a kernel: its name, its command line, and a file with a lock where kernels have theirs.
POSE = """
import ctypes, fcntl, os, subprocess, sys
ctypes.CDLL(None).prctl(15, b"petri", 0, 0, 0)
made = []
for folder in ("/dev/shm/petri-{uid}", "/run/petri-{uid}", "/run/user/{uid}/petri", "/tmp/petri-{uid}"):
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        kept = open(folder + "/kernel-0123456789abcdef", "w")
        kept.write('{{"profile": "forged", "folder": "/forged", "state": "running"}}'); kept.flush()
        fcntl.lockf(kept, fcntl.LOCK_EX)
        made.append(kept)
    except OSError:
        pass
child = subprocess.Popen(["petri", "kernel", "-c", "input()"], executable=sys.executable, stdin=subprocess.PIPE)
"""


def state_is(pid, state):
    return wait_for(lambda: (row := listed().get(pid)) and row["state"] == state and row)


def test_kernels_are_listed_with_what_they_do_and_use(patient, start, tmp_path):
    folders = [tmp_path / "one", tmp_path / "other"]
    for folder in folders:
        folder.mkdir()
    busy, idle = [start(folder=folder) for folder in folders]
    busy.good("x = 1")
    request, messages = busy.start_busy("held = bytearray(64 << 20)\nwhile True: pass")
    row = state_is(busy.pid, "running")
    assert (row["profile"], row["folder"], row["execution_count"]) == ("notebook", str(tmp_path / "one"), 2)
    assert row["uid"] == os.geteuid() and row["started"] <= row["since"]
    wait_for(lambda: listed()[busy.pid]["memory_bytes"] > 64 << 20)
    # Two looks, between which one that has been ended may go.
    wait_for(lambda: listed()[busy.pid]["processes"] == len(family(busy.pid)))
    quiet = state_is(idle.pid, "idle")
    assert quiet["execution_count"] is None and quiet["folder"] == str(tmp_path / "other")
    wait_for(lambda: listed()[busy.pid]["cpu_ms"] > quiet["cpu_ms"])
    busy.manager.interrupt_kernel()
    assert busy.finish(request, messages).ename == "KeyboardInterrupt"
    state_is(busy.pid, "idle")


def test_table_has_the_same_rows_in_columns(start, tmp_path):
    kernel = start()
    text = subprocess.run([PETRI, "ps"], capture_output=True, text=True, check=True).stdout
    title, *lines = text.splitlines()
    (line,) = [line for line in lines if line.split()[0] == str(kernel.pid)]
    assert title.split()[:3] == ["pid", "user", "profile"] and title.endswith("folder")
    assert line[title.index("folder") :] == str(tmp_path)
    assert line[title.index("profile") :].startswith("notebook") and " MiB " in line


def test_killed_kernel_is_gone_at_once(start):
    kernel, other = start(), start()
    assert {kernel.pid, other.pid} <= set(listed())
    ended = open_family(kernel.pid)
    os.kill(kernel.pid, signal.SIGKILL)
    wait_for_end(ended, STUCK_S)
    assert kernel.pid not in listed() and other.pid in listed()


def test_cell_that_poses_as_a_kernel_has_no_row(start):
    kernel = start()
    kernel.good(POSE.format(uid=os.geteuid()))
    found = listed()
    assert kernel.pid in found and not set(family(kernel.pid)[1:]) & set(found)
    assert not any("forged" in (row["profile"], row["folder"]) for row in found.values())


def test_folder_with_control_characters_is_listed_without_them(start, tmp_path):
    folder = tmp_path / "a\x1b[31m\nb\u202ec"
    folder.mkdir()
    kernel = start(folder=folder)
    assert listed()[kernel.pid]["folder"] == str(folder)
    text = subprocess.run([PETRI, "ps"], capture_output=True, text=True, check=True).stdout
    (line,) = [line for line in text.splitlines() if line.split()[0] == str(kernel.pid)]
    assert line.endswith("a?[31m?b?c") and "\x1b" not in text


@pytest.fixture
def nobodys():
    with nobodys_place() as made:
        yield made


def test_ordinary_user_sees_its_own_kernels_and_root_all(nobodys, start):
    place, command = nobodys
    mine = start()
    code = "print('started', flush=True)\nwhile True: pass"
    with subprocess.Popen([*command, "run", "--python", SYSTEM_PYTHON, "-"], cwd=place.path, text=True,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:  # fmt: skip
        run.stdin.write(code)
        run.stdin.close()

        def theirs():
            done = subprocess.run([*command, "ps", "--json"], capture_output=True, text=True, check=True)
            rows = json.loads(done.stdout)
            return [row for row in rows if row["state"] == "running" and row["processes"] > 3]

        (row,) = wait_for(theirs)
        assert (row["uid"], row["folder"]) == (NOBODY, str(place.path))
        assert row["memory_bytes"] > 1 << 20 and mine.pid != row["pid"]
        everyone = listed()
        assert everyone[row["pid"]]["uid"] == NOBODY and everyone[mine.pid]["uid"] == 0
        run.send_signal(signal.SIGINT)
        run.stdout.read()


def test_folder_of_a_login_session_is_used_and_no_cell_sees_it(nobodys):
    _, command = nobodys
    runtime = pathlib.Path("/run/user", str(NOBODY))
    runtime.mkdir(mode=0o700, parents=True)
    try:
        os.chown(runtime, NOBODY, NOBODY)
        (runtime / "notebooks").mkdir()
        (runtime / "notebooks" / "a.txt").touch()
        code = "import os; print(os.listdir('/work'))"
        for folder, seen in [(runtime, "[]"), (runtime / "petri", "[]"), (runtime / "notebooks", "['a.txt']")]:
            done = subprocess.run([*command, "run", "--text", "--python", SYSTEM_PYTHON, "-"], cwd=folder,
                                  input=code, text=True, capture_output=True, check=True)  # fmt: skip
            assert done.stdout.strip() == seen
        assert (runtime / "petri").stat().st_mode & 0o777 == 0o700
    finally:
        shutil.rmtree(runtime)
