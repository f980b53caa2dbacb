"""Cells as their users see them, in the virtual machine of `make test-vm`: limits, files and what is said of them.

PETRI_VM_MEMORY names what has to enforce the limit of memory here: "cgroup v2", or "watched" where there is no bus.
"""

import ast
import dataclasses
import errno
import json
import os
import pathlib
import sys
import tempfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))

from kernels import WORK, Kernel, install  # noqa: E402

BACKEND = os.environ["PETRI_VM_MEMORY"]
LIMIT = 96 << 20
EARLIER = 75 << 20

# Every instruction is emulated: time is not what is tested here.
WITHIN = "%%limits memory=96M timeout=10m cpu=10m\n"
SLOWLY = "%%limits timeout=10m cpu=10m\n"

# Each page of it is written, so that it is held and not only reserved.
HOLD = "{name} = bytearray(b'x') * {n}"
MODIFY = "earlier[::4096] = b'y' * len(earlier[::4096])"


@pytest.fixture(scope="module")
def kernel_dir(tmp_path_factory):
    return install(tmp_path_factory.mktemp("prefix"), sys.executable)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The notebook's: with a folder for each of ROWS, and one more."""
    made = tmp_path_factory.mktemp("notebook")
    for name in ("own", *map(str, range(len(ROWS)))):
        (made / name / "host").mkdir(parents=True)
        (made / name / "host" / "a.txt").write_text("host")
    return made


# One for all tests: to start one takes much longer than most of them.
@pytest.fixture(scope="module")
def notebook(kernel_dir, folder):
    yield from running(kernel_dir, folder, "petri")


@pytest.fixture(scope="module")
def strict(kernel_dir, folder):
    yield from running(kernel_dir, folder, "petri-strict")


@pytest.fixture(params=["notebook", "strict"])
def kernel(request):
    return request.getfixturevalue(request.param)


def running(kernel_dir, folder, name):
    kernel = Kernel(kernel_dir, folder, name)
    try:
        yield kernel.wait_until_up()
    finally:
        kernel.close()


def reply_and_report(kernel, code):
    request = kernel.send(code)
    reply = kernel.shell_reply(request)
    kernel.iopub_until(request, lambda message: message["content"].get("execution_state") == "idle")
    return reply["content"], reply["metadata"]["petri"]


def ename(kernel, code):
    """How a cell ended: None where it went well."""
    return reply_and_report(kernel, code)[0].get("ename")


def test_a_cell_runs_and_the_report_names_what_enforces_memory(kernel):
    reply, report = reply_and_report(kernel, "6 * 7")
    assert reply["status"] == "ok"
    assert report["isolation"]["memory"] == BACKEND


@pytest.mark.parametrize("earlier", [0, EARLIER])
@pytest.mark.parametrize(("share", "expected"), [(0.9, None), (1.1, "CellMemoryLimit")])
def test_memory_is_what_the_cell_holds_beside_the_image_it_began_with(notebook, earlier, share, expected):
    notebook.value("canary = ['as it was']")
    if earlier:
        assert ename(notebook, WITHIN + HOLD.format(name="earlier", n=earlier)) is None
    more = HOLD.format(name="more", n=int(share * LIMIT) - earlier)
    assert ename(notebook, f"{WITHIN}{MODIFY if earlier else ''}\n{more}") == expected
    assert notebook.value("canary, 'more' in globals()") == f"(['as it was'], {expected is None})"
    if earlier:
        assert notebook.value("earlier[0]") == str(ord("x" if expected else "y"))
    notebook.good("earlier = more = None; del earlier, more")


def slice_of(pid):
    """The folder of the slice that a kernel's scope is in."""
    path = pathlib.Path(f"/proc/{pid}/cgroup").read_text().strip().rpartition("0::")[2]
    before, found, _ = path.partition("petri.slice")
    return pathlib.Path(f"/sys/fs/cgroup{before}{found}") if found else None


def test_bounds_of_all_kernels_are_those_of_one_slice(kernel_dir, folder, tmp_path, monkeypatch):
    if BACKEND == "watched":
        pytest.skip("there is no control group to bound")
    (tmp_path / "petri").mkdir()
    (tmp_path / "petri" / "config.json").write_text('{"kernels": {"memory": "600M", "processes": 300}}')
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    kernels = [Kernel(kernel_dir, folder, "petri") for _ in range(2)]
    try:
        one, other = [kernel.wait_until_up() for kernel in kernels]
        common = slice_of(one.pid)
        assert common and common == slice_of(other.pid)
        assert (common / "memory.max").read_text().strip() == str(600 << 20)
        assert (common / "pids.max").read_text().strip() == "300"
        one.good(SLOWLY + HOLD.format(name="held", n=200 << 20))
        reply, report = reply_and_report(other, SLOWLY + HOLD.format(name="more", n=500 << 20))
        assert reply.get("ename") == "CellMemoryLimit" and report["rolled_back"]
        assert reply["evalue"].startswith("All kernels of this user together held as much memory as they may (600 MiB)")
        assert (one.value("len(held) >> 20"), other.value("'more' in globals()")) == ("200", "False")
    finally:
        for kernel in kernels:
            kernel.close()


# In the group of all groups, which alone can have processes beside groups that are bounded, and without a manager.
AT_ROOT = 'mount -t tmpfs none /run/systemd && echo $$ >/sys/fs/cgroup/cgroup.procs && exec "$@"'


def test_bounds_of_all_kernels_without_systemd_are_those_of_one_group(kernel_dir, folder, tmp_path, monkeypatch):
    if BACKEND == "watched" or os.geteuid() != 0:
        pytest.skip("only root may make groups there")
    spec = json.loads((kernel_dir / "petri" / "kernel.json").read_text())
    spec["argv"] = ["unshare", "-m", "sh", "-c", AT_ROOT, "sh", *spec["argv"]]
    (tmp_path / "kernels" / "petri").mkdir(parents=True)
    (tmp_path / "kernels" / "petri" / "kernel.json").write_text(json.dumps(spec))
    (tmp_path / "petri").mkdir()
    (tmp_path / "petri" / "config.json").write_text('{"kernels": {"memory": "500M", "processes": 100}}')
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    common = pathlib.Path("/sys/fs/cgroup/petri-user-0")
    kernels = [Kernel(tmp_path / "kernels", folder, "petri") for _ in range(2)]
    try:
        one, other = [kernel.wait_until_up() for kernel in kernels]
        assert len(list(common.glob("petri-*-cells"))) == 2
        one.good(SLOWLY + HOLD.format(name="held", n=200 << 20))
        reply, _ = reply_and_report(other, SLOWLY + HOLD.format(name="more", n=400 << 20))
        assert reply["evalue"].startswith("All kernels of this user together held as much memory as they may (500 MiB)")
        assert one.value("len(held) >> 20") == "200"
        start = "import subprocess\nfor _ in range(120): subprocess.Popen(['/bin/sleep', '1000'])"
        assert ename(other, f"%%limits processes=200 timeout=10m cpu=10m\n{start}") == "BlockingIOError"
        for kernel in kernels:
            kernel.manager.shutdown_kernel()
        assert not common.exists()
    finally:
        for kernel in kernels:
            kernel.close()


def test_memory_of_children_and_of_files_in_memory_counts(notebook):
    child = f"import os, signal\nif os.fork() == 0:\n    x = bytearray(b'x') * {int(1.1 * LIMIT)}"
    assert ename(notebook, f"{WITHIN}{child}\nsignal.pause()") == "CellMemoryLimit"
    memfd = "import os\nfd = os.memfd_create('x')\nwhile True: os.write(fd, bytes(1 << 20))"
    assert ename(notebook, WITHIN + memfd) == "CellMemoryLimit"


def test_memory_of_fresh_runs_at_once_is_limited_for_each(notebook):
    codes = [WITHIN + HOLD.format(name="held", n=int(share * LIMIT)) for share in (0.9, 1.1)]
    requests = [notebook.send_asking(code, {"fresh": True}) for code in codes]
    replies = [notebook.shell_reply(request) for request in requests]
    assert [reply["content"].get("ename") for reply in replies] == [None, "CellMemoryLimit"]
    assert all(reply["metadata"]["petri"]["isolation"]["memory"] == BACKEND for reply in replies)
    assert notebook.value("'held' in globals()") == "False"


# Of half a second: where memory is watched, each of the four times of a process is cut to 10 ms.
HALF_A_SECOND_MS = 460


def test_cpu_time_is_measured(kernel):
    spin = "import time\nend = time.process_time() + 0.5\nwhile time.process_time() < end: pass"
    busy, idle = (reply_and_report(kernel, code)[1]["metrics"]["cpu_ms"] for code in (spin, "pass"))
    assert busy >= HALF_A_SECOND_MS
    assert idle < busy


def test_cpu_time_of_children_is_measured(kernel):
    child = "end = time.process_time() + 0.5\n    while time.process_time() < end: pass\n    os._exit(0)"
    code = f"import os, time\nif os.fork() == 0:\n    {child}\nos.wait()"
    assert reply_and_report(kernel, code)[1]["metrics"]["cpu_ms"] >= HALF_A_SECOND_MS


def test_fork_bomb_stays_within_the_limit_of_processes(notebook):
    count = (
        "import os, signal\nn = 0\ntry:\n    while True:\n"
        "        if os.fork() == 0: signal.pause()\n        n += 1\nexcept BlockingIOError: print(n)"
    )
    few = SLOWLY.replace("limits ", "limits processes=32 ")
    cell = notebook.run(few + count)
    assert cell.ok, str(cell)
    assert 0 < int(cell.stdout.split()[0]) < 32
    bomb = "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass"
    assert ename(notebook, few.replace("10m", "2s") + bomb) in ("CellTimeout", "CellCpuLimit")
    assert notebook.value("n") == str(int(cell.stdout))


# What notebooks do with folders. Made by an earlier cell, unless they are named host.
FOLDERS = {
    "remove": "shutil.rmtree('out')\nassert not os.path.exists('out')",
    "make again": "shutil.rmtree('out')\nos.mkdir('out')\nassert os.listdir('out') == []",
    "make again and fill": "shutil.rmtree('out')\nos.makedirs('out/deep')\nopen('out/new.txt', 'w').write('new')\n"
    "assert sorted(os.listdir('out')) == ['deep', 'new.txt']",
    "a folder where a file was": "os.remove('out/a.txt')\nos.mkdir('out/a.txt')\nassert os.listdir('out/a.txt') == []",
    "a file where a folder was": "shutil.rmtree('out')\nopen('out', 'w').write('file')\nassert os.path.isfile('out')",
    "move": "shutil.move('out', 'moved')\nassert sorted(os.listdir('moved')) == ['a.txt', 'deep']\n"
    "assert not os.path.exists('out')",
    "rename a new folder": "os.mkdir('new')\nopen('new/b', 'w').write('b')\nos.rename('new', 'renamed')\n"
    "assert os.listdir('renamed') == ['b']",
    "rename over a file": "open('tmp', 'w').write('b')\nos.replace('tmp', 'out/a.txt')\n"
    "assert open('out/a.txt').read() == 'b'",
    "append": "open('out/a.txt', 'a').write('+')\nassert open('out/a.txt').read() == 'a+'",
    "remove the host's": "shutil.rmtree('host')\nassert not os.path.exists('host')",
    "make the host's again": "shutil.rmtree('host')\nos.mkdir('host')\nassert os.listdir('host') == []",
    "move the host's": "shutil.move('host', 'moved')\nassert os.listdir('moved') == ['a.txt']",
}
MAKE = (
    "import os, shutil\nos.makedirs('out/deep')\nopen('out/a.txt', 'w').write('a')\nopen('out/deep/c', 'w').write('c')"
)
# What an overlay can't do to the host's own folders where a tmpfs keeps no attributes: before Linux 6.6.
NEEDS_ATTRIBUTES = {
    "remove the host's in /work",
    "make the host's again in /work",
    "move the host's in /work",
    "rename a new folder in /work",
}
# All that these name, and all below with its text, as one value.
NAMES = ["out", "moved", "new", "renamed", "tmp", "host"]
LOOK = f"[(name, os.path.exists(name), look(name)) for name in {NAMES}]"
LOOK_AT = """
import os
def text(path):
    with open(path) as file:
        return file.read()
def look(path):
    if os.path.isdir(path):
        return sorted((name, look(path + '/' + name)) for name in os.listdir(path))
    return os.path.exists(path) and text(path)
"""
ROWS = [
    (f"{name} in {place}", place, change)
    for place in ("/work", "/tmp/own")
    for name, change in FOLDERS.items()
    if place == "/work" or "'host'" not in change
]


def keeps_attributes():
    try:
        with tempfile.NamedTemporaryFile(dir="/dev/shm") as file:
            os.setxattr(file.fileno(), "user.petri", b"")
    except OSError as error:
        if error.errno != errno.EOPNOTSUPP:
            raise
        return False
    return True


# One cell makes the folders of all rows, one changes them, and one looks at them: a cell takes long here, and a row
# concerns its own folder only. What is raised in a row is that row's.
IN_EACH_ROW = """
import os
def in_each_row(part):
    found = []
    for folder, code in rows:
        os.makedirs(folder, exist_ok=True)
        os.chdir(folder)
        try:
            found.append(part(code))
        except Exception as error:
            found.append(type(error).__name__)
    os.chdir('/work')
    return found
"""


@dataclasses.dataclass
class Rows:
    """What was found in each row's folder, and what came of its change where that was lost and where it was kept."""

    made: list
    before: list
    rolled_back: list
    changed: list
    at_once: list
    committed: list


@pytest.fixture(scope="module")
def rows(notebook):
    in_folders = [(f"{place}/{n}", change) for n, (_, place, change) in enumerate(ROWS)]
    notebook.good(f"{SLOWLY}{LOOK_AT}{IN_EACH_ROW}import shutil\nrows = {in_folders!r}")

    def in_each(part):
        return ast.literal_eval(notebook.value(f"{SLOWLY}in_each_row(lambda code: {part})"))

    made = in_each(f"exec({MAKE!r}, {{}})")
    before = in_each(LOOK)
    change = "changed = in_each_row(lambda code: exec(code, {**globals()}))"
    failing = notebook.run(f"{SLOWLY}{change}\nos._exit(1)")
    assert failing.ename == "CellCrashed", str(failing)
    rolled_back = in_each(LOOK)
    notebook.good(f"{SLOWLY}{change}\nat_once = in_each_row(lambda code: {LOOK})")
    changed, at_once = (ast.literal_eval(notebook.value(name)) for name in ("changed", "at_once"))
    return Rows(made, before, rolled_back, changed, at_once, in_each(LOOK))


@pytest.mark.parametrize("n", range(len(ROWS)), ids=[row[0] for row in ROWS])
def test_folders_change_are_rolled_back_and_are_committed(rows, n):
    name = ROWS[n][0]
    assert rows.made[n] is None
    assert rows.rolled_back[n] == rows.before[n]
    assert rows.committed[n] == rows.at_once[n]
    if name in NEEDS_ATTRIBUTES and not keeps_attributes():
        assert rows.changed[n] == "OSError"
    else:
        assert rows.changed[n] is None
        assert rows.at_once[n] != rows.before[n]


def test_files_are_kept_however_deep_they_are(notebook):
    """Layers are copied here: to the last folder."""
    deep = "/tmp" + "/d" * 300
    put = f"open('{deep}/{{}}', 'w').close()"
    assert ename(notebook, f"{SLOWLY}import os\nos.makedirs({deep!r})\n{put.format('a')}") is None
    assert ename(notebook, SLOWLY + put.format("b")) is None
    assert ename(notebook, f"{SLOWLY}{put.format('c')}\nos._exit(1)") == "CellCrashed"
    assert notebook.value(f"sorted(os.listdir({deep!r}))") == "['a', 'b']"


def test_the_hosts_folder_is_never_written(notebook, folder):
    own = f"{WORK}/own"
    write = f"import os\nopen('{own}/new', 'w').write('new')\nos.remove('{own}/host/a.txt')"
    assert ename(notebook, write) is None
    assert (folder / "own" / "host" / "a.txt").read_text() == "host"
    assert not (folder / "own" / "new").exists()
