"""
The writable mode where others have a part: what they change before, meanwhile and after a cell
is seen and stays; a kernel that is killed has written all of a cell or nothing; and whatever
is done, the folder is that of a plain process.
"""

import os
import random
import signal

import pytest

import processes
from folders import lose, notes, rows, tree
from kernels import STUCK_S
from travels import branch, restore, run

SEED = int(os.environ.get("PETRI_SEED", random.SystemRandom().randrange(1 << 32)))
CELLS = int(os.environ.get("PETRI_WRITABLE_CELLS", 40))
KILLS = 6
AT_LENGTH = int(os.environ.get("PETRI_KILLS", 40))

MEANWHILE = "it was changed outside of the notebook meanwhile"


@pytest.fixture
def kernel(writable):
    return writable()


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
    kernel.good("before, o = 0, None")  # what was open is closed, and then the host's is seen
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
    assert notes(cell) == [f"Not removed: a.txt ({MEANWHILE}), dir (dir/b.txt: {MEANWHILE})"]
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
    assert notes(kernel.good("1"))  == [f"Not removed: d ({MEANWHILE})"]
    assert tree(tmp_path) == {"d": None, "d/new": "the host's", "d/x": "the host's"}


def test_free_names_beyond_the_hundredth_are_found(kernel, tmp_path):
    (tmp_path / "a.txt").write_text("host")
    for n in range(2, 101):
        (tmp_path / f"a ({n}).txt").write_text("taken")
    cell = run_around(kernel, "open('a.txt', 'a').write(' and cell')",
                      lambda: (tmp_path / "a.txt").write_text("the host's"), "")  # fmt: skip
    assert (tmp_path / rows(cell)["a.txt"]["copied_to"]).read_text() == "host and cell"
    assert (tmp_path / "a.txt").read_text() == "the host's"


def test_kernels_of_one_folder_take_turns_and_lose_nothing(writable, tmp_path):
    kernels = [writable() for _ in range(3)]
    code = "import os\nfor n in range(20): open(f'{os.urandom(8).hex()}', 'w').write('x' * 100_000)"
    for _ in range(3):
        requests = [kernel.send(code) for kernel in kernels]
        for kernel, request in zip(kernels, requests, strict=True):
            assert kernel.finish(request).ok
    for kernel in kernels:
        kernel.good("1")  # writes what its last cell had to leave, where it waited for its turn for too long
    assert len(list(tmp_path.iterdir())) == 180


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


def run_in_branches(kernel, codes):
    """Runs each code in a branch of what the one before has left, and has the session go to the last and write that."""
    image = run(kernel, "pass")
    for code in codes:
        image = branch(kernel, code, image)
    restore(kernel, to=image)
    kernel.good("pass")


@pytest.mark.parametrize("cells", [CELLS, pytest.param(120, marks=pytest.mark.thorough)])
def test_random_changes_in_branches_are_those_of_a_plain_process(
    configure, writable, ipykernel, tmp_path, tmp_path_factory, cells
):
    print("PETRI_SEED", SEED)
    dice = random.Random(SEED)
    configure(artifacts=False)  # or the folder would have copies of what branches have changed
    kernel = writable()
    plain = tmp_path_factory.mktemp("plain")
    ipykernel.good(f"import os; os.chdir({str(plain)!r})")
    for one in (kernel, ipykernel):
        one.good(f"MOVES = {MOVES!r}\n{BEGIN}")
    for n in range(cells):
        codes = [f"play({dice.randrange(1 << 32)}, {dice.randrange(1, 6)})" for _ in range(dice.randrange(1, 4))]
        if dice.randrange(3) == 0:
            for code in codes:
                kernel.good(code)
        else:
            run_in_branches(kernel, codes)
        if dice.randrange(3) == 0:
            branch(kernel, "play(1, 9)", run(kernel, "pass"))  # nobody goes there
        for code in codes:
            ipykernel.good(code)
        assert tree(tmp_path) == tree(plain), (SEED, n)
    ipykernel.good("os.chdir('/')")
