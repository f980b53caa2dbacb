"""
How many tests passed, failed and were skipped: of the suites of others, with
petri and with ipykernel, and of this folder's own tests.

Each is a file in build/clients/: {"suite", "kernel", "tests": {name: outcome}}.
"""

import collections
import json
import pathlib

from jupyters import CLIENTS, IPYKERNEL, PETRI

OUTCOMES = ("passed", "failed", "skipped")
_OWN = collections.defaultdict(dict)


def save(suite, kernel, tests):
    """Keeps the outcomes of a suite's run; tests: {name: one of OUTCOMES}."""
    CLIENTS.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"suite": suite, "kernel": kernel, "tests": tests}, indent=1, sort_keys=True)
    (CLIENTS / f"{suite}.{kernel}.json").write_text(text)


def note(report):
    """Notes a report of this folder's own tests, by the file's name."""
    if report.when == "call" or report.outcome != "passed":
        suite = pathlib.Path(report.nodeid.split("::")[0]).stem.removeprefix("test_")
        _OWN[suite][report.nodeid.split("::", 1)[1]] = report.outcome


def save_own():
    """Keeps what note() has gathered."""
    for suite, tests in _OWN.items():
        if suite not in ("suites", "page"):
            save(suite, PETRI, tests)


def counts(tests):
    found = collections.Counter(tests.values())
    return " / ".join(str(found[outcome]) for outcome in OUTCOMES)


def load():
    """{suite: {kernel: counts}} of all that was kept."""
    found = collections.defaultdict(dict)
    for path in sorted(CLIENTS.glob("*.*.json")):
        run = json.loads(path.read_text())
        found[run["suite"]][run["kernel"]] = counts(run["tests"])
    return found


def table():
    """The lines of the table; passed / failed / skipped."""
    rows = [("suite (passed / failed / skipped)", PETRI, IPYKERNEL)]
    for suite, of in load().items():
        rows.append((suite, of.get(PETRI, ""), of.get(IPYKERNEL, "")))
    return [f"{suite:36}{petri:>16}{ipykernel:>16}" for suite, petri, ipykernel in rows] if len(rows) > 1 else []
