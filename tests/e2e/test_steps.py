"""
Numbers of cells, and what is a step: In[n] is the cell that is shown as [n], and %undo goes back one cell that the user
has run, whatever requests came between: of each kind alone, and at random against a model.
"""

import ast
import dataclasses
import random

import pytest

# Requests that change x to a number; what they are for a front end, and what becomes of the change.
# code, fields of the request, metadata.petri
VISIBLE = {
    "cell": ("x = {}", {}, {}),
    "cell that raises": ("x = {}; 1 / 0", {}, {}),
    "cell with limits": ("%%limits memory=512M\nx = {}", {}, {}),
    "cell that names its state": ("x = {}", {}, {"checkpoint": "of-a-cell"}),
}
UNDONE = {
    "cell that dies": ("x = {}; import os; os._exit(3)", {}, {}),
    "cell over its time": ("%%limits timeout=300ms\nx = {}\nwhile True: pass", {}, {}),
    "cell that is refused": ("%%limits sense=1\nx = {}", {}, {}),
    "cell from a state that is not there": ("x = {}", {}, {"from": "nowhere"}),
    "fresh run": ("x = {}", {}, {"fresh": True}),
}
HIDDEN = {
    "run without history": ("x = {}", {"store_history": False}, {}),
    "run without history that raises": ("x = {}; 1 / 0", {"store_history": False}, {}),
    "run without history that has a value": ("x = {}; x", {"store_history": False}, {}),
    "silent run": ("x = {}", {"silent": True}, {}),
}
BLANK = {
    "empty cell": ("", {}, {}),
    "blank cell": (" \n\t\n", {}, {}),
    "blank cell without history": ("\n", {"store_history": False}, {}),
}
NOTHING = {
    **BLANK,
    "silent run that dies": ("x = {}; import os; os._exit(3)", {"silent": True}, {}),
    "run without history that dies": ("x = {}; import os; os._exit(3)", {"store_history": False}, {}),
    "cell that is not committed": ("x = {}", {}, {"commit": False}),
    "cell from the beginning that is not committed": ("x = {}", {}, {"from": "first", "commit": False}),
    "cell from the beginning that dies": ("x = {}; import os; os._exit(3)", {}, {"from": "first"}),
}
KINDS = {**VISIBLE, **UNDONE, **HIDDEN, **NOTHING}
ENAMES = {
    "cell that raises": "ZeroDivisionError",
    "run without history that raises": "ZeroDivisionError",
    "cell over its time": "CellTimeout",
    "cell that is refused": "CellRefused",
    "cell from a state that is not there": "UnknownImage",
    **dict.fromkeys((kind for kind in KINDS if kind.endswith("dies")), "CellCrashed"),
}
INPUTS = "get_ipython().history_manager.input_hist_raw"


def ask(kernel, kind, value):
    """Sends a request of a kind; returns its code and Cell."""
    code, fields, petri = KINDS[kind]
    code = code.format(value)
    cell = kernel.ask(code, petri, **fields)
    assert cell.ename == ENAMES.get(kind), str(cell)
    return code, cell


def look(kernel):
    """x, and what In has by its number, of those that have something."""
    cell = kernel.ask(f"print([globals().get('x'), dict(enumerate({INPUTS}))])", {"commit": False}, store_history=False)
    assert cell.ok, str(cell)
    x, inputs = ast.literal_eval(cell.stdout)
    return x, {number: code for number, code in inputs.items() if code}


def timeline(kernel):
    return kernel.control("petri_timeline_request")


def as_run(code):
    """What the worker gets of a cell that begins with its limits, unless these are refused."""
    return code if "sense" in code else code.replace("%%limits", "# %%limits", 1)


@pytest.fixture
def steps(start):
    """A kernel whose x is 0 after [1]."""
    kernel = start()
    kernel.good("x = 0")
    return kernel


@pytest.mark.parametrize("kind", KINDS)
def test_rerun_after_each_kind_of_request_runs_the_cell_of_that_number(steps, kind):
    _, cell = ask(steps, kind, 5)
    number = steps.good("y = 'that one'").reply["execution_count"]
    takes_one = kind in VISIBLE or kind in UNDONE
    assert number == 2 + takes_one
    if takes_one:
        assert cell.reply["execution_count"] == 2
    steps.good("y = 'another one'")
    assert "y = 'that one'\n=== Output: ===" in steps.good(f"%rerun {number}").stdout
    assert steps.value("y") == "'that one'"
    assert steps.good(f"%macro -q again {number}\nprint(again)").stdout == "y = 'that one'\n\n"
    assert steps.good(f"%history -n {number}").stdout.strip() == f"{number}: y = 'that one'"


@pytest.mark.parametrize("way", ("undo", "redo", "restore", "checkpoint", "from"))
@pytest.mark.parametrize("kind", UNDONE)
def test_input_that_was_undone_is_there_by_its_number_wherever_the_session_goes(steps, kind, way):
    code, _ = ask(steps, kind, 5)
    steps.good("z = 1")
    steps.good("z = 2")
    if way == "checkpoint":
        steps.good("%checkpoint here")
        steps.good("z = 3")
    for line in {"redo": ("%undo 2", "%redo 2"), "checkpoint": ("%restore here",)}.get(way, ()):
        steps.good(line)
    if way in ("undo", "restore"):
        steps.good({"undo": "%undo", "restore": "%restore 3"}[way])
    if way == "from":
        last = steps.ask("w = 1", {"from": "3"})
    else:
        last = steps.good("w = 1")
    _, inputs = look(steps)
    assert inputs[1] == "x = 0"
    assert inputs[2] == as_run(code)
    assert inputs[3] == "z = 1"
    assert inputs[last.reply["execution_count"]] == "w = 1"
    assert max(inputs) == last.reply["execution_count"]


@pytest.mark.parametrize("where", ("in the session", "with a name", "after an undo"))
@pytest.mark.parametrize("kind", {**HIDDEN, **NOTHING})
def test_request_without_a_number_is_no_step_and_what_it_did_belongs_to_the_one_before(steps, kind, where):
    steps.good("x = 1")
    if where == "with a name":
        steps.good("%checkpoint named")
    elif where == "after an undo":
        steps.good("x = 2")
        steps.good("%undo")
    states = timeline(steps)
    for value in (5, 6, 7):
        ask(steps, kind, value)
    after = timeline(steps)
    has = [(image["image"], image["kept"], image["names"]) for image in states["images"]]
    assert [(image["image"], image["kept"], image["names"]) for image in after["images"]] == has
    assert after["current"] == states["current"]
    assert look(steps)[0] == (7 if kind in HIDDEN else 1)
    if where == "after an undo":
        assert steps.good("%redo").stdout.startswith("On to [3]: 1 cell")
        assert look(steps)[0] == 2
        assert steps.good("%undo").stdout.startswith("Back before [3]: 1 cell")
        assert look(steps)[0] == (7 if kind in HIDDEN else 1)
    assert steps.good("%undo").stdout.startswith("Back before [2]: 1 cell (\"x = 1\")")
    assert look(steps)[0] == 0
    if where == "with a name":
        steps.good("%restore 2")
        assert look(steps)[0] == (7 if kind in HIDDEN else 1)
        said = "At the state after [2], without what was changed outside of cells since.\n"
        same = "Nothing changes: this is the state after [2].\n"
        is_another = kind in HIDDEN or kind in BLANK
        assert steps.good("%restore named").stdout == (said if is_another else same)
        assert look(steps)[0] == 1


@pytest.mark.parametrize("kind", [kind for kind in {**HIDDEN, **NOTHING} if "from" not in KINDS[kind][2]])
def test_request_without_a_number_takes_no_place_of_a_state(steps, kind):
    steps.good("%limits history=5")
    steps.good("%checkpoint named")
    visible = []
    for value in range(6):
        visible.append(steps.good(f"x = {value}").report["image"])
        ask(steps, kind, 100 + value)
        ask(steps, kind, 200 + value)
    kept = [image for image in timeline(steps)["images"] if image["kept"]]
    assert [image["image"] for image in kept if not image["names"]] == visible[-4:]
    assert [image["names"] for image in kept if image["names"]] == [["named"]]
    steps.good("%undo 3")
    assert look(steps)[0] == (202 if kind in HIDDEN else 2)


def test_variable_inspector_after_each_cell_leaves_undo_and_redo_to_the_cells(steps):
    """As JupyterLab's, which also runs after %undo itself, and keeps names of its own in the session."""
    inspect = ("def _inspect(): return sorted(globals())", "_inspect()")

    def run(code):
        cell = steps.good(code)
        for helper in inspect:
            assert steps.run(helper, store_history=False).ok
        return cell

    for value in (7, 8, 9):
        run(f"x = {value}")
    for value in (8, 7):
        run("%undo")
        assert look(steps)[0] == value
    for value in (8, 9):
        run("%redo")
        assert look(steps)[0] == value
    run("%checkpoint nine")
    run("%undo 2")
    assert look(steps)[0] == 7
    assert run("%restore nine").stdout.startswith("On to [4]: 2 cells")
    assert look(steps)[0] == 9
    assert [image["execution_count"] for image in timeline(steps)["images"]] == [None, 1, 2, 3, 4]
    assert "·" not in steps.run("%timeline").of("display_data")[0]["data"]["text/plain"]


@dataclasses.dataclass(eq=False)
class State:
    """What the session is in a state; what has no number changes it, or where it has a name makes another one of it."""

    x: int | None
    last: int  # the number of its last cell
    inputs: dict
    step: object = None
    named: bool = False


@dataclasses.dataclass(eq=False)
class Step:
    image: str
    number: int | None
    before: State | None  # what its cell began in


class Model:
    """A session, what each of its states has, and which lead to the present one."""

    def __init__(self, kernel, seed):
        self.kernel, self.random, self.n = kernel, random.Random(seed), 0
        self.at = self.first = State(None, 0, {}, Step("first", None, None))
        self.steps, self.names, self.undone, self.told = [self.at.step], {}, [], []

    def tell(self, text):
        self.told.append(text)

    def note_last(self, number, code):
        self.at.last = number
        self.at.inputs = {**self.at.inputs, number: code}

    def run(self, kind):
        self.n += 1
        number = self.at.last + 1
        code, cell = ask(self.kernel, kind, self.n)
        self.tell(f"{kind}: {code!r}")
        stays = kind == "cell from the beginning that dies" and self.at is self.first
        if kind in UNDONE or stays:
            assert cell.reply["execution_count"] == number
            self.note_last(number, code)
        elif kind in VISIBLE:
            assert cell.reply["execution_count"] == number
            inputs = {**self.at.inputs, number: code}
            step = Step(cell.report["image"], number, self.at)
            self.at = State(self.n, number, inputs, step)
            self.steps.append(step)
            self.undone = []
            if kind == "cell that names its state":
                self.name("of-a-cell")
        elif kind in HIDDEN or kind in BLANK:
            if self.at.named:
                self.at = dataclasses.replace(self.at, named=False)
            self.at.x = self.n if kind in HIDDEN else self.at.x

    def name(self, name):
        before = self.names.get(name)
        self.names[name] = self.at
        if before:
            before.named = before in self.names.values()
        self.at.named = True

    def undo(self):
        n, states = self.random.randint(1, 3), [self.at]
        while states[-1].step.before and len(states) <= n:
            states.append(states[-1].step.before)
        self.tell(f"%undo {n}")
        cell = self.kernel.run(f"%undo {n}")
        if len(states) == 1:
            assert cell.ename == "UnknownImage", str(cell)
            return
        assert cell.ok, str(cell)
        cells = "1 cell" if len(states) == 2 else f"{len(states) - 1} cells"
        assert f": {cells} (" in cell.stdout, cell.stdout
        self.undone += states[:-1]
        self.at = states[-1]

    def redo(self):
        if not self.undone:
            return
        n = self.random.randint(1, len(self.undone))
        self.tell(f"%redo {n}")
        self.kernel.good(f"%redo {n}")
        for _ in range(n):
            self.at = self.undone.pop()

    def restore(self):
        name = self.random.choice(sorted(self.names) or [None])
        if name is None:
            return
        self.tell(f"%restore {name}")
        self.kernel.good(f"%restore {name}")
        self.at, self.undone = self.names[name], []

    def checkpoint(self):
        name = self.random.choice("abc")
        self.tell(f"%checkpoint {name}")
        self.kernel.good(f"%checkpoint {name}")
        self.name(name)

    def check(self):
        x, inputs = look(self.kernel)
        assert x == self.at.x
        assert inputs == {number: as_run(code) for number, code in self.at.inputs.items()}
        found = timeline(self.kernel)
        rows = [image for image in found["images"] if image["image"] in {step.image for step in self.steps}]
        numbers = [(row["image"], row["execution_count"]) for row in rows]
        assert numbers == [(step.image, step.number) for step in self.steps]
        assert all(row["kept"] for row in rows)
        assert all(image["names"] for image in found["images"] if image not in rows)
        named = {name for image in found["images"] for name in image["names"]}
        assert named == set(self.names)

    def act(self):
        kinds = self.random.choice((VISIBLE, VISIBLE, UNDONE, HIDDEN, HIDDEN, NOTHING))
        actions = (self.undo, self.redo, self.restore, self.checkpoint)
        if self.random.random() < 0.6:
            self.run(self.random.choice(sorted(kinds)))
        else:
            self.random.choice(actions)()
        self.check()


def walk(start, seed, n):
    model = Model(start(), seed)
    for _ in range(n):
        try:
            model.act()
        except AssertionError as error:
            raise AssertionError("\n".join([*model.told, str(error)])) from error


@pytest.mark.parametrize("seed", range(2))
def test_each_number_and_step_is_that_of_a_visible_cell_after_random_requests(start, seed):
    walk(start, seed, 40)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(2, 8))
def test_each_number_and_step_is_that_of_a_visible_cell_after_many_random_requests(start, seed):
    walk(start, seed, 60)
