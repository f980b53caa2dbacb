"""Measures many kernels at once, petri's and then ipykernel's: how long they take to be there, and their cells.

The peak of memory has a start of its own, because looking at the memory of all takes their time.
"""

import contextlib
import pathlib
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from peers import Peer, address_spaces, family, pss_bytes
from report import percentile

KINDS = ("petri", "python3")

STARTED = 15
WORKING = 30
CELLS = 20  # of each kernel at work, one a second
FIRST = "import pandas"
SAMPLE_S = 0.2

READY = f"{STARTED} kernels at once, until each has imported pandas"
PEAK = f"{STARTED} kernels at once, most memory of all (PSS)"
CELL = f"{WORKING} kernels, a cell a second each"
CELL_P99 = f"{WORKING} kernels, a cell a second each: 99 % take at most"

# name: unit, and whether less is better
MEASURES = {READY: ("s", True), PEAK: ("MiB", True), CELL: ("ms", True), CELL_P99: ("ms", True)}


class Crowd:
    """Kernels beside each other, each with a folder and a thread of its own; closed with the block."""

    def __init__(self, kind, size):
        self.kind = kind
        self.stack = contextlib.ExitStack()
        self.folder = pathlib.Path(self.stack.enter_context(tempfile.TemporaryDirectory()))
        self.pool = self.stack.enter_context(ThreadPoolExecutor(size))
        self.barrier = threading.Barrier(size)
        self.numbers = range(size)
        self.peers = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.pool.shutdown()  # one that failed leaves the others at work, and one that is closed never answers
        for peer in self.peers:
            peer.close()
        self.stack.close()

    def each(self, action):
        """What action returns for each number, done for all at once."""
        return list(self.pool.map(action, self.numbers))

    def start(self, code, options=(), connect_at_once=False):
        """All start and run a first cell; returns for each when it was spawned and when its reply was there."""

        def start_one(number):
            notebooks = self.folder / str(number)
            notebooks.mkdir()
            self.barrier.wait()
            peer = Peer(self.kind, str(notebooks), options, connect_at_once)
            self.peers.append(peer)
            peer.reply(code)
            replied = time.perf_counter()
            peer.wait_for_iopub()
            return peer.spawned, replied

        return self.each(start_one)

    def work(self):
        """Each runs a cell a second, one after the other; returns the milliseconds of all cells."""
        begin = time.perf_counter()

        def work_one(number):
            times = []
            for cell in range(CELLS):
                due = begin + cell + number / len(self.numbers)
                time.sleep(max(0, due - time.perf_counter()))
                times.append(1000 * self.peers[number].run("pass")[0])
            return times

        return [found for times in self.each(work_one) for found in times]

    def memory_bytes(self):
        """Proportional memory of all kernels, without processes that end meanwhile."""
        sizes = {}
        for pid in family(*(peer.pid for peer in self.peers)):
            with contextlib.suppress(FileNotFoundError):
                sizes[pid] = pss_bytes(pid)
        return sum(sizes[pid] for pid in address_spaces(sizes))


@contextlib.contextmanager
def sampled(action):
    """Calls action again and again beside the block; yields the list of what it returns, with one call after it."""
    samples = []
    over = threading.Event()

    def sample():
        while not over.wait(SAMPLE_S):
            samples.append(action())
        samples.append(action())

    with ThreadPoolExecutor(1) as pool:
        sampling = pool.submit(sample)
        try:
            yield samples
        finally:
            over.set()
        sampling.result()


def ready_s(kind):
    with Crowd(kind, STARTED) as crowd:
        spawned, replied = zip(*crowd.start(FIRST, connect_at_once=True), strict=True)
        return max(replied) - min(spawned)


def peak_mib(kind):
    with Crowd(kind, STARTED) as crowd:
        with sampled(crowd.memory_bytes) as samples:
            crowd.start(FIRST, connect_at_once=True)
        return max(samples) / 2**20


def measure(kind):
    """All measures of one kind of kernel: by name, each single value."""
    found = {READY: [ready_s(kind)], PEAK: [peak_mib(kind)]}
    with Crowd(kind, WORKING) as crowd:
        crowd.start(FIRST, connect_at_once=True)
        found[CELL] = crowd.work()
    found[CELL_P99] = [percentile(found[CELL], 99)]
    return found
