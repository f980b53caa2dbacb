"""Numbers of cells: In[n] is the cell that is shown as [n], whatever requests came between."""

import ast

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
NOTHING = {
    "empty cell": ("", {}, {}),
    "blank cell": (" \n\t\n", {}, {}),
    "blank cell without history": ("\n", {"store_history": False}, {}),
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
