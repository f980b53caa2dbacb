"""
Rows for time travel: something that a session has, a cell that changes it, and what a look at it gives before and
after. check() goes to and fro between the two states in each way that there is, and looks.
"""

import dataclasses

from processes import held_bytes


@dataclasses.dataclass(frozen=True)
class Row:
    make: str
    change: str
    look: str  # it may change what it looks at: it is run with "commit": false
    before: str  # the text of the look's value
    after: str


def look(kernel, row, expected, where):
    cell = kernel.ask(row.look, {"commit": False})
    assert cell.ok, f"{where}: {row.look}\n{cell}"
    assert cell.report["committed"] is False, where
    assert cell.result == expected, f"{where}: {row.look}"


def restore(kernel, **to):
    """By a request on the control channel."""
    reply = kernel.control("petri_restore_request", to)
    assert reply["status"] == "ok", reply


def run(kernel, code, **petri):
    """A cell that has to go well; the id of its image."""
    cell = kernel.ask(code, petri)
    assert cell.ok, f"{code}\n{cell}"
    assert cell.report["committed"], code
    return cell.report["image"]


def branch(kernel, code, origin, **petri):
    """A cell that has to go well beside the session, from the image origin, and is kept; the id of its image."""
    cell = kernel.ask(code, {"from": origin, "commit": "branch", **petri})
    assert cell.ok, f"{code}\n{cell}"
    report = cell.report
    assert (report["committed"], report["rolled_back"], report["image"]) == (False, False, report["run_id"]), report
    return report["image"]


def look_at(kernel, row, image, expected, where):
    """Beside the session, which stays where it is."""
    cell = kernel.ask(row.look, {"from": image, "commit": False})
    assert cell.ok, f"{where}: {row.look}\n{cell}"
    assert (cell.report["committed"], cell.report["image"]) == (False, None), where
    assert cell.result == expected, f"{where}: {row.look}"


def check(kernel, row, base):
    """Each state has to be as it was, whichever way leads to it; base: where to begin."""
    kernel.good(f"%restore {base}")
    made = run(kernel, row.make)
    changed = run(kernel, row.change)
    look(kernel, row, row.after, "changed")
    kernel.good("%undo")
    look(kernel, row, row.before, "undone")
    kernel.good("%redo")
    look(kernel, row, row.after, "redone")
    kernel.good(f"%restore {base}")
    restore(kernel, to=made)
    look(kernel, row, row.before, "restored from before it was there")
    run(kernel, row.change, **{"from": made})
    look(kernel, row, row.after, "changed in a branch")
    restore(kernel, to=changed)
    look(kernel, row, row.after, "restored to the other branch")
    crashed = kernel.ask(f"{row.look}\nimport os; os._exit(1)", {"from": made})
    assert crashed.ename == "CellCrashed", crashed
    look(kernel, row, row.after, "after a crash in the state before")


def check_branches(kernel, row, base):
    """The same where each cell runs beside the session, whether what it leaves is kept or not."""
    kernel.good(f"%restore {base}")
    made = run(kernel, row.make)
    kernel.good(f"%restore {base}")
    changed = branch(kernel, row.change, made)
    for _ in range(2):
        look_at(kernel, row, made, row.before, "a branch of a state that the session has had")
        look_at(kernel, row, changed, row.after, "a branch of a branch")
    beside = branch(kernel, row.make, base)
    further = branch(kernel, row.change, beside)
    look_at(kernel, row, beside, row.before, "made in a branch")
    look_at(kernel, row, further, row.after, "made and changed in branches")
    restore(kernel, to=changed)
    look(kernel, row, row.after, "gone to a branch")
    look_at(kernel, row, further, row.after, "beside it")
    restore(kernel, to=beside)
    look(kernel, row, row.before, "gone to a branch of the base")
    run(kernel, row.change)
    look(kernel, row, row.after, "changed by the session in a branch")
    look_at(kernel, row, beside, row.before, "the branch that the session has left")
    restore(kernel, to=further)
    look(kernel, row, row.after, "gone to a branch of a branch")
    restore(kernel, to=made)
    look(kernel, row, row.before, "back again")


# The ways in which a row is tried.
WAYS = {"in the session": check, "in branches": check_branches}


def check_burst(kernel):
    """States that hold much go as fast as others come, though many that hold little go first and no cell pauses."""
    kernel.good("%limits history=200 history_memory=100M")
    run(kernel, "big = bytearray(40 << 20)")
    for n in range(30):
        run(kernel, f"x = {n}")
    before = held_bytes(kernel.pid)
    requests = [kernel.send(f"big[:] = bytes([{n}]) * len(big)") for n in range(1, 25)]
    for request in requests:
        assert kernel.finish(request).ok
    held = (held_bytes(kernel.pid) - before) >> 20
    assert held < 400, held  # the limit, half of it, some cells; all of them are 960
    assert kernel.value("big[0], big[-1]") == "(24, 24)"
