"""
Writes the generated parts of docs/clients.md: the results from build/clients/,
the differences from test_suites.py and test_nbclient.py.
"""

import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]

import tally  # noqa: E402
import test_nbclient  # noqa: E402
import test_suites  # noqa: E402
from jupyters import IPYKERNEL, PETRI  # noqa: E402

PAGE = HERE.parents[1] / "docs" / "clients.md"


def results():
    """The table of passed / failed / skipped."""
    found = tally.load()
    order = [*test_suites.SUITES, *sorted(set(found) - set(test_suites.SUITES))]
    rows = [f"| {suite} | {found[suite].get(PETRI, '')} | {found[suite].get(IPYKERNEL, '')} |" for suite in order]
    return ["| passed / failed / skipped | petri | ipykernel |", "|---|---|---|", *rows]


def differences():
    """The table of what differs on purpose."""
    tables = {**test_suites.DIFFERENCES, "nbclient": test_nbclient.DIFFERENCES}
    rows = [f"| {suite} | `{test}` | {why} |" for suite, table in tables.items() for test, why in table.items()]
    return ["| suite | test | why |", "|---|---|---|", *rows]


def replaced(text, mark, lines):
    """text with the lines between the two marks of that name."""
    block = "\n".join([f"<!-- {mark} -->", *lines, f"<!-- /{mark} -->"])
    return re.sub(rf"<!-- {mark} -->.*<!-- /{mark} -->", lambda _: block, text, flags=re.DOTALL)


def main():
    text = PAGE.read_text(encoding="utf-8")
    for mark, lines in (("results", results()), ("differences", differences())):
        text = replaced(text, mark, lines)
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
