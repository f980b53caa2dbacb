"""
What cells see of outputs/: never what petri has copied there in this session. Each kind of run that copies, beside each
way of coming to a look, with what was in outputs/ before.
"""

import hashlib

import pytest

from branches import answer_next, begin, finish, wait_for_prints

from travels import branch, restore, run

# What petri wrote there for an earlier session, and what it did not write.
EARLIER = {"result.txt": "earlier", "deep/result.txt": "earlier"}
OWN = {"own.txt": "own", "own/notes.txt": "own"}
BEFORE = {"absent": {}, "with-other-files": OWN, "with-the-same-files": {**EARLIER, **OWN}}

LOG = ".petri-sha256"
NAMES = ("result.txt", "deep/result.txt", "new/result.txt", LOG, *OWN)
LOOK = f"""
import glob, os, pathlib
def list_all(folder, above=""):
    for name in os.listdir(folder):
        path = folder + "/" + name
        yield from list_all(path, above + name + "/") if os.path.isdir(path) else [above + name]
below = lambda paths: [os.path.relpath(path, "outputs") for path in paths if os.path.isfile(path)]
ways = {{
    "by name": [name for name in {NAMES!r} if os.path.isfile("outputs/" + name)],
    "listdir": list(list_all("outputs")) if "outputs" in os.listdir() else [],
    "glob": [*below(glob.glob("**/*", recursive=True)), *below(glob.glob("outputs/.*"))],
    "walk": below(os.path.join(at, name) for at, _, names in os.walk(".") for name in names),
    "rglob": below(pathlib.Path(".").rglob("*")),
}}
{{way: {{name: open("outputs/" + name).read() for name in sorted(names) if not name.startswith("..")}}
 for way, names in ways.items()}}
"""
WRITE = """
import os
for name in ("result.txt", "deep/result.txt", "new/result.txt"):
    os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
    with open(name, "w") as file: file.write({text!r})
"""


def fill(folder, before, outputs="outputs"):
    """outputs/ as earlier sessions and its owner have left it; all that is there."""
    lines = []
    for name, text in before.items():
        path = folder / outputs / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        if name in EARLIER:
            lines.append(f"{hashlib.sha256(text.encode()).hexdigest()}  {name}\n")
    if lines:
        (folder / outputs / LOG).write_text("".join(lines))
    return listing(folder, outputs)


def listing(folder, outputs="outputs"):
    """{name: text} of outputs/, but for petri's own log."""
    files = [path for path in (folder / outputs).rglob("*") if path.is_file() and path.name != LOG]
    return {str(path.relative_to(folder / outputs)): path.read_text() for path in files}


def check_look(kernel, expected, where, look=LOOK, **petri):
    cell = kernel.ask(look, petri)
    assert cell.ok, f"{where}\n{cell}"
    for way, seen in eval(cell.result).items():
        assert seen == expected, f"{where}, {way}"


WRITERS = {
    "session": lambda kernel, text, image: run(kernel, WRITE.format(text=text)),
    "fresh": lambda kernel, text, image: kernel.ask(WRITE.format(text=text), {"fresh": True}),
    "branch": lambda kernel, text, image: branch(kernel, WRITE.format(text=text), image),
}


def check_looks(kernel, expected, fresh, image, where, look=LOOK):
    """In each kind of run, and in the session after each way of coming to a state."""
    check_look(kernel, fresh, f"{where}: fresh", look, fresh=True)
    check_look(kernel, expected, f"{where}: branch", look, **{"from": image, "commit": False})
    check_look(kernel, expected, f"{where}: session", look, commit=False)
    run(kernel, "open('result.txt', 'w').write('undone')")
    kernel.good("%undo")
    check_look(kernel, expected, f"{where}: undone", look, commit=False)
    kernel.good("%redo")
    check_look(kernel, expected, f"{where}: redone", look, commit=False)
    restore(kernel, to=image)
    check_look(kernel, expected, f"{where}: restored", look, commit=False)
    assert kernel.run("open('result.txt', 'w').write('lost'); import os; os._exit(1)").ename == "CellCrashed"
    check_look(kernel, expected, f"{where}: rolled back", look, commit=False)
    check_look(kernel, fresh, f"{where}: fresh again", look, fresh=True)


@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize("profile", ["petri", "petri-strict"])
def test_copies_of_the_session_are_seen_by_no_cell(start, tmp_path, profile, before):
    there = fill(tmp_path, BEFORE[before])
    kernel = start(name=profile)
    kernel.good("%limits history=60")
    expected = there if profile == "petri" else {}
    image = run(kernel, "begun = True")
    check_looks(kernel, expected, {}, image, "before any copy")
    for order in (list(WRITERS), list(reversed(WRITERS))):
        for writer in order:
            text = f"{writer} of {order}"
            WRITERS[writer](kernel, text, image)
            assert (tmp_path / "outputs" / "new" / "result.txt").read_text() == text
        check_looks(kernel, expected, {}, image, f"{order}")
    written = listing(tmp_path)
    assert set(written) == {*there, "result.txt", "deep/result.txt", "new/result.txt"}
    assert all(written[name] == OWN[name] for name in OWN if name in there)
    kernel.close()
    check_look(start(), written, "another session", commit=False)


MAKE_OWN = """
import os
os.makedirs("outputs/deep", exist_ok=True)
for name in ("result.txt", "deep/result.txt"):
    with open("outputs/" + name, "w") as file: file.write({text!r})
"""


@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize("profile", ["petri", "petri-strict"])
def test_what_a_cell_writes_into_outputs_is_a_file_of_the_session(start, tmp_path, profile, before):
    there = fill(tmp_path, BEFORE[before])
    kernel = start(name=profile)
    seen = there if profile == "petri" else {}
    image = run(kernel, "begun = True")
    run(kernel, WRITE.format(text="a copy"))
    for text in ("mine", "mine again"):
        cell = kernel.good(MAKE_OWN.format(text=text))
        mine = {"result.txt": text, "deep/result.txt": text}
        assert {row["path"]: row["copied_to"] for row in cell.report["artifacts"]} == {
            f"outputs/{name}": f"outputs/{name}" for name in mine
        }
        assert {name: listing(tmp_path)[name] for name in mine} == mine
        check_look(kernel, {**seen, **mine}, text, commit=False)
        check_look(kernel, {**seen, **mine}, f"{text}: branch", **{"from": cell.report["image"], "commit": False})
        check_look(kernel, {}, f"{text}: fresh", fresh=True)
        assert kernel.run(f"{MAKE_OWN.format(text='lost')}\nos._exit(1)").ename == "CellCrashed"
        check_look(kernel, {**seen, **mine}, f"{text}: rolled back", commit=False)
        cell = kernel.good("import os; os.remove('outputs/result.txt')")
        assert [(row["path"], row["action"]) for row in cell.report["artifacts"]] == [("outputs/result.txt", "deleted")]
        mine.pop("result.txt")
        remaining = {name: text for name, text in seen.items() if name != "result.txt"}
        check_look(kernel, {**remaining, **mine}, f"{text}: removed", commit=False)
        restore(kernel, to=image)
        check_look(kernel, seen, f"{text}: restored", commit=False)


@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize("profile", ["petri", "petri-strict"])
def test_outputs_is_a_folder_to_write_into_where_there_was_one(start, tmp_path, profile, before):
    fill(tmp_path, BEFORE[before])
    kernel = start(name=profile)
    image = run(kernel, WRITE.format(text="a copy"))
    for petri in ({"fresh": True}, {"from": image, "commit": False}, {}):
        cell = kernel.ask("open('outputs/mine.txt', 'w').write('mine')", petri)
        assert cell.ename == ("FileNotFoundError" if before == "absent" else None), f"{petri}\n{cell}"


@pytest.mark.parametrize("kind", ["fresh", "branch"])
@pytest.mark.parametrize("before", BEFORE)
def test_run_writes_into_outputs_what_is_copied_there_already_and_has_an_artifact(start, tmp_path, before, kind):
    fill(tmp_path, BEFORE[before])
    kernel = start()
    petri = {"fresh": {"fresh": True}, "branch": {"from": run(kernel, "begun = True"), "commit": False}}[kind]
    for _ in range(2):
        cell = kernel.ask(MAKE_OWN.format(text="the same"), petri)
        assert cell.ok, str(cell)
        created = "changed" if kind == "branch" and before == "with-the-same-files" else "created"
        assert [(row["path"], row["action"], row["copied_to"]) for row in cell.report["artifacts"]] == [
            (f"outputs/{name}", created, f"outputs/{name}") for name in ("deep/result.txt", "result.txt")
        ]


@pytest.mark.parametrize("kind", ["fresh", "branch"])
@pytest.mark.parametrize("before", BEFORE)
def test_run_that_is_under_way_sees_no_copy_that_is_made_meanwhile(start, tmp_path, before, kind):
    """It has looked into outputs/ before, so Linux remembers what was there."""
    there = fill(tmp_path, BEFORE[before])
    kernel = start()
    petri = {"fresh": {"fresh": True}, "branch": {"from": run(kernel, "begun = True"), "commit": False}}[kind]
    aside = begin(kernel, f"{LOOK}\nprint(len(ways), flush=True); input()\n{LOOK}", **petri)
    messages = wait_for_prints(kernel, aside)
    own = begin(kernel, WRITE.format(text="meanwhile"))
    done = finish(kernel, messages, own)[0]
    assert done.ok and listing(tmp_path)["result.txt"] == "meanwhile", str(done)
    assert answer_next(kernel, "") == aside
    cell = finish(kernel, messages, aside)[0]
    assert cell.ok, str(cell)
    for way, seen in eval(cell.result).items():
        assert seen == (there if kind == "branch" else {}), way


@pytest.mark.parametrize("inner", ["", "/own.txt"])
@pytest.mark.parametrize("profile", ["petri", "petri-strict"])
def test_inputs_that_name_outputs_show_what_was_there_before(start, configure, tmp_path, profile, inner):
    there = fill(tmp_path, BEFORE["with-the-same-files"])
    configure(inputs=[f"{tmp_path}/outputs{inner}"])
    kernel = start(name=profile)
    for fresh in (True, False, True):
        run(kernel, WRITE.format(text="a copy"))
        kernel.ask(WRITE.format(text="another"), {"fresh": True})
        check_look(kernel, there, f"fresh: {fresh}", fresh=fresh)


def test_replaced_file_that_has_no_room_among_the_session_files_is_hidden(start, configure, tmp_path):
    there = fill(tmp_path, {"result.txt": "earlier" * 300_000, "deep/result.txt": "earlier"} | OWN)
    configure(profiles={"notebook": {"disk": "1M"}})
    kernel = start()
    check_look(kernel, there, "before", commit=False)
    run(kernel, WRITE.format(text="a copy"))
    assert listing(tmp_path)["result.txt"] == "a copy"
    there.pop("result.txt")
    check_look(kernel, there, "after", commit=False)


def test_branch_removes_a_file_whose_copy_is_gone_from_the_disk_and_the_session_goes_there(start, tmp_path):
    there = fill(tmp_path, BEFORE["with-the-same-files"])
    kernel = start()
    image = run(kernel, WRITE.format(text="a copy"))
    (tmp_path / "outputs" / "result.txt").unlink()
    check_look(kernel, there, "before", commit=False)
    removed = branch(kernel, "import os; os.remove('outputs/result.txt')", image)
    there.pop("result.txt")
    check_look(kernel, there, "branch", **{"from": removed, "commit": False})
    restore(kernel, to=removed)
    check_look(kernel, there, "session", commit=False)


def test_other_folder_or_none_for_copies_leaves_outputs_as_it_is(start, configure, tmp_path):
    fill(tmp_path, OWN)
    for name in ("copies", False):  # what the first session leaves is a folder as any other to the second
        configure(artifacts=name)
        kernel = start()
        run(kernel, WRITE.format(text="a copy"))
        check_look(kernel, OWN, str(name), fresh=True)
        seen = kernel.ask("sorted(__import__('os').listdir())", {"fresh": True}).result
        assert seen == ("['outputs']" if name else "['copies', 'outputs']")
        kernel.close()


ASIDE = "outputs-aside"
LOOK_ASIDE = LOOK.replace("outputs", ASIDE)


@pytest.mark.parametrize("before", BEFORE)
def test_writable_mode_shows_no_run_what_fresh_runs_and_branches_have_left(writable, tmp_path, before):
    fill(tmp_path, BEFORE[before])
    there = {name: path.read_text() for name in NAMES if (path := tmp_path / "outputs" / name).exists()}
    aside = fill(tmp_path, BEFORE[before], ASIDE)
    kernel = writable()
    kernel.good("%limits history=60")
    image = run(kernel, "begun = True")
    check_looks(kernel, {}, {}, image, "before any copy", LOOK_ASIDE)
    for order in (list(WRITERS), list(reversed(WRITERS))):
        for writer in order:
            text = f"{writer} of {order}"
            WRITERS[writer](kernel, text, image)
            folder = tmp_path if writer == "session" else tmp_path / ASIDE
            assert (folder / "new" / "result.txt").read_text() == text
        check_looks(kernel, {}, {}, image, f"{order}", LOOK_ASIDE)
        check_looks(kernel, there, there, image, f"{order}")  # a folder as any other
    written = listing(tmp_path, ASIDE)
    assert set(written) == {*aside, "result.txt", "deep/result.txt", "new/result.txt"}
    assert all(written[name] == OWN[name] for name in OWN if name in aside)


@pytest.mark.parametrize("kind", ["fresh", "branch"])
@pytest.mark.parametrize("before", BEFORE)
def test_writable_mode_writes_nothing_of_the_session_to_the_folder_of_other_runs(writable, tmp_path, before, kind):
    there = fill(tmp_path, BEFORE[before], ASIDE)
    kernel = writable()
    make = MAKE_OWN.replace("outputs", ASIDE)
    cell = kernel.good(make.format(text="mine"))
    mine = {"result.txt": "mine", "deep/result.txt": "mine"}
    refused = {row["path"]: row.get("refused") for row in cell.report["artifacts"]}
    assert refused == {f"{ASIDE}/{name}": "files of fresh runs and branches are copied there" for name in mine}
    assert listing(tmp_path, ASIDE) == there
    check_look(kernel, mine, "session", LOOK_ASIDE, commit=False)
    petri = {"fresh": {"fresh": True}, "branch": {"from": cell.report["image"], "commit": False}}[kind]
    check_look(kernel, mine if kind == "branch" else {}, kind, LOOK_ASIDE, **petri)
    for text in ("theirs", "theirs again"):  # in outputs/, and in the folder of copies itself
        assert kernel.ask(make.format(text=text), petri).ok and kernel.ask(MAKE_OWN.format(text=text), petri).ok
        placed = {f"{above}{name}": text for name in mine for above in ("", "outputs/")}
        assert listing(tmp_path, ASIDE) == {**there, **placed}
        check_look(kernel, {}, "session", commit=False)
        check_look(kernel, mine, "session", LOOK_ASIDE, commit=False)


@pytest.mark.parametrize("link", ["outputs", "outputs/deep", "outputs/result.txt"])
def test_link_in_the_way_of_a_copy_hides_and_replaces_nothing(start, tmp_path, tmp_path_factory, link):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "result.txt").write_text("elsewhere")
    (tmp_path / link).parent.mkdir(exist_ok=True)
    (tmp_path / link).symlink_to(elsewhere / "result.txt" if link.endswith(".txt") else elsewhere)
    kernel = start()
    look = f"__import__('os').path.islink({link!r})"
    assert kernel.value(look) == "True"
    run(kernel, WRITE.format(text="a copy"))
    assert kernel.value(look) == "True"
    assert (tmp_path / link).is_symlink()
    assert [path.name for path in elsewhere.iterdir()] == ["result.txt"]
    assert (elsewhere / "result.txt").read_text() == "elsewhere"


# Names that a cell gives its files so that a copy would be in the way of what the host has in outputs/.
HOSTILE = {
    "a folder in the place of a file": ["own.txt/inner.txt", "own/notes.txt/inner.txt"],
    "a file in the place of a folder": ["own", "outputs/deep"],
    "a file of somebody else's": ["own.txt", "outputs/own/notes.txt"],
    "names of petri's": [".petri-sha256", ".petri-copy-1", "outputs/.petri-sha256", "outputs/own/.petri-copy-2"],
    "names that lead elsewhere": ["outputs/outputs/own.txt", " /own.txt", "own.txt ", "...", "own\\\\notes.txt"],
    "long names": ["x" * 255, "outputs/" + "y" * 200, "/".join(["z" * 100] * 12)],
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_names_hide_and_replace_no_file_of_the_host(start, tmp_path, kind):
    there = fill(tmp_path, BEFORE["with-the-same-files"])
    kernel = start()
    write = f"""
import os, shutil
for name in {HOSTILE[kind]!r}:
    for way in [name[:at] for at, letter in enumerate(name) if letter == "/"]:
        if os.path.isfile(way): os.remove(way)
        os.makedirs(way, exist_ok=True)
    if os.path.isdir(name): shutil.rmtree(name)
    open(name, "w").write("hostile")
"""
    image = run(kernel, "begun = True")
    for _ in range(2):
        cell = kernel.ask(write, {"from": image, "commit": False})
        assert cell.ok, str(cell)
        check_look(kernel, there, "session", commit=False)
        check_look(kernel, there, "branch", **{"from": image, "commit": False})
    run(kernel, write)
    restore(kernel, to=image)
    check_look(kernel, there, "restored", commit=False)
    assert there.items() <= listing(tmp_path).items()
