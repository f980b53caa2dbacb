"""Rich output."""

import base64
import json

import pytest


def test_display_has_the_shape_of_the_specification(worker):
    (content,) = worker.execute("display({'a': 1})").of("display_data")
    assert content == {"data": {"text/plain": "{'a': 1}"}, "metadata": {}, "transient": {}}


def test_rich_object_is_published_as_html(worker):
    answer = worker.execute("from IPython.display import HTML\nHTML('<b>x</b>')")
    (content,) = answer.of("execute_result")
    assert content["data"]["text/html"] == "<b>x</b>"


def test_update_by_display_id_is_published(worker):
    answer = worker.execute("handle = display('one', display_id='me')\nhandle.update('two')")
    (shown,), (updated,) = answer.of("display_data"), answer.of("update_display_data")
    assert shown["transient"] == updated["transient"] == {"display_id": "me"}
    assert updated["data"]["text/plain"] == "'two'"


def test_clear_output_is_published_between_prints(worker):
    answer = worker.execute("from IPython.display import clear_output\nprint('a'); clear_output(wait=True); print('b')")
    assert answer.of("clear_output") == [{"wait": True}]
    assert answer.order == [("stdout", "a\n"), ("clear_output", None), ("stdout", "b\n")]


def test_bytes_are_base64(worker):
    code = "from IPython.display import Image\ndisplay(Image(data=b'\\x89PNG\\r\\n\\x1a\\n' + bytes(20), format='png'))"
    (content,) = worker.execute(code).of("display_data")
    assert base64.b64decode(content["data"]["image/png"]).startswith(b"\x89PNG")
    (content,) = worker.execute("display({'application/x': b'\\x00\\xff'}, raw=True)").of("display_data")
    assert base64.b64decode(content["data"]["application/x"]) == b"\x00\xff"


def test_values_that_json_does_not_have_are_converted(worker):
    code = (
        "display({'application/json': {1: float('nan'), 'inf': float('inf'), 't': (1, 2), 's': {3},\n"
        "        'lone': '\\ud800', 'nul': '\\x00'}}, raw=True)"
    )
    (content,) = worker.execute(code).of("display_data")
    data = content["data"]["application/json"]
    assert data["1"] == "nan" and data["inf"] == "inf" and data["t"] == [1, 2] and data["s"] == [3]
    assert (data["nul"], data["lone"]) == ("\x00", "\\ud800")
    json.dumps(content).encode()


def test_object_without_a_json_form_is_the_cells_error(worker):
    answer = worker.execute("display({'application/json': object()}, raw=True)")
    assert answer.reply["ename"] == "TypeError"
    assert worker.execute("1 + 1").result == "2"


def test_repr_that_fails_does_not_fail_the_worker(worker):
    answer = worker.execute("class R:\n    def __repr__(self): raise ValueError('no repr')\nR()")
    assert "no repr" in str([event.content for event in answer.events])
    assert worker.execute("1 + 1").result == "2"


def test_result_that_can_not_be_formatted_is_the_cells_error(worker):
    worker.execute("class R:\n    def __repr__(self): raise ValueError('no repr')")
    answer = worker.execute("R()")
    (published,) = answer.of("error")
    assert answer.reply == {"status": "error", "user_expressions": {}, "payload": [], **published}
    assert published["ename"] == "ValueError"
    shown = worker.execute("try: R().__repr__()\nexcept ValueError: get_ipython().showtraceback()")
    assert shown.of("error") and shown.reply["status"] == "ok"


def test_formatting_that_was_interrupted_is_over_with_its_cell(worker):
    worker.execute("class S:\n    def __repr__(self): raise KeyboardInterrupt")
    worker.execute("S()")
    shown = worker.execute("try: 1 / 0\nexcept ZeroDivisionError: get_ipython().showtraceback()")
    assert shown.of("error") and shown.reply["status"] == "ok"


def test_numpy_numbers_in_mime_bundles_become_json_numbers(venv_worker):
    code = "import numpy\ndisplay({'application/json': {'n': numpy.int64(3), 'f': numpy.float32(0.5)}}, raw=True)"
    (content,) = venv_worker.execute(code).of("display_data")
    assert content["data"]["application/json"] == {"n": 3, "f": 0.5}


def test_figure_is_shown_at_the_end_of_the_cell_that_first_imports_matplotlib(new_worker):
    worker = new_worker("venv")
    for _ in range(2):
        answer = worker.execute("import matplotlib.pyplot as plt\nplt.plot([1, 2]); print('done')\nNone")
        assert [kind for kind, _ in answer.order] == ["stdout", "display_data"]
        (content,) = answer.of("display_data")
        assert base64.b64decode(content["data"]["image/png"]).startswith(b"\x89PNG")
    assert worker.execute("plt.get_fignums()").result == "[]"


def test_matplotlib_magic_shows_one_figure(new_worker):
    worker = new_worker("venv")
    code = "%matplotlib inline\nimport matplotlib.pyplot as plt\nfig, ax = plt.subplots(); ax.plot([1])\nNone"
    answer = worker.execute(code)
    assert len(answer.of("display_data")) == 1
    assert worker.execute("%matplotlib qt").reply["status"] == "error"


def test_figure_of_a_failing_cell_is_shown(new_worker):
    answer = new_worker("venv").execute("import matplotlib.pyplot as plt\nplt.plot([1])\n1/0")
    assert len(answer.of("display_data")) == 1
    assert answer.reply["ename"] == "ZeroDivisionError"


def test_libraries_see_a_notebook(venv_worker):
    code = (
        "shell = get_ipython()\n"
        "print(type(shell).__name__, type(shell).__module__, 'IPKernelApp' in shell.config, shell.kernel is not None)\n"
        "from ipywidgets import IntProgress\n"
        "import pandas as pd"
    )
    assert venv_worker.execute(code).stdout == "ZMQInteractiveShell ipykernel.zmqshell True True\n"
    (content,) = venv_worker.execute("pd.DataFrame({'a': [1]})").of("execute_result")
    assert "<table" in content["data"]["text/html"]


# Code that shows the text t, and where it is then.
SHOWN = {
    "print": ("print(t)", lambda answer: answer.stdout.rstrip("\n")),
    "display": ("display(t)", lambda answer: answer.of("display_data")[0]["data"]["text/plain"]),
    "update": (
        "update_display(t, display_id='d')",
        lambda answer: answer.of("update_display_data")[0]["data"]["text/plain"],
    ),
    "result": ("t", lambda answer: answer.result),
    "error": ("raise ValueError(t)", lambda answer: answer.of("error")[0]["evalue"]),
    "traceback": ("raise ValueError(t)", lambda answer: "\n".join(answer.of("error")[0]["traceback"])),
    "reply": ("raise ValueError(t)", lambda answer: answer.reply["evalue"]),
    "payload": ("get_ipython().set_next_input(t)", lambda answer: answer.reply["payload"][0]["text"]),
    "key": (
        "display({'application/json': {t: 1}}, raw=True)",
        lambda answer: next(iter(answer.of("display_data")[0]["data"]["application/json"])),
    ),
}


@pytest.mark.parametrize("way", SHOWN)
@pytest.mark.parametrize(
    "text",
    [
        *("\ud800", "a\udcffb", "\ud83d\ude00", "\ude00\ud83d", "\x80\ud800\U0001f600"),
        *('"\\\udfff"', "\\\ud800\\ud800", "\ud800" * 3 + "\n\udfff"),
    ],
    ids=ascii,
)
def test_half_of_a_surrogate_pair_is_shown_as_streams_show_it(worker, way, text):
    code, where = SHOWN[way]
    # Its repr() is the text itself, so that all ways show the same.
    worker.execute(
        "from IPython.display import update_display\n"
        f"class Text(str):\n    def __repr__(self): return str(self)\nt = Text({ascii(text)})"
    )
    shown = where(worker.execute(code))
    expected = text.encode("utf-8", "backslashreplace").decode()
    assert expected in shown if way == "traceback" else shown == expected
