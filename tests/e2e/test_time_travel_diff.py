"""%diff: what differs between two states, while the session stays where it is."""

import pytest

from conftest import shared_kernel as kernel  # noqa: F401

pytestmark = pytest.mark.xdist_group("time-travel-diff")  # one process: the kernel is there once


SAME_NAMES = (
    "Names: none is new, gone, or of another type, size or number; what is in the others was not compared"
)


def diff(kernel, line):
    cell = kernel.ask(line, {})
    assert cell.ok, cell.reply.get("evalue")
    (shown,) = cell.of("display_data")
    return shown["data"]["text/plain"].splitlines()


def test_diff_shows_names_and_files_of_two_states(kernel):
    kernel.good("import os; gone = [1, 2]; x = 1; same = 'abc'; open('kept.txt', 'w').write('kept'); open('old.txt', 'w').close()")
    kernel.good("%checkpoint before")
    kernel.good("del gone; x = 'text'; new = {}; os.remove('old.txt'); open('new.txt', 'w').write('x' * 2000); y = 1")
    assert diff(kernel, "%diff before") == [
        "From before to the present state",
        "Names:",
        "+ new                  dict, 0 items",
        "~ x     int, 1         str, 4 characters",
        "+ y                    int, 1",
        "- gone  list, 2 items",
        "Files:",
        "+ new.txt    2.0 KiB",
        "- old.txt",
    ]
    assert kernel.value("x") == "'text'"


def test_diff_of_a_state_with_itself_is_nothing(kernel):
    kernel.good("%checkpoint here")
    assert diff(kernel, "%diff here here") == ["From here to here", SAME_NAMES, "Files: none differs"]


def test_diff_of_contents_of_one_type_and_size_says_what_it_compared(kernel):
    kernel.good("contents = [1, 2]")
    kernel.good("%checkpoint contents")
    kernel.good("contents = [3, 4]")
    assert diff(kernel, "%diff contents")[1:] == [SAME_NAMES, "Files: none differs"]


def test_diff_where_the_session_s_python_is_broken_has_files(kernel):
    kernel.good("%checkpoint whole")
    kernel.good("open('broken.txt', 'w').close(); import builtins; del builtins.sorted")
    lines = diff(kernel, "%diff whole")
    assert lines[1] == "Names: the Python of one state does not answer"
    assert lines[2:] == ["Files:", "+ broken.txt    0 bytes"]
    kernel.good("%restore whole")


def test_diff_of_a_branch_that_is_kept(kernel):
    kernel.good("z = 1")
    kernel.good("%checkpoint base")
    assert kernel.ask("z = 2", {"from": "base", "commit": "branch", "checkpoint": "aside"}).ok
    assert diff(kernel, "%diff base aside")[1:3] == ["Names:", "~ z  int, 1  int, 2"]


def test_diff_of_what_is_not_there_is_refused(kernel):
    assert kernel.run("%diff nowhere").ename == "UnknownImage"
    assert kernel.run("%diff").ename == "CellRefused"
