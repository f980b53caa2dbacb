"""execute_request, input_request, history_request."""

import contextlib
import queue

from probes import probe


@probe("execute_request", "`code`, `execute_reply.status`, `execution_count`")
def execute_counts(kernel):
    first, second = kernel.run("1"), kernel.run("2")
    assert first.content["status"] == second.content["status"] == "ok"
    assert second.content["execution_count"] == first.content["execution_count"] + 1


@probe("execute_request", "`silent`: status only on iopub, counter unchanged")
def execute_silent(kernel):
    before = kernel.run("1").content["execution_count"]
    silent = kernel.run("display(1)\n2", silent=True)
    assert {message["msg_type"] for message in silent.messages} == {"status"}
    assert kernel.run("1").content["execution_count"] == before + 1


@probe("execute_request", "`store_history: false` leaves the counter")
def execute_without_history(kernel):
    before = kernel.run("1").content["execution_count"]
    kernel.run("2", store_history=False)
    assert kernel.run("1").content["execution_count"] == before + 1


@probe("execute_request", "`user_expressions`, each with its own status")
def execute_user_expressions(kernel):
    found = kernel.run("a = 20", user_expressions={"good": "a + 1", "bad": "nosuch"}).content["user_expressions"]
    assert found["good"]["data"]["text/plain"] == "21"
    assert (found["bad"]["status"], found["bad"]["ename"]) == ("error", "NameError")


@probe("execute_request", "`allow_stdin: false`: `input()` fails at once")
def execute_without_stdin(kernel):
    assert kernel.run("input()").content["status"] == "error"


def send_two(kernel, **fields):
    fields = {"silent": False, "allow_stdin": True, **fields}
    first = kernel.send("execute_request", {"code": "input('')\nraise RuntimeError", **fields})
    second = kernel.send("execute_request", {"code": "1", **fields})
    info = kernel.send("kernel_info_request")
    kernel.client.get_stdin_msg(timeout=kernel.wait_s)
    # Once it is answered, the second one has come too; a kernel that does one thing after the other has no answer yet.
    with contextlib.suppress(queue.Empty):
        kernel.replies[info] = kernel.reply(info)
    kernel.client.input("")
    replies = [kernel.reply(request)["content"]["status"] for request in (first, second, info)]
    for request in (first, second, info):
        kernel.until_idle(request)
    return replies


@probe("execute_request", "`stop_on_error`: queued cells are aborted, and nothing else")
def execute_stop_on_error(kernel):
    assert send_two(kernel, stop_on_error=True) == ["error", "aborted", "ok"]


@probe("execute_request", "`stop_on_error: false`: queued cells run")
def execute_no_stop_on_error(kernel):
    assert send_two(kernel, stop_on_error=False) == ["error", "ok", "ok"]


@probe("execute_reply", "on error: `ename` (the bare class name), `evalue`, `traceback`, empty `user_expressions`")
def execute_error(kernel):
    content = kernel.run("1 / 0", user_expressions={"a": "1"}).content
    assert content["status"] == "error"
    assert (content["ename"], content["evalue"]) == ("ZeroDivisionError", "division by zero")
    assert isinstance(content["traceback"], list) and content["traceback"]
    assert content.get("user_expressions", {}) == {}


@probe("execute_reply", "`metadata.started`, for timings in front ends")
def execute_started(kernel):
    assert kernel.run("1").reply["metadata"]["started"]


def payload(kernel, code, source):
    found = [one for one in kernel.run(code).content["payload"] if one["source"] == source]
    assert len(found) == 1
    return found[0]


@probe("execute_reply", "`payload`: `page` (`len?`)")
def execute_page(kernel):
    assert "items" in payload(kernel, "len?", "page")["data"]["text/plain"]


@probe("execute_reply", "`payload`: `set_next_input`")
def execute_set_next_input(kernel):
    assert payload(kernel, "get_ipython().set_next_input('next')", "set_next_input")["text"] == "next"


@probe("execute_reply", "`payload`: `ask_exit`")
def execute_ask_exit(kernel):
    payload(kernel, "exit()", "ask_exit")


@probe("execute_request", "code with a NUL character gets a reply")
def execute_nul(kernel):
    assert kernel.run("1 \x00").content["status"] in ("ok", "error")
    assert kernel.run("1").content["status"] == "ok"


@probe("execute_request", "code that is not UTF-8 gets a reply")
def execute_not_utf8(kernel):
    # The client sends this one as the byte 0xff.
    assert kernel.run("'\udcff'").content["status"] in ("ok", "error")
    assert kernel.run("1").content["status"] == "ok"


@probe("execute_request", "top-level `await`")
def execute_await(kernel):
    assert kernel.value("import asyncio\nawait asyncio.sleep(0, 'awaited')") == "'awaited'"


@probe("execute_request", "asyncio tasks go on in later cells")
def execute_tasks(kernel):
    kernel.run("import asyncio\ntask = asyncio.ensure_future(asyncio.sleep(0, 'done'))")
    assert kernel.value("await task") == "'done'"


def ask_for(kernel, code, answer):
    request = kernel.send("execute_request", {"code": code, "silent": False, "allow_stdin": True})
    content = kernel.client.get_stdin_msg(timeout=kernel.wait_s)["content"]
    kernel.client.input(answer)
    kernel.reply(request)
    results = [one["content"] for one in kernel.until_idle(request) if one["msg_type"] == "execute_result"]
    return content, results[0]["data"]["text/plain"]


@probe("input_request", "`prompt`, and the `input_reply`")
def input_prompt(kernel):
    content, value = ask_for(kernel, "input('name? ')", "Ada")
    assert (content["prompt"], content["password"], value) == ("name? ", False, "'Ada'")


@probe("input_request", "`password`")
def input_password(kernel):
    content, value = ask_for(kernel, "import getpass\ngetpass.getpass('secret ')", "s3")
    # petri says before it that the cell asks.
    assert content["prompt"].endswith("secret ") and (content["password"], value) == (True, "'s3'")


@probe("input_request", "an interrupt ends the waiting", fresh=True)
def input_interrupt(kernel):
    request = kernel.start_waiting()
    kernel.manager.interrupt_kernel()
    assert kernel.reply(request)["content"]["ename"] == "KeyboardInterrupt"


def history(kernel, **fields):
    fields = {"output": False, "raw": True, "hist_access_type": "tail", **fields}
    return kernel.ask("history_request", fields).content["history"]


@probe("history_request", "`tail`, `n`")
def history_tail(kernel):
    kernel.run("'first of two'")
    kernel.run("'second of two'")
    assert [row[2] for row in history(kernel, n=2)] == ["'first of two'", "'second of two'"]


@probe("history_request", "`range`: `session`, `start`, `stop`")
def history_range(kernel):
    count = kernel.run("'in the range'").content["execution_count"]
    rows = history(kernel, hist_access_type="range", session=0, start=count, stop=count + 1)
    assert [row[2] for row in rows] == ["'in the range'"]


@probe("history_request", "`search`: `pattern`")
def history_search(kernel):
    kernel.run("'to be found'")
    kernel.run("'something else'")
    assert [row[2] for row in history(kernel, hist_access_type="search", pattern="*be found*", n=5)][-1:] == [
        "'to be found'"
    ]


@probe("history_request", "`search` with `unique`")
def history_unique(kernel):
    for _ in range(3):
        kernel.run("'three times'")
    rows = history(kernel, hist_access_type="search", pattern="'three times'", n=5, unique=True)
    assert [row[2] for row in rows] == ["'three times'"]


@probe("history_request", "kept across restarts", fresh=True)
def history_kept(kernel):
    kernel.run("'before the restart'")
    kernel.client.shutdown()
    kernel.manager.finish_shutdown()
    kernel.client.stop_channels()
    kernel.start()
    assert "'before the restart'" in [row[2] for row in history(kernel, n=5)]


@probe("history_request", "answered while a cell runs")
def history_beside(kernel):
    content = {"output": False, "raw": True, "hist_access_type": "tail", "n": 1}
    assert kernel.beside("history_request", content)["content"]["status"] == "ok"
