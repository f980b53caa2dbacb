"""Thirty sessions at once, each with cells that go over its limits: every session keeps its own state."""

from concurrent.futures import ThreadPoolExecutor

import pytest

STUDENTS = 6
CLASS = 30

AT_ONCE = 4  # that start: an interpreter has a minute to get warm

MEMORY_BOMB = "%%limits memory=64M\nhoard = bytearray(b'x') * (128 << 20)"
FORK_BOMB = (
    "%%limits timeout=1s cpu=1m processes=40\nimport os\nwhile True:\n    try: os.fork()\n    except OSError: pass"
)


def lesson(kernel):
    """What one student sends, and how each cell ended."""
    assert kernel.run("import numpy; data = numpy.arange(10); notes = ['mine']").ok
    return [
        kernel.run(MEMORY_BOMB).ename,
        kernel.run(FORK_BOMB).ename,
        kernel.value("notes.append('still mine'); int(data.sum()), notes"),
    ]


@pytest.mark.parametrize("students", [STUDENTS, pytest.param(CLASS, marks=pytest.mark.thorough)])
def test_thirty_sessions_with_bad_cells_keep_their_own_state(start, tmp_path, students):
    def start_warm(folder):
        kernel = start(folder=folder)
        assert kernel.value("1") == "1"
        return kernel

    folders = [tmp_path / str(n) for n in range(students)]
    for folder in folders:
        folder.mkdir()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        kernels = list(pool.map(start_warm, folders))
    with ThreadPoolExecutor(students) as pool:
        lessons = list(pool.map(lesson, kernels))
    assert lessons == [["CellMemoryLimit", "CellTimeout", "(45, ['mine', 'still mine'])"]] * students
