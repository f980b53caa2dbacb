"""The writable mode: what a cell has changed in the notebook's folder is in the host's folder, all of it or nothing."""

import hashlib
import json
import os
import pathlib
import random
import shutil
import signal
import sqlite3
import stat
import subprocess

import pytest

import processes
from kernels import PETRI, STUCK_S

SEED = int(os.environ.get("PETRI_SEED", random.SystemRandom().randrange(1 << 32)))
CELLS = int(os.environ.get("PETRI_WRITABLE_CELLS", 40))
KILLS = 6
AT_LENGTH = int(os.environ.get("PETRI_KILLS", 40))

MEANWHILE = "it was changed outside of the notebook meanwhile"
ALLOW = '; "allow" of the configuration\'s "writable" can name it'


@pytest.fixture
def writable(start):
    """Starts a kernel of the writable mode."""
    return lambda **options: start(**{"name": "petri-writable", **options})


@pytest.fixture
def kernel(writable):
    return writable()


def tree(folder):
    """What a folder has: text of files, None for folders."""
    found = sorted(pathlib.Path(folder).rglob("*"))
    return {str(path.relative_to(folder)): None if path.is_dir() else path.read_text() for path in found}


def notes(cell):
    texts = [content["data"].get("text/plain", "") for content in cell.of("display_data")]
    return [text for text in texts if text.startswith(("Saved", "Removed", "Not saved"))]


def rows(cell):
    return {row["path"]: row for row in cell.report["artifacts"]}


def lose(kernel, code):
    cell = kernel.run(f"{code}\nimport os; os._exit(1)")
    assert cell.ename == "CellCrashed", cell


@pytest.mark.check
def test_changes_of_a_cell_are_in_the_folder(kernel, tmp_path):
    (tmp_path / "old.txt").write_text("old")
    (tmp_path / "gone.txt").write_text("gone")
    (tmp_path / "dir").mkdir()
    (tmp_path / "dir" / "in.txt").write_text("in")
    cell = kernel.good(
        "import os, shutil\nos.makedirs('data/empty'); print('a,b', file=open('data/x.csv', 'w'))\n"
        "open('old.txt', 'a').write(' and new'); os.remove('gone.txt'); shutil.rmtree('dir')\n"
        "print('x', file=open('/tmp/elsewhere', 'w'))"
    )
    assert tree(tmp_path) == {"data": None, "data/empty": None, "data/x.csv": "a,b\n", "old.txt": "old and new"}
    assert notes(cell) == ["Saved: data/x.csv, old.txt\nRemoved: dir, gone.txt"]
    assert rows(cell)["data/x.csv"]["copied_to"] == "data/x.csv"
    assert rows(cell)["gone.txt"] == {"path": "gone.txt", "action": "deleted", "removed": True}


def test_inputs_are_told_as_they_were_before_the_cell(kernel, tmp_path):
    (tmp_path / "h.txt").write_text("old")
    cell = kernel.good("text = open('h.txt').read(); open('h.txt', 'w').write('new')")
    assert (tmp_path / "h.txt").read_text() == "new"
    assert cell.report["inputs"] == [{"path": "h.txt", "bytes": 3, "sha256": hashlib.sha256(b"old").hexdigest()}]


def test_lost_cell_changes_nothing(kernel, tmp_path):
    (tmp_path / "old.txt").write_text("old")
    kernel.good("import os\nprint(1, file=open('mine.txt', 'w'))")
    before = tree(tmp_path)
    lose(kernel, "open('old.txt', 'w').write('lost'); open('new.txt', 'w').write('lost'); os.remove('mine.txt')")
    assert kernel.run("%%limits timeout=300ms\nopen('old.txt', 'w').write('lost')\nwhile True: pass").ename == "CellTimeout"
    assert tree(tmp_path) == before
    assert kernel.value("open('old.txt').read(), open('mine.txt').read(), os.path.exists('new.txt')") == (
        "('old', '1\\n', False)"
    )


def test_cell_that_raises_has_happened(kernel, tmp_path):
    cell = kernel.run("open('a.txt', 'w').write('a')\n1 / 0")
    assert cell.ename == "ZeroDivisionError" and notes(cell) == ["Saved: a.txt"]
    assert tree(tmp_path) == {"a.txt": "a"}


def test_second_notebook_reads_what_the_first_one_made(kernel, writable):
    kernel.good("import os\nos.mkdir('data'); open('data/x.csv', 'w').write('1')")
    other = writable()
    assert other.value("open('data/x.csv').read()") == "'1'"
    other.good("open('data/x.csv', 'a').write('2'); open('data/y.csv', 'w').write('y')")
    assert kernel.value("open('data/x.csv').read(), sorted(os.listdir('data'))") == "('12', ['x.csv', 'y.csv'])"


def test_folder_in_which_a_file_is_open_shows_the_hosts(kernel, tmp_path):
    """The overlay keeps what it knows of a folder as long as something in it is open, and knew it as the session's."""
    kernel.good("import os\nos.mkdir('d'); o = open('d/open', 'w'); open('d/a', 'w').write('a')")
    (tmp_path / "d" / "b").write_text("b")
    assert kernel.value("sorted(os.listdir('d')), open('d/a').read()") == "(['a', 'b', 'open'], 'a')"
    kernel.good("os.chdir('d'); open('c', 'w').write('c')")
    (tmp_path / "d" / "e").write_text("e")
    assert kernel.value("sorted(os.listdir('.'))") == "['a', 'b', 'c', 'e', 'open']"


def test_what_the_host_changes_is_seen(kernel, tmp_path):
    """Also in folders and under names that cells have made, changed or removed."""
    (tmp_path / "removed").mkdir()
    kernel.good("import os, shutil\nos.mkdir('made'); open('made/a', 'w').write('1'); shutil.rmtree('removed')")
    (tmp_path / "made" / "a").write_text("2")
    (tmp_path / "made" / "b").write_text("2")
    (tmp_path / "removed").mkdir()
    (tmp_path / "removed" / "c").write_text("2")
    look = "[open(name).read() if os.path.exists(name) else None for name in ('made/a', 'made/b', 'removed/c')]"
    assert kernel.value(look) == "['2', '2', '2']"
    shutil.rmtree(tmp_path / "made")
    assert kernel.value(look) == "[None, None, '2']"


def run_around(kernel, before, meanwhile, after):
    """A cell in the middle of which the host does something: while it waits for input()."""
    request = kernel.send(f"{before}\ninput()\n{after}", allow_stdin=True)
    kernel.client.get_stdin_msg(timeout=STUCK_S)
    meanwhile()
    kernel.client.input("")
    cell = kernel.finish(request)
    assert cell.ok, cell
    return cell


MEANTIME = {
    "a file of the host's": ("", "h.txt", "open('h.txt', 'a').write('cell')", "host and cell"),
    "a file of an earlier cell": ("open('e.txt', 'w').write('e')", "e.txt", "open('e.txt', 'a').write('cell')", "ecell"),
    "a file that is open": (
        "o = open('o.txt', 'w+'); o.write('o'); o.flush()", "o.txt", "o.write('cell'); o.flush()", "ocell"
    ),
    "a file that is made": ("", "n.txt", "open('n.txt', 'w').write('cell')", "cell"),
}  # fmt: skip


@pytest.mark.parametrize("before, name, change, text", MEANTIME.values(), ids=MEANTIME)
def test_what_the_host_changes_meanwhile_is_not_overwritten(kernel, tmp_path, before, name, change, text):
    (tmp_path / "h.txt").write_text("host and ")
    kernel.good(before)
    copied = f"open({name!r}, 'a').close()" if (tmp_path / name).exists() else ""  # the cell has its own from here on
    cell = run_around(kernel, copied, lambda: (tmp_path / name).write_text("the host's"), change)
    stem, ending = name.split(".")
    other = f"{stem} (2).{ending}"
    assert notes(cell) == [f"Saved: {other} ({name}: {MEANWHILE})"]
    assert rows(cell)[name]["copied_to"] == other and rows(cell)[name]["conflict"] == MEANWHILE
    assert (tmp_path / name).read_text() == "the host's"
    assert (tmp_path / other).read_text() == text
    if "o." not in name:
        assert kernel.value(f"open({name!r}).read()") == '"the host\'s"'


def test_what_the_host_puts_in_the_place_of_an_open_file_is_not_overwritten(kernel, tmp_path):
    """By its path cells go on seeing the file that is open, so what they make of it is made of that one."""
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("old")
    kernel.good("a, b = open('a.txt'), open('b.txt')")
    (tmp_path / "new").write_text("the host's")
    (tmp_path / "new").rename(tmp_path / "a.txt")
    cell = kernel.good("for name in ('a.txt', 'b.txt'): open(name, 'a').write(' cell')")
    assert notes(cell) == [f"Saved: a (2).txt (a.txt: {MEANWHILE}), b.txt"]
    assert tree(tmp_path) == {"a.txt": "the host's", "a (2).txt": "old cell", "b.txt": "old cell"}
    kernel.good("a.close(); b.close()")
    assert kernel.value("open('a.txt').read(), open('b.txt').read()") == "(\"the host's\", 'old cell')"


def test_what_the_host_changes_meanwhile_is_not_removed(kernel, tmp_path):
    (tmp_path / "dir").mkdir()
    for name in ("a.txt", "dir/b.txt", "dir/c.txt"):
        (tmp_path / name).write_text("old")

    def meanwhile():
        (tmp_path / "a.txt").write_text("new")
        (tmp_path / "dir" / "b.txt").write_text("new")

    cell = run_around(kernel, "import os, shutil", meanwhile, "os.remove('a.txt'); shutil.rmtree('dir')")
    assert notes(cell) == [f"Not saved: a.txt ({MEANWHILE}), dir (dir/b.txt: {MEANWHILE})"]
    assert tree(tmp_path) == {"a.txt": "new", "dir": None, "dir/b.txt": "new"}
    assert kernel.value("open('a.txt').read(), os.listdir('dir')") == "('new', ['b.txt'])"


def test_folder_that_the_host_moves_into_the_place_of_another_is_not_touched(kernel, tmp_path):
    for name in ("d/x.txt", "d/y.txt", "other/x.txt", "other/y.txt", "b/only.txt", "c/only.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)

    def meanwhile():
        for here, there in (("d", "d.old"), ("other", "d"), ("b", "b.old"), ("c", "b")):
            (tmp_path / here).rename(tmp_path / there)

    run_around(kernel, "import os, shutil\nopen('d/x.txt', 'a').write(' cell'); shutil.rmtree('b')", meanwhile,
               "os.remove('d/y.txt')")  # fmt: skip
    found = tree(tmp_path)
    assert (found["d/x.txt"], found["d/y.txt"], found["b/only.txt"]) == ("other/x.txt", "other/y.txt", "c/only.txt")
    assert found["d/x (2).txt"] == "d/x.txt cell"


def test_what_the_host_puts_into_a_folder_that_is_still_to_be_removed_stays(kernel, tmp_path):
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "x").write_text("x")
    (tmp_path / ".petri").symlink_to("/tmp")
    kernel.good("import shutil; shutil.rmtree('d')")
    (tmp_path / ".petri").unlink()
    (tmp_path / "d" / "new").write_text("the host's")
    (tmp_path / "d" / "x").write_text("the host's")
    assert notes(kernel.good("1"))  == [f"Not saved: d ({MEANWHILE})"]
    assert tree(tmp_path) == {"d": None, "d/new": "the host's", "d/x": "the host's"}


def test_names_never_run_out(kernel, tmp_path):
    (tmp_path / "a.txt").write_text("host")
    for n in range(2, 101):
        (tmp_path / f"a ({n}).txt").write_text("taken")
    cell = run_around(kernel, "open('a.txt', 'a').write(' and cell')",
                      lambda: (tmp_path / "a.txt").write_text("the host's"), "")  # fmt: skip
    assert (tmp_path / rows(cell)["a.txt"]["copied_to"]).read_text() == "host and cell"
    assert (tmp_path / "a.txt").read_text() == "the host's"


def test_journal_that_came_with_a_clone_is_not_believed(start, tmp_path):
    own = tmp_path / ".petri"
    own.mkdir(mode=0o700)
    (own / "file-0").write_text("#!/bin/sh")
    (own / "token").write_text("")
    token = (own / "token").stat()
    change = ["put", "hook", "file-0", (own / "file-0").stat().st_ino, None]
    for times in (token.st_ctime_ns - 1, 1):
        (own / "journal").write_text(json.dumps({"version": 1, "token": [token.st_ino, times], "changes": [change]}))
        start(name="petri").close()
        cell = start(name="petri-writable").good("open('a.txt', 'w').write('a')")
        assert "holds a journal of another place, so remove it" in notes(cell)[0]
        assert sorted(path.name for path in tmp_path.iterdir()) == [".petri"]


def test_link_that_is_replaced_gives_no_execute_bit(kernel, tmp_path):
    (tmp_path / "deploy").symlink_to("deploy-v1.sh")
    kernel.good("import os; os.remove('deploy'); open('deploy', 'w').write('x')")
    assert oct((tmp_path / "deploy").lstat().st_mode) == "0o100644"


def test_file_whose_other_name_is_removed_is_written(kernel, tmp_path):
    (tmp_path / "a").write_text("a")
    kernel.good("import os; os.link('a', 'b')")
    kernel.good("os.remove('a')")
    kernel.good("1")
    assert tree(tmp_path) == {"b": "a"}


def test_folder_that_is_shut_is_not_written(kernel, tmp_path):
    (tmp_path / "d").mkdir()
    tmp_path.chmod(0o555)
    assert "Permission denied" in notes(kernel.good("open('a', 'w').write('a')"))[0]
    tmp_path.chmod(0o755)
    kernel.good("1")
    assert tree(tmp_path) == {"a": "a", "d": None}


def test_file_that_is_open_is_the_same_one_and_written(kernel, tmp_path):
    kernel.good("import os\no = open('log.txt', 'a'); n = os.fstat(o.fileno()).st_ino; o.write('1'); o.flush()")
    assert (tmp_path / "log.txt").read_text() == "1"
    kernel.good("o.write('2'); o.flush()")
    lose(kernel, "o.write('lost'); o.flush()")
    assert kernel.value("o.write('3'); o.flush(); (n == os.stat('log.txt').st_ino, open('log.txt').read())") == (
        "(True, '123')"
    )
    assert (tmp_path / "log.txt").read_text() == "123"
    kernel.good("o.close()")
    (tmp_path / "log.txt").write_text("the host's")
    assert kernel.value("open('log.txt').read()") == '"the host\'s"'


@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_database_that_is_open_is_whole_in_the_folder(kernel, tmp_path, journal):
    kernel.good(
        f"import sqlite3\nc = sqlite3.connect('t.db'); c.execute('pragma journal_mode={journal}')\n"
        "c.execute('create table t (n)'); c.commit()"
    )
    for n in range(5):
        kernel.good(f"c.execute('insert into t values ({n})'); c.commit()")
        lose(kernel, "c.execute('insert into t values (-1)'); c.commit()")
        copy = tmp_path.parent / f"copy-{journal}-{n}"
        shutil.copytree(tmp_path, copy)
        with sqlite3.connect(copy / "t.db") as connection:
            assert connection.execute("select n from t order by n").fetchall() == [(i,) for i in range(n + 1)]
            assert connection.execute("pragma integrity_check").fetchall() == [("ok",)]


REFUSED = {
    "open('Makefile', 'w').write('x')": f"Makefile (a name in its path is looked for by make, which would run or load it{ALLOW})",
    "open('json.py', 'w').write('x')": "json.py (a name in its path is a module's, which Python imports from the folder "
    f"that it is started in{ALLOW})",
    "open('.envrc', 'w').write('x')": f".envrc (a name in its path is hidden, as settings of tools are{ALLOW})",
    "os.symlink('/etc/passwd', 'link')": "link (it is a link)",
    "os.mkfifo('fifo')": "fifo (it is a FIFO)",
    "os.link('a.txt', 'b.txt')": "a.txt (it has more than one name (hard links)), "
    "b.txt (it has more than one name (hard links))",
    "os.makedirs('.petri'); open('.petri/journal', 'w').write('x')": ".petri/journal (names that begin with .petri are "
    "petri's own)",
    "os.remove('utils.py')": "utils.py (a name in its path is a module's, which Python imports from the folder that it "
    f"is started in{ALLOW})",
    "open(b'a\\xff', 'w').write('x')": "a\ufffd (its path is not UTF-8)",
    "shutil.rmtree('repo')": "repo (repo/.git: is hidden, as settings of tools are)",
}


def test_what_the_host_would_run_or_be_led_by_stays_out(kernel, tmp_path):
    (tmp_path / "utils.py").write_text("mine")
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    (tmp_path / "repo" / ".git" / "config").write_text("mine")
    kernel.good("import os, shutil\nopen('a.txt', 'w').write('a')")
    before = tree(tmp_path)
    for code, expected in REFUSED.items():
        assert notes(kernel.good(code)) == [f"Not saved: {expected}"], code
    assert tree(tmp_path) == before
    assert kernel.value("os.path.exists('Makefile'), os.path.exists('utils.py')") == "(True, False)"


def test_what_the_configuration_allows_is_written(configure, start, tmp_path):
    configure(writable={"on": True, "allow": ["*.py", "Makefile", ".github"]})
    kernel = start()  # the kernel that is not called writable
    kernel.good(
        "import os\nos.makedirs('.github/.hidden'); open('utils.py', 'w').write('1'); open('Makefile', 'w').write('2')\n"
        "open('.github/ci.yml', 'w').write('3'); open('.github/.hidden/x', 'w').write('4'); open('.envrc', 'w').write('5')"
    )
    assert tree(tmp_path) == {".github": None, ".github/ci.yml": "3", "Makefile": "2", "utils.py": "1"}
    assert kernel.value("import utils; utils.__file__").endswith("utils.py'")


CACHE = "import os\nos.makedirs('cache', exist_ok=True); os.environ['XDG_CACHE_HOME'] = os.path.abspath('cache')\n"


@pytest.mark.thorough
def test_what_cython_has_built_is_kept_for_the_next_session_where_it_may_be(configure, writable, skip_or_fail):
    """As docs/fidelity.md has it. The second session has no compiler."""
    configure(writable={"allow": ["*.so"]})
    for cc in ("cc", "false"):
        kernel = writable()
        if kernel.value("__import__('importlib.util').util.find_spec('Cython') is not None") != "True":
            skip_or_fail("the tests' environment has no Cython")
        kernel.good(f"{CACHE}os.environ['CC'] = {cc!r}\n%load_ext Cython")
        kernel.good("%%cython\ndef twice(int n):\n    return 2 * n")
        assert kernel.value("twice(21)") == "42"
        kernel.close()


def test_no_execute_bit_that_the_host_has_not_set(kernel, tmp_path):
    (tmp_path / "run.sh").write_text("old")
    (tmp_path / "run.sh").chmod(0o755)
    kernel.good(
        "import os\nopen('run.sh', 'a').write('!'); open('new.sh', 'w').write('x'); os.chmod('new.sh', 0o4777)\n"
        "open('private', 'w').write('x'); os.chmod('private', 0o600)"
    )
    modes = {name: oct(stat.S_IMODE((tmp_path / name).stat().st_mode)) for name in ("run.sh", "new.sh", "private")}
    assert modes == {"run.sh": "0o755", "new.sh": "0o666", "private": "0o600"}
    assert (tmp_path / "run.sh").read_text() == "old!"


def test_times_are_those_that_the_cell_sees(kernel, tmp_path):
    kernel.good("import os\nopen('a', 'w').write('a'); os.utime('a', (1, 1000000000)); open('b', 'w').write('b')")
    assert (tmp_path / "a").stat().st_mtime == 1000000000
    assert kernel.value("os.stat('b').st_mtime_ns") == str((tmp_path / "b").stat().st_mtime_ns)


def test_file_in_the_place_of_a_folder_and_the_other_way_round(kernel, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a").write_text("a")
    (tmp_path / "file").write_text("f")
    kernel.good(
        "import os, shutil\nshutil.rmtree('folder'); open('folder', 'w').write('now a file')\n"
        "os.remove('file'); os.mkdir('file'); open('file/in', 'w').write('in a folder')"
    )
    assert tree(tmp_path) == {"folder": "now a file", "file": None, "file/in": "in a folder"}
    kernel.good("os.remove('folder'); os.mkdir('folder'); shutil.rmtree('file'); open('file', 'w').write('f')")
    assert tree(tmp_path) == {"folder": None, "file": "f"}


def test_limits_hold_and_past_their_total_nothing_is_written(configure, writable, tmp_path):
    configure(profiles={"notebook": {"artifact": "1K", "artifacts": "3K"}})
    kernel = writable()
    cell = kernel.good("open('large', 'w').write('x' * 2000); open('small', 'w').write('x')")
    assert notes(cell) == ["Saved: small\nNot saved: large (it is larger than the limit of 1 KiB (artifact))"]
    cell = kernel.good("for n in range(4): open(f'{n}', 'w').write('x' * 1000)")
    why = "nothing is written, for the cell's files are more than the limit of 3 KiB (artifacts)"
    assert [rows(cell)[str(n)]["refused"] for n in range(4)] == [why] * 4
    assert tree(tmp_path) == {"small": "x"}
    assert kernel.value("len(open('large').read()), len(open('3').read())") == "(2000, 1000)"
    assert notes(kernel.good("open('next', 'w').write('x')")) == ["Saved: next"]


def test_more_files_than_the_report_has_are_all_written(kernel, tmp_path):
    cell = kernel.good("import os\nos.mkdir('many')\nfor n in range(1500): open(f'many/{n}', 'w').write(str(n))")
    assert len(cell.report["artifacts"]) == 1000 and cell.report["artifacts_omitted"] == 500
    assert tree(tmp_path / "many") == {str(n): str(n) for n in range(1500)}
    assert "and 1480 more" in notes(cell)[0], notes(cell)
    kernel.good("import shutil; shutil.rmtree('many')")
    assert tree(tmp_path) == {}


def test_what_could_not_be_written_is_written_by_the_next_cell(kernel, tmp_path):
    (tmp_path / "old.txt").write_text("old")
    (tmp_path / ".petri").symlink_to("/tmp")
    cell = kernel.good("open('a.txt', 'w').write('a'); import os; os.remove('old.txt'); os.mkdir('empty')")
    why = "the folder can't be written: Too many levels of symbolic links"
    assert notes(cell) == [f"Not saved: a.txt ({why}), old.txt ({why}), empty ({why})"]
    assert tree(tmp_path) == {".petri": None, "old.txt": "old"}
    assert kernel.value("open('a.txt').read(), os.path.exists('old.txt')") == "('a', False)"
    (tmp_path / ".petri").unlink()
    assert notes(kernel.good("1")) == ["Saved: a.txt\nRemoved: old.txt"]
    assert tree(tmp_path) == {"a.txt": "a", "empty": None}
    assert notes(kernel.good("1")) == []


def test_open_file_that_could_not_be_written_is_not_given_up_when_it_is_closed(kernel, tmp_path):
    kernel.good("o = open('a.txt', 'a'); o.write('1'); o.flush()")
    (tmp_path / ".petri").symlink_to("/tmp")
    kernel.good("o.write('2'); o.close()")
    assert (tmp_path / "a.txt").read_text() == "1"
    assert kernel.value("open('a.txt').read()") == "'12'"
    (tmp_path / ".petri").unlink()
    assert notes(kernel.good("1")) == ["Saved: a.txt"]
    assert (tmp_path / "a.txt").read_text() == "12"


def test_interrupt_while_it_is_written_writes_nothing_and_the_next_cell_does(kernel, tmp_path):
    request, messages = kernel.start_busy("import os\nfor n in range(40): open(f'{n:02}', 'wb').write(os.urandom(10_000_000))")
    while not (tmp_path / ".petri").exists():
        pass
    kernel.control("interrupt_request")
    cell = kernel.finish(request, messages)
    assert cell.ok and list(tree(tmp_path)) == []
    assert rows(cell)["00"]["refused"] == "nothing is written, for it was interrupted"
    kernel.good("1")
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"{n:02}" for n in range(40)]


def test_kernels_of_one_folder_take_turns_and_lose_nothing(writable, tmp_path):
    kernels = [writable() for _ in range(3)]
    code = "import os\nfor n in range(20): open(f'{os.urandom(8).hex()}', 'w').write('x' * 100_000)"
    for _ in range(3):
        requests = [kernel.send(code) for kernel in kernels]
        for kernel, request in zip(kernels, requests, strict=True):
            assert kernel.finish(request).ok
    assert len(list(tmp_path.iterdir())) == 180


def test_fresh_run_goes_to_outputs(kernel, tmp_path):
    cell = kernel.ask("open('a.txt', 'w').write('a')", {"fresh": True})
    assert cell.ok and tree(tmp_path) == {"outputs": None, "outputs/.petri-sha256": tree(tmp_path)["outputs/.petri-sha256"],
                                          "outputs/a.txt": "a"}  # fmt: skip


def test_strict_has_no_writable_mode(configure, start, tmp_path):
    configure(writable={"on": True})
    start(name="petri-strict").good("open('a.txt', 'w').write('a')")
    assert (tmp_path / "outputs" / "a.txt").exists() and not (tmp_path / "a.txt").exists()
    argv = [PETRI, "kernel", "none.json", "--profile", "strict", "--writable"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "profile strict writes to no folder" in done.stderr


def test_petri_run_writes_no_folder(configure, tmp_path):
    configure(writable={"on": True})
    done = subprocess.run([PETRI, "run", "-"], input="open('a.txt', 'w').write('a')", text=True, cwd=tmp_path,
                          capture_output=True, check=False)  # fmt: skip
    assert json.loads(done.stdout)["outcome"] == "ok" and tree(tmp_path) == {}


PAIRS = "for n in range({}): [open(f'{{name}}{{n}}', 'w').write('{}') for name in 'ab']; os.path.exists(f'c{{n}}') and os.remove(f'c{{n}}')"


def kill_in_the_middle(kernel, dice, generation):
    """Has a cell write its files, and kills the kernel while it writes them to the host's folder, or near that."""
    request = kernel.send(PAIRS.format(30, generation))
    while not (kernel.folder / ".petri").exists() and kernel.manager.is_alive():
        if kernel.has_reply(request):
            return
    for _ in range(dice.randrange(200_000)):
        pass
    os.kill(dice.choice(processes.family(kernel.pid)[:2]), signal.SIGKILL)


@pytest.mark.parametrize("kills", [KILLS, pytest.param(AT_LENGTH, marks=pytest.mark.thorough)])
def test_killed_kernel_has_written_all_of_a_cell_or_nothing(writable, start, tmp_path, kills):
    print("PETRI_SEED", SEED)
    dice = random.Random(SEED)
    for generation in range(kills):
        kernel = writable()
        kernel.good("import os\nfor n in range(30): open(f'c{n}', 'w').write('c')")
        pidfds = processes.open_family(kernel.pid)
        kill_in_the_middle(kernel, dice, generation)
        kernel.close()
        assert processes.wait_for_end(pidfds, STUCK_S) == 0
        start().close()  # any kernel ends what was begun
        found = tree(tmp_path)
        done = {found.get(f"{name}{n}") for name in "ab" for n in range(30)}
        assert len(done) == 1, (SEED, generation, found)
        assert any(name.startswith("c") for name in found) == (done != {str(generation)}), (SEED, generation, found)
        assert ".petri" not in found


MOVES = (
    "open(pick(files) or new(), 'a').write(word())",
    "open(new(), 'w').write(word())",
    "os.makedirs(new(), exist_ok=True)",
    "pick(files) and os.remove(pick(files))",
    "pick(folders) and shutil.rmtree(pick(folders))",
    "pick(files) and os.rename(pick(files), new())",
    "pick(files) and shutil.copy(pick(files), new())",
    "pick(files) and os.truncate(pick(files), 2)",
    "pick(files) and opened.append(open(pick(files), 'a'))",
    "opened and (opened[0].write(word()), opened[0].flush())",
    "opened and opened.pop(0).close()",
    "pick(folders) and os.chdir(pick(folders))",
    "os.chdir(base)",
)

BEGIN = """import os, pathlib, random, shutil
base = os.getcwd(); opened = []
def play(seed, moves):
    dice = random.Random(seed)
    def look():
        here = [str(p) for p in sorted(pathlib.Path(base).rglob('*'))]
        return [p for p in here if os.path.isfile(p)], [p for p in here if os.path.isdir(p)]
    def word(): return f'{dice.randrange(1000)} '
    def new(): return os.path.join(dice.choice([base, *look()[1]]), dice.choice('abcdefgh') + dice.choice('xyz'))
    for _ in range(moves):
        files, folders = look()
        chosen = {}
        def pick(names): return chosen.setdefault(id(names), dice.choice(names) if names else None)
        try:
            eval(dice.choice(MOVES), dict(globals(), **locals()))
        except OSError:
            pass
"""


@pytest.mark.parametrize("cells", [CELLS, pytest.param(400, marks=pytest.mark.thorough)])
def test_random_changes_are_those_of_a_plain_process(kernel, ipykernel, tmp_path, tmp_path_factory, cells):
    print("PETRI_SEED", SEED)
    dice = random.Random(SEED)
    plain = tmp_path_factory.mktemp("plain")
    ipykernel.good(f"import os; os.chdir({str(plain)!r})")
    for one in (kernel, ipykernel):
        one.good(f"MOVES = {MOVES!r}\n{BEGIN}")
    for n in range(cells):
        code = f"play({dice.randrange(1 << 32)}, {dice.randrange(1, 6)})"
        if dice.randrange(5) == 0:
            lose(kernel, code)
        else:
            kernel.good(code)
            ipykernel.good(code)
        assert tree(tmp_path) == tree(plain), (SEED, n)
    ipykernel.good("os.chdir('/')")
