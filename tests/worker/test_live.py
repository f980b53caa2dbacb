"""Completion of names and attributes of objects that are there, which needs no jedi."""

import pytest

from test_introspect import complete

OBJECTS = """
import json
class Robot:
    colour = "red"
    def walk(self, steps: int, *, speed=1.5): pass
    @property
    def where(self): return (0, 0)
class Strange(Robot):
    def __dir__(self): return ["walnut", *super().__dir__()]
robot, strange, text = Robot(), Strange(), "text"
"""


@pytest.fixture
def robots(worker):
    assert worker.execute(OBJECTS).reply["status"] == "ok"
    return worker


def found(worker, code):
    """The texts of the matches without what stands before a dot, their types and their signatures."""
    types = complete(worker, code)["metadata"]["_jupyter_types_experimental"]
    return [(one["text"].rpartition(".")[2], one["type"], one["signature"]) for one in types]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("rob", [("robot", "instance", "")]),
        ("Rob", [("Robot", "class", "")]),
        ("x = [robot.wa", [("walk", "function", "(steps: int, *, speed=1.5)")]),
        ("robot.c", [("colour", "instance", "")]),
        ("robot.whe", [("where", "instance", "")]),
        ("robot.nothing", []),
        ("json.decoder.JSONDecoder.raw", [("raw_decode", "function", "(self, s, idx=0)")]),
        ("json.dec", [("decoder", "module", "")]),
        ("for i in range(3):\n    robot.col", [("colour", "instance", "")]),
        ("strange.waln", [("walnut", "instance", "")]),
        ("whi", [("while", "keyword", "")]),
    ],
)
def test_complete_says_what_the_object_says(robots, code, expected):
    assert found(robots, code) == expected


def test_complete_hides_names_with_underscores_until_they_are_begun(robots):
    names = [name for name, *_ in found(robots, "robot.")]
    assert names == ["colour", "walk", "where"]
    assert "__init__" in [name for name, *_ in found(robots, "robot.__i")]


def test_complete_of_objects_loads_no_jedi(new_worker, label):
    worker = new_worker(label)
    worker.execute(OBJECTS)
    before = worker.execute("import IPython.core.completer, sys; 'jedi' in sys.modules")  # before IPython 9 it is
    for code in ("rob", "robot.wal", "json.decoder.J"):
        assert found(worker, code)
    assert worker.execute("'jedi' in sys.modules").result == before.result


LEFT_TO_JEDI = (
    "robot().wa",
    "[robot][0].wa",
    "'text'.up",
    "1.re",
    "'robot.wa",
    "'''robot.wa",
    "# robot.wa",
    "import js",
    "from json import dec",
    "from json import (decoder, enc",
    "robot.walk(sp",
    "robot = json\nrobot.du",
    "def f(robot):\n    robot.wa",
    "robin = 1\nrob",
    "def ro",
    "_",
    "nosuch.attribute",
    "   if:\n x\n  robot.wa",
)


def test_what_is_no_name_of_an_object_is_left_to_jedi(robots):
    robots.execute(f"from petri_worker import live\ncodes = {LEFT_TO_JEDI!r}")
    result = robots.execute("[code for code in codes if live.names(code, [globals()]) is not None]").result
    assert result == "[]"
