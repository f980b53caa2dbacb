"""Jupyter messaging, "Execute": results, errors, expressions, payloads, history."""

import ast
import re

import pytest

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


def plain(lines):
    return ESCAPE.sub("", "\n".join(lines))


def test_statement_is_ok(worker):
    answer = worker.execute("x = 1")
    assert answer.reply == {"status": "ok", "user_expressions": {}, "payload": []}
    assert answer.events == []


def test_expression_is_a_result_with_the_requests_number(worker):
    answer = worker.execute("6 * 7", execution_count=23)
    (content,) = answer.of("execute_result")
    assert content == {"execution_count": 23, "data": {"text/plain": "42"}, "metadata": {}}
    assert worker.execute("Out[23], _23").result == "(42, 42)"


def test_semicolon_and_none_have_no_result(worker):
    assert worker.execute("6 * 7;").of("execute_result") == []
    assert worker.execute("None").of("execute_result") == []


def test_earlier_inputs_and_outputs_have_their_names(worker):
    worker.execute("'first'")
    worker.execute("'second'")
    assert worker.execute("_, __, _i, In[-2]").result == "('second', 'first', \"'second'\", \"'second'\")"


def test_silent_has_no_result_and_no_history(worker):
    before = worker.execute("len(In)").result
    answer = worker.execute("y = 5; y", silent=True)
    assert answer.events == []
    assert int(worker.execute("len(In)").result) == int(before) + 1
    assert worker.execute("y").result == "5"


def inputs(worker):
    """What In has, as it was written; a look that takes no number sees it."""
    raw, parsed = "get_ipython().history_manager.input_hist_raw", "In"
    assert worker.execute(f"len({raw}) == len({parsed})", store_history=False).result == "True"
    return ast.literal_eval(worker.execute(f"print({raw})", store_history=False).stdout)


@pytest.mark.parametrize("number", (2, 5))
@pytest.mark.parametrize(
    "code", ("x = 1", "exit", "1 / 0", "= syntax", "%pwd", "get_ipython().run_cell('y = 1', store_history=True)")
)
def test_input_of_each_kind_has_the_number_of_its_request_whatever_was_before(worker, code, number):
    first = worker.count + 1
    worker.execute(code)
    worker.execute(f"z = {number}", execution_count=first + number)
    worker.count = first + number
    found = inputs(worker)
    assert found[first] == ("" if code == "exit" else code)
    assert found[first + number :] == [f"z = {number}"]
    worker.execute("'next'")
    assert inputs(worker)[first + number :] == [f"z = {number}", "'next'"]
    assert worker.execute(f"%rerun {first + number}\nz").result == str(number)


def test_input_that_was_missed_is_there_by_its_number(worker):
    first = worker.count + 1
    worker.execute("'before'")
    worker.count += 2
    worker.execute("_i", missed=[[first + 1, "x = 1"], [first + 2, "x = 2\n"]])
    assert inputs(worker)[first:] == ["'before'", "x = 1", "x = 2", "_i"]
    assert worker.execute(f"_i{first + 1}, _i{first + 2}").result == "('x = 1', 'x = 2')"
    assert worker.execute(f"%rerun {first + 2}\nx").result == "2"
    assert f"{first + 1}: x = 1\n" in worker.execute("%history -n").stdout


def test_reset_leaves_later_inputs_at_their_numbers(worker):
    worker.execute("'before'")
    worker.execute("%reset -f in")
    worker.execute("'after'")
    assert inputs(worker)[worker.count] == "'after'"


@pytest.mark.parametrize("hidden", ({"store_history": False}, {"silent": True}))
def test_value_without_a_number_leaves_the_last_output(worker, hidden):
    worker.execute("'kept'")
    worker.execute("'shown once'", **hidden)
    assert worker.execute(f"Out[{worker.count}], _{worker.count}").result == "('kept', 'kept')"


def test_last_inputs_are_those_that_there_are(worker):
    worker.execute("'last'")
    worker.execute("exit")
    assert "'last'" in worker.execute("%rerun").stdout
    assert worker.execute("%history -l 2").stdout == "'last'\n%rerun\n"


def test_without_history_the_input_is_not_kept(worker):
    before = int(worker.execute("len(In)").result)
    assert worker.execute("'shown'", store_history=False).result == "'shown'"
    assert int(worker.execute("len(In)").result) == before + 1


def test_error_is_published_and_replied(worker):
    answer = worker.execute("print('before')\n\ndef f():\n    return {}['missing']\nf()")
    assert answer.order[0] == ("stdout", "before\n")
    (published,) = answer.of("error")
    assert answer.reply == {"status": "error", "user_expressions": {}, "payload": [], **published}
    assert published["ename"] == "KeyError"
    assert published["evalue"] == "'missing'"
    assert all(isinstance(line, str) for line in published["traceback"])
    assert "\x1b[" in "".join(published["traceback"])
    text = plain(published["traceback"])
    assert "----> 5 f()" in text
    assert "petri_worker" not in text


def test_qualified_exception_has_a_bare_name(worker):
    assert worker.execute("import json; json.loads('{')").reply["ename"] == "JSONDecodeError"


def test_syntax_error_shows_its_place(worker):
    reply = worker.execute("a = 1\nb = = 2").reply
    assert reply["ename"] == "SyntaxError"
    assert "line 2" in plain(reply["traceback"])
    assert "^" in plain(reply["traceback"])


def test_indentation_error_is_reported_by_its_name(worker):
    assert worker.execute("if True:\npass").reply["ename"] == "IndentationError"


def test_exception_with_a_broken_text_still_gets_a_reply(worker):
    reply = worker.execute("class E(Exception):\n    def __str__(self): return 1/0\nraise E").reply
    assert reply["ename"] == "E"


def test_exception_group_is_published(worker):
    answer = worker.execute(
        "import sys\nif sys.version_info < (3, 11): ExceptionGroup = ValueError\n"
        "raise ExceptionGroup('many', [KeyError('a'), OSError('b')])"
    )
    assert "many" in answer.reply["evalue"]
    assert len(answer.of("error")) == 1


def test_usage_error_is_one_line(worker):
    answer = worker.execute("%nosuchmagic")
    assert answer.reply["status"] == "error"
    assert answer.reply["ename"] == "UsageError"
    assert len(answer.of("error")) == 1
    assert answer.stderr == ""


def test_traceback_renderer_of_an_exception_is_used(worker):
    reply = worker.execute("class E(Exception):\n    def _render_traceback_(self): return ['mine']\nraise E").reply
    assert reply["traceback"] == ["mine"]


@pytest.mark.parametrize(
    "code",
    [
        *("print(1)\x00", "x = '\x00'", "\x00", "%nosuchmagic\x00"),
        *("\ud800", "x = '\ud83d'", "# \udcff\nprint(1)", "!echo \ud800"),
    ],
)
def test_code_that_is_no_text_gets_an_error(worker, code):
    answer = worker.execute(code)
    assert answer.reply["status"] == "error"
    assert len(answer.of("error")) == 1
    assert worker.execute("1 + 1").result == "2"


@pytest.mark.parametrize("code", ["", "  \n", "# only a comment", "\n\n"])
def test_code_without_a_statement_is_ok(worker, code):
    assert worker.execute(code).reply["status"] == "ok"


def test_deeply_nested_code_gets_an_error(worker):
    assert worker.execute("(" * 5000 + ")" * 5000).reply["status"] == "error"
    assert worker.execute("1 + 1").result == "2"


def test_system_exit_is_an_error_and_the_session_goes_on(worker):
    answer = worker.execute("x = 1\nimport sys\nsys.exit(3)")
    assert answer.reply["ename"] == "SystemExit"
    assert answer.reply["evalue"] == "3"
    assert worker.execute("x").result == "1"


@pytest.mark.parametrize("code", ["exit", "quit()", "exit(keep_kernel=True)"])
def test_exit_gives_an_ask_exit_payload(worker, code):
    (payload,) = worker.execute(code).reply["payload"]
    assert payload == {"source": "ask_exit", "keepkernel": "True" in code}


def test_user_expressions_give_values_and_errors(worker):
    answer = worker.execute("x = 2", user_expressions={"good": "x * 21", "bad": "nothing"})
    expressions = answer.reply["user_expressions"]
    assert expressions["good"] == {"status": "ok", "data": {"text/plain": "42"}, "metadata": {}}
    assert expressions["bad"]["status"] == "error"
    assert expressions["bad"]["ename"] == "NameError"


def test_user_expressions_are_not_evaluated_after_an_error(worker):
    assert worker.execute("1/0", user_expressions={"a": "1"}).reply["user_expressions"] == {}


def test_help_gives_a_page_payload(worker):
    (payload,) = worker.execute("print?").reply["payload"]
    assert payload["source"] == "page"
    assert "Prints the values" in payload["data"]["text/plain"] or "print(" in plain([payload["data"]["text/plain"]])
    worker.execute("def f():\n    'documented'\n    return 17")
    (payload,) = worker.execute("f??").reply["payload"]
    assert "return" in plain([payload["data"]["text/plain"]])


def test_payload_of_a_failed_cell_is_in_its_own_reply(worker):
    answer = worker.execute("get_ipython().set_next_input('next')\n1/0")
    assert answer.reply["payload"] == [{"source": "set_next_input", "text": "next", "replace": False}]
    assert worker.execute("1").reply["payload"] == []


def test_load_puts_a_file_into_the_cell(worker, tmp_path):
    (tmp_path / "a.py").write_text("loaded = 1\n")
    (payload,) = worker.execute(f"%load {tmp_path}/a.py").reply["payload"]
    assert payload["source"] == "set_next_input"
    assert payload["replace"] is True
    assert "loaded = 1" in payload["text"]


def test_run_executes_a_file_in_the_namespace(worker, tmp_path):
    (tmp_path / "b.py").write_text("ran = 5\n")
    worker.execute(f"%run {tmp_path}/b.py")
    assert worker.execute("ran").result == "5"


def test_edit_is_refused_and_names_what_there_is_instead(worker):
    answer = worker.execute("%edit c.py")
    assert (answer.reply["ename"], answer.reply["payload"]) == ("UsageError", [])
    assert "%load FILE" in answer.reply["evalue"]


def test_main_module_is_the_users_namespace(worker):
    worker.execute("import pickle\nclass C: pass")
    assert worker.execute("type(pickle.loads(pickle.dumps(C()))) is C, __name__").result == "(True, '__main__')"


def test_working_directory_is_first_on_the_path(worker, tmp_path):
    (tmp_path / "beside.py").write_text("here = 7\n")
    assert worker.execute(f"%cd -q {tmp_path}\nimport beside; beside.here").result == "7"
    own = "import os, sys; [p for p in sys.path if os.path.exists(os.path.join(p, 'petri_worker'))]"
    assert worker.execute(own).result == "[]"


def test_forked_child_that_returns_from_its_cell_exits(worker):
    answer = worker.execute("import os\npid = os.fork()\nprint('child' if pid == 0 else 'parent')")
    assert answer.reply["status"] == "ok"
    answer = worker.execute("_ = os.waitpid(pid, 0); _[1]")
    assert "parent\n" in worker.execute("print('parent')").stdout
    assert answer.result == "0"


# Ways in which code shows errors itself: (install it, take it away, the errors that it shows).
SHOWN_BY_ANOTHER = {
    "_showtraceback": (
        "def show(*args, **kwargs): print('shown')\nget_ipython()._showtraceback = show",
        "del get_ipython()._showtraceback",
        ("1 / 0", "1 +", "raise KeyboardInterrupt", "int('x')"),
    ),
    "showtraceback": (
        "def show(*args, **kwargs): print('shown')\nget_ipython().showtraceback = show",
        "del get_ipython().showtraceback",
        ("1 / 0", "raise KeyboardInterrupt", "int('x')"),
    ),
    "set_custom_exc": (
        "def show(*args, **kwargs): print('shown')\nget_ipython().set_custom_exc((Exception,), show)",
        "get_ipython().set_custom_exc((), None)",
        ("1 / 0", "int('x')", "import asyncio\nawait asyncio.sleep(0); 1 / 0"),
    ),
    "set_custom_exc, with a traceback of its own": (
        "def show(*args, **kwargs): print('shown'); return ['mine']\n"
        "get_ipython().set_custom_exc((ArithmeticError,), show)",
        "get_ipython().set_custom_exc((), None)",
        ("1 / 0",),
    ),
}


@pytest.mark.parametrize("way", SHOWN_BY_ANOTHER)
def test_error_that_user_code_shows_is_shown_once_and_is_in_the_reply(worker, way):
    install, remove, errors = SHOWN_BY_ANOTHER[way]
    worker.execute(install)
    answers = [worker.execute(code) for code in errors]
    worker.execute(remove)
    for answer in answers:
        assert (answer.stdout, answer.stderr, answer.of("error")) == ("shown\n", "", [])
        assert answer.reply["status"] == "error" and answer.reply["traceback"]
    assert worker.execute("1 / 0").of("error")[0]["ename"] == answers[0].reply["ename"] == "ZeroDivisionError"
