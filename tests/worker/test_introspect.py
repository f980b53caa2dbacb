"""Completion, inspection, is-complete."""

import pytest


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("x = 1", {"status": "complete"}),
        ("for i in range(3):", {"status": "incomplete", "indent": "    "}),
        ("x = (", {"status": "incomplete", "indent": ""}),
        ("a = = 1", {"status": "invalid"}),
        ("", {"status": "complete"}),
    ],
)
def test_is_complete_gives_status_and_indent(worker, code, expected):
    reply = worker.request({"type": "is_complete", "code": code}).reply
    assert reply["status"] == expected["status"]
    assert ("indent" in reply) == ("indent" in expected)
    if "for" in code:
        assert reply["indent"] == "    "


def test_is_complete_garbage_gets_a_reply(worker):
    # What IPython makes of these differs from version to version; it is one of the four all the same.
    for code in ("print(1)\x00", "\ud800", "'\ud800", "(" * 1000):
        reply = worker.request({"type": "is_complete", "code": code}).reply
        assert reply["status"] in ("complete", "incomplete", "invalid", "unknown")


def complete(worker, code, cursor=None):
    cursor = len(code) if cursor is None else cursor
    return worker.request({"type": "complete", "code": code, "cursor_pos": cursor}).reply


def test_complete_gives_matches_with_their_types(worker):
    worker.execute("alphabet = 'abc'")
    reply = complete(worker, "x = alpha")
    assert reply["status"] == "ok"
    assert reply["matches"] == ["alphabet"]
    assert (reply["cursor_start"], reply["cursor_end"]) == (4, 9)
    types = reply["metadata"]["_jupyter_types_experimental"]
    assert [one["text"] for one in types] == reply["matches"]
    assert set(types[0]) == {"start", "end", "text", "type", "signature"}


def test_complete_attribute_before_more_code_ends_at_the_cursor(worker):
    worker.execute("import os")
    reply = complete(worker, "os.getpi + 1", 8)
    assert "getpid" in [match.rpartition(".")[2] for match in reply["matches"]]
    assert reply["cursor_end"] == 8


def test_complete_counts_code_points(worker):
    worker.execute("alphabet = 'abc'")
    code = "'\U0001f600\U0001f600' + alpha"
    reply = complete(worker, code)
    assert reply["matches"] == ["alphabet"]
    assert (reply["cursor_start"], reply["cursor_end"]) == (len(code) - 5, len(code))


def test_complete_in_the_second_line_counts_from_the_first(worker):
    worker.execute("alphabet = 'abc'")
    code = "\u00e4 = 1\nalpha"
    reply = complete(worker, code)
    assert (reply["cursor_start"], reply["cursor_end"]) == (6, 11)


def test_complete_finds_a_magic_and_nothing_for_an_unknown_name(worker):
    assert "%timeit" in complete(worker, "%timei")["matches"]
    reply = complete(worker, "nosuchnameatall")
    assert (reply["matches"], reply["cursor_start"], reply["cursor_end"]) == ([], 15, 15)


@pytest.mark.parametrize("where", ["{}", "x = 1\n{}"])
def test_complete_finds_the_names_of_characters_that_ipython_finds(worker, where):
    texts = ["\\ROCKE", "\\GREEK SMALL LETTER ALPH", "\\rocke", "\\VARIATION SELECTOR-25", "\\TERNATIVE KEY", "\\alph", "\\QQQ"]
    worker.execute("get_ipython().Completer._unicode_names = None")
    found = [complete(worker, where.format(text)) for text in texts]
    worker.execute("get_ipython().Completer._unicode_names = None\nget_ipython().Completer.unicode_names")
    assert found == [complete(worker, where.format(text)) for text in texts]
    assert len(found[1]["matches"]) > 20


def test_complete_of_a_name_of_a_character_looks_at_no_character_twice(new_worker, label):
    worker = new_worker(label)
    code = (
        "import unicodedata\n"
        "name, asked = unicodedata.name, []\n"
        "def ask(character, *default): asked.append(character); return name(character, *default)\n"
        "unicodedata.name = ask"
    )
    worker.execute(code)
    assert complete(worker, "\\ROCKE")["matches"] == ["ROCKET"]
    assert worker.execute("len(asked) - len(set(asked)) < 100").result == "True"


def test_complete_garbage_gets_a_reply(worker):
    for code in ("\x00", "\ud800.", "(" * 100):
        assert "status" in complete(worker, code)
    assert worker.execute("1 + 1").result == "2"


def inspect(worker, code, cursor, **options):
    request = {"type": "inspect", "code": code, "cursor_pos": cursor, "detail_level": 0}
    return worker.request({**request, **options}).reply


def test_inspect_gives_the_docstring(worker):
    worker.execute("def documented(a, b=2):\n    'What it does.'\n    return a")
    reply = inspect(worker, "documented(", 11)
    assert reply["status"] == "ok" and reply["found"] is True
    assert "What it does." in reply["data"]["text/plain"]
    assert "return a" not in reply["data"]["text/plain"]
    assert "return" in inspect(worker, "documented", 3, detail_level=1)["data"]["text/plain"]


def test_inspect_leaves_out_the_omitted_sections(worker):
    worker.execute("def documented():\n    'What it does.'")
    reply = inspect(worker, "documented", 3, omit_sections=["docstring"])
    assert "What it does." not in reply["data"]["text/plain"]


def test_code_of_a_cell_is_said_to_be_in_no_folder(worker):
    worker.execute("import collections\ndef mine(): pass")
    shown = inspect(worker, "mine", 3, detail_level=1)["data"]["text/plain"]
    assert "<ipython-input-" in shown and "/<ipython-input-" not in shown
    assert "/collections/__init__.py" in inspect(worker, "collections.OrderedDict.fromkeys", 20)["data"]["text/plain"]


def test_inspect_of_an_unknown_name_finds_nothing(worker):
    assert inspect(worker, "nosuchname", 3) == {"status": "ok", "found": False, "data": {}, "metadata": {}}
    assert inspect(worker, "", 0)["found"] is False


def test_config_magic_changes_the_completer(new_worker, label):
    worker = new_worker(label)
    assert worker.execute("%config IPCompleter.use_jedi = False").reply["status"] == "ok"
    assert worker.execute("get_ipython().Completer.use_jedi").result == "False"


def test_complete_needs_no_jedi_before_the_preload_and_uses_it_afterwards(new_worker, label):
    worker = new_worker(label)
    worker.execute("def bravo(n: int) -> str: return ''\nfirst = second = 'text'")
    assert "bravo" in complete(worker, "bra", 3)["matches"]
    matches = complete(worker, "first.split", 11)["matches"]
    assert [match.rpartition(".")[2] for match in matches] == ["split", "splitlines"]
    assert worker.request({"type": "warm", "portion": "completions"}).reply == {"status": "ok"}
    reply = complete(worker, "bra", 3)
    (found,) = [one for one in reply["metadata"]["_jupyter_types_experimental"] if one["text"] == "bravo"]
    assert found["type"] == "function"
