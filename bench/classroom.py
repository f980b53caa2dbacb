"""Measures a class: as many kernels at once as it has students, petri's and then ipykernel's.

Each student reads a table, groups it and draws it, and goes on with these cells, with pauses to think. Then all are
idle. Each round starts the class with each kind of kernel afresh, in turns; the table shows medians over the rounds.
"""

import argparse
import json
import os
import pathlib
import random
import statistics
import sys
import time

from crowd import KINDS, Crowd
from peers import PEERS, family, stat_fields
from report import RESULTS, machine, machine_text, markdown, number_text, percentile, ratio_text, write

COURSE = pathlib.Path(__file__).resolve().parents[1] / "examples" / "course"

FIRST = """
import matplotlib.pyplot as plt
import pandas as pd
rides = pd.read_csv({data!r})
rides.groupby("station")["minutes"].mean()
"""
GROUP = "rides.groupby(['station', 'member'])['minutes'].mean()"
DRAW = "figure, axes = plt.subplots()\nrides.groupby('station').size().plot.bar(ax=axes)\nplt.show()"
CELLS = 10  # of each student while all work
THINK_S = (1, 3)  # from one cell to the next one
ALONE = 20  # cells of one student while the others are idle
SETTLE_S = 3  # what a kernel does after its last cell is not idling
IDLE_S = 15
TICKS = os.sysconf("SC_CLK_TCK")

# name: unit
MEASURES = {
    "first result, median of the students": "s",
    "first result, the last student": "s",
    "a cell while all work, median": "ms",
    "a cell while all work, 95 % take at most": "ms",
    "a cell while the others are idle, median": "ms",
    "memory of a kernel, idle (PSS)": "MiB",
    "memory of all kernels, idle (PSS)": "MiB",
    "CPU use of all kernels, idle": "% of a processor",
}


def options_of(kind, folder):
    """What the kernel's command line has beyond its kernelspec: for petri the profile of the course."""
    if kind != "petri":
        return []
    config = json.loads((COURSE / "petri.json").read_text())
    config["inputs"] = [str(COURSE / "data")]
    del config["kernels"]  # a student's, and here all are one user's
    path = folder / "petri.json"
    path.write_text(json.dumps(config))
    return ["--profile", "classroom", "--config", str(path)]


class Class(Crowd):
    """Students at work, each with a kernel."""

    def begin(self):
        """All start their kernels; returns each one's seconds to the first result."""
        first = FIRST.format(data=str(COURSE / "data" / "rides.csv"))
        started = self.start(first, options_of(self.kind, self.folder))
        return [replied - spawned for spawned, replied in started]

    def work(self):
        """All work; returns the milliseconds of all cells. Every class thinks as long as every other."""

        def student(number):
            rng = random.Random(number)
            times = []
            for cell in range(CELLS):
                time.sleep(rng.uniform(*THINK_S))
                times.append(1000 * self.peers[number].run((GROUP, DRAW)[cell % 2])[0])
            return times

        return [found for times in self.each(student) for found in times]

    def work_alone(self):
        """One student goes on; returns the milliseconds of the cells."""
        return [1000 * self.peers[0].run(GROUP)[0] for _ in range(ALONE)]

    def idle(self):
        """Nobody works; returns the kernels' CPU use in percent of a processor."""
        time.sleep(SETTLE_S)
        began, used = time.perf_counter(), self.cpu_s()
        time.sleep(IDLE_S)
        return 100 * (self.cpu_s() - used) / (time.perf_counter() - began)

    def cpu_s(self):
        """Seconds that all processes of all kernels have had, with those that have ended."""
        return sum(map(cpu_s, family(*(peer.pid for peer in self.peers))))


def cpu_s(pid):
    """Seconds of a process and of its children that have ended."""
    try:
        return sum(map(int, stat_fields(pid)[11:15])) / TICKS
    except (FileNotFoundError, ProcessLookupError):
        return 0


def measure(kind, students):
    """All measures of one class, by name."""
    with Class(kind, students) as a_class:
        first = a_class.begin()
        working = a_class.work()
        alone = a_class.work_alone()
        idle = a_class.idle()
        memory = [peer.footprint()[0] / 2**20 for peer in a_class.peers]
    found = [
        statistics.median(first),
        max(first),
        statistics.median(working),
        percentile(working, 95),
        statistics.median(alone),
        statistics.median(memory),
        sum(memory),
        idle,
    ]
    return dict(zip(MEASURES, found, strict=True))


def run_rounds(rounds, students):
    """Values by kind and measure, one a round; the order turns from round to round."""
    values = {kind: {name: [] for name in MEASURES} for kind in KINDS}
    for number in range(rounds):
        for kind in KINDS[:: -1 if number % 2 else 1]:
            print(f"round {number + 1} of {rounds}: {students} times {PEERS[kind]}", file=sys.stderr, flush=True)
            for name, value in measure(kind, students).items():
                values[kind][name].append(value)
    return values


def table(medians, students):
    """Medians and ratios as a Markdown table."""
    rows = []
    for name, unit in MEASURES.items():
        own, other = (medians[kind][name] for kind in KINDS)
        rows.append([f"{name}, {unit}", number_text(own), number_text(other), ratio_text(own, other)])
    return markdown([f"{students} kernels at once", *(PEERS[kind] for kind in KINDS), "petri : ipykernel"], rows)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--students", type=int, default=30, help="how many kernels at once (30)")
    parser.add_argument("--rounds", type=int, default=3, help="how often each class is started (3)")
    output = {"type": pathlib.Path, "default": RESULTS / "classroom"}
    parser.add_argument("--output", **output, help="files to write, without suffix")
    return parser.parse_args()


def main():
    options = arguments()
    values = run_rounds(options.rounds, options.students)
    medians = {kind: {name: statistics.median(found) for name, found in values[kind].items()} for kind in KINDS}
    where = machine()
    text = "\n".join(
        [f"{machine_text(where)}; medians of {options.rounds} rounds.", "", table(medians, options.students)]
    )
    result = {"machine": where, "students": options.students, "rounds": options.rounds}
    write(options.output, text, result | {"medians": medians, "values": values})


if __name__ == "__main__":
    main()
