"""Measures petri beside ipykernel and xeus-python, in one run, interleaved.

Each round takes every measure of every kernel, started afresh; the kernels take turns measure by measure. The table
shows the median and the 95th percentile of all single values, and petri's ratios.
"""

import argparse
import collections
import contextlib
import pathlib
import statistics
import sys
import tempfile
import time

import crowd
import goals
import services
import travel
from measures import LARGE_SECTIONS, MEASURES, SECTIONS
from peers import PEERS, available
from report import MANY, RESULTS, machine, machine_text, markdown, number_text, percentile, ratio_text, write

# Those of one kernel, then those of many.
ALL_MEASURES = MEASURES | crowd.MEASURES


class Values:
    """All that was measured: by kernel and measure a list for each round, with the single values."""

    def __init__(self, names):
        self.lists = {name: collections.defaultdict(list) for name in names}

    def add(self, name, found):
        for measure, values in found.items():
            self.lists[name][measure].append(values)

    def summary(self, figure, least=1):
        """By kernel and measure a figure of all single values, where there are so many."""
        pooled = {
            name: {measure: [value for values in rounds for value in values] for measure, rounds in found.items()}
            for name, found in self.lists.items()
        }
        return {
            name: {measure: figure(values) for measure, values in found.items() if len(values) >= least}
            for name, found in pooled.items()
        }


def turned(names, number):
    """Names in the order of a round: it turns from round to round."""
    turn = number % len(names)
    return [*names[turn:], *names[:turn]]


@contextlib.contextmanager
def progress(what):
    begin = time.monotonic()
    print(f"  {what}", end="", file=sys.stderr, flush=True)
    yield
    print(f", {time.monotonic() - begin:.0f} s", file=sys.stderr, flush=True)


def run_round(values, sections, names, count):
    for section in sections:
        what = section.__name__.removeprefix("measure_").replace("_", " ")
        for name in names:
            # A folder for each: what one kernel's cells have written is there for the next one otherwise.
            with progress(f"{what}: {PEERS[name]}"), tempfile.TemporaryDirectory() as folder:
                values.add(name, section(name, folder, count))


def run_rounds(names, options):
    values = Values(names)
    for number in range(options.rounds):
        print(f"round {number + 1} of {options.rounds}", file=sys.stderr, flush=True)
        run_round(values, SECTIONS, turned(names, number), options.count)
    if options.large:
        run_round(values, LARGE_SECTIONS, names, options.count)
    for number in range(options.crowds):
        for kind in turned([name for name in names if name in crowd.KINDS], number):
            with progress(f"many kernels at once: {PEERS[kind]}"):
                values.add(kind, crowd.measure(kind))
    return values


def figures_text(measure, medians, percentiles):
    """The median and the 95th percentile, as far as there are any."""
    figures = [number_text(found[measure]) for found in (medians, percentiles) if measure in found]
    return " / ".join(figures) or "-"


def table(medians, percentiles):
    """What was measured of each kernel, and petri's ratios, as a Markdown table."""
    names = list(medians)
    own, others = names[0], names[1:]
    rows = []
    for measure, (unit, less) in ALL_MEASURES.items():
        if measure not in medians[own]:
            continue
        title = f"{measure}{', ' if unit else ''}{unit}{'' if less else ' (more is better)'}"
        cells = [figures_text(measure, medians[name], percentiles[name]) for name in names]
        ratios = [ratio_text(medians[own][measure], medians[name].get(measure)) for name in others]
        rows.append([title, *cells, *ratios])
    header = ["median / 95th percentile", *(PEERS[name] for name in names)]
    return markdown([*header, *(f"petri : {PEERS[name]}" for name in others)], rows)


def at_least(least):
    """What reads such a number from the command line."""

    def number(text):
        value = int(text)
        if value < least:
            raise argparse.ArgumentTypeError(f"at least {least}")
        return value

    return number


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=at_least(1), default=5, help="how often each measure is taken (5)")
    parser.add_argument("--count", type=at_least(10), default=100, help="cells a measure and round, 10 at least (100)")
    parser.add_argument("--crowds", type=at_least(0), default=1, help="how often many kernels are measured at once (1)")
    parser.add_argument("--travels", type=at_least(0), default=1, help="how often time travel is measured (1)")
    parser.add_argument("--large", action="store_true", help="also a session of 4 GB, once")
    output = {"type": pathlib.Path, "default": RESULTS / "latest"}
    parser.add_argument("--output", **output, help="files to write, without suffix")
    return parser.parse_args()


def main():
    options = arguments()
    names = available()
    if names[:1] != ["petri"]:
        sys.exit("bench: no kernelspec petri; use make bench")
    values = run_rounds(names, options)
    medians = values.summary(statistics.median)
    percentiles = values.summary(lambda found: percentile(found, 95), MANY)
    costs = services.measure_all(options.rounds, options.count)
    travels = travel.measure_all(options.travels, options.count)
    where = machine()
    head = f"{machine_text(where)}; rounds: {options.rounds}, cells: {options.count}, crowds: {options.crowds}."
    text = "\n\n".join([head, table(medians, percentiles), goals.table(medians), services.table(costs), *([travel.table(travels)] if travels else [])])
    result = {"machine": where, "rounds": options.rounds, "count": options.count, "crowds": options.crowds}
    result |= {"medians": medians, "percentiles_95": percentiles, "values": values.lists, "services": costs, "travel": travels}
    write(options.output, text, result)


if __name__ == "__main__":
    main()
