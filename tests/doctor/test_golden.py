"""golden.py itself: what a machine prints is compared, and what it leaves out is found."""

import json

import pytest

import golden

PRINTED = """noise
petri-doctor: begin a --text
petri: it is Linux 6.1.0-50-cloud-amd64.\r
petri-doctor: exit 1
petri-doctor: begin a --json
{}
petri-doctor: exit 1
petri-doctor: end, after 9 s
"""
TEXT = "$ petri doctor\npetri: it is Linux 6.1.\n[exit status 1]\n"


@pytest.fixture(autouse=True)
def said(tmp_path, monkeypatch):
    monkeypatch.delenv("PETRI_WRITE_PAGES", raising=False)
    monkeypatch.setattr(golden, "SAID", tmp_path)
    (tmp_path / "a.txt").write_text(TEXT)
    (tmp_path / "a.json").write_text("{}\n")
    return tmp_path


def test_what_is_as_its_files_say_is_no_mistake():
    assert list(golden.mistakes(PRINTED, ["a"])) == []


@pytest.mark.parametrize(
    ("before", "after", "mistake"),
    [
        ("it is Linux 6.1.", "it was Linux 6.1.", "+petri: it was Linux 6.1."),
        ("Linux 6.1.0", "Linux 6.2.0", "+petri: it is Linux 6.2."),
        ("exit 1\n", "exit 2\n", "+[exit status 2]"),
        ("{}", "[]", "+[]"),
        ("begin a --json", "begin b --json", "a --json: the machine did not show it"),
        ("begin a --json", "begin b --json", "b --json: SITUATIONS does not have it"),
        ("noise\n", "petri-doctor: failed: modprobe overlay: exit 1\n", "failed: modprobe overlay: exit 1"),
        ("petri-doctor: end, after 9 s\n", "", "the machine did not come to its end"),
    ],
)
def test_what_is_not_as_its_files_say_is_found(before, after, mistake):
    assert any(mistake in found for found in golden.mistakes(PRINTED.replace(before, after), ["a"]))


def test_what_has_no_file_is_found_and_is_written_if_asked_for(said, monkeypatch):
    (said / "a.txt").unlink()
    assert len(list(golden.mistakes(PRINTED, ["a"]))) == 1
    monkeypatch.setenv("PETRI_WRITE_PAGES", "1")
    assert list(golden.mistakes(PRINTED, ["a"])) == []
    assert (said / "a.txt").read_text() == TEXT


def test_each_situation_has_its_files_and_each_file_its_situation(monkeypatch):
    monkeypatch.undo()
    names = [name for situations in golden.SITUATIONS.values() for name in situations]
    assert len(names) == len(set(names))
    expected = {f"{name}.{form}" for name in names for form in golden.FORMS.values()}
    assert {path.name for path in golden.SAID.iterdir()} == expected


def test_where_what_doctor_says_was_done_cells_run(monkeypatch):
    monkeypatch.undo()
    mended = list(golden.SAID.glob("*-mended.json"))
    assert mended
    for path in mended:
        assert json.loads(path.read_text())["finding"] != "unusable", path.name
