"""
Rows of cells that run with petri and beside it with ipykernel: `‖` begins the
next cell, `✗` one that is lost at its end. ipykernel runs the same cells, but for
those that are lost: so what comes of the others says that these never happened.
"""


def steps(cells):
    """(code, whether the cell is rolled back) for each of them."""
    for code in cells.replace("✗", "‖✗").split("‖"):
        if code.strip("\n"):
            yield code.lstrip("✗").strip("\n"), code.startswith("✗")


def run_all(kernel, cells, lost=True):
    """Runs the cells, whatever comes of them, and those that are lost where there are such; a Cell for each other one."""
    done = []
    for code, is_lost in steps(cells):
        if not is_lost:
            done.append(kernel.run(code))
        elif lost:
            cell = kernel.run(f"{code}\nimport os; os._exit(1)")
            assert cell.ename == "CellCrashed", cell
    return done


def run_good(kernel, cells, lost=True):
    """The same for cells none of which may fail; the last one's Cell."""
    for cell in (done := run_all(kernel, cells, lost)):
        assert cell.ok, f"{cells}\n{cell}"
    return done[-1]
