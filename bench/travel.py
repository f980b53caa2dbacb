"""Measures time travel: what going back takes in a session with pandas and 1 GB of numpy, and what kept states cost.

Beside petri stand what people do with ipykernel, which is to restart it and run all cells again, or to dump the session
with dill and load it; and Kishu, where pip has it. Each round starts each of them afresh, in turns.
"""

import argparse
import contextlib
import functools
import json
import pathlib
import statistics
import sys
import tempfile
import time

from jupyter_client.kernelspec import KernelSpecManager
from peers import Peer
from report import MANY, RESULTS, machine, machine_text, markdown, number_text, percentile, write

STATES = 50  # that are kept, as the notebook's profile has it
SETTLE_S = 1  # what a kernel does after its last cell is not idling
FEW = 5  # of what takes about a second, in a round
FEWER = 2  # of what takes many
STATE_BYTES = 1_000_000

# A session, a cell that changes it, and the next one, which fails unless that is undone.
SESSION = (
    "import numpy, pandas",
    "state = numpy.ones(1_000_000_000 // 8)",
    "frame = pandas.DataFrame(numpy.random.default_rng(0).random((10_000, 4)), columns=list('abcd'))",
    "means = frame.groupby(frame['a'] > 0.5).mean()",
)
STEP = "frame['b'] = 0.0"
NEXT = "assert frame['b'].sum() > 0"
STEP_LARGE = "state += 1"
NEXT_LARGE = "assert state[0] == state[-1] == 1"
TOUCH = "state[0] = 1"

UNDO = "petri: %undo"
UNDO_LARGE = "petri: %undo of a cell that has changed all of the gigabyte"
RESTORE = "petri: %restore of a checkpoint"
FROM = 'petri: a run with "from"'
BRANCH = "petri: a branch, which runs beside the session"
BRANCHES = "petri: two branches at once"
RESTART = "ipykernel: restart, and all cells again"
LOAD = "ipykernel: dill.load_session"
CHECKOUT = "Kishu: checkout"
DUMP = "ipykernel: dill.dump_session"
TOUCHED = {
    "petri": "petri: a cell that changes 8 bytes of the gigabyte",
    "python3": "ipykernel: the same",
    "kishu": "Kishu: the same",
}
PASS_KEPT = f"petri: pass with {STATES} kept states"
PASS_NONE = "petri: pass with none but the present one"
KEPT = "petri: memory of a kept state, each cell changes 1 MB (PSS)"

# name: unit. Going back counts from the request to the reply of the next cell.
BACK = {name: "ms" for name in (UNDO, UNDO_LARGE, RESTORE, FROM, BRANCH, BRANCHES, RESTART, LOAD, CHECKOUT)}
COSTS = {name: "ms" for name in (DUMP, *TOUCHED.values(), PASS_KEPT, PASS_NONE)} | {KEPT: "MiB"}
MEASURES = BACK | COSTS


@contextlib.contextmanager
def started(name, folder, config=None):
    """A kernel to whose output the client is subscribed, petri's with a configuration."""
    arguments = []
    if config is not None:
        path = pathlib.Path(tempfile.mkdtemp(dir=folder)) / "config.json"
        path.write_text(json.dumps(config))
        arguments = ["--config", str(path)]
    with contextlib.closing(Peer(name, str(folder), arguments)) as peer:
        peer.wait_for_iopub()
        yield peer


def make_session(peer):
    for code in SESSION:
        peer.run(code)
    time.sleep(SETTLE_S)


def next_ms(peer, *requests):
    """From the first request, which are (code, metadata.petri), to the reply of the last."""
    start = time.perf_counter()
    sent = [peer.send(code, petri) for code, petri in requests]
    for request in sent:
        peer.shell_reply(request)
    return 1000 * (time.perf_counter() - start)


def back_ms(peer, count, *requests, step=STEP):
    """The times of going back from a step."""
    times = []
    for _ in range(count):
        peer.run(step)
        times.append(next_ms(peer, *requests))
    return times


def touched_ms(peer, count):
    return [1000 * peer.run(TOUCH)[0] for _ in range(count)]


def measure_petri(folder, count):
    found = {}
    with started("petri", folder) as peer:
        make_session(peer)
        peer.run("%checkpoint base")
        undo, back, following = ("%undo", None), ("%restore base", None), (NEXT, None)
        found[UNDO] = back_ms(peer, count, undo, following)
        found[RESTORE] = back_ms(peer, count, back, following)
        found[FROM] = back_ms(peer, count, (NEXT, {"from": "base"}))
        branch = (NEXT, {"from": "base", "commit": False})
        found[BRANCH] = back_ms(peer, count, branch)
        found[BRANCHES] = back_ms(peer, count, branch, branch)
        peer.run("%restore base")
        found[UNDO_LARGE] = back_ms(peer, FEW, undo, (NEXT_LARGE, None), step=STEP_LARGE)
        peer.run("%restore base")
        found[TOUCHED["petri"]] = touched_ms(peer, count)
    return found


def measure_ipykernel(folder, count):
    found = {RESTART: []}
    with started("python3", folder) as peer:
        make_session(peer)
        found[TOUCHED["python3"]] = touched_ms(peer, count)
        for _ in range(FEW):
            peer.run(STEP)
            start = time.perf_counter()
            peer.restart()
            next_ms(peer, *((code, None) for code in (*SESSION, NEXT)))
            found[RESTART].append(1000 * (time.perf_counter() - start))
    return found


def measure_dill(folder, _):
    with started("python3", folder) as peer:
        make_session(peer)
        peer.run("import dill")
        dump = [1000 * peer.run("dill.dump_session('session.pkl')")[0] for _ in range(FEW)]
        return {DUMP: dump, LOAD: back_ms(peer, FEW, ("dill.load_session('session.pkl')", None), (NEXT, None))}


# What waits for a front end, of which there is none here, is left out: KISHU_TEST_MODE.
BEGIN_KISHU = """
import json, os, pathlib
os.environ['KISHU_TEST_MODE'] = 'true'
path = pathlib.Path('session.ipynb')
path.write_text(json.dumps({'cells': [], 'metadata': {}, 'nbformat': 4, 'nbformat_minor': 5}))
from kishu import init_kishu
from kishu.commands import KishuCommand
init_kishu(str(path))
"""
NAME_KISHU = "os.environ['BASE'] = KishuCommand.log_all(path).commit_graph[-1].commit_id"  # no variable: it lasts


def measure_kishu(folder, _):
    with started("kishu", folder) as peer:
        peer.run(BEGIN_KISHU)
        make_session(peer)
        peer.run(NAME_KISHU)
        checkout = ("_kishu.checkout(os.environ['BASE'], skip_notebook=True)", None)
        return {CHECKOUT: back_ms(peer, FEWER, checkout, (NEXT, None)), TOUCHED["kishu"]: touched_ms(peer, FEW)}


def footprint(peer):
    time.sleep(SETTLE_S)
    return peer.footprint()[0] / 2**20


def measure_kept(folder, count):
    """Two kernels that differ in the limit of kept states, in turns."""
    change = f"x = numpy.full({STATE_BYTES} // 8, {{}}.0)"
    with contextlib.ExitStack() as stack:
        few, many = (
            stack.enter_context(started("petri", folder, {"profiles": {"notebook": {"history": n}}}))
            for n in (1, STATES + 1)
        )
        for peer in (few, many):
            peer.run("import numpy")
            peer.run(change.format(0))
        before = footprint(many)
        for n in range(STATES):
            for peer in (few, many):
                peer.run(change.format(n + 1))
        found = {KEPT: [(footprint(many) - before) / STATES], PASS_KEPT: [], PASS_NONE: []}
        for _ in range(count):
            found[PASS_NONE].append(1000 * few.run("pass")[0])
            found[PASS_KEPT].append(1000 * many.run("pass")[0])
    return found


SECTIONS = {
    "petri": measure_petri,
    "ipykernel": measure_ipykernel,
    "dill": measure_dill,
    "Kishu": measure_kishu,
    "kept states": measure_kept,
}


@functools.cache
def has_kishu():
    return "kishu" in KernelSpecManager().find_kernel_specs()


def measure_all(rounds, count):
    """By measure each single value. The order of what is measured turns from round to round."""
    values = {name: [] for name in MEASURES}
    sections = [what for what in SECTIONS if what != "Kishu" or has_kishu()]
    for number in range(rounds):
        turn = number % len(sections)
        for what in [*sections[turn:], *sections[:turn]]:
            print(f"time travel, round {number + 1} of {rounds}: {what}", file=sys.stderr, flush=True)
            with tempfile.TemporaryDirectory() as folder:
                for name, found in SECTIONS[what](folder, count).items():
                    values[name] += found
    return {name: found for name, found in values.items() if found}


def table(values):
    """Medians and 95th percentiles as a Markdown table."""
    titles = {
        "back in a session with pandas and 1 GB of numpy, until the next cell's reply": BACK,
        "what it costs before": COSTS,
    }
    parts = []
    for title, measures in titles.items():
        rows = []
        for name, unit in measures.items():
            found = values.get(name, [])
            figures = [statistics.median(found)] if found else []
            figures += [percentile(found, 95)] if len(found) >= MANY else []
            rows.append([f"{name}, {unit}", " / ".join(map(number_text, figures)) or "not measured"])
        parts.append(markdown([title, "median / 95th percentile"], rows))
    return "\n\n".join(parts)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="how often each of them is started (3)")
    parser.add_argument("--count", type=int, default=50, help="how often petri goes back each way in a round (50)")
    output = {"type": pathlib.Path, "default": RESULTS / "travel"}
    parser.add_argument("--output", **output, help="files to write, without suffix")
    return parser.parse_args()


def main():
    options = arguments()
    values = measure_all(options.rounds, options.count)
    where = machine()
    head = f"{machine_text(where)}; rounds: {options.rounds}, times a round: {options.count}; what takes seconds, {FEW} or {FEWER}."
    result = {"machine": where, "rounds": options.rounds, "count": options.count}
    result |= {"medians": {name: statistics.median(found) for name, found in values.items()}, "values": values}
    write(options.output, f"{head}\n\n{table(values)}", result)


if __name__ == "__main__":
    main()
