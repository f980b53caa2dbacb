"""The writable mode: what a cell has changed in the notebook's folder is in the host's folder, all of it or nothing."""

import hashlib
import json
import shutil
import sqlite3
import stat
import subprocess

import pytest

from folders import lose, notes, rows, tree
from kernels import PETRI, wait_for

ALLOW = '; "allow" of the configuration\'s "writable" can name it'


@pytest.fixture
def kernel(writable):
    return writable()


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


def test_rolled_back_cell_changes_nothing(kernel, tmp_path):
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


def test_journal_that_came_with_a_clone_is_none(start, tmp_path):
    own = tmp_path / ".petri"
    own.mkdir(mode=0o700)
    (own / "file-0").write_text("#!/bin/sh")
    (own / "token").write_text("")
    staged = (own / "file-0").stat()
    change = ["put", "hook", "file-0", [staged.st_ino, staged.st_size, staged.st_mtime_ns, staged.st_mode], None]
    for name in ("journal", f"journal-{(own / 'token').stat().st_ino:x}-1"):
        (own / name).write_text(json.dumps({"version": 2, "changes": [change]}))
    start(name="petri").close()
    assert not (tmp_path / "hook").exists()
    assert notes(start(name="petri-writable").good("open('a.txt', 'w').write('a')")) == ["Saved: a.txt"]
    kept, saved = sorted(path.name for path in tmp_path.iterdir())
    assert kept.startswith(".petri-kept-") and saved == "a.txt"


def test_folder_that_cells_do_not_see_is_not_written_and_a_line_says_so(start):
    kernel = start(name="petri-writable", folder="/opt")
    assert kernel.good("1").stderr == "petri: this folder is not written: cells don't see it as it is.\n"


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


def test_mapped_write_to_a_page_that_was_read_is_written(kernel, tmp_path):
    (tmp_path / "a.bin").write_bytes(bytes(9000))
    kernel.good("import mmap, os; file = open('a.bin', 'r+b'); mapped = mmap.mmap(file.fileno(), 0); mapped[0] = 1")
    kernel.good("before = mapped[5000]; mapped[5000] = 7")
    assert (tmp_path / "a.bin").read_bytes()[5000] == 7
    kernel.good("before = mapped[5000]; mapped[5000] = 8; mapped.close(); file.close()")
    assert (tmp_path / "a.bin").read_bytes()[5000] == 8
    (tmp_path / "a.bin").write_text("the host's")
    assert kernel.value("open('a.bin').read()") == repr("the host's")


def test_file_that_is_opened_for_writing_and_not_written_is_not_told(kernel, tmp_path):
    own = tmp_path / "own.csv"
    own.write_text("own")
    cell = kernel.good("import os; open('own.csv', 'a').close(); os.chmod('own.csv', 0o600)")
    assert cell.report["artifacts"] == [] and not cell.of("display_data")
    assert (own.read_text(), own.stat().st_mode & 0o777) == ("own", 0o600)
    own.write_text("the host's")
    assert kernel.value("open('own.csv').read()") == repr("the host's")


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
    "os.link('a.txt', 'b.txt')": "b.txt (it has more than one name (hard links)), "
    "a.txt (it has more than one name (hard links))",
    "os.makedirs('.petri'); open('.petri/journal', 'w').write('x')": ".petri/journal (names that begin with .petri are "
    "petri's own)",
    "os.remove('utils.py')": "utils.py (a name in its path is a module's, which Python imports from the folder that it "
    f"is started in{ALLOW})",
    "open(b'a\\xff', 'w').write('x')": "a\ufffd (its path is not UTF-8)",
    "shutil.rmtree('repo')": "repo (repo/.git: is hidden, as settings of tools are)",
}
REMOVALS = {"os.remove('utils.py')", "shutil.rmtree('repo')"}


def test_what_the_host_would_run_or_be_led_by_stays_out(kernel, tmp_path):
    (tmp_path / "utils.py").write_text("mine")
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    (tmp_path / "repo" / ".git" / "config").write_text("mine")
    kernel.good("import os, shutil\nopen('a.txt', 'w').write('a')")
    before = tree(tmp_path)
    for code, expected in REFUSED.items():
        what = "Not removed" if code in REMOVALS else "Not saved"
        assert notes(kernel.good(code)) == [f"{what}: {expected}"], code
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
    why = "nothing is written, because the cell's files are more than the limit of 3 KiB (artifacts)"
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
    assert notes(cell) == [f"Not saved: a.txt ({why}), empty ({why})\nNot removed: old.txt ({why})"]
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
    code = "import os\nfor n in range(40): open(f'{n:02}', 'wb').write(os.urandom(10_000_000))"

    def interrupted():
        cell = kernel.interrupted_at(tmp_path / ".petri", *kernel.start_busy(code))
        if "refused" in rows(cell)["00"]:
            return cell
        kernel.good("for n in range(40): os.remove(f'{n:02}')")
        return None

    cell = wait_for(interrupted)
    assert cell.ok and list(tree(tmp_path)) == []
    assert rows(cell)["00"]["refused"] == "nothing is written, because it was interrupted"
    kernel.good("1")
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"{n:02}" for n in range(40)]


def test_fresh_run_goes_aside(kernel, tmp_path):
    cell = kernel.ask("open('a.txt', 'w').write('a')", {"fresh": True})
    assert cell.ok and {name: text for name, text in tree(tmp_path).items() if "petri" not in name} == {
        "outputs-aside": None,
        "outputs-aside/a.txt": "a",
    }


def test_strict_has_no_writable_mode(configure, start, tmp_path, write_connection):
    configure(writable={"on": True})
    start(name="petri-strict").good("open('a.txt', 'w').write('a')")
    assert (tmp_path / "outputs" / "a.txt").exists() and not (tmp_path / "a.txt").exists()
    connection, _ = write_connection()
    argv = [PETRI, "kernel", connection, "--profile", "strict", "--writable"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "profile strict writes to no folder" in done.stderr


def test_petri_run_writes_no_folder(configure, tmp_path):
    configure(writable={"on": True})
    done = subprocess.run([PETRI, "run", "-"], input="open('a.txt', 'w').write('a')", text=True, cwd=tmp_path,
                          capture_output=True, check=False)  # fmt: skip
    assert json.loads(done.stdout)["outcome"] == "ok" and tree(tmp_path) == {}
