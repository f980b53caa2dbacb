"""Measures petri beside ipykernel and xeus-python, in one run, interleaved.

Each round starts each kernel afresh, one after the other, and takes every
measure once; the table shows medians over the rounds and petri's ratios.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import statistics
import sys
import tempfile
import time

import services
from peers import PEERS, Peer, available

RESULTS = pathlib.Path(__file__).resolve().parent / "results"
PRINTS = 100_000
BIG_BYTES = 50_000_000
PAUSE_S = 0.05
BUSY_S = 2
COMPLETE_BUSY = f"complete, while a cell runs for {BUSY_S} s"
COMPLETED = "busy.monoto"
COMPLETIONS = 20

# By kernelspec: what lets a cell print BIG_BYTES where a kernel limits output. The others have no limit.
MORE_OUTPUT = {"petri": "%%limits output=100M\n"}

# What a session holds while the cost of a cell is measured, in this order; each takes the place of the last.
STATES = {
    "100 MB of numpy": "import numpy\nstate = numpy.ones(100_000_000 // 8)",
    "1 GB of numpy": "state = numpy.ones(1_000_000_000 // 8)",
    "a database of 10 MB open": "import sqlite3\nstate = sqlite3.connect('bench.db')\n"
    "state.executescript('create table t (v)')\n"
    "state.executemany('insert into t values (?)', [('x' * 1000,)] * 10_000)\nstate.commit()",
    "a memmap of 1 GB": "state = numpy.memmap('bench.dat', 'u1', 'w+', shape=(1_000_000_000,))\nstate[::10_000_000] = 1",
    "a million small dicts": "state = [{'n': n} for n in range(1_000_000)]",
    "10,000 files of cells": "import pathlib\nstate = [pathlib.Path(f'made-{n}').write_text('x') for n in range(10_000)]",
}

# name: unit, and whether less is better
MEASURES = {
    "spawn to kernel_info_reply": ("ms", True),
    "spawn to first execute_reply": ("ms", True),
    "pass, back to back": ("ms", True),
    "pass, after pauses of 50 ms": ("ms", True),
    "kernel_info": ("ms", True),
    "complete, idle": ("ms", True),
    COMPLETE_BUSY: ("ms", True),
    "100,000 prints": ("s", True),
    "100,000 prints, arrived": ("%", False),
    "one print of 50 MB": ("MB/s", False),
    "one print of 50 MB, arrived": ("%", False),
    "memory when idle (PSS)": ("MiB", True),
    **{f"pass with {state}": ("ms", True) for state in STATES},
}

# What petri wants to reach: measure, sentence, test on (petri, medians by peer).
GOALS = [
    ("spawn to kernel_info_reply", "at most 0.1 of ipykernel's", lambda own, peer: own <= 0.1 * peer["python3"]),
    ("spawn to first execute_reply", "at most 0.7 of ipykernel's", lambda own, peer: own <= 0.7 * peer["python3"]),
    ("pass, back to back", "at most 0.5 of ipykernel's", lambda own, peer: own <= 0.5 * peer["python3"]),
    ("pass, back to back", "not slower than xpython's", lambda own, peer: own <= peer["xpython"]),
    (COMPLETE_BUSY, "at most 0.1 of ipykernel's", lambda own, peer: own <= 0.1 * peer["python3"]),
    ("100,000 prints", "not slower than ipykernel's", lambda own, peer: own <= peer["python3"]),
    ("100,000 prints, arrived", "all", lambda own, peer: own == 100),
    ("one print of 50 MB", "not below ipykernel's", lambda own, peer: own >= peer["python3"]),
    ("one print of 50 MB, arrived", "all", lambda own, peer: own == 100),
]


def median_ms(action, count):
    """The median time of an action that returns nothing of interest."""
    times = []
    for _ in range(count):
        start = time.perf_counter()
        action()
        times.append(1000 * (time.perf_counter() - start))
    return statistics.median(times)


def median_pass_ms(peer, count, pause_s=0.0):
    times = []
    for _ in range(count):
        time.sleep(pause_s)
        times.append(1000 * peer.run("pass")[0])
    return statistics.median(times)


def measure_start(peer, found):
    peer.kernel_info()
    found["spawn to kernel_info_reply"] = 1000 * (time.perf_counter() - peer.spawned)
    peer.reply("pass")
    found["spawn to first execute_reply"] = 1000 * (time.perf_counter() - peer.spawned)
    peer.wait_for_iopub()


def measure_completion(peer, found):
    peer.run("import time as busy")
    peer.complete(COMPLETED)  # the first one loads what it needs
    found["complete, idle"] = median_ms(lambda: peer.complete(COMPLETED), COMPLETIONS)
    request = peer.client.execute(f"busy.sleep({BUSY_S})", allow_stdin=False, store_history=False)
    found[COMPLETE_BUSY] = median_ms(lambda: peer.complete(COMPLETED), 1)
    for _ in peer.messages_of(request):
        pass


def measure_output(peer, found):
    expected = sum(len(str(n)) + 1 for n in range(PRINTS))
    seconds, arrived = peer.run(f"for n in range({PRINTS}): print(n)")
    found["100,000 prints"] = seconds
    found["100,000 prints, arrived"] = 100 * arrived / expected
    seconds, arrived = peer.run(f"{MORE_OUTPUT.get(peer.name, '')}print('x' * {BIG_BYTES})")
    found["one print of 50 MB"] = arrived / seconds / 1e6
    found["one print of 50 MB, arrived"] = 100 * arrived / (BIG_BYTES + 1)


def measure(name, folder, count):
    """All measures of one fresh kernel, by name."""
    peer = Peer(name, folder)
    found = {}
    try:
        measure_start(peer, found)
        found["memory when idle (PSS)"] = peer.memory_bytes() / 2**20
        found["pass, back to back"] = median_pass_ms(peer, count)
        found["pass, after pauses of 50 ms"] = median_pass_ms(peer, count // 4, PAUSE_S)
        found["kernel_info"] = median_ms(peer.kernel_info, count)
        peer.wait_for_iopub()
        measure_completion(peer, found)
        measure_output(peer, found)
        for state, code in STATES.items():
            peer.run(code)
            found[f"pass with {state}"] = median_pass_ms(peer, count // 4)
    finally:
        peer.close()
    return found


def run_rounds(names, rounds, count):
    """Values by kernel and measure, one a round; the order of the kernels turns from round to round."""
    values = {name: {measure: [] for measure in MEASURES} for name in names}
    for number in range(rounds):
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            print(f"round {number + 1} of {rounds}: {PEERS[name]}", file=sys.stderr, flush=True)
            # A folder for each: what one kernel's cells have written is there for the next one otherwise.
            with tempfile.TemporaryDirectory() as folder:
                found = measure(name, folder, count)
            for key, value in found.items():
                values[name][key].append(value)
    return values


def number_text(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def ratio_text(own, other):
    return f"{own / other:.2f}" if other else "-"


def table(medians):
    """Medians and petri's ratios as a Markdown table."""
    names = list(medians)
    others = names[1:]
    header = ["", *(PEERS[name] for name in names), *(f"petri : {PEERS[name]}" for name in others)]
    rows = [header, ["---"] + ["---:"] * (len(header) - 1)]
    for measure_name, (unit, less) in MEASURES.items():
        own = medians[names[0]][measure_name]
        cells = [number_text(medians[name][measure_name]) for name in names]
        ratios = [ratio_text(own, medians[name][measure_name]) for name in others]
        rows.append([f"{measure_name}, {unit}{'' if less else ' (more is better)'}", *cells, *ratios])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def goals(medians):
    """A line for each goal that the peers at hand allow to judge."""
    own = medians["petri"]
    for measure_name, sentence, reached in GOALS:
        try:
            verdict = reached(own[measure_name], {name: medians[name][measure_name] for name in medians})
        except KeyError:
            continue
        yield f"- {'reached' if verdict else 'NOT reached'}: {measure_name} {sentence}"
    cost = own["pass with 1 GB of numpy"] - own["pass, back to back"]
    verdict = "reached" if cost <= 2 else "NOT reached"
    yield f"- {verdict}: 1 GB of numpy costs at most 2 ms a cell ({cost:.2f} ms)"


def machine():
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
        "linux": platform.release(),
        "processors": os.cpu_count(),
        "python": platform.python_version(),
        "user": "root" if os.geteuid() == 0 else "ordinary",
    }


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="how often each kernel is started (5)")
    parser.add_argument("--count", type=int, default=100, help="cells for each median (100)")
    output = {"type": pathlib.Path, "default": RESULTS / "latest"}
    parser.add_argument("--output", **output, help="files to write, without suffix")
    return parser.parse_args()


def main():
    options = arguments()
    names = available()
    if names[:1] != ["petri"]:
        sys.exit("bench: no kernelspec petri; use make bench")
    values = run_rounds(names, options.rounds, options.count)
    medians = {name: {key: statistics.median(found) for key, found in values[name].items()} for name in names}
    costs = services.measure_all(options.rounds, options.count)
    where = machine()
    text = "\n".join(
        [
            f"Linux {where['linux']}, {where['processors']} processors, Python {where['python']}, "
            f"{where['user']} user, {where['date']}; medians of {options.rounds} rounds.",
            "",
            table(medians),
            "",
            *goals(medians),
            "",
            services.table(costs),
        ]
    )
    print(text)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.with_suffix(".md").write_text(text + "\n")
    result = {"machine": where, "rounds": options.rounds, "medians": medians, "values": values, "services": costs}
    options.output.with_suffix(".json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
