"""What is measured of a kernel by itself.

Each function of SECTIONS starts kernels of one kind afresh in an empty folder, gives them cells, and returns what it
found: by measure, each single value.
"""

import contextlib
import functools
import pathlib
import tempfile
import time

from peers import Peer

STARTS = 3  # of each kind of client in a round
SETTLE_S = 1  # what a kernel does after its last cell is not idling
READING_S = 3  # who opens a notebook reads before typing
LOOKING_S = 3  # at a result
TYPING_S = 0.15  # from one key to the next
PAUSE_S = 0.02
BUSY_S = 2
KEYS = 20
IN_PLACE_COUNT = 5  # the first ones take memory that the machine did not have
PRINTS_COUNT = 100_000
BIG_BYTES = 50_000_000
FOLDERS = (50, 99)  # in the notebook's folder, and in each of them: 5,000 together
FILES_COUNT = 10_000

# By kernelspec: what lets a cell print BIG_BYTES where a kernel limits output. The others have no limit.
MORE_OUTPUT = {"petri": "%%limits output=100M\n"}

LIBRARIES = "import numpy\nimport pandas\nimport matplotlib.pyplot as plt"
FRAME = "frame = pandas.DataFrame(numpy.random.default_rng(0).random((10_000, 4)), columns=list('abcd'))"
DICTS = "state = [{{'n': n}} for n in range({})]"

START = "spawn to kernel_info_reply, a client that connects at once"
START_WAITED = "spawn to kernel_info_reply"  # by a client that waits for the port
FIRST = "spawn to first execute_reply"
PASS = "pass, back to back"
PASS_PAUSED = "pass, after pauses of 20 ms"
PASS_LIBRARIES = "pass with pandas and pyplot loaded"
PASS_GIGABYTE = "pass with 1 GB of numpy"
PASS_DICTS = "pass with a million small dicts"
PASS_MANY_DICTS = "pass with ten million small dicts"
PASS_FOLDERS = "pass with 5,000 folders below the notebook's"
PASS_FILES = "pass with 10,000 files beside the notebook"
DESCRIBE = "a data frame's describe(), shown"
IN_PLACE = "x += 1 on 1 GB of numpy"
KERNEL_INFO = "kernel_info"
COMPLETE = "complete, idle"
COMPLETE_AT_ONCE = "complete, one right after the other"
INSPECT = "inspect, idle"
COMPLETE_BUSY = f"complete, while a cell runs for {BUSY_S} s"
PRINTS = "100,000 prints"
PRINTS_ARRIVED = "100,000 prints, arrived"
PRINT = "one print of 50 MB"
PRINT_ARRIVED = "one print of 50 MB, arrived"
MEMORY = "memory when idle (PSS)"
MEMORY_LIBRARIES = "memory when idle, with pandas and pyplot (PSS)"
PROCESSES = "processes when idle"
PROCESSES_LIBRARIES = "processes when idle, with pandas and pyplot"

# What is completed with libraries loaded, by measure.
COMPLETED_IN_LIBRARIES = {
    "complete, idle: a bare name": "fram",
    "complete, idle: an attribute of a data frame": "frame.des",
    "complete, idle: an attribute of plt": "plt.pl",
}
INSPECTED = "frame.describe"
COMPLETED = "busy.monoto"  # an attribute of a small module

# What a session holds while the cost of a cell is measured, in this order; each takes the place of the last.
STATES = {
    "pass with 100 MB of numpy": "import numpy\nstate = numpy.ones(100_000_000 // 8)",
    PASS_GIGABYTE: "state = numpy.ones(1_000_000_000 // 8)",
    "pass with a database of 10 MB open": "import sqlite3\nstate = sqlite3.connect('bench.db')\n"
    "state.executescript('create table t (v)')\n"
    "state.executemany('insert into t values (?)', [('x' * 1000,)] * 10_000)\nstate.commit()",
    "pass with a memmap of 1 GB": "state = numpy.memmap('bench.dat', 'u1', 'w+', shape=(1_000_000_000,))\n"
    "state[::10_000_000] = 1",
    "pass with 10,000 files of cells": "import pathlib\n"
    "state = [pathlib.Path(f'made-{n}').write_text('x') for n in range(10_000)]",
}

# name: unit, and whether less is better
MEASURES = {
    START: ("ms", True),
    START_WAITED: ("ms", True),
    FIRST: ("ms", True),
    PASS: ("ms", True),
    PASS_PAUSED: ("ms", True),
    PASS_LIBRARIES: ("ms", True),
    PASS_DICTS: ("ms", True),
    PASS_MANY_DICTS: ("ms", True),
    PASS_FOLDERS: ("ms", True),
    PASS_FILES: ("ms", True),
    **{measure: ("ms", True) for measure in STATES},
    DESCRIBE: ("ms", True),
    IN_PLACE: ("ms", True),
    KERNEL_INFO: ("ms", True),
    COMPLETE: ("ms", True),
    COMPLETE_AT_ONCE: ("ms", True),
    **{measure: ("ms", True) for measure in COMPLETED_IN_LIBRARIES},
    INSPECT: ("ms", True),
    COMPLETE_BUSY: ("ms", True),
    PRINTS: ("s", True),
    PRINTS_ARRIVED: ("%", False),
    PRINT: ("MB/s", False),
    PRINT_ARRIVED: ("%", False),
    MEMORY: ("MiB", True),
    PROCESSES: ("", True),
    MEMORY_LIBRARIES: ("MiB", True),
    PROCESSES_LIBRARIES: ("", True),
}


@contextlib.contextmanager
def started(name, folder):
    """A kernel that has run its first cell, and to whose output the client is subscribed."""
    with contextlib.closing(Peer(name, str(folder))) as peer:
        peer.wait_for_iopub()
        peer.run("pass")
        yield peer


def times_ms(action, count, pause_s=0.0):
    """The times of an action that returns nothing of interest."""
    times = []
    for _ in range(count):
        time.sleep(pause_s)
        start = time.perf_counter()
        action()
        times.append(1000 * (time.perf_counter() - start))
    return times


def cells_ms(peer, code, count, pause_s=0.0):
    """The times of a cell, each from its request to both its reply and its idle status."""
    times = []
    for _ in range(count):
        time.sleep(pause_s)
        times.append(1000 * peer.run(code)[0])
    return times


def typed_ms(action):
    """The times of an action that one key calls for, and the next."""
    action()  # the first one loads what it needs
    return times_ms(action, KEYS, TYPING_S)


def hold(peer, code):
    """Gives the kernel its state, and time for what it does with that: people look at what they have made."""
    peer.run(code)
    time.sleep(LOOKING_S)


def footprint(peer):
    """MiB and number of processes, once the kernel has come to rest."""
    time.sleep(SETTLE_S)
    memory, processes = peer.footprint()
    return memory / 2**20, processes


def start_ms(name, folder, at_once):
    """From the spawn to the reply to a request of information, and to the first cell's."""
    with contextlib.closing(Peer(name, str(folder), connect_at_once=at_once)) as peer:
        peer.kernel_info()
        ready = time.perf_counter()
        peer.reply("pass")
        return 1000 * (ready - peer.spawned), 1000 * (time.perf_counter() - peer.spawned)


def measure_starts(name, folder, _):
    found = {START: [], START_WAITED: [], FIRST: []}
    for _ in range(STARTS):
        found[START].append(start_ms(name, folder, at_once=True)[0])
        ready, first = start_ms(name, folder, at_once=False)
        found[START_WAITED].append(ready)
        found[FIRST].append(first)
    return found


def measure_bare(name, folder, count):
    found = {}
    with started(name, folder) as peer:
        memory, processes = footprint(peer)
        found[MEMORY], found[PROCESSES] = [memory], [processes]
        found[PASS] = cells_ms(peer, "pass", count)
        found[PASS_PAUSED] = cells_ms(peer, "pass", count // 2, PAUSE_S)
        found[KERNEL_INFO] = times_ms(peer.kernel_info, count)
        peer.wait_for_iopub()
        found |= completion(peer)
        found |= output(peer)
    return found


def completion(peer):
    found = {}
    peer.run("import time as busy")
    found[COMPLETE] = typed_ms(lambda: peer.complete(COMPLETED))
    found[COMPLETE_AT_ONCE] = times_ms(lambda: peer.complete(COMPLETED), KEYS)
    found[COMPLETE_BUSY] = busy_completions_ms(peer)
    return found


def busy_completions_ms(peer):
    """One completion, sent when the cell says that it runs."""
    request = peer.send(f"print('begun', flush=True)\nbusy.sleep({BUSY_S})")
    times = []
    for message in peer.messages_of(request):
        if message["msg_type"] == "stream" and not times:
            times = times_ms(lambda: peer.complete(COMPLETED), 1)
    peer.shell_reply(request)
    return times


def output(peer):
    found = {}
    expected = sum(len(str(n)) + 1 for n in range(PRINTS_COUNT))
    seconds, arrived = peer.run(f"for n in range({PRINTS_COUNT}): print(n)")
    found[PRINTS] = [seconds]
    found[PRINTS_ARRIVED] = [100 * arrived / expected]
    seconds, arrived = peer.run(f"{MORE_OUTPUT.get(peer.name, '')}print('x' * {BIG_BYTES})")
    found[PRINT] = [arrived / seconds / 1e6]
    found[PRINT_ARRIVED] = [100 * arrived / (BIG_BYTES + 1)]
    return found


def measure_states(name, folder, count):
    found = {}
    with started(name, folder) as peer:
        for measure, code in STATES.items():
            hold(peer, code)
            found[measure] = cells_ms(peer, "pass", count // 4)
            if measure == PASS_GIGABYTE:
                found[IN_PLACE] = in_place_ms(peer, max(IN_PLACE_COUNT, count // 10))
    return found


def in_place_ms(peer, count):
    """Cells that change the whole of an array of ones, which is looked at afterwards."""
    peer.run("x = state")
    times = cells_ms(peer, "x += 1", count)
    peer.run(f"assert x[0] == x[-1] == {1 + count}\ndel x")
    return times


def measure_libraries(name, folder, count):
    found = {}
    with started(name, folder) as peer:
        peer.run(LIBRARIES)
        memory, processes = footprint(peer)
        found[MEMORY_LIBRARIES], found[PROCESSES_LIBRARIES] = [memory], [processes]
        found[PASS_LIBRARIES] = cells_ms(peer, "pass", count)
        peer.run(FRAME)
        peer.show("frame.describe()")  # the first one imports what it needs
        found[DESCRIBE] = [1000 * peer.show("frame.describe()") for _ in range(count // 4)]
    return found


def measure_typing(name, folder, _):
    """What a person types who has opened a notebook and read in it first."""
    with contextlib.closing(Peer(name, str(folder))) as peer:
        peer.wait_for_iopub()
        time.sleep(READING_S)
        peer.run(LIBRARIES)
        peer.run(FRAME)
        found = {
            measure: typed_ms(functools.partial(peer.complete, code))
            for measure, code in COMPLETED_IN_LIBRARIES.items()
        }
        return found | {INSPECT: typed_ms(lambda: peer.inspect(INSPECTED))}


def measure_dicts(name, folder, count):
    with started(name, folder) as peer:
        hold(peer, DICTS.format(1_000_000))
        return {PASS_DICTS: cells_ms(peer, "pass", count // 4)}


def measure_many_dicts(name, folder, count):
    with started(name, folder) as peer:
        hold(peer, DICTS.format(10_000_000))
        return {PASS_MANY_DICTS: cells_ms(peer, "pass", count // 4)}


@functools.cache
def folder_of_folders():
    """Made once, as making and removing it takes seconds; cells write nothing there."""
    folder = tempfile.TemporaryDirectory()
    for outer in range(FOLDERS[0]):
        for inner in range(FOLDERS[1]):
            (pathlib.Path(folder.name) / str(outer) / str(inner)).mkdir(parents=True)
    return folder


@functools.cache
def folder_of_files():
    folder = tempfile.TemporaryDirectory()
    for number in range(FILES_COUNT):
        (pathlib.Path(folder.name) / str(number)).write_text("x")
    return folder


def measure_folders(name, _, count):
    with started(name, folder_of_folders().name) as peer:
        return {PASS_FOLDERS: cells_ms(peer, "pass", count)}


def measure_files(name, _, count):
    with started(name, folder_of_files().name) as peer:
        return {PASS_FILES: cells_ms(peer, "pass", count)}


SECTIONS = (
    measure_starts,
    measure_bare,
    measure_states,
    measure_libraries,
    measure_typing,
    measure_dicts,
    measure_folders,
    measure_files,
)
LARGE_SECTIONS = (measure_many_dicts,)  # some 10 GB of memory
