"""execute_request: what its fields mean, and what comes out of a cell."""

import pytest

from kernels import STUCK_S, lacks_its_line, with_its_stack

FLOOD = 100_000


def outputs(cell):
    """The cell's outputs in order; neighbouring pieces of one stream are one."""
    found = []
    for message in cell.messages:
        kind, content = message["msg_type"], message["content"]
        if kind == "stream" and found and found[-1][0] == content["name"]:
            found[-1] = (content["name"], found[-1][1] + content["text"])
        elif kind == "stream":
            found.append((content["name"], content["text"]))
        elif kind in ("display_data", "execute_result", "error"):
            found.append((kind, content.get("data", {}).get("text/plain", content.get("ename"))))
    return found


def states(cell):
    return [content["execution_state"] for content in cell.of("status")]


@pytest.mark.check
def test_cell_publishes_busy_input_result_and_idle_in_order(kernel):
    cell = kernel.run("1 + 1")
    kinds = [message["msg_type"] for message in cell.messages]
    assert kinds == ["status", "execute_input", "execute_result", "status"]
    assert states(cell) == ["busy", "idle"]
    assert cell.reply["status"] == "ok"
    assert cell.reply["execution_count"] == cell.of("execute_input")[0]["execution_count"]
    assert cell.of("execute_input")[0]["code"] == "1 + 1"


def test_execution_count_grows_with_stored_cells_only(kernel):
    first = kernel.run("1").reply["execution_count"]
    assert kernel.run("1").reply["execution_count"] == first + 1
    kernel.run("1", store_history=False)
    kernel.run("1", silent=True)
    assert kernel.run("1").reply["execution_count"] == first + 2


def test_silent_publishes_status_only(kernel):
    cell = kernel.run("print('x'); 1", silent=True)
    assert {message["msg_type"] for message in cell.messages} <= {"status", "stream"}
    assert cell.of("execute_input") == cell.of("execute_result") == []
    assert cell.ok


def test_user_expressions_give_values_and_errors(kernel):
    cell = kernel.run("a = 20", user_expressions={"good": "a + 1", "bad": "a / 0"})
    good, bad = cell.reply["user_expressions"]["good"], cell.reply["user_expressions"]["bad"]
    assert (good["status"], good["data"]["text/plain"]) == ("ok", "21")
    assert (bad["status"], bad["ename"]) == ("error", "ZeroDivisionError")


@pytest.mark.check
def test_error_is_in_the_reply_and_published(kernel):
    cell = kernel.run("def f():\n    return 1 / 0\nf()")
    assert cell.reply["status"] == "error"
    assert (cell.ename, cell.reply["evalue"]) == ("ZeroDivisionError", "division by zero")
    assert cell.reply["user_expressions"] == {}
    [error] = cell.of("error")
    assert error["ename"] == "ZeroDivisionError"
    assert "\x1b[" in "\n".join(error["traceback"])


def test_queued_cells_are_aborted_after_an_error_and_only_those(kernel):
    first = kernel.send("input(); raise RuntimeError", allow_stdin=True)
    second = kernel.send("1")
    info = kernel.client.kernel_info()
    kernel.client.get_stdin_msg(timeout=STUCK_S)
    assert kernel.shell_reply(info)["content"]["status"] == "ok", "so the second one has come too"
    kernel.client.input("")
    assert kernel.shell_reply(first)["content"]["status"] == "error"
    assert kernel.shell_reply(second)["content"]["status"] == "aborted"
    assert kernel.run("1").ok


def test_a_cell_sent_after_the_reply_of_a_failed_one_runs(kernel):
    for _ in range(50):
        assert kernel.shell_reply(kernel.send("1 / 0"))["content"]["status"] == "error"
        assert kernel.shell_reply(kernel.send("1"))["content"]["status"] == "ok"


def test_stop_on_error_false_lets_queued_cells_run(kernel):
    first = kernel.send("raise RuntimeError", stop_on_error=False)
    second = kernel.send("1")
    assert kernel.shell_reply(first)["content"]["status"] == "error"
    assert kernel.shell_reply(second)["content"]["status"] == "ok"


def test_input_where_stdin_is_not_allowed_fails_at_once(kernel):
    assert kernel.run("input()", allow_stdin=False).ename == "StdinNotImplementedError"


@pytest.mark.check
def test_input_is_asked_and_answered(kernel):
    request = kernel.send("input('name? ')", allow_stdin=True)
    content = kernel.client.get_stdin_msg(timeout=60)["content"]
    assert (content["prompt"], content["password"]) == ("name? ", False)
    kernel.client.input("Ada")
    assert kernel.finish(request).result == "'Ada'"


def test_input_that_nobody_answers_never_happened(shared_kernel):
    kernel = shared_kernel
    code = "%%limits input_wait=300ms\nunanswered = 1\ninput()"
    cell = with_its_stack(lambda: kernel.run(code, allow_stdin=True), lacks_its_line)
    assert (cell.ename, cell.report["outcome"]) == ("CellTimeout", "timeout")
    assert cell.reply["evalue"].startswith("Nobody answered the cell's input() within its limit of 300 ms (input_wait)")
    assert cell.report["error"]["line"] == 3
    assert kernel.value("'unanswered' in globals()") == "False"


def test_thread_that_computes_while_input_waits_is_on_the_clock(shared_kernel):
    code = (
        "%%limits timeout=500ms\nimport threading\ndef spin():\n    while True: pass\n"
        "threading.Thread(target=spin, daemon=True).start()\ninput()"
    )
    cell = shared_kernel.run(code, allow_stdin=True)
    assert (cell.ename, cell.report["outcome"]) == ("CellTimeout", "timeout")
    assert "its time limit of 500 ms" in cell.reply["evalue"]


def test_streams_results_and_displays_come_in_order(kernel):
    cell = kernel.run(
        "import os, subprocess, sys\n"
        "print('one')\n"
        "display(2)\n"
        "os.write(1, b'three\\n')\n"
        "display(4)\n"
        "subprocess.run(['echo', 'five'])\n"
        "print('six', file=sys.stderr)\n"
        "display(7)\n"
        "8"
    )
    assert outputs(cell) == [
        ("stdout", "one\n"),
        ("display_data", "2"),
        ("stdout", "three\n"),
        ("display_data", "4"),
        ("stdout", "five\n"),
        ("stderr", "six\n"),
        ("display_data", "7"),
        ("execute_result", "8"),
    ]


def test_displays_updates_and_clear_output_are_published(kernel):
    cell = kernel.run(
        "from IPython.display import HTML, clear_output\n"
        "display(HTML('<b>bold</b>'))\n"
        "handle = display('first', display_id='shown')\n"
        "handle.update('second')\n"
        "clear_output(wait=True)\n"
    )
    html, shown = cell.of("display_data")
    assert html["data"]["text/html"] == "<b>bold</b>"
    assert shown["transient"] == {"display_id": "shown"}
    [update] = cell.of("update_display_data")
    assert (update["data"]["text/plain"], update["transient"]) == ("'second'", {"display_id": "shown"})
    assert cell.of("clear_output") == [{"wait": True}]


def test_figures_are_shown_inline(venv_kernel):
    cell = venv_kernel.run("import matplotlib.pyplot as plt\nplt.plot([1, 2, 3])\nplt.show()")
    assert any("image/png" in content["data"] for content in cell.of("display_data")), str(cell)


@pytest.mark.parametrize(
    "code, result",
    [
        ("import asyncio\nawait asyncio.sleep(0, 'awaited')", "'awaited'"),
        ("%env LANG=C\n_ = 1", None),
        ("Out is not None and In[-1]", "'Out is not None and In[-1]'"),
        ("'\\ud800'.encode('utf-8', 'surrogatepass')", "b'\\xed\\xa0\\x80'"),
        ("len('𝄞')", "1"),
    ],
)
def test_ipython_features_give_their_results(row_kernel, code, result):
    cell = row_kernel.run(code)
    assert cell.ok, str(cell)
    assert cell.result == result


def test_asyncio_tasks_go_on_in_a_later_cell(kernel):
    kernel.run("import asyncio\ntask = asyncio.ensure_future(asyncio.sleep(0, 'done'))")
    assert kernel.value("await task") == "'done'"


def test_flood_of_prints_arrives_whole(kernel):
    cell = kernel.run(f"for n in range({FLOOD}): print(n)")
    assert cell.ok, str(cell)
    assert cell.stdout == "".join(f"{n}\n" for n in range(FLOOD))


@pytest.mark.parametrize(
    "code, status",
    [("1 + 1", "complete"), ("for n in range(3):", "incomplete"), ("a = = 1", "invalid"), ("%time 1", "complete")],
)
def test_is_complete_gives_the_status_of_the_code(row_kernel, code, status):
    assert row_kernel.is_complete(code) == status


def test_kernel_info_names_petri_and_python(kernel):
    info = kernel.shell_reply(kernel.client.kernel_info())["content"]
    assert info["implementation"] == "petri"
    assert info["protocol_version"].startswith("5.")
    assert info["language_info"]["name"] == "python"
    assert info["language_info"]["file_extension"] == ".py"
    assert kernel.control("kernel_info_request") == info


def test_comm_info_of_a_fresh_session_is_empty(kernel):
    assert kernel.shell_reply(kernel.client.comm_info())["content"] == {"status": "ok", "comms": {}}
