"""
The writable mode never takes the only copy of anything from the disk: what a cell has renamed, packed or copied to a name
that is not saved, and what other programs go on writing into. Whatever is refused, killed, full or changed meanwhile.
"""

import contextlib
import fcntl
import io
import mmap
import os
import pathlib
import random
import re
import shutil
import signal
import sqlite3
import struct
import subprocess
import time

import pytest

import processes
from folders import lose, notes, rows, tree
from kernels import STUCK_S, wait_for

SEED = int(os.environ.get("PETRI_SEED", random.SystemRandom().randrange(1 << 32)))
STEPS = int(os.environ.get("PETRI_KEPT_STEPS", 800))  # of the walk at length

HIDDEN = "a name in its path is hidden, as settings of tools are; \"allow\" of the configuration's \"writable\" can name it"
FS_IOC_SETFLAGS, FS_APPEND_FL = 0x40086602, 0x20  # linux/fs.h

MEANWHILE = "it was changed outside of the notebook meanwhile"
IN_USE = "another program has it open for writing"


@pytest.fixture
def kernel(writable):
    return writable()


def files(folder):
    return {path: text for path, text in tree(folder).items() if text is not None}


def waits_for(path):
    return f"what is on the disk stays until {path} is saved or removed"


# What a cell does to a file of the host's, and the name of what then has its content and is not saved.
MOVED = {
    "to a hidden name": ("os.rename('a.txt', '.a.txt')", ".a.txt"),
    "to a module's name": ("os.rename('a.txt', 'a.py')", "a.py"),
    "to a name with a character that is not seen": ("os.rename('a.txt', 'a\\u200b.txt')", "a\u200b.txt"),
    "past the limit": ("%%limits artifact=1K\nimport os; os.rename('a.txt', 'b.txt')", "b.txt"),
    "to two hard links": ("os.link('a.txt', 'b.txt'); os.link('a.txt', 'c.txt'); os.remove('a.txt')", "b.txt"),
    "into an archive": ("shutil.move(shutil.make_archive('x', 'tar', '.', 'a.txt'), '.x.tar'); os.remove('a.txt')", ".x.tar"),
    "as the last of a row": ("open('.b.txt', 'w').write('next'); os.remove('a.txt')", ".b.txt"),
    "with its folder": ("os.mkdir('d'); os.rename('a.txt', 'd/a.txt'); os.rename('d', '.d')", ".d/a.txt"),
    "and something else is there": ("os.rename('a.txt', '.a.txt'); open('a.txt', 'w').write('new')", ".a.txt"),
    "and a folder is there": ("os.rename('a.txt', '.a'); os.mkdir('a.txt'); open('a.txt/b', 'w').write('b')", ".a"),
    "to a name that is no UTF-8": ("os.rename(b'a.txt', b'a\\xff')", "a\ufffd"),
    "into a folder of no UTF-8": ("os.mkdir(b'\\xff'); os.rename(b'a.txt', b'\\xff/a')", "\ufffd/a"),
    "into a folder for caches": ("os.mkdir('__pycache__'); os.rename('a.txt', '__pycache__/a')", "__pycache__/a"),
    "too deep to be looked into": (
        "p = '/'.join(['d'] * 64); os.makedirs(p); os.rename('a.txt', p + '/a')", "/".join(["d"] * 41)
    ),
    "in a chain": ("os.rename('a.txt', '.x'); os.rename('z.txt', 'a.txt')", ".x"),
}  # fmt: skip


@pytest.mark.parametrize("code, name", MOVED.values(), ids=MOVED)
def test_what_is_not_saved_elsewhere_stays_on_the_disk(kernel, tmp_path, code, name):
    for file in ("a.txt", "z.txt"):
        (tmp_path / file).write_text(f"{file} of the host" * 100)
    before = tree(tmp_path)
    kernel.good("import os, shutil")
    cell = kernel.good(code)
    assert files(tmp_path) == before
    assert rows(cell)[name]["refused"]
    assert waits_for(name.replace("\u200b", "?"))[:70] in "".join(notes(cell)), notes(cell)
    assert not any("Removed: " in said for said in notes(kernel.good("1")))
    assert files(tmp_path) == before


def test_what_waits_is_removed_once_the_rest_is_saved(kernel, tmp_path):
    (tmp_path / "data.csv").write_text("1,2")
    cell = kernel.good("import os; os.rename('data.csv', '.data.csv')")
    assert notes(cell) == [f"Not saved: .data.csv ({HIDDEN})\nNot removed: data.csv ({waits_for('.data.csv')})"]
    assert notes(kernel.good("1")) == []
    assert notes(kernel.good("os.rename('.data.csv', '.other')"))[0].startswith("Not saved: .other")
    assert tree(tmp_path) == {"data.csv": "1,2"}
    assert notes(kernel.good("os.rename('.other', 'new.csv')")) == ["Saved: new.csv\nRemoved: data.csv"]
    assert tree(tmp_path) == {"new.csv": "1,2"}


def test_what_an_earlier_cell_could_not_save_is_a_reason_only_for_what_has_its_content(kernel, tmp_path):
    for name in "abc":
        (tmp_path / name).write_text(f"{name} of the host")
    kernel.good("import os, shutil; shutil.copy('a', '.a')")
    kernel.good("open('new', 'w').write('new')")
    assert notes(kernel.good("os.remove('b')")) == ["Removed: b"]
    assert notes(kernel.good("os.remove('a')")) == [f"Not removed: a ({waits_for('.a')})"]
    assert notes(kernel.good("open('c', 'w').write('changed')")) == ["Saved: c"]
    assert tree(tmp_path) == {"a": "a of the host", "c": "changed", "new": "new"}
    assert notes(kernel.good("os.remove('.a')")) == ["Removed: a"]  # nobody wants it any more
    assert tree(tmp_path) == {"c": "changed", "new": "new"}


def test_what_is_gone_from_the_session_is_no_reason_to_wait(kernel, tmp_path):
    for name in ("a.txt", "b.txt", "c.txt"):
        (tmp_path / name).write_text(name)
    kernel.good("import os, shutil; os.makedirs('.d/e'); os.rename('a.txt', '.d/e/a.txt')")
    kernel.good("shutil.copy('b.txt', '.d/e/b.txt')")
    assert notes(kernel.good("shutil.rmtree('.d')")) == ["Removed: a.txt"]
    assert notes(kernel.good("os.remove('b.txt')")) == ["Removed: b.txt"]
    assert tree(tmp_path) == {"c.txt": "c.txt"}


def test_undo_of_a_cell_whose_removal_waits_has_the_file_again(kernel, tmp_path):
    (tmp_path / "a").write_text("a")
    kernel.good("import os")
    kernel.good("os.rename('a', '.a')")
    kernel.good("%undo")
    assert kernel.value("sorted(os.listdir())") == "['a']"
    assert notes(kernel.good("os.rename('a', 'b')")) == ["Saved: b\nRemoved: a"]


LATER = {
    "a file": ("open('a', 'w').write('new')", "a"),
    "a folder": ("os.mkdir('a'); open('a/b', 'w').write('new')", "a/b"),
}


@pytest.mark.parametrize("code, name", LATER.values(), ids=LATER)
def test_what_a_later_cell_puts_in_the_place_of_a_file_that_waits_waits_too(kernel, tmp_path, code, name):
    (tmp_path / "a").write_text("a of the host")
    pack = "import os, gzip; gzip.open('.a.gz', 'wb').write(open('a', 'rb').read()); os.remove('a')"
    assert "Not removed: a " in notes(kernel.good(pack))[0]
    cell = kernel.good(code)
    assert rows(cell)[name]["refused"] == waits_for(".a.gz")
    assert tree(tmp_path) == {"a": "a of the host"}
    assert kernel.value(f"open({name!r}).read()") == "'new'"
    kernel.good("os.rename('.a.gz', 'a.gz')")
    assert (tmp_path / name).read_text() == "new" and (tmp_path / "a.gz").exists()


def test_what_can_t_be_saved_in_the_place_of_a_file_that_waits_is_of_its_own_cell(kernel, tmp_path):
    (tmp_path / "a").write_text("a of the host")
    (tmp_path / "b").write_text("b of the host" * 100)
    before = tree(tmp_path)
    kernel.good("import os; os.rename('a', '.a')")
    assert "Not removed: b " in notes(kernel.good("%%limits artifact=1K\nos.rename('b', 'a')"))[0]
    assert tree(tmp_path) == before


def test_new_folder_in_the_place_of_one_that_waits_has_nothing_of_it(kernel, tmp_path):
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "x").write_text("x of the host")
    kernel.good("import os, shutil; os.mkdir('.d'); os.rename('d/x', '.d/x'); os.rmdir('d')")
    kernel.good("os.mkdir('d')")
    assert kernel.value("os.listdir('d')") == "[]"
    assert tree(tmp_path) == {"d": None, "d/x": "x of the host"}
    kernel.good("os.rename('.d/x', 'd/z')")
    assert tree(tmp_path) == {"d": None, "d/z": "x of the host"}


def test_folder_of_a_file_that_waits_is_replaced_once_it_need_not_wait(kernel, tmp_path):
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "x").write_text("x of the host")
    kernel.good("import os, shutil; os.rename('d/x', '.z')")
    assert notes(kernel.good("os.remove('.z'); shutil.rmtree('d'); open('d', 'w').write('file')")) == ["Saved: d"]
    assert tree(tmp_path) == {"d": "file"}


@pytest.fixture
def free(tmp_path, skip_or_fail):
    """Frees s/f, which can't be replaced until then, though the mode of its folder allows it."""
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "f").write_text("1")

    folder = os.open(tmp_path / "s", os.O_RDONLY)

    def change(flags):
        fcntl.ioctl(folder, FS_IOC_SETFLAGS, struct.pack("i", flags))

    try:
        change(FS_APPEND_FL)
    except OSError as error:
        skip_or_fail(f"there can be no folder that names are only added to: {error}")
    yield lambda: change(0)
    change(0)
    os.close(folder)


def test_what_can_t_be_made_is_left_out_and_made_once_it_can(kernel, tmp_path, free):
    (tmp_path / "a").write_text("old")
    (tmp_path / "gone").write_text("gone")
    cell = kernel.good("import os; open('a', 'w').write('new'); open('s/f', 'w').write('cell')")
    assert notes(cell) == ["Saved: a\nNot saved: s/f (Operation not permitted)"]
    assert notes(kernel.good("open('b', 'w').write('b')"))[0].startswith("Saved: b")
    assert files(tmp_path) == {"a": "new", "b": "b", "gone": "gone", "s/f": "1"}
    assert "Not removed: gone" in notes(kernel.good("os.remove('gone'); open('s/f', 'w').write('cell 2')"))[0]
    free()
    assert notes(kernel.good("1")) == ["Saved: s/f\nRemoved: gone"]
    assert files(tmp_path) == {"a": "new", "b": "b", "s/f": "cell 2"}


def test_copy_of_a_folder_that_was_being_written_keeps_all_that_is_in_it(writable, tmp_path):
    folder, copy = tmp_path / "folder", tmp_path / "copy"
    folder.mkdir()
    for n in range(1000):
        (folder / f"f{n}").write_text(f"word {n}")
    kernel = writable(folder=folder)
    pidfds = processes.open_family(kernel.pid)
    kernel.send("import os\nfor n in range(0, 1000, 2):\n    os.rename(f'f{n}', 't'); os.rename(f'f{n + 1}', f'f{n}')\n"
                "    os.rename('t', f'f{n + 1}')")  # fmt: skip
    while (folder / "f0").read_text() == "word 0":
        pass
    for pid in processes.family(kernel.pid)[:2]:
        os.kill(pid, signal.SIGKILL)
    kernel.close()
    assert processes.wait_for_end(pidfds, STUCK_S) == 0
    shutil.copytree(folder, copy)
    assert notes(writable(folder=copy).good("open('new', 'w').write('x')")) == ["Saved: new"]
    assert {path.read_text() for path in copy.rglob("f*")} >= {f"word {n}" for n in range(1000)}
    writable(folder=folder).close()
    assert {path.read_text() for path in folder.iterdir()} == {f"word {n}" for n in range(1000)}


def test_programs_that_have_a_file_open_go_on_in_the_file_that_is_there(kernel, tmp_path):
    with open(tmp_path / "app.log", "a", buffering=1) as log, sqlite3.connect(tmp_path / "app.db") as db:
        log.write("1 of the host\n")
        db.execute("create table t(x)")
        db.commit()
        cell = kernel.good(
            "import sqlite3\nwith open('app.log', 'a') as f: f.write('of the cell\\n')\n"
            "with sqlite3.connect('app.db') as db: db.execute('insert into t values (7)')\ndb.close()"
        )
        assert notes(cell) == [f"Saved: app (2).db (app.db: {IN_USE}), app (2).log (app.log: {IN_USE})"]
        log.write("2 of the host\n")
        db.execute("insert into t values (1)")
        db.commit()
        assert db.execute("select x from t").fetchall() == [(1,)]
        assert notes(kernel.good("open('app.log', 'a').close()")) == []
        gone = kernel.good("import os; os.remove('app.log')")
        assert notes(gone) == [f"Not removed: app.log ({IN_USE})"]
        log.write("3 of the host\n")
    assert (tmp_path / "app.log").read_text() == "1 of the host\n2 of the host\n3 of the host\n"
    assert (tmp_path / "app (2).log").read_text() == "1 of the host\nof the cell\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["app (2).db", "app (2).log", "app.db", "app.log"]
    assert sqlite3.connect(tmp_path / "app.db").execute("select x from t").fetchall() == [(1,)]
    assert sqlite3.connect(tmp_path / "app (2).db").execute("select x from t").fetchall() == [(7,)]
    assert notes(kernel.good("open('app.log', 'a').write('of the cell\\n')")) == ["Saved: app.log"]


def test_what_a_program_stores_into_a_page_that_is_dirty_already_is_kept(kernel, tmp_path):
    """Linux sets no time of the file then."""
    (tmp_path / "data.bin").write_bytes(bytes(8192))
    with open(tmp_path / "data.bin", "r+b") as file:
        mapped = mmap.mmap(file.fileno(), 8192)
    mapped[0:1] = b"1"
    request = kernel.send("with open('data.bin', 'r+b') as f: f.seek(5000); f.write(b'cell')\ninput()", allow_stdin=True)
    kernel.client.get_stdin_msg(timeout=STUCK_S)
    mapped[1:2] = b"2"
    kernel.client.input("")
    (said,) = notes(kernel.finish(request))  # where Linux has written the page meanwhile, it is not dirty, and there is a time
    assert said in {f"Saved: data (2).bin (data.bin: {why})" for why in (IN_USE, MEANWHILE)}
    mapped.close()
    assert (tmp_path / "data.bin").read_bytes()[:3] == b"12\0"
    assert (tmp_path / "data (2).bin").read_bytes()[5000:5004] == b"cell"


def test_kernel_waits_for_a_folder_that_one_that_dies_still_has_locked(writable, start, tmp_path):
    for n in range(3000):
        (tmp_path / f"f{n}").write_text("old")
    kernel = writable()
    pidfds = processes.open_family(kernel.pid)
    kernel.send("for n in range(3000): open(f'f{n}', 'w').write('new')")
    while not any((tmp_path / f"f{n}").read_text() == "new" for n in (0, 1, 10)):
        pass
    for pid in processes.family(kernel.pid)[:2]:
        os.kill(pid, signal.SIGKILL)
    kernel.close()
    assert processes.wait_for_end(pidfds, STUCK_S) == 0
    locked = os.open(tmp_path / ".petri", os.O_RDONLY)
    fcntl.flock(locked, fcntl.LOCK_EX)
    after = start(wait=False)
    time.sleep(1)
    os.close(locked)
    after.wait_until_up()
    assert after.value("{open(f'f{n}').read() for n in range(3000)}") == "{'new'}"
    assert not (tmp_path / ".petri").exists()


# A walk: words are what must not be lost. Files have words; those of some names, and those with much beside their words,
# are not saved. Packed words are read backwards.

NAMES = [*(f"{n}.txt" for n in "abcdef"), ".hidden", ".other", "m.py", "n\u200b.txt", "sub/a.txt", "sub/.b", ".d/a.txt"]

IN_CELL = r"""
import os, pathlib, random, re, shutil

LETTERS = 'bcdfghjkmnpqrtvw'

def words_of(text):
    return re.findall('[%s]{10}' % LETTERS, text)

def view():
    return {str(p): p.read_text() for p in sorted(pathlib.Path().rglob('*')) if p.is_file() and p.name != 'filler' and '.petri' not in p.parts}

class Walk:
    # Names that were moved, copied and so on at random, by a cell or another program.
    def __init__(self, seed, names, drops=True, moves=True, changes=True):
        self.dice, self.names = random.Random(seed), names
        self.drops, self.moves, self.changes = drops, moves, changes

    def word(self):
        return ''.join(self.dice.choice(LETTERS) for _ in range(10)) + ' '

    def some(self):
        found = [p for p in sorted(pathlib.Path().rglob('*')) if p.is_file() and p.name != 'filler' and '.petri' not in p.parts]
        return self.dice.choice(found) if found else None

    def new(self):
        path = pathlib.Path(self.dice.choice(self.names))
        if path.parent.is_file():
            return pathlib.Path('elsewhere.txt')
        path.parent.mkdir(exist_ok=True)
        return path

    def free(self):
        path = self.new()
        return path if self.drops or not path.exists() else None

    def step(self):
        kinds = [self.copy, self.create, self.link] + [self.append, self.grow] * self.changes
        kinds += [self.rename, self.swap] * self.moves + [self.pack, self.exchange] * (self.moves and self.changes)
        move = self.dice.choice(kinds + [self.remove, self.overwrite, self.folder, self.file] * self.drops)
        try:
            print(move.__name__, *move() or '')
        except (OSError, UnicodeError, shutil.Error) as error:
            print(move.__name__, error)

    def rename(self):
        old, new = self.some(), self.free()
        if old and new: os.rename(old, new)
        return old, new

    def copy(self):
        old, new = self.some(), self.free()
        if old and new: shutil.copy(old, new)
        return old, new

    def link(self):
        old, new = self.some(), self.free()
        if old and new and not new.exists(): os.link(old, new)
        return old, new

    def pack(self):
        old, new = self.some(), self.free()
        if old and new and old != new:
            text = old.read_text()
            new.write_text(text[::-1])
            os.remove(old)
        return old, new

    def swap(self):
        one, other = self.some(), self.some()
        if one and other and one != other:
            os.rename(one, 'swap.txt'); os.rename(other, one); os.rename('swap.txt', other)
        return one, other

    def exchange(self):
        # As editors save: a new file takes the name.
        old = self.some()
        if old:
            pathlib.Path('save.txt').write_text(old.read_text() + self.word())
            os.replace('save.txt', old)
        return old,

    def append(self):
        path = self.some() or self.new()
        with open(path, 'a') as file: file.write(self.word())
        return path,

    def create(self):
        path = self.free()
        if path: path.write_text(self.word())
        return path,

    def grow(self):
        path = self.some()
        if path:
            with open(path, 'a') as file: file.write('x' * 3000 + ' ')
        return path,

    def remove(self):
        path = self.some()
        if path: os.remove(path)
        return path,

    def overwrite(self):
        path = self.some()
        if path: path.write_text(self.word())
        return path,

    def folder(self):
        path = self.some()
        if path: os.remove(path); os.mkdir(path); (path / 'in.txt').write_text(self.word())
        return path,

    def file(self):
        if os.path.isdir('sub'): shutil.rmtree('sub'); pathlib.Path('sub').write_text(self.word())

def play(seed, steps, ask=False, **may):
    before = view()
    walk = Walk(seed, NAMES, **may)
    for n in range(steps):
        if ask and n == steps // 2: input()
        walk.step()
    return before, view()
"""


class Model:
    """A kernel of the writable mode, a folder, and another program; what is in each of them before and after a step."""

    def __init__(self, make, folder, seed):
        self.make, self.folder, self.seed, self.dice = make, folder, seed, random.Random(seed)
        self.steps, self.log, self.open = 0, [], {}
        self.program = {"NAMES": [name for name in NAMES if "/" not in name]}
        exec(IN_CELL, self.program)
        self.begin()

    def begin(self):
        self.kernel, self.named, self.seen, self.cells = self.make(), set(), set(), 0
        self.kernel.good(f"NAMES = {NAMES!r}\n{IN_CELL}")
        self.kernel.good("%limits artifact=2K")

    def disk(self):
        """The texts of the files on the disk, those in `.petri`, too."""
        paths = (path for path in self.folder.rglob("*") if path.is_file() and path.name != "filler")
        return {str(path.relative_to(self.folder)): path.read_text() for path in paths}

    def words(self, texts):
        """Which files have each word, as it is or backwards."""
        found = {}
        for path, text in texts.items():
            for word in self.program["words_of"](text):
                found.setdefault(min(word, word[::-1]), []).append(path)
        return found

    def outside(self, steps):
        with contextlib.redirect_stdout(io.StringIO()) as said:
            self.change(steps)
        self.log.append(f"outside: {said.getvalue()} open: {[str(path) for path in self.open]}")

    def change(self, steps):
        """It drops nothing, goes on in files that it has open, and gives none of these another name."""
        here = os.getcwd()
        os.chdir(self.folder)
        try:
            for _ in range(steps):
                walk = self.program["Walk"](self.dice.randrange(1 << 32), self.program["NAMES"], drops=False, moves=not self.open)
                kind = self.dice.randrange(4)
                path = walk.some() if kind in (0, 1) else None
                if path and len(self.open) < 3 and path not in self.open and kind == 0:
                    self.open[path] = open(path, "ab", buffering=0)
                elif self.open and kind == 1:
                    self.open.pop(self.dice.choice(list(self.open))).close()
                else:
                    walk.step()
            for file in self.open.values():
                file.write(walk.word().encode())
        except OSError:  # it is full
            pass
        finally:
            os.chdir(here)

    def fill(self):
        """The disk is full, or it is not any more."""
        filler = self.folder / "filler"
        if filler.exists():
            filler.unlink()
            return
        with open(filler, "wb", buffering=0) as file:
            try:
                while True:
                    file.write(b" " * 4096)
            except OSError:
                pass

    def cell(self):
        steps, ask = self.dice.randrange(1, 6), self.dice.randrange(3) == 0
        before = self.disk()
        code = f"play({self.dice.randrange(1 << 32)}, {steps}, ask={ask})"
        request = self.kernel.send(code, allow_stdin=True)
        if ask:
            wait_for(lambda: self.kernel.client.stdin_channel.msg_ready() or self.kernel.has_reply(request))
            assert not self.kernel.has_reply(request), (self.seed, str(self.kernel.finish(request)))
            self.kernel.client.get_stdin_msg(timeout=STUCK_S)
            self.outside(self.dice.randrange(1, 3))
            before = self.disk()
            self.kernel.client.input("")
        cell = self.kernel.finish(request)
        assert cell.ok, (self.seed, self.log, cell)
        seen, has = eval(cell.result)
        self.cells += 1
        self.log.append("\n".join([cell.stdout.strip(), *notes(cell), f"session: {has}"]))
        self.seen |= self.words(seen).keys() | self.words(has).keys()
        refused, earlier = (
            {row["path"] for row in cell.report.get(name, []) if "refused" in row}
            for name in ("artifacts", "artifacts_earlier")
        )
        self.named |= refused | earlier
        self.check(before, self.disk(), has, refused)

    def check(self, before, after, session, refused):
        """
        What was on the disk and is not any more was seen by cells; if the session has it still, then not as it was, nor in
        a file of this very cell, if it was removed. What only the session has was named.
        """
        there, has, on_disk = self.words(before), self.words(session), self.words(after)
        for word in {*there, *has} - on_disk.keys():
            where = has.get(word)
            assert where or word in self.seen, (self.seed, word, there[word], "nobody has seen it, and it is gone")
            assert not where or self.named & set(where), (self.seed, word, where, "is not saved, and not named")
            for path in there.get(word, []) if where else []:
                assert before[path] not in session.values(), (self.seed, word, path, where, "only the session has it")
                assert path in after or not refused & set(where), (self.seed, word, path, where, "was not saved first")

    def rollback(self):
        before = self.disk()
        lose(self.kernel, f"play({self.dice.randrange(1 << 32)}, 5)")
        assert self.disk() == before, self.seed

    def undo(self):
        if self.cells == 0:  # what the walk is made of has to stay
            return
        self.cells -= 1
        before = self.words(self.disk())
        self.kernel.run("%undo")
        assert before.keys() <= self.words(self.disk()).keys(), self.seed
        self.log.append("undo")

    def kill(self):
        """While a cell that drops and changes nothing is written: the kernel after it finds all that was on the disk."""
        session = eval(self.kernel.value("view()"))
        before = self.disk()
        pidfds = processes.open_family(self.kernel.pid)
        request = self.kernel.send(f"play({self.dice.randrange(1 << 32)}, 8, drops=False, changes=False)")
        deadline = time.monotonic() + self.dice.random() * 0.06
        while time.monotonic() < deadline and not self.kernel.has_reply(request):
            pass
        for pid in processes.family(self.kernel.pid)[:2]:
            os.kill(pid, signal.SIGKILL)
        self.kernel.close()
        assert processes.wait_for_end(pidfds, STUCK_S) == 0
        seen = self.seen
        self.begin()
        after = self.words(self.disk())
        for path, text in before.items():
            for word in self.words({path: text}).keys() - after.keys():
                assert word in seen and text not in session.values(), (self.seed, word, path, "is gone")
        self.log.append(f"kill; on the disk: {self.disk()}")
        assert not [path for path in (self.folder / ".petri").glob("kept-*")], self.seed

    def step(self, full):
        kinds = [self.cell] * 30 + [self.rollback, self.undo] * 2 + [lambda: self.outside(2)] * 5 + [self.fill] * 2 * full
        if self.steps % 60 == 59:
            kinds = [self.kill] # the session is gone with it
        self.steps += 1
        self.dice.choice(kinds)()

    def end(self):
        for file in self.open.values():
            file.close()


@pytest.fixture
def small(tmp_path):
    """A file system of the test's own, which can be full; else a folder. Whether it can."""
    folder = tmp_path / "small"
    folder.mkdir()
    if os.geteuid() != 0:
        yield folder, False
        return
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1M,mode=755", "petri-test", folder], check=True)
    yield folder, True
    subprocess.run(["umount", "--lazy", folder], check=True)


@pytest.mark.parametrize("steps", [120, pytest.param(STEPS, marks=[pytest.mark.thorough, pytest.mark.long])])
def test_no_word_is_lost_in_a_random_walk(writable, small, steps):
    print("PETRI_SEED", SEED)
    folder, can_be_full = small
    model = Model(lambda: writable(folder=folder), folder, SEED)
    try:
        for _ in range(steps):
            model.step(can_be_full)
    except AssertionError:
        print(*model.log[-12:], model.disk(), sep="\n---\n")
        raise
    finally:
        model.end()
