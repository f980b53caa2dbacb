"""Large objects that a cell changes in place: it finds its own writes, and the state before is there when it fails."""

import pytest

pytestmark = pytest.mark.xdist_group("in_place")

MIB = 1 << 20
SIZE = 160 * MIB
PAGE = 4096
TRIES = 5
STATE = f"""
import random, resource, threading, time
def faults(): return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
data = bytearray(b'before__') * ({SIZE} // 8)
"""
THROUGH = f"""
for at in range(0, {SIZE}, {PAGE}):
    data[at] = at // {PAGE} % 251
"""
# With pauses in which petri looks: where it gets no turn in them, another time.
SLOWLY = THROUGH + f"    if at % {6 * MIB} == 0: time.sleep(0.04)\n"
EXPECTED = f"b''.join(bytes([n % 251]) + (b'before__' * {PAGE // 8})[1:] for n in range({SIZE // PAGE}))"


@pytest.fixture
def large(venv_kernel):
    venv_kernel.good(STATE)
    return venv_kernel


def test_memory_that_a_cell_writes_through_is_copied_in_large_pieces(large):
    most = SIZE // PAGE // 10 * 9  # where each is copied by itself there are as many faults as pages
    for _ in range(TRIES):
        taken = int(large.value(f"(lambda before: (exec({SLOWLY!r}), faults() - before)[1])(faults())"))
        assert taken > 0
        assert large.value(f"data == {EXPECTED}") == "True"
        if taken < most:
            break
        large.good(STATE)
    assert taken < most


def test_state_before_is_there_after_a_cell_that_wrote_through_it(large):
    assert large.run(THROUGH + "import os; os._exit(1)").ename == "CellCrashed"
    assert large.value(f"data == b'before__' * {SIZE // 8}") == "True"
    assert large.run("%%limits timeout=1s\n" + THROUGH + "time.sleep(60)").ename == "CellTimeout"
    assert large.value(f"data == b'before__' * {SIZE // 8}") == "True"


def test_what_several_threads_write_at_once_is_all_there(large):
    large.good(f"""
def write(first, value):
    for at in range(first, {SIZE}, {4 * PAGE}):
        data[at + 8] = value
        if at % {2 * MIB} == first: time.sleep(0.001)
threads = [threading.Thread(target=write, args=(i * {PAGE}, i + 1)) for i in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
""")
    assert large.value(f"set(data[8::{4 * PAGE}]), set(data[{3 * PAGE + 8}::{4 * PAGE}])") == "({1}, {4})"
    assert large.value(f"data.count(b'before__') == {SIZE // 8 - SIZE // PAGE}") == "True"


def test_child_process_has_what_was_there_when_it_was_forked(large):
    large.good(f"""
import os
out, into = os.pipe()
if os.fork() == 0:
    time.sleep(0.3)
    os.write(into, b'same' if data == b'before__' * {SIZE // 8} else b'changed')
    os._exit(0)
{THROUGH}
said = os.read(out, 100)
os.wait()
""")
    assert large.value("said") == "b'same'"
    assert large.value(f"data == {EXPECTED}") == "True"
