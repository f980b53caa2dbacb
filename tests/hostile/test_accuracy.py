"""How exactly limits hold, and what a rollback costs: figures in the output, and bounds that only a defect passes."""

import statistics

import pytest

pytestmark = pytest.mark.alone

LIMIT_MB = 300
STATE_MB = 200
REPEAT = 5
FAR_OFF_MS = 5000  # not a goal: what even a busy machine stays below

# Written page by page, so that nothing is taken that isn't used.
HOLD = "import mmap\nblock = mmap.mmap(-1, {mb} << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\n"
HOLD += "for at in range(0, len(block), 4096): block[at] = 1\n"
CHANGE = "for at in range(0, len(state), 4096): state[at] = 2\n"
STATE = f"import mmap\nstate = mmap.mmap(-1, {STATE_MB} << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\n"
STATE += "for at in range(0, len(state), 4096): state[at] = 1\n"

LIMITS = {"timeout": "60s", "memory": f"{LIMIT_MB}M"}


@pytest.fixture
def session(place):
    place.drop()
    yield place.get()
    place.drop()


@pytest.mark.parametrize("with_state", [False, True], ids=["no state", "state changed in place"])
@pytest.mark.parametrize("share", [0.9, 1.1])
def test_memory_limit_is_exact(place, session, note, share, with_state):
    """What is changed in place is copied, and the copies are the cell's own: they count as what it allocates does."""
    wanted = int(LIMIT_MB * share)
    if with_state:
        session.do(STATE)
    own = wanted - (STATE_MB if with_state else 0)
    run = session.attempt((CHANGE if with_state else "") + HOLD.format(mb=own), LIMITS)
    peak = run.report["metrics"]["max_memory_bytes"] / (1 << 20)
    kind = "changed in place" if with_state else "no state"
    note(f"memory, {place.way.name}, {share} of {LIMIT_MB} MB, {kind}: {run.outcome}, peak {peak:.0f} MB, {run.took_s:.2f} s")
    assert run.outcome == ("ok" if share < 1 else "memory"), str(run)
    session.look()


def test_processes_are_counted_and_threads_too(place, session):
    """Those of the cell: the sandbox's first process is petri's."""
    code = "import os, threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n"
    run = session.do(code + "print(len(os.listdir('/proc/self/task')))")
    assert run.report["metrics"]["processes_max"] == int(run.cell.stdout), str(run)


TIMED_OUT = {
    "python": "while True: pass",
    "native": "sum(range(10 ** 12))",
    "sleep": "import time; time.sleep(1000)",
    "signals blocked": "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65)); sum(range(10 ** 12))",
}


@pytest.mark.parametrize("code", TIMED_OUT.values(), ids=TIMED_OUT)
def test_endless_cell_is_ended_soon_after_its_time_limit(place, session, note, code):
    over_ms = []
    for _ in range(REPEAT):
        run = session.attempt(code, {"timeout": "300ms"})
        assert run.outcome == "timeout", str(run)
        over_ms.append(run.took_s * 1000 - 300)
    median = statistics.median(over_ms)
    note(f"time-out, {place.way.name}, {code!r}: reply {median:.0f} ms after the limit (median of {REPEAT}; most {max(over_ms):.0f})")
    assert 0 <= min(over_ms) and median < FAR_OFF_MS


def took_ms(session, code, outcome, after):
    """Medians of a cell's own time and of that of the small cell that follows it."""
    own, following = [], []
    for _ in range(REPEAT * 2):
        run = session.attempt(code, {"timeout": "20s"})
        assert run.outcome == outcome, str(run)
        own.append(run.took_s * 1000)
        following.append(session.do(after).took_s * 1000)
    return statistics.median(own), statistics.median(following)


@pytest.mark.thorough
@pytest.mark.parametrize("image_mb", [0, 500])
def test_rollback_is_answered_within_the_bound(place, session, note, image_mb):
    if image_mb:
        session.do(f"image = bytearray(b'x') * ({image_mb} << 20)")
    commit = took_ms(session, "pass", "ok", "pass")
    rollback = took_ms(session, "import os; os._exit(1)", "crash", "pass")
    note(
        f"cost, {place.way.name}, image of {image_mb} MB: a commit {commit[0]:.1f} ms and the next cell {commit[1]:.1f} ms; "
        f"a rollback {rollback[0]:.1f} ms and the next cell {rollback[1]:.1f} ms"
    )
    assert rollback[0] < FAR_OFF_MS
