"""The comparison itself: a test of two kernels that sees no difference shows nothing."""

import pytest

from differences import mistakes, renewed, sections
from rules import RULES, without_chance
from shown import FIELDS

SECTION = sections()[0]
CELL = dict.fromkeys(FIELDS, "") | {"outputs": [{"type": "stream"}], "stdout": "one\ntwo\nthree\n"}
OTHER = CELL | {"stdout": "one\n2\nthree\n"}
ROW = {"cell": 0, "shown": "stdout", "petri": "two", "ipykernel": "2", "section": SECTION}


def test_what_is_the_same_is_no_mistake_and_a_listed_difference_is_none():
    assert list(mistakes([], {0: CELL}, {0: CELL})) == []
    assert list(mistakes([ROW], {0: CELL}, {0: OTHER})) == []


@pytest.mark.parametrize("field", FIELDS)
def test_a_difference_in_any_field_is_a_mistake(field):
    (mistake,) = mistakes([], {0: CELL}, {0: CELL | {field: "something else"}})
    assert mistake.startswith("not listed: ") and f'"{field}"' in mistake


@pytest.mark.parametrize(
    "rows",
    [
        [ROW | {"petri": "three"}],
        [ROW | {"cell": 1}],
        [ROW | {"section": "No such section"}],
        [ROW, ROW | {"shown": "stderr"}],
        [{"cell": 0, "chance": ""}],
        [{"cell": 0, "chance": "its status too"}, ROW],
    ],
    ids=["another text", "another cell", "no section", "no longer there", "no reason", "chance and a row"],
)
def test_a_row_that_is_not_true_is_a_mistake(rows):
    assert list(mistakes(rows, {0: CELL}, {0: OTHER}))


def test_a_long_difference_is_listed_by_its_hash_and_one_character_more_is_another():
    long = CELL | {"stdout": "x" * 2000}
    (row,) = renewed([], {0: long}, {0: CELL}, {0: CELL})
    assert "sha256" in row["petri"]
    assert list(mistakes([row | {"section": SECTION}], {0: long}, {0: CELL})) == []
    assert list(mistakes([row | {"section": SECTION}], {0: CELL | {"stdout": "x" * 2001}}, {0: CELL}))


def test_of_a_cell_with_chance_the_status_and_the_kinds_of_output_are_compared():
    chance = [{"cell": 0, "chance": "random numbers"}]
    assert list(mistakes(chance, {0: CELL}, {0: OTHER})) == []
    assert list(mistakes(chance, {0: CELL}, {0: OTHER | {"status": "error"}}))
    assert list(mistakes(chance, {0: CELL}, {0: OTHER | {"outputs": [{"type": "stream"}, {"type": "display_data"}]}}))


def test_renewed_rows_keep_their_section_and_ask_for_one_where_there_is_none():
    assert renewed([ROW], {0: CELL}, {0: OTHER}, {0: OTHER}) == [ROW]
    assert renewed([], {0: CELL}, {0: OTHER}, {0: OTHER}) == [ROW | {"section": "?"}]
    assert renewed([ROW], {0: CELL}, {0: CELL}, {0: CELL}) == []
    assert renewed([], {0: CELL}, {0: OTHER}, {0: CELL}) == [{"cell": 0, "chance": "?"}]


# What a rule takes for the same, and what is near to it and isn't.
PAIRS = {
    "address": ("<a at 0x7f00aa11bb22>", "<a at 0x7f00aa11bb33>", "<b at 0x7f00aa11bb33>"),
    "cell's file": ("/tmp/ipykernel_1/22.py", "<ipython-input-3-0123456789ab>", "/tmp/ipykernel_1/a.py"),
    "cell's file in a SyntaxError": ("(123.py, line 1)", "(<ipython-input-3-0123456789ab>, line 1)", "(a.py, line 1)"),
    "time of a cell": ("Wall time: 3 ms", "Wall time: 4 s", "Wall: 3 ms"),
    "%timeit": (
        "1 ns ± 0.1 ns per loop (mean ± std. dev. of 7 runs, 100 loops each)",
        "3 μs ± 2 ns per loop (mean ± std. dev. of 7 runs, 1,000 loops each)",
        "3 μs ± 2 ns per loop (mean ± std. dev. of 2 runs, 1,000 loops each)",
    ),
    "slow %timeit": ("The slowest run took 4.1 times longer than the fastest. This\n", "", "The slowest run"),
    "progress": ("[00:01<00:02, 3.4it/s]", "[00:00<?, 9it/s]", "[00:01]"),
    "progress bar": ("|██  | 1/2 [", "|█| 1/2 [", "|█| 2/2 ["),
    "time of tests": ("Ran 3 tests in 0.1s", "Ran 3 tests in 2.5s", "Ran 4 tests in 0.1s"),
    "temporary name": ("/tmp/tmpabcd_123/x", "/tmp/tmpzzzz9999/x", "/tmp/tmpabcd_123/y"),
    "UUID": ("0123456789abcdef0123456789abcdef", "0" * 32, "0" * 31),
    "id of a Styler": ("#T_01abc_row0", "#T_99abc_row0", "#T_01abc_row1"),
    "id in an SVG": ('"#a0123456789"', '"#a0123456780"', '"#b0123456789"'),
    "date of an SVG": ("<dc:date>1</dc:date>", "<dc:date>2</dc:date>", "<dc:data>1</dc:data>"),
    "date of a summary": ("Date: Mon, 23 Nov 2026", "Date: Tue, 24 Nov 2026", "Day: Mon, 23 Nov 2026"),
    "time of a summary": ("Time: 00:01:02", "Time: 10:11:12", "Hour: 00:01:02"),
}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_takes_out_what_is_chance_and_leaves_what_is_not(rule):
    one, same, other = (without_chance([{"text": text}], {}) for text in PAIRS[rule.name])
    assert one == same != other


def test_places_are_named_before_the_rules_are_applied():
    assert without_chance({"/a/b/c": ["in /a/b/c"]}, {"/a/b": "(folder)"}) == {"(folder)/c": ["in (folder)/c"]}
