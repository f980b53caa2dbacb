"""The figures of README.md and docs/performance.md are those of bench/results/, rounded to two digits."""

import decimal
import json
import sys

import pytest

from conftest import ROOT
from pages import names, settle

sys.path.append(str(ROOT / "bench"))

import classroom  # noqa: E402
import crowd  # noqa: E402
import measures  # noqa: E402
import travel  # noqa: E402

PAGE = ROOT / "docs" / "performance.md"
KERNELS = {"petri": "petri", "ipykernel": "python3", "xeus-python": "xpython"}
CLASS_KERNELS = dict(list(KERNELS.items())[:2])

# What a page calls a measure, the measure, and its unit.
COSTS = [
    ("an empty cell", "pass, back to back", "ms"),
    ("from the start of a kernel to its first result", "spawn to first execute_reply", "ms"),
    ("a completion", "complete, idle", "ms"),
    ("memory of an idle kernel", "memory when idle (PSS)", "MiB"),
    ("the same with pandas and a chart, in a class of thirty", "memory of a kernel, idle (PSS)", "MiB"),
]
CELLS = [
    ("one after the other", "pass, back to back", "ms"),
    ("after pauses of 20 ms", "pass, after pauses of 20 ms", "ms"),
    ("with pandas and pyplot loaded", "pass with pandas and pyplot loaded", "ms"),
    ("with 100 MB of numpy in the session", "pass with 100 MB of numpy", "ms"),
    ("with 1 GB of numpy", "pass with 1 GB of numpy", "ms"),
    ("with a million small dicts", "pass with a million small dicts", "ms"),
    ("with ten million small dicts", "pass with ten million small dicts", "ms"),
    ("with a database of 10 MB open", "pass with a database of 10 MB open", "ms"),
    ("with a memmap of 1 GB", "pass with a memmap of 1 GB", "ms"),
    ("with 10,000 files that cells have written", "pass with 10,000 files of cells", "ms"),
    ("with 5,000 folders below the notebook's", "pass with 5,000 folders below the notebook's", "ms"),
    ("with 10,000 files beside the notebook", "pass with 10,000 files beside the notebook", "ms"),
    ("`describe()` of a data frame, shown", "a data frame's describe(), shown", "ms"),
    ("`x += 1` with 1 GB of numpy", "x += 1 on 1 GB of numpy", "ms"),
]
KERNEL = [
    ("from its start until it answers `kernel_info_request`", "spawn to kernel_info_reply", "ms"),
    (
        "the same for a client that connects at once",
        "spawn to kernel_info_reply, a client that connects at once",
        "ms",
    ),
    ("from its start to the first result", "spawn to first execute_reply", "ms"),
    ("`kernel_info_request`", "kernel_info", "ms"),
    ("a completion while nothing runs, as keys are typed", "complete, idle", "ms"),
    ("one right after the other", "complete, one right after the other", "ms"),
    ("of a bare name, with pandas and pyplot loaded", "complete, idle: a bare name", "ms"),
    ("of an attribute of a data frame", "complete, idle: an attribute of a data frame", "ms"),
    ("of an attribute of `plt`", "complete, idle: an attribute of plt", "ms"),
    ("an inspection of a data frame's method", "inspect, idle", "ms"),
    ("a completion while a cell runs for 2 s", "complete, while a cell runs for 2 s", "ms"),
    ("100,000 calls of `print`", "100,000 prints", "s"),
    ("of these lines arrive", "100,000 prints, arrived", "%"),
    ("one `print` of 50 MB", "one print of 50 MB", "MB/s"),
    ("memory when idle (PSS)", "memory when idle (PSS)", "MiB"),
    ("the same with pandas and pyplot loaded", "memory when idle, with pandas and pyplot (PSS)", "MiB"),
    (
        "fifteen that start at once, until each has imported pandas",
        "15 kernels at once, until each has imported pandas",
        "s",
    ),
    ("the most memory that they take together", "15 kernels at once, most memory of all (PSS)", "MiB"),
    ("an empty cell with thirty kernels, a cell a second each", "30 kernels, a cell a second each", "ms"),
]
CLASS = [
    ("first result, if all start at the same moment, median", "first result, median of the students", "s"),
    ("a cell while all work, median", "a cell while all work, median", "ms"),
    ("a cell while all work, 95 % take at most", "a cell while all work, 95 % take at most", "ms"),
    ("a cell while the others are idle", "a cell while the others are idle, median", "ms"),
    ("memory of a kernel when idle (PSS)", "memory of a kernel, idle (PSS)", "MiB"),
    ("memory of all thirty", "memory of all kernels, idle (PSS)", "MiB"),
]
# What docs/time-travel.md calls a measure, and the measure.
TRAVEL = [
    ("`%undo`", travel.UNDO),
    ("`%undo` of a cell that has changed all of the gigabyte", travel.UNDO_LARGE),
    ("`%restore` of a checkpoint", travel.RESTORE),
    ("a run with `from`", travel.FROM),
    ("a branch, which runs beside the session", travel.BRANCH),
    ("two branches at once", travel.BRANCHES),
    ("ipykernel: a restart, and all cells again", travel.RESTART),
    ("ipykernel: `dill.load_session`", travel.LOAD),
    ("Kishu: a checkout", travel.CHECKOUT),
    ("ipykernel: `dill.dump_session`, before that", travel.DUMP),
    ("a cell that changes 8 bytes of the gigabyte", travel.TOUCHED["petri"]),
    ("the same in ipykernel", travel.TOUCHED["python3"]),
    ("the same in Kishu", travel.TOUCHED["kishu"]),
    ("`pass` with 50 kept states", travel.PASS_KEPT),
    ("`pass` with none but the present one, in turns with it", travel.PASS_NONE),
    ("memory of a kept state, where each cell changes 1 MB", travel.KEPT),
]
BLOCKS = {
    (PAGE, "cells"): (KERNELS, CELLS),
    (PAGE, "kernel"): (KERNELS, KERNEL),
    (PAGE, "class"): (CLASS_KERNELS, CLASS),
    (ROOT / "README.md", "costs"): (KERNELS, COSTS),
}


def rounded(value):
    """A number with two digits that count: 5.2, 130, 0.99."""
    return f"{decimal.Decimal(f'{value:.1e}'):f}"


def medians():
    """What was measured of each kernel, by the names in the results."""
    found = {kernel: {} for kernel in KERNELS.values()}
    for name in ("latest", "classroom"):
        results = json.loads((ROOT / "bench" / "results" / f"{name}.json").read_text())["medians"]
        for kernel, measures in results.items():
            found[kernel].update(measures)
    return found


def table(kernels, rows):
    """Without the rows that the results don't have of any of the kernels."""
    measured = medians()
    rows = [row for row in rows if any(row[1] in measured[kernel] for kernel in kernels.values())]
    lines = [("", *kernels), ("---", *["---:"] * len(kernels))]
    for what, measure, unit in rows:
        values = [measured[kernel].get(measure) for kernel in kernels.values()]
        lines.append((what, *("not measured" if value is None else f"{rounded(value)} {unit}" for value in values)))
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def machines():
    """Where each of the two was measured, and when."""
    lines = []
    for what, name in (("kernels one by one", "latest"), ("a class", "classroom")):
        results = json.loads((ROOT / "bench" / "results" / f"{name}.json").read_text())
        machine = results["machine"]
        where = f"Linux {machine['linux']}, {machine['processors']} processors, Python {machine['python']}"
        where += "".join(f", {peer} {version}" for peer, version in machine.get("versions", {}).items())
        lines.append(f"- {what}: {where}, as {machine['user']}, {machine['date']}, {results['rounds']} rounds\n")
    return "".join(lines)


@pytest.mark.parametrize(("page", "name"), BLOCKS, ids=lambda part: getattr(part, "name", part))
def test_figures_are_those_that_were_measured(page, name):
    settle(page, name, table(*BLOCKS[page, name]))


def test_page_says_where_and_when_that_was():
    settle(PAGE, "machines", machines())


def test_page_of_performance_has_these_blocks_and_no_other():
    assert names(PAGE) == [*(name for page, name in BLOCKS if page == PAGE), "machines"]


def travels():
    """What was measured of going back, each with its unit."""
    results = json.loads((ROOT / "bench" / "results" / "travel.json").read_text())
    measured = {name: f"{rounded(value)} {travel.MEASURES[name]}" for name, value in results["medians"].items()}
    rows = [(what, measured.get(measure, "not measured")) for what, measure in TRAVEL]
    lines = "".join(f"| {what} | {value} |\n" for what, value in rows)
    machine = results["machine"]
    where = f"Linux {machine['linux']}, {machine['processors']} processors, {machine['date']}, {results['rounds']} rounds"
    return f"| | median |\n| --- | ---: |\n{lines}\n{where}.\n"


def test_page_of_time_travel_has_the_figures_that_were_measured():
    settle(ROOT / "docs" / "time-travel.md", "travels", travels())
    assert sorted(measure for _, measure in TRAVEL) == sorted(travel.MEASURES)


@pytest.mark.parametrize(("page", "name"), BLOCKS, ids=lambda part: getattr(part, "name", part))
def test_figures_are_those_that_the_bench_measures(page, name):
    known = [*measures.MEASURES, *crowd.MEASURES, *classroom.MEASURES]
    assert [measure for _, measure, _ in BLOCKS[page, name][1] if measure not in known] == []


@pytest.mark.parametrize(
    ("value", "text"), [(5.208, "5.2"), (0.98771, "0.99"), (128.69, "130"), (2009.6, "2000"), (0.361, "0.36"), (100.0, "100")]
)
def test_figures_have_two_digits(value, text):
    assert rounded(value) == text
