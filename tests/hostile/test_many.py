"""A thousand bad cells in one session leave nothing: no descriptor, process, mount, cgroup or memory."""

import os
import time

import pytest

from kernels import STUCK_S
from processes import at_rest, beyond, family, private_bytes
from ways import WAYS

CELLS = 100
# In the first way that is possible; a quarter in the others, so that the whole takes some minutes.
AT_LENGTH = int(os.environ.get("PETRI_HOSTILE_CELLS", 1000))
FIRST = next((way for way in WAYS if not way.lacks), None)
RECORDED = 1000  # until SQLite has as much of the records in memory as it ever keeps, 2 MB: a run is more than 2 kB
WARM_UP = 100
SHORT_WARM_UP = 20
GROWTH_BYTES = 2 << 20

# In turn; the last two are rare, as each takes its time.
CELLS_OF = [
    ("import os; os._exit(0)", "crash"),
    ("import os; os.kill(os.getpid(), 9)", "crash"),
    ("import ctypes; ctypes.string_at(0)", "crash"),
    ("1 / 0", "error"),
    ("import os\nif os.fork() == 0:\n    while True: pass", "ok"),
    ("bytearray(1 << 44)", "error"),
    ("kept = bytearray(b'x') * 3_000_000; open('/tmp/left', 'wb').write(kept); import os; os._exit(1)", "crash"),
    ("import os\nos.close(3)", "crash"),
    ("import subprocess; subprocess.Popen(['sleep', '1000'])", "ok"),
    ("import os; open('/tmp/left', 'w').write('x' * 100000); os.mkdir('d'); os.rmdir('d')", "ok"),
]
RARE = [
    ("while True: pass", "timeout", {"timeout": "50ms"}),
    ("x = bytearray(b'x') * (400 << 20)", "memory error", {"timeout": "20s", "memory": "200M"}),
]
RARE_EVERY = 50


def cell_for(n):
    if n % RARE_EVERY == RARE_EVERY - 1:
        return RARE[n // RARE_EVERY % len(RARE)]
    return (*CELLS_OF[n % len(CELLS_OF)], {"timeout": "20s"})


def send(session, n):
    code, outcomes, limits = cell_for(n)
    run = session.attempt(code, limits)
    assert run.outcome in outcomes.split(), f"cell {n}: {run}"


def members(session):
    """The process that Jupyter knows and the kernel below it."""
    return family(session.pid)[:2]


def memory(session):
    return sum(map(private_bytes, members(session)))


def check_nothing_is_left(place, note, warm_up, cells):
    """Sends bad cells after as many others; returns by how many bytes the kernel's memory has grown."""
    session = place.session
    for n in range(warm_up):
        send(session, n)
    session.do("n = 1")
    before, memory_before = at_rest(session, STUCK_S), memory(session)
    started = time.monotonic()
    for n in range(cells):
        send(session, n)
    took = time.monotonic() - started
    session.do("n += 1")
    left = beyond(session, before, STUCK_S)
    grown = memory(session) - memory_before
    note(f"many, {place.way.name}: {cells} cells in {took:.0f} s; at rest {before}; memory grew by {grown} bytes")
    assert left == {}
    assert session.do("print(n)").cell.stdout == "2\n"
    session.look()
    place.canaries.check()
    return grown


@pytest.fixture
def fresh_place(place):
    """A place whose session no other test has seen or will see."""
    place.drop()
    place.get()
    yield place
    place.drop()


def test_a_hundred_bad_cells_leave_no_process_descriptor_mount_or_cgroup(fresh_place, note):
    check_nothing_is_left(fresh_place, note, SHORT_WARM_UP, CELLS)


@pytest.mark.thorough
def test_a_thousand_bad_cells_leave_nothing_and_memory_does_not_grow(fresh_place, note):
    for _ in range(RECORDED):
        fresh_place.session.do("n = 0")
    cells = AT_LENGTH if fresh_place.way == FIRST else AT_LENGTH // 4
    grown = check_nothing_is_left(fresh_place, note, WARM_UP, cells)
    assert grown < GROWTH_BYTES, f"{grown} bytes in {cells} cells"
