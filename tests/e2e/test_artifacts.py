"""The files that a cell makes, on their way to the host: what is copied, what is not, and what a person reads of it."""

import base64
import hashlib
import os
import shutil

import pytest

from kernels import wait_for
from test_artifact_notes import GONE, UNCHANGED, note

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def rows(cell):
    """The report's artifacts by their paths."""
    return {row["path"]: row for row in cell.report["artifacts"]}


def listing(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file() and p.name[0] != ".")


@pytest.mark.check
def test_files_created_changed_or_deleted_by_a_cell_are_listed(kernel, tmp_path):
    (tmp_path / "host.csv").write_text("a\n")
    (tmp_path / "old.txt").write_text("old")
    cell = kernel.run(
        f"import os\nopen('plot.png', 'wb').write({PNG!r})\nos.makedirs('sub/deep')\n"
        "open('sub/deep/table.csv', 'w').write('x,y\\n')\nopen('host.csv', 'a').write('b\\n')\n"
        "os.remove('old.txt')\nopen('/tmp/elsewhere', 'w').write('x')\nopen(os.path.expanduser('~/x'), 'w').close()"
    )
    assert cell.ok, str(cell)
    assert cell.report["artifacts"] == [
        {
            "path": "host.csv", "action": "changed", "bytes": 4, "mime": "text/csv", "sha256": sha256(b"a\nb\n"),
            "copied_to": "outputs/host.csv",
        },
        {"path": "old.txt", "action": "deleted"},
        {
            "path": "plot.png", "action": "created", "bytes": len(PNG), "mime": "image/png", "sha256": sha256(PNG),
            "copied_to": "outputs/plot.png",
        },
        {
            "path": "sub/deep/table.csv", "action": "created", "bytes": 4, "mime": "text/csv",
            "sha256": sha256(b"x,y\n"), "copied_to": "outputs/sub/deep/table.csv",
        },
    ]  # fmt: skip
    assert (tmp_path / "outputs" / "plot.png").read_bytes() == PNG
    assert (tmp_path / "host.csv").read_text() == "a\n"
    assert note(cell) == (
        f"Saved to outputs/: host.csv, plot.png, sub/deep/table.csv\n{UNCHANGED}host.csv\n{GONE}old.txt",
        "Saved to outputs/: [host.csv](outputs/host.csv), [plot.png](outputs/plot.png),"
        f" [sub/deep/table.csv](outputs/sub/deep/table.csv)\n{UNCHANGED}host.csv\n{GONE}old.txt",
    )
    cell = kernel.run("open('plot.png').close(); os.rename('sub/deep/table.csv', 'moved.csv')")
    assert {path: row["action"] for path, row in rows(cell).items()} == {
        "moved.csv": "created", "sub/deep/table.csv": "deleted",
    }  # fmt: skip
    assert kernel.run("1").report["artifacts"] == []


@pytest.mark.parametrize("opened", ["open('a.bin', 'r+b')", "mmap.mmap((base := open('a.bin', 'r+b')).fileno(), 0)"])
def test_open_file_is_an_artifact_only_of_cells_that_change_its_contents(venv_kernel, opened):
    venv_kernel.good("import mmap, os; open('a.bin', 'wb').write(bytes(3 << 20))")
    assert venv_kernel.good(f"file = {opened}; file.write(b'one'); file.flush()").report["artifacts"]
    for code in ("1 + 1", "file.flush()", "file.seek(0); file.read(10)"):
        assert venv_kernel.good(code).report["artifacts"] == [], code
    assert list(rows(venv_kernel.good("file.seek(5); file.write(b'two'); file.flush()"))) == ["a.bin"]
    assert venv_kernel.good("1 + 1").report["artifacts"] == []
    assert venv_kernel.good("file.seek(5); file.write(b'two'); file.flush()").report["artifacts"] == []


def test_mapped_write_to_a_page_that_was_read_is_an_artifact(venv_kernel, tmp_path):
    """Linux moves no time of the file then."""
    make = "import mmap, os; open('a.bin', 'wb').write(bytes(9000)); fd = os.open('a.bin', os.O_RDWR)"
    venv_kernel.good(f"{make}; mapped = mmap.mmap(fd, 0)")
    for byte, code in enumerate(["", "; mapped.flush()", "; mapped.close()"], 1):
        cell = venv_kernel.good(f"before = mapped[5000]; mapped[5000] = {byte}{code}")
        assert {path: row["action"] for path, row in rows(cell).items()} == {"a.bin": "changed"}, code
        assert (tmp_path / "outputs" / "a.bin").read_bytes()[5000] == byte
        assert venv_kernel.good("1 + 1").report["artifacts"] == []
    cell = venv_kernel.good("with mmap.mmap(fd, 0) as again: again[6000] = again[6000] + 1")
    assert list(rows(cell)) == ["a.bin"]


def test_own_file_that_is_opened_for_writing_or_touched_is_no_artifact(venv_kernel, tmp_path):
    for name in ("read.csv", "appended.csv", "touched.csv", "written.csv"):
        (tmp_path / name).write_text("own")
    code = "files = open('read.csv', 'r+'), open('appended.csv', 'a'), open('written.csv', 'a')"
    cell = venv_kernel.good(f"import os; {code}; os.utime('touched.csv'); os.chmod('touched.csv', 0o600)")
    assert cell.report["artifacts"] == [] and note(cell) is None
    assert venv_kernel.good("1 + 1").report["artifacts"] == []
    cell = venv_kernel.good("files[2].write(' and more'); files[2].flush()")
    assert {path: row["action"] for path, row in rows(cell).items()} == {"written.csv": "changed"}
    assert not (tmp_path / "outputs" / "read.csv").exists()


def test_fifo_or_socket_that_is_open_is_told_once(venv_kernel):
    make = "os.mkfifo('fifo'); fd = os.open('fifo', os.O_RDWR); listening.bind('socket'); listening.listen()"
    cell = venv_kernel.good(f"import os, socket; listening = socket.socket(socket.AF_UNIX); {make}")
    assert list(rows(cell)) == ["fifo", "socket"]
    for code in ("1 + 1", "os.write(fd, b'x')", "os.read(fd, 1)", "1 + 1"):
        assert venv_kernel.good(code).report["artifacts"] == [], code


@pytest.mark.parametrize("make", ["", "open('a.bin', 'wb').write(bytes(9000)); "], ids=["own", "made"])
def test_rolled_back_write_to_a_page_that_was_read_is_undone(venv_kernel, tmp_path, make):
    if not make:
        (tmp_path / "a.bin").write_bytes(bytes(9000))
    venv_kernel.good(f"import mmap, os; {make}fd = os.open('a.bin', os.O_RDWR); mapped = mmap.mmap(fd, 0); mapped[0] = 1")
    venv_kernel.good("os.rename('a.bin', 'b.bin'); before = mapped[5000]")
    assert list(rows(venv_kernel.good("before = mapped[5000]; mapped[5000] = 7"))) == ["b.bin"]
    assert venv_kernel.run("before = mapped[5000]; mapped[5000] = 9; os._exit(1)").ename == "CellCrashed"
    cell = venv_kernel.run("mapped[5000], open('b.bin', 'rb').read()[5000]")
    assert (cell.result, cell.report["artifacts"]) == ("(7, 7)", [])


def test_text_that_a_file_buffers_is_an_artifact_of_the_cell_that_flushes_it(venv_kernel):
    venv_kernel.good("file = open('a.txt', 'w')")
    assert venv_kernel.good("file.write('later')").report["artifacts"] == []
    assert rows(venv_kernel.good("file.flush()"))["a.txt"]["action"] == "changed"


def test_cell_without_files_makes_no_outputs_folder(venv_kernel, tmp_path):
    cell = venv_kernel.run("open('/tmp/x', 'w').close(); open('gone', 'w').close(); import os; os.remove('gone')")
    assert cell.report["artifacts"] == []
    assert note(cell) is None
    assert not (tmp_path / "outputs").exists()


def test_failed_cell_keeps_its_files_and_rolled_back_one_has_none(venv_kernel, tmp_path):
    cell = venv_kernel.run("open('a.txt', 'w').write('x'); 1 / 0")
    assert (cell.report["outcome"], list(rows(cell))) == ("error", ["a.txt"])
    for code in ("import os; os._exit(1)", "while True: pass"):
        cell = venv_kernel.ask(f"open('b.txt', 'w').write('x')\n{code}", {"limits": {"timeout": "300ms"}})
        assert cell.report["rolled_back"]
        assert cell.report["artifacts"] == []
    assert listing(tmp_path) == ["outputs/a.txt"]


def test_a_fresh_run_has_artifacts_too(venv_kernel, tmp_path):
    cell = venv_kernel.ask("open('a.txt', 'w').write('x')", {"fresh": True})
    assert rows(cell)["a.txt"]["copied_to"] == "outputs/a.txt"
    assert (tmp_path / "outputs" / "a.txt").read_text() == "x"


def test_files_that_petri_did_not_write_are_not_overwritten(venv_kernel, tmp_path):
    outputs = tmp_path / "outputs"
    outputs.mkdir()
    (outputs / "a.txt").write_text("mine")
    write = "open('a.txt', 'w').write('{}')"
    assert rows(venv_kernel.run(write.format(1)))["a.txt"]["copied_to"] == "outputs/a (2).txt"
    assert rows(venv_kernel.run(write.format(2)))["a.txt"]["copied_to"] == "outputs/a (2).txt"
    (outputs / "a (2).txt").write_text("edited")
    assert rows(venv_kernel.run(write.format(3)))["a.txt"]["copied_to"] == "outputs/a (3).txt"
    assert [p.read_text() for p in sorted(outputs.glob("a*"))] == ["edited", "3", "mine"]


def test_file_written_into_outputs_keeps_its_path(venv_kernel, tmp_path):
    cell = venv_kernel.run("import os; os.mkdir('outputs'); open('outputs/a.txt', 'w').write('x')")
    assert rows(cell)["outputs/a.txt"]["copied_to"] == "outputs/a.txt"
    assert listing(tmp_path) == ["outputs/a.txt"]
    cell = venv_kernel.run("open('outputs/a.txt', 'a').write('y'); open('outputs/a.txt').read()")
    assert cell.result == "'xy'"
    assert (tmp_path / "outputs" / "a.txt").read_text() == "xy"


REFUSED = {
    "link": ("os.symlink('/etc/passwd', 'bad')", "it is a link"),
    "link to a folder": ("os.symlink('/etc', 'bad')", "it is a link"),
    "FIFO": ("os.mkfifo('bad')", "it is a FIFO"),
    "socket": ("import socket; s = socket.socket(socket.AF_UNIX); s.bind('bad')", "it is a socket"),
    "hard links": (
        "open('bad', 'w').write('x'); os.link('bad', 'worse')",
        "it has more than one name (hard links)",
    ),
    "petri's own": ("open('.petri-sha256', 'w').write('x')", "names that begin with .petri are petri's own"),
    "control": ("open('bad\\n', 'w').write('x')", "its path has control characters in it"),
    "escape": ("open('bad\\x1b[2J', 'w').write('x')", "its path has control characters in it"),
    "bidi": ("open('bad\\u202egpj.exe', 'w').write('x')", "its path has control characters in it"),
    "not UTF-8": ("open(b'bad\\xff', 'w').write('x')", "its path is not UTF-8"),
    "long": ("open('b' * 250, 'w').write('x')", "its path has a name of more than 200 bytes in it"),
    "deep": (
        "os.makedirs('/'.join('d' * 35)); open('/'.join('d' * 35) + '/bad', 'w').write('x')",
        "its path is more than 32 folders deep",
    ),
    "very deep": (
        "top = os.getcwd()\nfor _ in range(120): os.mkdir('d'); os.chdir('d')\nopen('bad', 'w').close()\nos.chdir(top)",
        "its folder is too deep to look into",
    ),
    "large": (
        "open('bad', 'wb').write(bytes(3 << 20))",
        "it is larger than the limit of 2 MiB (artifact)",
    ),
    "sparse": ("open('bad', 'wb').truncate(1 << 50)", "it is larger than the limit of 2 MiB (artifact)"),
    "line separator": ("open('bad\\u2028', 'w').write('x')", "its path has control characters in it"),
    "zero width": ("open('ba\\u200bd', 'w').write('x')", "its path has characters in it that are not seen"),
    "tags": ("open('bad\\U000e0041', 'w').write('x')", "its path has characters in it that are not seen"),
    "space at the end": ("open('bad ', 'w').write('x')", "its path has a name in it that ends in a space or a dot"),
    "cache": (
        "os.mkdir('__pycache__'); open('__pycache__/bad.pyc', 'wb').write(b'x')",
        "it is in a cache of Python's",
    ),
}


@pytest.fixture
def fresh_folder(shared_kernel):
    """The notebook's folder of a kernel that many tests share: each asks for a fresh run, and its copies go with it."""
    yield shared_kernel.folder
    shutil.rmtree(shared_kernel.folder / "outputs")


@pytest.mark.parametrize("kind", REFUSED)
def test_files_that_cannot_be_copied_are_refused_by_name(shared_kernel, fresh_folder, kind):
    code, why = REFUSED[kind]
    petri = {"fresh": True, "limits": {"artifact": "2M", "artifacts": "4M"}}
    cell = shared_kernel.ask(f"import os\nopen('good.txt', 'w').write('x')\n{code}", petri)
    assert cell.ok, str(cell)
    found = rows(cell)
    assert found.pop("good.txt")["copied_to"] == "outputs/good.txt"
    assert found
    for row in found.values():
        assert (row["refused"], row.get("copied_to")) == (why, None)
    assert listing(fresh_folder) == ["outputs/good.txt"]
    plain, markdown = note(cell)
    assert plain.startswith("Saved to outputs/: good.txt")
    assert (why in plain) == (kind != "cache")
    assert "\x1b" not in plain + markdown


# What programs of the host would run by themselves, and why it stays where it is.
HIDDEN = "a name in its path is hidden, as settings of tools are"
SELFSTART = {
    ".git/config": HIDDEN,
    "sub/.vscode/tasks.json": HIDDEN,
    ".envrc": HIDDEN,
    ".bashrc": HIDDEN,
    ".ipynb_checkpoints/a-checkpoint.ipynb": HIDDEN,
    "--checkpoint=1": "a name in its path begins with a dash, as options of commands do",
    "conftest.py": "a name in its path is looked for by pytest, which would run or load it",
    "pkg/__init__.py": "a name in its path is looked for by Python, which would run or load it",
    "sitecustomize.py": "a name in its path is looked for by Python, which would run or load it",
    "x.pth": "a name in its path is looked for by Python, which would run or load it",
    "Makefile": "a name in its path is looked for by make, which would run or load it",
    "MAKEFILE": "a name in its path is looked for by make, which would run or load it",
    "package.json": "a name in its path is looked for by npm, which would run or load it",
    "setup.cfg": "a name in its path is looked for by pip and pytest, which would run or load it",
    "Dockerfile": "a name in its path is looked for by Docker, which would run or load it",
    "jupyter_server_config.py": "a name in its path is looked for by Jupyter, which would run or load it",
    "x.desktop": "a name in its path is looked for by the desktop, which would run or load it",
    "outputs/Makefile": "a name in its path is looked for by make, which would run or load it",
    "bare/HEAD": "a name in its path is looked for by git, which would run or load it",
}


def write_all(paths):
    return (
        "import os, pathlib\nfor path in {paths!r}:\n"
        "    os.makedirs(os.path.dirname(path) or '.', exist_ok=True)\n"
        "    pathlib.Path(path).write_text('x'); os.chmod(path, 0o755)"
    ).format(paths=list(paths))


@pytest.mark.check
def test_what_the_host_would_run_by_itself_is_refused_by_name(shared_kernel, fresh_folder):
    code = write_all(["good.txt", *SELFSTART])
    cell = shared_kernel.ask(code, {"fresh": True, "inline_bytes": 100})
    assert cell.ok, str(cell)
    found = rows(cell)
    assert found.pop("good.txt")["copied_to"] == "outputs/good.txt"
    assert {path: row["refused"] for path, row in found.items()} == SELFSTART
    assert [p.name for p in (fresh_folder / "outputs").iterdir() if p.name != ".petri-sha256"] == ["good.txt"]
    # Who asks for the content has it all the same, and everybody its hash.
    assert {row["sha256"] for row in found.values()} == {sha256(b"x")}
    assert {base64.b64decode(row["data"]) for row in found.values()} == {b"x"}


def test_modules_are_data_like_all_else(shared_kernel, fresh_folder):
    paths = ["model.py", "build/core.py", "fast.so", "outputs/own.py"]
    cell = shared_kernel.ask(write_all(paths), {"fresh": True})
    assert cell.ok, str(cell)
    assert {path: row["copied_to"] for path, row in rows(cell).items()} == {
        path: f"outputs/{path.removeprefix('outputs/')}" for path in paths
    }


def test_copies_are_not_executable(shared_kernel, fresh_folder):
    cell = shared_kernel.ask(write_all(["run.sh", "tool"]), {"fresh": True})
    assert cell.ok, str(cell)
    for name in ("run.sh", "tool"):
        assert not (fresh_folder / "outputs" / name).stat().st_mode & 0o111


def test_files_over_the_limit_for_all_of_a_cell_are_refused(venv_kernel, tmp_path):
    code = "for i in range(5): open(f'{i}.bin', 'wb').write(bytes([i]) * (1 << 20))"
    cell = venv_kernel.ask(code, {"limits": {"artifacts": "3M"}})
    why = "the cell's files are more than the limit of 3 MiB (artifacts)"
    assert [row.get("refused") for row in cell.report["artifacts"]] == [None, None, None, why, why]
    assert listing(tmp_path) == ["outputs/0.bin", "outputs/1.bin", "outputs/2.bin"]


def test_files_beyond_the_first_thousand_are_only_counted(venv_kernel, tmp_path):
    cell = venv_kernel.run("for i in range(1500): open(f'{i:04}.txt', 'w').close()")
    assert len(cell.report["artifacts"]) == 1000
    assert cell.report["artifacts_omitted"] == 500
    assert len(listing(tmp_path)) == 1000
    assert note(cell)[0].endswith("and 980 more")


def test_artifact_limit_over_the_ceiling_is_refused(venv_kernel):
    cell = venv_kernel.ask("1", {"limits": {"artifact": "5G"}})
    assert "artifact 5 GiB is over the ceiling of 4 GiB in profile notebook" in cell.reply["evalue"]


RACES = {
    "thread that writes": """
import threading
def race():
    i = 0
    while True:
        i += 1
        with open('raced.bin', 'wb') as f: f.write(bytes([i % 256]) * SIZE)
threading.Thread(target=race, daemon=True).start()
""",
    "child that renames": """
def race():
    while True:
        open('other', 'wb').write(b'b' * SIZE); os.replace('other', 'raced.bin'); os.symlink('/etc/passwd', 'other2')
        os.replace('other2', 'raced.bin')
if os.fork() == 0: race()
""",
    "child that maps": """
import mmap
def race():
    f = open('raced.bin', 'r+b'); m = mmap.mmap(f.fileno(), SIZE); i = 0
    while True:
        i += 1; m[:] = bytes([i % 256]) * SIZE
if os.fork() == 0: race()
""",
    "thread that maps": """
import mmap, threading
f = open('raced.bin', 'r+b'); m = mmap.mmap(f.fileno(), SIZE)
def race():
    i = 0
    while True:
        i += 1; m[:] = bytes([i % 256]) * SIZE
threading.Thread(target=race, daemon=True).start()
""",
    "child that grows it": """
def race():
    while True:
        os.truncate('raced.bin', 1 << 40); os.truncate('raced.bin', SIZE)
if os.fork() == 0: race()
""",
    "child that swaps a folder": """
os.mkdir('dir'); open('dir/raced.bin', 'wb').write(b'd' * SIZE)
def race():
    while True:
        os.rename('dir', 'dir2'); os.symlink('/etc', 'dir'); os.remove('dir'); os.rename('dir2', 'dir')
if os.fork() == 0: race()
""",
}


@pytest.mark.parametrize("race", RACES)
def test_file_that_changes_during_the_copy_is_copied_in_one_state(venv_kernel, tmp_path, race):
    """What is copied is one state of the file: its hash is that of the copy, and the next cell finds it so."""
    setup = f"%%limits artifact=64M\nimport os, time\nSIZE = 1 << 20\nopen('raced.bin', 'wb').write(b'a' * SIZE)\n{RACES[race]}"
    for _ in range(3):
        cell = venv_kernel.run(setup + "\nfor _ in range(1000): os.stat('raced.bin', follow_symlinks=False)")
        if not cell.ok and "dir" in setup:
            assert cell.ename in ("FileExistsError", "FileNotFoundError"), str(cell)
        for path, row in rows(cell).items():
            if row["action"] == "deleted":
                continue
            assert ("copied_to" in row) != ("refused" in row)
            if "refused" in row:
                assert row["refused"] in ("it is a link", "it is larger than the limit of 64 MiB (artifact)")
            else:
                data = (tmp_path / row["copied_to"]).read_bytes()
                assert (sha256(data), len(data)) == (row["sha256"], row["bytes"]), path
                assert b"root:" not in data
        venv_kernel.run("import shutil\nfor n in ('dir', 'dir2'): shutil.rmtree(n, ignore_errors=True)")
        venv_kernel.run("for n in ('dir', 'dir2', 'other', 'other2'):\n    try: os.remove(n)\n    except OSError: pass")


def test_small_files_are_in_the_report_where_requested(venv_kernel):
    cell = venv_kernel.ask(
        "open('a.txt', 'w').write('hello'); open('b.txt', 'w').write('x' * 101); open('c.txt', 'w').close()",
        {"inline_bytes": 100},
    )
    found = rows(cell)
    assert base64.b64decode(found["a.txt"]["data"]) == b"hello"
    assert "data" not in found["b.txt"]
    assert found["c.txt"]["data"] == ""
    assert "data" not in rows(venv_kernel.run("open('a.txt', 'w').write('hi')"))["a.txt"]


def test_files_of_the_request_are_artifacts_only_where_they_changed(venv_kernel, tmp_path):
    files = [{"path": "same.txt", "text": "s"}, {"path": "other.txt", "text": "o"}]
    cell = venv_kernel.ask("open('other.txt', 'a').write('!')", {"files": files})
    assert list(rows(cell)) == ["other.txt"]
    assert listing(tmp_path) == ["outputs/other.txt"]


def test_silent_run_copies_files_without_a_note(venv_kernel):
    cell = venv_kernel.ask("open('a.txt', 'w').write('x')", {}, silent=True)
    assert rows(cell)["a.txt"]["copied_to"] == "outputs/a.txt"
    assert note(cell) is None


def test_interrupt_ends_the_copying_and_the_cell_stays_ok(start, tmp_path_factory):
    """The large file is one that is copied for seconds: it is a hole, which takes no time to make."""
    code = (
        "import os\nfor name in 'az': open(name + '.txt', 'w').write(name)\n"
        "open('large.bin', 'wb').truncate(2 << 30)\nos.remove('old.txt')\nkept = 1"
    )

    def interrupted():
        folder = tmp_path_factory.mktemp("notebook")
        (folder / "old.txt").write_text("old")
        kernel = start(folder=folder)
        request = kernel.send_asking(code, {"limits": {"artifact": "2G", "artifacts": "3G"}})
        first = folder / "outputs" / "a.txt"  # by its path: the large one is next
        cell = kernel.interrupted_at(first, request)
        if "refused" in rows(cell)["large.bin"]:
            return folder, kernel, cell
        kernel.close()
        (folder / "outputs" / "large.bin").unlink()
        return None

    folder, kernel, cell = wait_for(interrupted)
    assert (cell.ok, cell.report["outcome"], cell.report["rolled_back"]) == (True, "ok", False), str(cell)
    assert {path: row.get("refused", row.get("copied_to")) for path, row in rows(cell).items()} == {
        "a.txt": "outputs/a.txt", "large.bin": "it was interrupted", "old.txt": None, "z.txt": "it was interrupted",
    }  # fmt: skip
    assert "sha256" not in rows(cell)["large.bin"]
    assert [p.name for p in (folder / "outputs").iterdir() if p.name != ".petri-sha256"] == ["a.txt"]
    cell = kernel.run("open('z.txt', 'a').write('z'); kept")
    assert cell.result == "1"
    assert rows(cell)["z.txt"]["copied_to"] == "outputs/z.txt"


@pytest.mark.parametrize("folder", ["results", False])
def test_configuration_names_the_outputs_folder_or_turns_it_off(configure, start, tmp_path, folder):
    configure(artifacts=folder)
    cell = start().run("open('a.txt', 'w').write('x')")
    if folder:
        assert rows(cell)["a.txt"]["copied_to"] == f"{folder}/a.txt"
        assert note(cell)[0] == f"Saved to {folder}/: a.txt"
    else:
        assert rows(cell)["a.txt"]["refused"] == "copying is off"
        assert rows(cell)["a.txt"]["sha256"] == sha256(b"x")
        assert note(cell) is None
    assert listing(tmp_path) == ([f"{folder}/a.txt"] if folder else [])


def test_outputs_folder_that_is_a_link_gets_no_copy(venv_kernel, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "outputs").symlink_to("elsewhere")
    cell = venv_kernel.run("open('a.txt', 'w').write('x')")
    assert rows(cell)["a.txt"]["refused"].startswith("outputs can't be written: Too many levels of symbolic links")
    assert os.listdir(tmp_path / "elsewhere") == []

