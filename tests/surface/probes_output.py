"""What a cell publishes."""

from probes import probe


@probe("status", "`busy` and `idle` around every request")
def status_around(kernel):
    assert kernel.run("1").states == ["busy", "idle"]
    assert kernel.ask("kernel_info_request").states == ["busy", "idle"]


@probe("execute_input", "`code`, `execution_count`")
def output_input(kernel):
    answer = kernel.run("1 + 1")
    assert answer.of("execute_input") == [
        {"code": "1 + 1", "execution_count": answer.content["execution_count"]}
    ]


@probe("stream", "`stdout`, `stderr`, in the order of the prints")
def output_streams(kernel):
    answer = kernel.run("import sys\nprint('out')\nprint('err', file=sys.stderr)")
    assert (answer.stream("stdout"), answer.stream("stderr")) == ("out\n", "err\n")


@probe("stream", "what child processes and C code write")
def output_of_children(kernel):
    child = "subprocess.run(['echo', 'from a child']) and None"
    answer = kernel.run(f"import os, subprocess\nos.write(1, b'from C\\n')\n{child}")
    assert answer.stream("stdout") == "from C\nfrom a child\n"


@probe("stream", "in order with rich output")
def output_order(kernel):
    answer = kernel.run("import os\nprint(1)\ndisplay(2)\nos.write(1, b'3\\n')\ndisplay(4)\nprint(5)")
    shown = [message["content"] for message in answer.messages if message["msg_type"] in ("stream", "display_data")]
    texts = [content.get("text") or content["data"]["text/plain"] for content in shown]
    assert "".join(texts).replace("\n", "") == "12345"


@probe("stream", "100,000 prints arrive whole")
def output_flood(kernel):
    answer = kernel.run("for n in range(100_000): print(n)")
    assert answer.stream("stdout") == "".join(f"{n}\n" for n in range(100_000))


@probe("stream", "output of a task belongs to the cell that started it")
def output_of_tasks(kernel):
    code = (
        "import asyncio\ngo = asyncio.Event()\n"
        "async def late():\n    await go.wait()\n    print('late')\ntask = asyncio.ensure_future(late())"
    )
    kernel.run(code)
    answer = kernel.run("go.set()\nawait task\nprint('own')")
    assert answer.stream("stdout") == "own\n"


@probe("stream", "output of a thread belongs to the running cell")
def output_of_threads(kernel):
    code = (
        "import threading\ngo = threading.Event()\n"
        "def late():\n    go.wait()\n    print('late')\nthread = threading.Thread(target=late)\nthread.start()"
    )
    kernel.run(code)
    answer = kernel.run("go.set()\nthread.join()\nprint('own')")
    assert answer.stream("stdout") == "late\nown\n"


@probe("display_data", "`data`, `metadata`, `transient.display_id`")
def output_display(kernel):
    code = "display({'text/x-own': 'x'}, metadata={'m': 1}, raw=True, display_id='one')"
    [content] = kernel.run(code).of("display_data")
    assert (content["data"], content["metadata"]) == ({"text/x-own": "x"}, {"m": 1})
    assert content["transient"] == {"display_id": "one"}


@probe("display_data", "bytes as base64, JSON as JSON")
def output_types(kernel):
    code = "from IPython.display import JSON, Image\ndisplay(Image(data=b'\\x89PNG\\r\\n\\x1a\\n', format='png'))"
    [content] = kernel.run(code).of("display_data")
    assert content["data"]["image/png"].strip() == "iVBORw0KGgo="
    [content] = kernel.run("display(JSON({'a': [1]}))").of("display_data")
    assert content["data"]["application/json"] == {"a": [1]}


@probe("update_display_data", "`transient.display_id`")
def output_update(kernel):
    [content] = kernel.run("handle = display(1, display_id='two')\nhandle.update(2)").of("update_display_data")
    assert (content["data"]["text/plain"], content["transient"]) == ("2", {"display_id": "two"})


@probe("execute_result", "`data`, `execution_count`")
def output_result(kernel):
    answer = kernel.run("'x' * 3")
    [content] = answer.of("execute_result")
    assert content["data"]["text/plain"] == "'xxx'"
    assert content["execution_count"] == answer.content["execution_count"]


@probe("error", "`ename` (the bare class name), `evalue`, `traceback`")
def output_error(kernel):
    [content] = kernel.run("nosuch").of("error")
    assert (content["ename"], content["evalue"]) == ("NameError", "name 'nosuch' is not defined")
    assert all(isinstance(line, str) for line in content["traceback"])


@probe("error", "`SyntaxError` with its position")
def output_syntax_error(kernel):
    [content] = kernel.run("x = 1\ny = = 2").of("error")
    assert content["ename"] == "SyntaxError"
    assert "^" in "\n".join(content["traceback"])


@probe("clear_output", "`wait`")
def output_clear(kernel):
    answer = kernel.run("from IPython.display import clear_output\nclear_output(wait=True)")
    assert answer.of("clear_output") == [{"wait": True}]


@probe("display_data", "figures of matplotlib")
def output_figures(kernel):
    answer = kernel.run("%matplotlib inline\nimport matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()")
    assert any("image/png" in content["data"] for content in answer.of("display_data"))


@probe("iopub", "one `header.session` for all that the kernel sends")
def output_session(kernel):
    answer = kernel.run("print(1)\ndisplay(2)\n3")
    sessions = {message["header"]["session"] for message in [answer.reply, *answer.messages]}
    assert len(sessions) == 1
