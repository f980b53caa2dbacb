"""Random sequences of good and bad cells, against a model that applies the good ones only."""

import os
import random

import pytest

import model
from harness import PATIENCE

SEED = int(os.environ.get("PETRI_HOSTILE_SEED", 20240229))
STEPS = 50
AT_LENGTH = int(os.environ.get("PETRI_HOSTILE_STEPS", 300))

# What makes a bad cell bad, after it has done all that a good one does; and the outcome.
ENDINGS = {
    "exit": ("import os; os._exit(0)", "crash"),
    "kill": ("import os; os.kill(os.getpid(), 9)", "crash"),
    "segfault": ("import ctypes; ctypes.string_at(0)", "crash"),
    "exec": ("import os; os.execv('/bin/true', ['true'])", "crash"),
    "closed": ("import os; os.close(3)", "crash"),
    "child": ("import os\nif os.fork() == 0: os.kill(os.getppid(), 9)\nwhile True: pass", "crash"),
    "memory": ("hog = []\nwhile True: hog.append(bytearray(b'x') * (32 << 20))", "memory"),
    "timeout": ("while True: pass", "timeout"),
}
# The slow ones less often.
WEIGHTS = {"memory": 0.2, "timeout": 0.3}


@pytest.mark.parametrize("steps", [STEPS, pytest.param(AT_LENGTH, marks=pytest.mark.thorough)])
def test_random_cells_agree_with_the_model(place, note, steps):
    """An error keeps what the cell has done until then, as everyone knows it; all other bad ends undo it."""
    dice = random.Random(SEED + steps)
    session = place.get()
    has_numpy = place.way.interpreter.has("numpy")
    state = model.State(has_numpy)
    session.do(state.plant())
    counts = {}
    for step in range(steps):
        kind = dice.choices(["good", "error", "bad"], [5, 1, 4])[0]
        code, after = model.random_cell(state, dice)
        where = f"seed {SEED}, step {step}, {kind}:\n{code}"
        if kind == "good":
            session.do(code)
            state = after
        elif kind == "error":
            run = session.attempt(code + "\nraise RuntimeError('on purpose')", PATIENCE)
            assert (run.outcome, run.cell.ename) == ("error", "RuntimeError"), f"{where}\n{run}"
            state = after
        else:
            kind = dice.choices(list(ENDINGS), [WEIGHTS.get(name, 1) for name in ENDINGS])[0]
            ending, outcome = ENDINGS[kind]
            limits = {"timeout": "500ms" if kind == "timeout" else "20s", "memory": "300M"}
            run = session.attempt(f"{code}\n{ending}", limits)
            assert run.outcome == outcome, f"{where}\n{run}"
        counts[kind] = counts.get(kind, 0) + 1
        look = session.do(model.LOOK)
        assert look.cell.stdout == state.expected(), where
        state.looked()
    place.canaries.check()
    session.do(model.SWEEP)
    session.look()
    note(f"property, {place.way.name}: seed {SEED}, {steps} steps agree: {counts}")


@pytest.mark.parametrize("seed", range(3))
def test_model_agrees_with_python_without_petri(seed, tmp_path):
    """The model's own test: the same cells, run by a plain interpreter, look the same."""
    import contextlib
    import io

    dice = random.Random(seed)
    state = model.State(False)
    namespace = {}
    before = os.getcwd()
    os.chdir(tmp_path)
    os.environ["MODEL_TMP"], os.environ["MODEL_HOME"] = str(tmp_path / "t"), str(tmp_path / "h")
    try:
        for folder in ("t", "h"):
            os.mkdir(folder)
        exec(state.plant(), namespace)
        for _ in range(200):
            code, state = model.random_cell(state, dice)
            exec(code, namespace)
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(model.LOOK, namespace)
            assert out.getvalue() == state.expected(), code
            state.looked()
    finally:
        os.chdir(before)
        del os.environ["MODEL_TMP"], os.environ["MODEL_HOME"]
