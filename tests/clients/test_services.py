"""`@jupyterlab/services` from npm, in node, against a real server: what JupyterLab speaks to kernels with."""

import pytest

from nodes import run_node
from servers import serving

pytestmark = pytest.mark.xdist_group("services")  # one process: a server is there once


@pytest.fixture(scope="module")
def seen(petri, tmp_path_factory):
    """What services.cjs has seen."""
    with serving(petri, tmp_path_factory.mktemp("services")) as server:
        return run_node("services.cjs", server.url, server.token, "petri")


def test_kernel_starts_and_executes(seen):
    assert seen["info"] == "petri"
    assert seen["execute"] == {"status": "ok", "text": "text\n21"}


def test_completion_and_inspection_while_busy(seen):
    assert seen["complete"]["matches"] == ["alpha_bravo"]
    assert seen["inspect"]["found"]
    assert seen["complete"]["status"] == seen["inspect"]["status"] == "busy"


def test_interrupt_ends_the_cell(seen):
    assert seen["interrupt"]["ename"] == "KeyboardInterrupt"


def test_comm_goes_both_ways_with_buffers(seen):
    comm = seen["comm"]
    assert comm["data"] == {"twice": 42}
    assert comm["bytes"] == [3, 2, 1]
    assert comm["listed"] == [{"target_name": "twice"}]
    assert comm["left"] == 0


def test_question_is_asked_and_answered(seen):
    assert seen["input"] == {"prompt": "name? ", "text": "'petri'"}


def test_incomplete_code_is_known(seen):
    assert seen["isComplete"] == {"status": "incomplete", "indent": "    "}


def test_restart_of_a_busy_kernel_begins_anew(seen):
    assert seen["restart"]["ename"] == "NameError"


def test_nothing_runs_after_shutdown(seen):
    assert seen["running"] == 0
