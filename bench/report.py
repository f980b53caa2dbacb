"""Where it was measured, and how numbers and tables are written."""

import datetime
import importlib.metadata
import json
import os
import pathlib
import platform
import re
import statistics

RESULTS = pathlib.Path(__file__).resolve().parent / "results"
# Of fewer values a 95th percentile says nothing.
MANY = 20
# The distributions whose versions belong to a result.
BESIDE = ("ipykernel", "xeus-python", "dill")


def versions():
    """Of what petri is measured beside, as far as it is there."""
    found = {}
    for name in BESIDE:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def machine():
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
        "linux": platform.release(),
        "processors": os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "python": platform.python_version(),
        "user": "root" if os.geteuid() == 0 else "ordinary",
        "versions": versions(),
    }


def machine_text(where):
    beside = ", ".join(f"{name} {version}" for name, version in where["versions"].items())
    return (
        f"Linux {where['linux']}, {where['processors']} processors, {where['memory_gib']} GiB, "
        f"Python {where['python']}, {beside}, {where['user']} user, {where['date']}"
    )


def percentile(values, percent):
    """The value that so many percent of at least two values don't exceed."""
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1]


def number_text(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def ratio_text(own, other):
    return f"{own / other:.2f}" if other else "-"


def markdown(header, rows, numbers=True):
    """A Markdown table; its columns but the first one hold numbers, or text."""
    rule = ["---"] + ["---:" if numbers else "---"] * (len(header) - 1)
    return "\n".join("| " + " | ".join(row) + " |" for row in [header, rule, *rows])


def json_text(result):
    """JSON, each list of numbers on a line of its own."""
    numbers = re.compile(r"\[\s*(-?[\d.][-+\d.e,\s]*?)\s*\]")
    return numbers.sub(lambda found: f"[{' '.join(found[1].split())}]", json.dumps(result, indent=1))


def write(output, text, result):
    """Prints a text and writes it beside all values, as output.md and output.json."""
    print(text)
    output.parent.mkdir(parents=True, exist_ok=True)
    output.with_suffix(".md").write_text(text + "\n")
    output.with_suffix(".json").write_text(json_text(result) + "\n")
