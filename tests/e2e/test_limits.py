"""What a session has where nobody asks for anything else, and what is said where that is not enough."""

import os

import pytest

pytestmark = pytest.mark.xdist_group("limits")

MIB = 1 << 20


def test_a_notebook_has_a_share_of_the_machine(venv_kernel):
    cell = venv_kernel.ask("x = bytearray(1)", {})
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    limits = cell.report["limits"]
    assert 2048 * MIB <= limits["memory_bytes"] <= max(2048 * MIB, total // 2)
    assert limits["memory_bytes"] // 4 - 256 * MIB <= limits["disk_bytes"] <= max(512 * MIB, limits["memory_bytes"] // 4)
    assert venv_kernel.run(f"import numpy; x = numpy.zeros({limits['memory_bytes'] - 200 * MIB}, 'u1')").ok


def test_error_for_want_of_memory_says_how_to_have_more(venv_kernel):
    cell = venv_kernel.run("%%limits memory=200M\nx = bytearray(2000 << 20)")
    assert cell.ename == "MemoryError"
    assert cell.reply["traceback"][-1].startswith("petri: a cell's memory is limited. %%limits memory=SIZE")
    assert venv_kernel.run("%%limits memory=1G\nx = bytearray(300 << 20)").ok


@pytest.mark.parametrize(("limits", "code"), [
    ({"disk": "20M"}, "open('/tmp/large', 'wb').write(bytes(30 << 20))"),
    ({"files": 1000}, "for n in range(2000): open(f'/tmp/{n}', 'w').close()"),
])  # fmt: skip
def test_error_for_want_of_room_says_how_to_have_more(configure, start, limits, code):
    configure(profiles={"notebook": limits})
    cell = start().run(code)
    assert cell.ename == "OSError"
    assert "disk and files in %limits" in cell.reply["traceback"][-1]
