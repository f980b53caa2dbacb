"""
Which tests belong to which door: `make check`, `make test`, `make test-all`.

--door check      end-to-end tests marked `check`
--door test       every test that isn't marked `thorough`, with one interpreter each, and
                  one value of parameters that it has `in_turn`: a test's name decides
                  which, so that all have their share
--door rest       what --door test leaves out
--door all        both; the default, for work on one test
--alone yes|no    only the tests marked `alone`, or only the others

It also says which tests have to stay in one process where several run them, and
which of them begin first, and gives each process ports of its own.

Tests know nothing of this but the marks of pytest.ini, and next_port().
"""

import collections
import importlib.util
import itertools
import pathlib
import socket
import threading
import zlib

import pytest

DOORS = ("check", "test", "rest", "all")

# Parameters whose values are interpreters: a test that has one runs with each of them.
INTERPRETERS = {"kernel", "row_kernel", "label"}

# What the tests of a file have in common: a kernel, or what a page, the tour or the agent has shown in seconds. These
# tests stay in one process and in their order, so that it is there once.
SHARED = {"shared_kernel", "row_kernel", "shared", "blocks", "shown", "tour", "ran"}


def pytest_addoption(parser):
    group = parser.getgroup("petri")
    group.addoption("--door", choices=DOORS, default="all", help="the tests of one target of the Makefile")
    group.addoption("--alone", choices=("yes", "no"), help="only what needs the machine for itself, or the rest")


def digest(text):
    """The same number in every process, unlike hash()."""
    return zlib.crc32(text.encode())


def labels_of(item, names):
    """Of the values of these parameters, as they are in the test's id: one, or none."""
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    return [getattr(value, "label", value) for name, value in parameters.items() if name in names]


def pytest_itemcollected(item):
    if SHARED & set(item.fixturenames):
        item.add_marker(pytest.mark.xdist_group("-".join([pathlib.Path(item.path).stem, *labels_of(item, INTERPRETERS)])))


def whatever_turn(item):
    """The test's id without its interpreter and what it has in turn."""
    labels = labels_of(item, INTERPRETERS.union(*(mark.args for mark in item.iter_markers("in_turn"))))
    if not labels:
        return item.nodeid
    parts = item.callspec.id.split("-")
    for label in labels:
        parts.remove(label)
    return f"{item.nodeid.split('[')[0]}[{'-'.join(parts)}]"


def in_turn(items):
    """One item of each test: with this interpreter or another one, and so on, as the test's name has it."""
    tests = {}
    for item in items:
        tests.setdefault(whatever_turn(item), []).append(item)
    return {same[digest(name) % len(same)] for name, same in tests.items()}


def of_door(door, items):
    if door == "all":
        return items
    if door == "check":
        return in_turn(item for item in items if item.get_closest_marker("check"))
    chosen = in_turn(item for item in items if not item.get_closest_marker("thorough"))
    return [item for item in items if (item in chosen) == (door == "test")]


def is_wanted(config, item):
    alone = config.option.alone
    return alone is None or (item.get_closest_marker("alone") is not None) == (alone == "yes")


def groups_of(item):
    """What names the tests that stay in one process with this one, or the test itself."""
    return tuple(sorted({mark.args[0] for mark in item.iter_markers("xdist_group")})) or (item.nodeid,)


def longest_first(items):
    """
    In the order in which several processes should begin them, so that none works on while the others have no more to do:
    the long ones, then what stays together, most tests first, as xdist alone would have it.
    """
    sizes = collections.Counter(map(groups_of, items))
    long = {groups_of(item) for item in items if item.get_closest_marker("long")}
    return sorted(items, key=lambda item: (groups_of(item) not in long, -sizes[groups_of(item)]))


# Its first half comes before groups become a part of the tests' ids, the other one after pytest's own order.
@pytest.hookimpl(hookwrapper=True)
def pytest_collection_modifyitems(config, items):
    chosen = {item for item in of_door(config.option.door, items) if is_wanted(config, item)}
    left = [item for item in items if item not in chosen]
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item in chosen]
    yield
    if hasattr(config, "workerinput"):  # where one process runs them all, none waits for another
        items[:] = longest_first(items)


FIRST_PORT = 1024  # below it ports are root's
PORTS = 1000  # of a process: many more than it has kernels at a time


def claim_ports():
    """
    Ports below those that Linux gives to whoever asks for any, which no other process of a run of these tests takes,
    in whatever checkout and of whatever user; and the socket that holds them, or none of either where all are taken.

    What jupyter_client chooses for a kernel somebody else could be given before the kernel has it, where many tests
    run at once (jupyter_client#487).
    """
    low = int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    for first in range(FIRST_PORT, low - PORTS, PORTS):
        # An abstract name is there once in a network namespace, as a port is, and gone with its process.
        claim = socket.socket(socket.AF_UNIX)
        try:
            claim.bind(f"\0petri-tests-ports-{first}")
        except OSError:
            claim.close()
            continue
        return range(first, first + PORTS), claim
    return range(0), None


def free_ports(ports):
    """Those of them that nobody has, round and round."""
    for port in itertools.cycle(ports):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            free = probe.getsockname()[1]  # another one than 0, which asks for any
        yield free


@pytest.fixture(scope="session", autouse=True)
def next_port():
    """
    Gives a port that no other process of these tests takes, where any could be claimed. jupyter_client, where it is
    there (tests/worker does without), chooses its ports in this way too.
    """
    own, claim = claim_ports()
    ports, lock = free_ports(own or [0]), threading.Lock()

    def give():
        with lock:  # a test may start kernels in several threads
            return next(ports)

    with pytest.MonkeyPatch.context() as patch:
        if importlib.util.find_spec("jupyter_client") and own:
            patch.setattr("jupyter_client.connect.LocalPortCache.find_available_port", lambda cache, ip: give())
        yield give
    if claim:
        claim.close()
