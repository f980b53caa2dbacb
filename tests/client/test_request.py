"""What a run asks for: what is sent, and what is refused before."""

import base64
import pathlib
import re

import pytest

from conftest import ROOT
from petri_kernel import BadRequest, Expect, ExpectedArtifact, Image
from petri_kernel import request as bounds
from petri_kernel.request import Request


def test_metadata_without_options_is_empty():
    assert Request().metadata() == {}


def test_metadata_has_all_that_is_asked_for(tmp_path):
    (tmp_path / "host.bin").write_bytes(b"\xff\0")
    schema = {"type": "object"}
    asked = Request(
        files={"in/a.csv": "a,b\n", "b.bin": b"\0\1", "c.bin": tmp_path / "host.bin"},
        stdin="",
        env={"MODE": "fast"},
        timeout=1.5,
        memory="1M",
        limits={"processes": 3},
        task="T-17",
        fresh=True,
        expect=Expect([ExpectedArtifact("out.png", "image/png", 100)], stdout_regex="^x", result_json_schema=schema),
        inline_bytes=10,
        cache="1h",
    )
    assert asked.metadata() == {
        "limits": {"timeout": 1500, "memory": 1 << 20, "processes": 3},
        "files": [
            {"path": "in/a.csv", "text": "a,b\n"},
            {"path": "b.bin", "data": base64.b64encode(b"\0\1").decode()},
            {"path": "c.bin", "data": base64.b64encode(b"\xff\0").decode()},
        ],
        "stdin": "",
        "env": {"MODE": "fast"},
        "task": "T-17",
        "fresh": True,
        "expect": {
            "artifacts": [{"path": "out.png", "mime": "image/png", "max_bytes": 100}],
            "stdout_regex": "^x",
            "result_json_schema": schema,
        },
        "inline_bytes": 10,
        "cache": "3600000ms",
    }
    assert Request(cache=False).metadata() == {"cache": False}


def test_where_a_run_begins_and_what_becomes_of_it_is_sent_as_texts():
    asked = {"from": "good", "checkpoint": "better"}
    assert Request(from_="good", checkpoint="better").metadata() == asked
    assert Request(from_=3, commit=False).metadata() == {"from": "3", "commit": False}
    assert Request(from_=Image("a run's id")).metadata() == {"from": "a run's id"}
    assert Request(fresh=True, commit=False).metadata() == {"fresh": True, "commit": False}


def test_a_run_needs_no_turn_where_it_takes_and_leaves_nothing_of_the_present_state():
    asked = {"from": "a", "commit": "branch", "checkpoint": "b"}
    assert Request(from_="a", branch=True, checkpoint="b").metadata() == asked
    beside = [Request(fresh=True), Request(from_="a", branch=True), Request(from_="a", commit=False)]
    own = [Request(), Request(from_="a"), Request(commit=False), Request(checkpoint="a")]
    assert ([asked.beside for asked in beside], [asked.beside for asked in own]) == ([True] * 3, [False] * 4)


def test_expect_may_be_a_mapping_and_a_schema_may_be_false():
    assert Request(expect={"stdout_regex": "x"}).metadata() == {"expect": {"stdout_regex": "x"}}
    assert Request(expect=Expect(result_json_schema=False)).metadata() == {"expect": {"result_json_schema": False}}


NAMES = ("policy/spec.h", "base/filename.h", "base/image_name.h")


def test_the_bounds_are_those_of_the_kernel():
    headers = "".join((ROOT / "kernel" / name).read_text() for name in NAMES)
    row = re.compile(r"\b(?:SPEC_|FILENAME_|(?=IMAGE_))(\w+) = (\d+)(?: << (\d+))?(?:,| })")
    kernels = {name: int(number) << int(shift or 0) for name, number, shift in row.findall(headers)}
    ours = {name: value for name, value in vars(bounds).items() if name.isupper() and isinstance(value, int)}
    assert len(ours) > 8 and ours == {name: kernels.get(name) for name in ours}


BAD = {
    "path": [
        {"files": {path: "x"}}
        for path in ["", "/etc/x", "../x", "a/../b", "a//b", "./a", "a/", "a\nb", "a\0b", "x" * 201, "a/" * 32 + "a"]
    ],
    "files": [
        {"files": {"a": 3}},
        {"files": {"a": pathlib.Path("/nonexistent/file")}},
        {"files": {"a": "\ud800"}},
        {"files": {"a": bytes(bounds.FILE_BYTES + 1)}},
        {"files": {name: bytes(bounds.FILES_BYTES // 3 + 1) for name in "abc"}},
        {"files": {str(number): "" for number in range(bounds.FILES + 1)}},
    ],
    "stdin": [{"stdin": 3}, {"stdin": "x" * (bounds.STDIN_BYTES + 1)}, {"stdin": "\udcff"}],
    "env": [{"env": {"": "x"}}, {"env": {"A=B": "x"}}, {"env": {"A": 1}}, {"env": {"A": "\0"}}],
    "task": [{"task": ""}, {"task": "x" * 129}, {"task": "a\nb"}, {"task": 17}],
    "fresh": [{"fresh": "yes"}, {"fresh": 1}],
    "expect": [{"expect": {"stdout_regex": bad}} for bad in ("(", "\udcff")]
    + [{"expect": {"result_json_schema": {"x": {1, 2}}}}],
    "cache": [{"cache": True}, {"cache": 0}, {"cache": "soon"}, {"cache": [1]}],
    "from": [{"from_": bad} for bad in (0, [1], -1, True, 1.5, "", "x" * 65, "\udcff", b"x")]
    + [{"from_": "good", "fresh": True}],
    "commit": [{"commit": 0}, {"commit": None}],
    "checkpoint": [{"checkpoint": bad} for bad in ("", "x" * 65, 3)]
    + [{"checkpoint": "good", "fresh": True}, {"checkpoint": "good", "commit": False}],
    "inline": [{"inline_bytes": -1}, {"inline_bytes": True}, {"inline_bytes": (1 << 20) + 1}],
}


@pytest.mark.parametrize(
    ("name", "asked"),
    [(name, asked) for name, all_asked in BAD.items() for asked in all_asked],
    ids=lambda x: str(x)[:40],
)
def test_invalid_argument_is_refused_by_name(name, asked):
    with pytest.raises(BadRequest) as raised:
        Request(**asked).metadata()
    key = next(iter(asked))
    assert key.split("_")[0] in str(raised.value) or name in str(raised.value) or "variable" in str(raised.value)
