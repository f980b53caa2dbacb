"""Every cell has namespaces of its own, and the session's state goes on all the same."""

import ast
import contextlib
import json
import os
import pathlib
import shutil
import sys

import pytest

import state
from kernels import STUCK_S, WORK, install
from processes import NAMESPACES, family, find_by_namespaces, namespace_ids, open_namespaces

# A cell that says which namespaces it has, and then waits, so that they can be looked at from outside.
LOOK = f"""
import os as _os
print({{name: _os.readlink('/proc/self/ns/' + name) for name in {NAMESPACES!r}}}, flush=True)
input()
"""

BAD_CELLS = {
    "timeout": ("CellTimeout", "%%limits timeout=300ms\ncanary.append('changed')\nwhile True: pass"),
    "segfault": ("CellCrashed", "canary.append('changed')\nimport ctypes; ctypes.string_at(0)"),
    "exit": ("CellCrashed", "canary.append('changed')\nimport os; os._exit(0)"),
    "kill": ("CellCrashed", "canary.append('changed')\nimport os; os.kill(os.getpid(), 9)"),
    "exec": ("CellCrashed", "canary.append('changed')\nimport os; os.execv('/bin/true', ['true'])"),
}


class Sightings:
    """Namespaces seen so far, all held open: the kernel gives a number again once its namespace is gone."""

    def __init__(self):
        self.seen = {name: {ident} for name, ident in namespace_ids().items()}
        self.held = []

    def look(self, kernel):
        """Runs a cell and checks that each of its namespaces was never seen before."""
        request = kernel.send(LOOK, allow_stdin=True)
        messages = kernel.iopub_until(request, lambda message: message["msg_type"] == "stream")
        ids = ast.literal_eval(messages[-1]["content"]["text"])
        kernel.client.get_stdin_msg(timeout=STUCK_S)
        self.held += open_namespaces(find_by_namespaces(ids))
        kernel.client.input("")
        assert kernel.finish(request).ok
        for name in NAMESPACES:
            assert ids[name] not in self.seen[name], f"{name} was seen before"
            self.seen[name].add(ids[name])

    def close(self):
        for descriptor in self.held:
            os.close(descriptor)


@pytest.fixture
def sightings():
    found = Sightings()
    yield found
    found.close()


def test_each_of_three_cells_has_new_namespaces_and_the_same_state(kernel, sightings):
    pieces = state.pieces_for(kernel.interpreter)
    state.make(kernel, pieces)
    # The kernel and its parent; the others are sandboxes prepared for the cells that follow.
    for member in family(kernel.pid)[:2]:
        for name, ident in namespace_ids(member).items():
            sightings.seen[name].add(ident)
    for _ in range(3):
        sightings.look(kernel)
    state.check(kernel, pieces, 0)
    state.check(kernel, pieces, 1)


@pytest.mark.in_turn("bad")  # test_five_rollbacks has them all
@pytest.mark.parametrize("bad", BAD_CELLS)
def test_state_is_unchanged_after_a_bad_cell(kernel, sightings, bad):
    ename, code = BAD_CELLS[bad]
    pieces = state.pieces_for(kernel.interpreter)
    state.make(kernel, pieces)
    state.check(kernel, pieces, 0)
    kernel.value("canary = ['as it was']")
    sightings.look(kernel)
    cell = kernel.run(code)
    assert (cell.reply["status"], cell.ename) == ("error", ename), str(cell)
    assert [content["ename"] for content in cell.of("error")] == [ename]
    sightings.look(kernel)
    assert kernel.value("canary") == "['as it was']"
    state.check(kernel, pieces, 1)
    assert kernel.value("1 + 1") == "2"


def test_five_rollbacks_in_one_session_leave_the_state_unchanged(venv_kernel):
    pieces = state.pieces_for(venv_kernel.interpreter)
    state.make(venv_kernel, pieces)
    venv_kernel.value("canary = ['as it was']")
    for n, (ename, code) in enumerate(BAD_CELLS.values()):
        cell = venv_kernel.run(code)
        assert cell.ename == ename, str(cell)
        state.check(venv_kernel, pieces, n)
    assert venv_kernel.value("canary") == "['as it was']"


@pytest.mark.check
def test_rollback_of_the_very_first_cell_lets_the_next_one_run(kernel):
    assert kernel.run("import os; os._exit(3)").ename == "CellCrashed"
    assert kernel.value("6 * 7") == "42"


@pytest.mark.check
def test_cell_has_seccomp_and_no_privileges_or_capabilities(kernel):
    status = kernel.run("print(open('/proc/self/status').read())").stdout
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert fields["NoNewPrivs"] == "1"
    assert fields["Seccomp"] == "2"
    for capabilities in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(fields[capabilities], 16) == 0, capabilities


def test_notebook_folder_is_read_at_its_own_path_and_at_work(kernel, tmp_path):
    (tmp_path / "data.txt").write_text("seven")
    assert kernel.value("open('data.txt').read()") == "'seven'"
    assert kernel.value(f"open({str(tmp_path / 'data.txt')!r}).read()") == "'seven'"
    assert kernel.value(f"open('{WORK}/data.txt').read()") == "'seven'"


def test_host_files_are_not_changed(kernel, tmp_path):
    (tmp_path / "data.txt").write_text("seven")
    kernel.run("open('data.txt', 'w').write('eight')")
    kernel.run("open('new.txt', 'w').write('new')")
    kernel.run("import os; os.remove('data.txt')")
    assert (tmp_path / "data.txt").read_text() == "seven"
    assert set(os.listdir(tmp_path)) <= {"data.txt", "outputs"}


def test_cell_has_no_network_and_not_the_users_home(kernel):
    code = "import socket; socket.create_connection(('192.0.2.1', 80), timeout=30)"
    assert kernel.run(code).ename == "OSError"
    home = os.path.expanduser("~")
    probe = "import os; sorted(name for name in os.environ if 'JUPYTER' in name or 'SSH' in name)"
    assert kernel.value(probe) == "[]"
    assert kernel.value("import os; os.path.expanduser('~')") != repr(home)


@pytest.mark.check
def test_files_go_on_from_cell_to_cell(kernel):
    kernel.run("open('/tmp/note', 'w').write('kept')")
    assert kernel.value("open('/tmp/note').read()") == "'kept'"


@pytest.mark.parametrize("inside", [False, True], ids=["elsewhere", "in the notebook's folder"])
def test_an_environment_behind_a_link_is_found(start, tmp_path, inside):
    """Environments are often kept on another disk, with a link where one looks for them."""
    folder = tmp_path / "notebook"
    folder.mkdir()
    link = (folder if inside else tmp_path) / "environment"
    link.symlink_to(sys.prefix)
    python = link / "bin" / pathlib.Path(sys.executable).name
    kernel = start(kernel_dir=install(tmp_path / "prefix", str(python)), folder=folder)
    assert kernel.value("import sys; sys.prefix") == repr(str(link))


# What numbers containers give: each has its own, so the first kernel of each has the same.
IN_A_CONTAINER = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]


def users_of(kernel):
    """The users and groups, as the host knows them, that a kernel's processes run as, but for root."""
    found = set()
    for member in family(kernel.pid):
        with contextlib.suppress(OSError):  # one that has just ended
            owner = os.stat(f"/proc/{member}")
            found.add((owner.st_uid, owner.st_gid))
    return found - {(0, 0)}


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user's cells are that user on the host")
def test_sessions_that_cannot_see_each_other_have_users_of_their_own(start, kernel_dirs, tmp_path):
    folder = tmp_path / "kernels" / "petri"
    shutil.copytree(next(iter(kernel_dirs.values())) / "petri", folder)
    spec = json.loads((folder / "kernel.json").read_text())
    spec["argv"] = [*IN_A_CONTAINER, *spec["argv"]]
    (folder / "kernel.json").write_text(json.dumps(spec))
    seen = []
    for n in range(2):
        notebook = tmp_path / str(n)
        notebook.mkdir()
        kernel = start(kernel_dir=folder.parent, folder=notebook)
        kernel.good("pass")
        seen.append(users_of(kernel))
    assert all(len(users) == 1 for users in seen)
    [(first, first_group)], [(second, second_group)] = seen
    assert first != second
    # No distribution, subuid file or systemd-nspawn gives these to anybody.
    assert all(0x78000000 <= user < 0x7FFE0000 for user in (first, second, first_group, second_group))
