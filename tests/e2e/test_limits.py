"""What a session has where nobody asks for anything else, and what is said where that is not enough."""

import os
import re

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


def test_limits_is_found_in_magics_completions_and_help(shared_kernel):
    assert {"%limits", "%%limits"} <= set(shared_kernel.good("%lsmagic").result.split())
    assert "%limits" in shared_kernel.matches("%lim", 4)
    for code in ("%limits?", "%%limits?"):
        [page] = shared_kernel.good(code).reply["payload"]
        assert "%%limits timeout=10s memory=2G" in page["data"]["text/plain"]


def test_limits_shows_what_the_last_cell_and_the_session_have_used(shared_kernel):
    shared_kernel.good("x = bytearray(b'x') * (40 << 20)\nprint('y' * 5000)\nopen('/tmp/z', 'wb').write(bytes(2 << 20))")
    [table] = shared_kernel.good("# how much?\n\n%limits").of("display_data")
    rows = {line.split()[0]: line for line in table["data"]["text/plain"].splitlines()}
    assert " 4.9 KiB " in rows["output"]
    assert re.search(r"\b[4-6]\d MiB .* MiB ", rows["memory"]) and re.search(r" [\d.]+ MiB ", rows["disk"])
    html = table["data"]["text/html"]
    assert html.count("<tr>") == len(rows) and html.count("<progress") >= 8


def test_limits_of_the_session_are_told_and_hold(start):
    kernel = start(name="petri-strict")
    assert kernel.good("%limits timeout=50").stdout == "From this cell on the session has timeout 50 s.\n"
    assert kernel.good("1").report["limits"]["timeout_ms"] == 50_000


@pytest.mark.parametrize("code", ["x = 1\n%limits timeout=1s", "get_ipython().run_line_magic('limits', '')"])
def test_limits_that_comes_too_late_says_where_it_belongs(shared_kernel, code):
    cell = shared_kernel.run(code)
    assert cell.ename == "UsageError" and "has to be the cell's first line" in str(cell)


def test_hint_of_a_limit_in_strict_proposes_what_strict_allows(start):
    kernel = start(name="petri-strict")
    failed = kernel.run("%%limits timeout=300ms\nwhile True: pass")
    assert failed.reply["traceback"][-1] == (
        "For more time begin the cell with %%limits timeout=600ms, or more up to 1m; %limits shows all limits."
    )
    assert kernel.run("%%limits timeout=600ms\n1").report["limits"]["timeout_ms"] == 600
    assert "such as 500ms or 10s, not" in kernel.run("%%limits timeout=soon\n1").reply["evalue"]
