"""complete_request, inspect_request, is_complete_request."""

from probes import probe


def complete(kernel, code, cursor=None):
    content = {"code": code, "cursor_pos": len(code) if cursor is None else cursor}
    return kernel.known("complete_request", content)["content"]


@probe("complete_request", "`matches`, `cursor_start`, `cursor_end`")
def complete_matches(kernel):
    kernel.run("unmistakable = 1")
    content = complete(kernel, "x = unmistak")
    assert (content["matches"], content["cursor_start"], content["cursor_end"]) == (["unmistakable"], 4, 12)


@probe("complete_request", "`cursor_pos` counts code points")
def complete_code_points(kernel):
    kernel.run("unmistakable = 1")
    content = complete(kernel, "'\U0001f600' + unmistak")
    assert (content["matches"], content["cursor_start"]) == (["unmistakable"], 6)


@probe("complete_reply", "`metadata._jupyter_types_experimental`, aligned with `matches`")
def complete_types(kernel):
    kernel.run("unmistakable = 1")
    content = complete(kernel, "unmistak")
    types = content["metadata"]["_jupyter_types_experimental"]
    assert content["matches"] and [one["text"] for one in types] == content["matches"]


@probe("complete_request", "answered while a cell runs")
def complete_beside(kernel):
    kernel.run("unmistakable = 1")
    content = kernel.beside("complete_request", {"code": "unmistak", "cursor_pos": 8})["content"]
    assert content["matches"] == ["unmistakable"]


@probe("complete_request", "changes nothing, whatever it runs", fresh=True)
def complete_changes_nothing(kernel):
    trap = "class Trap:\n    def __dir__(self):\n        seen.append(1)\n        return ['a']\n"
    kernel.run(f"{trap}seen, trap = [], Trap()")
    complete(kernel, "trap.")
    assert kernel.value("seen") == "[]"


@probe("complete_request", "code that never ends costs its own answer only", fresh=True)
def complete_endless(kernel):
    kernel.run("class Trap:\n    def __dir__(self):\n        while True: pass\ntrap = Trap()")
    assert kernel.ask("complete_request", {"code": "trap.", "cursor_pos": 5}).content["status"] == "ok"
    assert kernel.value("1 + 1") == "2"


def inspect(kernel, code, **fields):
    content = {"code": code, "cursor_pos": len(code), "detail_level": 0, **fields}
    return kernel.known("inspect_request", content)["content"]


DOCUMENTED = "def documented(a):\n    'What it does.'\n    return a + 12345"


@probe("inspect_request", "`found`, `data`")
def inspect_found(kernel):
    kernel.run(DOCUMENTED)
    content = inspect(kernel, "documented")
    assert content["found"] is True and "What it does." in content["data"]["text/plain"]
    nothing = kernel.ask("inspect_request", {"code": "nosuchname", "cursor_pos": 10, "detail_level": 0})
    assert nothing.content["found"] is False


@probe("inspect_request", "`detail_level` 1: the source")
def inspect_source(kernel):
    kernel.run(DOCUMENTED)
    assert "12345" not in inspect(kernel, "documented")["data"]["text/plain"]
    assert "12345" in inspect(kernel, "documented", detail_level=1)["data"]["text/plain"]


@probe("inspect_request", "`omit_sections`")
def inspect_omits(kernel):
    kernel.run(DOCUMENTED)
    content = inspect(kernel, "documented", omit_sections=["docstring"])
    assert content["found"] is True and "What it does." not in content["data"]["text/plain"]


@probe("inspect_request", "answered while a cell runs")
def inspect_beside(kernel):
    kernel.run(DOCUMENTED)
    content = {"code": "documented", "cursor_pos": 10, "detail_level": 0}
    assert kernel.beside("inspect_request", content)["content"]["found"] is True


def is_complete(kernel, code):
    return kernel.known("is_complete_request", {"code": code})["content"]


@probe("is_complete_request", "`complete`, `incomplete`, `invalid`")
def is_complete_status(kernel):
    codes = ["1 + 1", "for n in range(3):", "a = = 1", "%time 1"]
    assert [is_complete(kernel, code)["status"] for code in codes] == ["complete", "incomplete", "invalid", "complete"]


@probe("is_complete_reply", "`indent`, only where incomplete")
def is_complete_indent(kernel):
    assert is_complete(kernel, "for n in range(3):")["indent"] == "    "
    assert "indent" not in is_complete(kernel, "1 + 1")


@probe("is_complete_request", "answered while a cell runs")
def is_complete_beside(kernel):
    assert kernel.beside("is_complete_request", {"code": "if 1:"})["content"]["status"] == "incomplete"
