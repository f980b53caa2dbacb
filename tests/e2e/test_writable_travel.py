"""The writable mode where the session goes back, or to what a branch has left: whose changes are written, and when."""

import pytest

from branches import state_of
from folders import notes, rows, tree
from kernels import Kernel
from travels import branch, restore, run

MEANWHILE = "it was changed outside of the notebook meanwhile"


@pytest.fixture
def kernel(writable):
    return writable()


def folder(tmp_path):
    """The folder but for the copies of branches."""
    return {path: text for path, text in tree(tmp_path).items() if not path.startswith("outputs")}


def go_to_a_branch(kernel, tmp_path):
    """To one that has changed old.txt and made new.txt, before a cell has written them; returns its image."""
    (tmp_path / "old.txt").write_text("old")
    made = run(kernel, "x = 1")
    aside = branch(kernel, "open('old.txt', 'a').write('+branch'); open('new.txt', 'w').write('new')", made)
    restore(kernel, to=aside)
    return aside


@pytest.mark.parametrize("commit", ["branch", False])
def test_branch_writes_nothing_to_the_folder_and_its_session_sees_nothing_of_it(kernel, tmp_path, commit):
    (tmp_path / "old.txt").write_text("old")
    (tmp_path / "gone.txt").write_text("gone")
    image = run(kernel, "import os; open('mine.txt', 'w').write('mine')")
    before = tree(tmp_path)
    code = "open('old.txt', 'a').write('+'); os.unlink('gone.txt'); open('mine.txt', 'w').write('+'); os.mkdir('d'); open('d/new', 'w').write('')"
    cell = kernel.ask(code, {"from": image, "commit": commit})
    assert cell.ok, str(cell)
    assert folder(tmp_path) == before
    look = "open('old.txt').read(), open('mine.txt').read(), os.path.exists('gone.txt'), os.path.exists('d')"
    assert kernel.value(look) == "('old', 'mine', True, False)"


def test_what_a_branch_has_changed_is_written_by_the_next_cell_where_the_session_went(kernel, tmp_path):
    for name in ("old.txt", "gone.txt", "other.txt"):
        (tmp_path / name).write_text(name)
    made = run(kernel, "import os; x = 1")
    code = "open('old.txt', 'a').write('+branch'); os.remove('gone.txt'); os.mkdir('d'); open('d/new', 'w').write('new')"
    aside = branch(kernel, code, made)
    # A branch of the branch has what that has changed, too.
    aside = branch(kernel, "open('other.txt', 'a').write('+branch')", aside)
    restore(kernel, to=aside)
    before = folder(tmp_path)
    assert before == {name: name for name in ("old.txt", "gone.txt", "other.txt")}
    assert notes(kernel.good("1")) == ["Saved: d/new, old.txt, other.txt\nRemoved: gone.txt"]
    after = {"old.txt": "old.txt+branch", "d": None, "d/new": "new", "other.txt": "other.txt+branch"}
    assert folder(tmp_path) == after
    assert kernel.value("open('d/new').read(), os.path.exists('gone.txt')") == "('new', False)"
    assert notes(kernel.good("1")) == []
    # What is written stays, as what each cell writes.
    restore(kernel, to=made)
    assert notes(kernel.good("1")) == [] and folder(tmp_path) == after


def test_who_goes_back_by_a_line_or_a_request_is_told_that_the_folder_stays_as_it_is(kernel, tmp_path):
    first = run(kernel, "open('made.txt', 'w').write('one')")
    ways = {
        "line": lambda: kernel.good("%undo").stdout.rstrip(".\n"),
        "request": lambda: kernel.control("petri_restore_request", {"to": first})["detail"],
    }
    for name, go in ways.items():
        run(kernel, f"open('made.txt', 'w').write('{name}')")
        said = go()
        assert said.casefold().startswith(f"back before [2]: 1 cell (\"open('made.txt', 'w').write('{name}')\"), 1 file")
        assert said.endswith("; what was written to the folder on the disk stays there")
        assert (tmp_path / "made.txt").read_text() == name


# What is in the folder `root` before, and what is done there.
STANDS = {"d/one": "one", "d/deep/two": "two", "e/three": "three", "f": "f", "g": "g", "empty": None}
WORKS = {
    "a folder is made anew": "shutil.rmtree('d'); os.mkdir('d'); open('d/other', 'w').write('x')",
    "a folder is made anew with the same names": "shutil.rmtree('d'); os.makedirs('d/deep'); open('d/deep/two', 'w').write('x')",
    "a folder is emptied": "os.remove('d/one'); shutil.rmtree('d/deep')",
    "a file takes the place of a file": "os.rename('f', 'g')",
    "a file takes the place of a folder": "shutil.rmtree('d'); open('d', 'w').write('x')",
    "a folder takes the place of a file": "os.remove('f'); os.makedirs('f/g/h'); open('f/g/i', 'w').write('x')",
    "a folder goes elsewhere": "shutil.move('d', 'e/d')",
    "all goes": "[shutil.rmtree(n) if os.path.isdir(n) else os.remove(n) for n in os.listdir()]",
    "folders with nothing in them": "os.makedirs('x/y/z'); os.rmdir('empty')",
    "other content of the same size": "open('f', 'w').write('x'); open('g', 'w').close()",
    "a file is made and goes": "open('x', 'w').close(); os.remove('x'); open('f', 'a').write('x'); os.remove('f')",
    "holes": "open('x', 'wb').truncate(1 << 20); file = open('y', 'wb'); file.seek(1 << 20); file.write(b'x'); file.close()",
    "modes": "os.chmod('f', 0o755); os.chmod('g', 0o600); open('x', 'w').close(); os.chmod('x', 0o777)",
    "what is no plain file": "os.symlink('f', 'x'); os.remove('g'); os.symlink('f', 'g'); os.mkfifo('y')",
    "names": "[open(n, 'w').write('x') for n in ('a b', 'ä', os.fsdecode(b'\\xff'), '-x', 'Makefile', '.hidden', 'm.py')]",
    "many files": "[open(f'x{n}', 'w').write(str(n)) for n in range(300)]",
}


def prepare(root):
    for path, text in STANDS.items():
        target = root / path
        (target if text is None else target.parent).mkdir(parents=True, exist_ok=True)
        if text is not None:
            target.write_text(text)


def modes(root):
    return {str(path.relative_to(root)): path.lstat().st_mode for path in sorted(root.rglob("*"))}


@pytest.fixture(scope="module")
def shared_writable(kernel_dirs, tmp_path_factory):
    """One kernel for all rows, each of which has folders of its own."""
    kernel = Kernel(next(iter(kernel_dirs.values())), tmp_path_factory.mktemp("shared"), name="petri-writable")
    yield kernel.wait_until_up()
    kernel.close()


@pytest.mark.parametrize("work", WORKS)
def test_branch_that_the_session_goes_to_leaves_what_a_cell_leaves(shared_writable, work):
    kernel = shared_writable
    folders = [kernel.folder / work / way for way in ("by a cell", "by a branch")]
    for root in folders:
        prepare(root)
    made = run(kernel, "import os, shutil")
    by_cell, by_branch = (f"os.chdir({str(root)!r}); {WORKS[work]}; os.chdir({str(kernel.folder)!r})" for root in folders)
    kernel.good(by_cell)
    aside = branch(kernel, by_branch, made)
    restore(kernel, to=aside)
    kernel.good("1")
    assert tree(folders[1]) == tree(folders[0])
    assert modes(folders[1]) == modes(folders[0])


def test_what_a_branch_has_left_to_be_written_is_no_artifact_of_the_cell_that_writes_it(kernel, tmp_path):
    go_to_a_branch(kernel, tmp_path)
    (tmp_path / "new.txt").write_text("theirs")
    cell = kernel.ask("open('own.txt', 'w').write('own')", {"expect": {"artifacts": [{"path": "old.txt"}]}})
    report = cell.report
    assert list(rows(cell)) == ["own.txt"]
    assert report["artifacts_earlier"] == [
        {"path": "new.txt", "action": "created", "copied_to": "new (2).txt", "conflict": MEANWHILE},
        {"path": "old.txt", "action": "changed", "copied_to": "old.txt"},
    ]
    assert report["validation"] == [
        {"check": "artifact old.txt", "ok": False, "detail": "the cell has not made it"}
    ]
    assert notes(cell) == [f"Saved: own.txt, new (2).txt (new.txt: {MEANWHILE}), old.txt"]
    assert state_of(kernel, report["image"])["files_changed"] == 1
    cell = kernel.good("1")
    assert rows(cell) == {} and "artifacts_earlier" not in cell.report


def test_change_of_a_branch_that_is_written_is_not_written_again_and_others_may_change_the_file(kernel, tmp_path):
    aside = go_to_a_branch(kernel, tmp_path)
    kernel.good("1")
    restore(kernel, to=aside)
    assert notes(kernel.good("open('new.txt', 'a').write('+cell')")) == ["Saved: new.txt"]
    after = {"old.txt": "old+branch", "new.txt": "new+cell"}
    assert folder(tmp_path) == after
    restore(kernel, to=aside)
    (tmp_path / "old.txt").write_text("somebody's")
    assert notes(kernel.good("1")) == []
    assert folder(tmp_path) == after | {"old.txt": "somebody's"}
    assert kernel.value("open('old.txt').read()") == "\"somebody's\""


LOOK = "[open(n).read() if os.path.exists(n) else None for n in ('old.txt', 'new.txt', 'gone.txt', 'd/in.txt')]"


def test_first_cell_in_a_branch_that_is_written_sees_the_folder_as_the_second_one_does(kernel, tmp_path):
    for name in ("old.txt", "gone.txt"):
        (tmp_path / name).write_text(name)
    (tmp_path / "d").mkdir()
    made = run(kernel, "import os, shutil; x = 1")
    code = "open('old.txt', 'a').write('+b'); open('new.txt', 'w').write('b'); os.remove('gone.txt'); shutil.rmtree('d')"
    aside = branch(kernel, f"{code}; os.mkdir('d'); open('d/in.txt', 'w').write('b')", made)
    beyond = branch(kernel, "y = 1", aside)
    restore(kernel, to=aside)
    assert kernel.value(LOOK) == kernel.value(LOOK) == "['old.txt+b', 'b', None, 'b']"
    for name in ("old.txt", "new.txt", "gone.txt", "d/in.txt"):
        (tmp_path / name).write_text("theirs")
    (tmp_path / "d" / "more.txt").write_text("theirs")
    theirs = repr(["theirs"] * 4)
    for image in (aside, beyond, aside):
        # Beside the session as where it goes.
        assert kernel.ask(LOOK, {"from": image, "commit": False}).result == theirs
        restore(kernel, to=image)
        assert [kernel.value(LOOK) for _ in range(2)] == [theirs] * 2
        assert kernel.value("sorted(os.listdir('d'))") == "['in.txt', 'more.txt']"
    restore(kernel, to=aside)
    assert notes(kernel.good("open('old.txt', 'a').write('+c')")) == ["Saved: old.txt"]
    assert (tmp_path / "old.txt").read_text() == "theirs+c"
    restore(kernel, to=aside)
    (tmp_path / "old.txt").unlink()
    assert kernel.value("os.path.exists('old.txt')") == "False"


def test_first_cell_after_a_conflict_sees_the_folder_as_the_second_one_does(kernel, tmp_path):
    (tmp_path / "f").write_text("f")
    aside = branch(kernel, "open('f', 'w').write('branch')", run(kernel, "x = 1"))
    (tmp_path / "f").write_text("theirs")
    restore(kernel, to=aside)
    assert kernel.value("open('f').read()") == "'branch'"  # which is not written yet
    assert kernel.value("open('f').read()") == "'theirs'"
    restore(kernel, to=aside)
    assert kernel.value("open('f').read()") == "'theirs'"
    assert folder(tmp_path) == {"f": "theirs", "f (2)": "branch"}


def test_file_that_a_branch_has_open_stays_its_own_in_the_first_cell_and_later(kernel, tmp_path):
    aside = branch(kernel, "log = open('log', 'w'); log.write('1'); log.flush()", run(kernel, "x = 1"))
    restore(kernel, to=aside)
    assert notes(kernel.good("1")) == ["Saved: log"]
    (tmp_path / "log").write_text("theirs")
    restore(kernel, to=aside)
    assert [kernel.value("open('log').read()") for _ in range(2)] == ["'1'", "'1'"]
    assert notes(kernel.good("log.write('2'); log.close()")) == [
        "Saved: log (2) (log: it was changed outside of the notebook meanwhile)"
    ]
    assert kernel.value("open('log').read()") == "'theirs'"


def test_file_that_petri_itself_has_written_since_a_branch_began_is_replaced(kernel, tmp_path):
    (tmp_path / "f").write_text("f")
    made = run(kernel, "import os; x = 1")
    one, two, three = (
        branch(kernel, f"open('f', 'w').write('{n}')", made) for n in range(3)
    )
    kernel.good("open('f', 'a').write('+cell')")
    for image, text in ((one, "0"), (two, "1"), (one, "1"), (three, "2")):
        restore(kernel, to=image)
        kernel.good("1")
        assert folder(tmp_path) == {"f": text}  # what is written stays, also where the session goes back
    assert kernel.value("open('f').read()") == "'2'"


def test_file_of_a_branch_that_a_later_cell_has_changed_or_removed_is_there_again_after_going_back(kernel, tmp_path):
    made = run(kernel, "import os; x = 1")
    code = "for name in 'ab': open(name, 'w').write('branch')"
    aside = branch(kernel, code, made)
    restore(kernel, to=aside)
    kernel.good("open('a', 'a').write('+cell'); os.remove('b')")
    assert folder(tmp_path) == {"a": "branch+cell"}
    kernel.good("%undo")
    assert notes(kernel.good("1")) == ["Saved: b"]  # of 'a' a later version is written, which stays
    assert kernel.value("open('a').read(), open('b').read()") == "('branch', 'branch')"
    assert folder(tmp_path) == {"a": "branch+cell", "b": "branch"}
    assert notes(kernel.good("open('a', 'a').write('+again')")) == ["Saved: a"]
    assert folder(tmp_path) == {"a": "branch+again", "b": "branch"}


def test_file_that_is_open_again_after_going_back_does_not_replace_what_others_have_made_of_it(kernel, tmp_path):
    kernel.good("log = open('log', 'a'); log.write('1'); log.flush()")
    kernel.good("log.close()")
    kernel.good("%undo")
    (tmp_path / "log").write_text("somebody's")
    (note,) = notes(kernel.good("log.write('2'); log.flush()"))
    assert note.startswith("Saved: log (2) (log: it was changed outside of the notebook meanwhile)"), note
    assert folder(tmp_path) == {"log": "somebody's", "log (2)": "12"}


def test_file_that_is_open_again_after_going_back_is_written(kernel, tmp_path):
    kernel.good("log = open('log', 'a'); log.write('1'); log.flush()")
    kernel.good("log.write('2'); log.close()")
    kernel.good("%undo")
    assert notes(kernel.good("log.write('3'); log.flush()")) == ["Saved: log"]
    assert folder(tmp_path) == {"log": "13"}


def test_branch_that_is_left_before_it_is_written_is_not_written(kernel, tmp_path):
    made = run(kernel, "import os; x = 1")
    code = "open('a', 'w').write('branch')"
    aside = branch(kernel, code, made)
    restore(kernel, to=aside)
    assert kernel.run("os.kill(os.getpid(), 9)").ename == "CellCrashed"
    restore(kernel, to=made)
    kernel.good("1")
    assert folder(tmp_path) == {}
    restore(kernel, to=aside)
    assert kernel.run("os.kill(os.getpid(), 9)").ename == "CellCrashed"
    assert folder(tmp_path) == {}
    assert notes(kernel.good("1")) == ["Saved: a"]
    assert folder(tmp_path) == {"a": "branch"}


def test_file_that_the_host_has_changed_since_a_branch_began_is_kept(kernel, tmp_path):
    for name in ("old.txt", "gone.txt"):
        (tmp_path / name).write_text(name)
    made = run(kernel, "import os; x = 1")
    code = "open('old.txt', 'a').write('+branch'); os.remove('gone.txt')"
    aside = branch(kernel, code, made)
    for name in ("old.txt", "gone.txt"):
        (tmp_path / name).write_text("somebody's")
    kernel.good("1")  # a cell that sees both, and so might replace them
    restore(kernel, to=aside)
    (note,) = notes(kernel.good("2"))
    assert "old (2).txt" in note and "gone.txt" in note, note
    assert folder(tmp_path) == {
        "old.txt": "somebody's",
        "gone.txt": "somebody's",
        "old (2).txt": "old.txt+branch",
    }


# What happens in the folder "g" after a branch has begun that removes it; "petri" and "others" do it in turn.
IN_FOLDER = {
    "petri writes a file there again": ([("petri", "open('g/one', 'w').write('later')")], True),
    "petri makes a file there": ([("petri", "open('g/two', 'w').write('new')")], True),
    "petri makes a folder there": ([("petri", "os.makedirs('g/deep/er'); open('g/deep/two', 'w').write('new')")], True),
    "petri removes it and makes it anew": (
        [("petri", "shutil.rmtree('g')"), ("petri", "os.mkdir('g'); open('g/two', 'w').write('new')")], True,
    ),
    "others make a file there": ([("others", "(g / 'two').write_text('theirs')")], False),
    "others make a file there, then petri": (
        [("others", "(g / 'two').write_text('theirs')"), ("petri", "open('g/three', 'w').write('new')")], False,
    ),
    "others remove a file there, then petri makes one": (
        [("others", "(g / 'one').unlink()"), ("petri", "open('g/three', 'w').write('new')")], False,
    ),
    "others change a file there, then petri makes one": (
        [("others", "(g / 'one').write_text('theirs')"), ("petri", "open('g/three', 'w').write('new')")], False,
    ),
    "others move another folder there": ([("others", "g.rename(g.parent / 'h'); old.rename(g)")], False),
    "others move another folder there, then petri makes a file in it": (
        [("others", "g.rename(g.parent / 'h'); old.rename(g)"), ("petri", "open('g/three', 'w').write('new')")], False,
    ),
}


@pytest.mark.parametrize("row", IN_FOLDER.values(), ids=IN_FOLDER)
def test_folder_that_a_branch_has_removed_goes_where_only_petri_has_changed_it_since(kernel, tmp_path, row):
    steps, goes = row
    g, old = tmp_path / "g", tmp_path / "old"
    for path in (g, old):
        path.mkdir()
        (path / "one").write_text(path.name)
    made = run(kernel, "import os, shutil; x = 1")
    aside = branch(kernel, "shutil.rmtree('g')", made)
    for who, what in steps:
        kernel.good(what) if who == "petri" else exec(what, {"g": g, "old": old})
    before = tree(g)
    restore(kernel, to=aside)
    said = notes(kernel.good("1"))
    if goes:
        assert said == ["Removed: g"] and not g.exists()
        assert kernel.value("os.path.exists('g')") == "False"
        return
    (note,) = said
    assert note.startswith("Not removed: g ("), note
    assert note.endswith("it was changed outside of the notebook meanwhile)"), note
    assert {path: text for path, text in before.items() if text in ("theirs", "old")}.items() <= tree(g).items()
    assert kernel.value("sorted(os.listdir('g'))") == repr(sorted(tree(g)))


@pytest.mark.parametrize("made", [False, True])
def test_file_in_a_folder_that_others_have_moved_there_since_a_branch_began_is_kept(kernel, tmp_path, made):
    """Its own times don't tell that; nor do those of the folder, where petri has made a file there since."""
    for name in ("g", "old"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "one").write_text(name)
    begun = run(kernel, "import os, shutil; x = 1")
    aside = branch(kernel, "open('g/one', 'w').write('branch')", begun)
    (tmp_path / "g").rename(tmp_path / "h")
    (tmp_path / "old").rename(tmp_path / "g")
    if made:
        kernel.good("open('g/two', 'w').write('new')")
    restore(kernel, to=aside)
    (note,) = notes(kernel.good("1"))
    assert note == "Saved: g/one (2) (g/one: it was changed outside of the notebook meanwhile)"
    assert (tmp_path / "g" / "one").read_text() == "old"
    assert (tmp_path / "g" / "one (2)").read_text() == "branch"


def test_change_that_was_undone_before_it_was_written_is_not_written(kernel, tmp_path):
    (tmp_path / "old.txt").write_text("old")
    (tmp_path / ".petri").symlink_to("/tmp")
    kernel.good("import os")
    kernel.good("os.remove('old.txt'); open('new.txt', 'w').write('new')")
    kernel.good("%undo")
    (tmp_path / ".petri").unlink()
    assert kernel.value("open('old.txt').read(), os.path.exists('new.txt')") == "('old', False)"
    assert folder(tmp_path) == {"old.txt": "old"}


def test_change_that_was_redone_before_it_was_written_is_written(kernel, tmp_path):
    (tmp_path / "old.txt").write_text("old")
    (tmp_path / ".petri").symlink_to("/tmp")
    kernel.good("import os")
    kernel.good("os.remove('old.txt'); open('new.txt', 'w').write('new')")
    kernel.good("%undo")
    kernel.good("%redo")
    (tmp_path / ".petri").unlink()
    assert notes(kernel.good("1")) == ["Saved: new.txt\nRemoved: old.txt"]
    assert folder(tmp_path) == {"new.txt": "new"}


def test_file_of_a_branch_is_written_whole_once_a_cell_changes_it_where_the_session_went(kernel, tmp_path):
    go_to_a_branch(kernel, tmp_path)
    assert kernel.value("open('old.txt').read(), open('new.txt').read()") == "('old+branch', 'new')"
    kernel.good("for name in ('old.txt', 'new.txt'): open(name, 'a').write('+cell')")
    assert folder(tmp_path) == {"old.txt": "old+branch+cell", "new.txt": "new+cell"}
