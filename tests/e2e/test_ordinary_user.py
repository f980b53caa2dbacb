"""Someone without root gets the same: petri, installed by `make install`, started as an ordinary user."""

import json
import os
import pathlib
import pwd
import shutil
import subprocess
import tempfile

import pytest

import state
from kernels import PETRI, STUCK_S, Interpreter, install
from processes import open_family, wait_for_end
from test_sandboxes import BAD_CELLS

pytestmark = pytest.mark.xdist_group("user")  # one process: the account and what is installed are there once

NAME = f"petri-test-{os.getpid()}"  # a killed run leaves its account behind, and another checkout has one, too
SYSTEM = Interpreter("system", "/usr/bin/python3")

# Run as root: gives the connection file to the user, and becomes the user for good.
BECOME = """
chown "$1" "$3" && exec setpriv --reuid="$1" --regid="$2" --clear-groups --no-new-privs "$0" kernel "$3" --python "$4"
"""


@pytest.fixture(scope="module")
def user():
    """An account without any rights; root makes it, others are one."""
    if os.geteuid() != 0:
        yield pwd.getpwuid(os.geteuid())
        return
    subprocess.run(["useradd", "--no-create-home", "--shell", "/usr/sbin/nologin", NAME], check=True)
    yield pwd.getpwnam(NAME)
    subprocess.run(["userdel", NAME], check=True)


@pytest.fixture(scope="module")
def shared_folder():
    """A folder that every user can read, unlike pytest's own."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="petri-test-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def installed(shared_folder):
    """petri as `make install` leaves it: the checkout may be where the user can't read."""
    prefix = shared_folder / "prefix"
    subprocess.run(["cmake", "--install", PETRI.parent, "--prefix", prefix], check=True, stdout=subprocess.DEVNULL)
    install(prefix, SYSTEM.path, program=prefix / "bin" / "petri")
    return prefix


@pytest.fixture
def user_kernel(start, user, shared_folder, installed):
    """A kernel that runs as the user, for the system's interpreter."""
    kernels = installed / "share" / "jupyter" / "kernels"
    if os.geteuid() != 0:
        return start(SYSTEM, kernel_dir=kernels)
    wrapped = shared_folder / "wrapped" / "petri"
    wrapped.mkdir(parents=True, exist_ok=True)
    spec = json.loads((kernels / "petri" / "kernel.json").read_text())
    program = str(installed / "bin" / "petri")
    spec["argv"] = ["sh", "-c", BECOME, program, str(user.pw_uid), str(user.pw_gid), "{connection_file}", SYSTEM.path]
    (wrapped / "kernel.json").write_text(json.dumps(spec))
    return start(SYSTEM, kernel_dir=wrapped.parent, folder=shared_folder, connection_file=str(shared_folder / "c.json"))


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


def test_kill_9_leaves_no_process_behind(user_kernel):
    user_kernel.start_busy("while True: pass")
    pidfds = open_family(user_kernel.pid)
    os.kill(user_kernel.pid, 9)
    assert wait_for_end(pidfds, STUCK_S) == 0
