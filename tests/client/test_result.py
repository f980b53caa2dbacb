"""A run's report as a Python object: its fields have names and types, and each failure is an exception."""

import base64
import hashlib
import pathlib

import pytest

import petri_kernel as petri
from petri_kernel.errors import failure_class
from petri_kernel.result import Output, make_result

FOLDER = pathlib.Path("/folder")

REPORT = {
    "run_id": "r",
    "session_id": "s",
    "outcome": "ok",
    "rolled_back": False,
    "limits": {"timeout_ms": 1000, "a_new_one": 3},
    "metrics": {"wall_ms": 1.5, "a_new_one": 3},
    "exit": {},
    "error": None,
    "artifacts": [
        {
            "path": "a.png",
            "bytes": 3,
            "sha256": hashlib.sha256(b"png").hexdigest(),
            "mime": "image/png",
            "action": "created",
            "copied_to": "outputs/a.png",
        },
        {"path": "b", "action": "created", "refused": "it is a link"},
        {"path": "c", "action": "changed", "bytes": 2, "data": base64.b64encode(b"hi").decode(), "a_new_one": 3},
    ],
    "inputs": [{"path": "in.csv", "bytes": 1, "sha256": "11"}],
    "denied": [{"syscall": "connect", "detail": "192.0.2.1:80", "count": 2}],
    "validation": [{"check": "stdout_regex", "ok": True, "detail": ""}],
    "a_new_one": {"x": 1},
}


def result(**changes):
    return make_result({**REPORT, **changes}, Output(stdout="out", result="42"), FOLDER)


def test_a_report_gets_names_and_types():
    found = result()
    assert found.ok and found.reason == "" and found.raise_for_outcome() is found
    assert (found.stdout, found.result, found.run_id, found.session_id) == ("out", "42", "r", "s")
    assert found.limits.timeout_ms == 1000 and found.metrics.wall_ms == 1.5
    assert found.inputs == [petri.Input("in.csv", 1, "11")]
    assert found.denied == [petri.Denied("connect", "192.0.2.1:80", 2)]
    assert found.checks == [petri.Check("stdout_regex", True, "")]


def test_keys_unknown_to_the_package_stay_in_the_report():
    assert result().report["a_new_one"] == {"x": 1}
    assert result().report["metrics"]["a_new_one"] == 3


def test_report_of_an_older_kernel_without_keys_is_accepted():
    found = make_result({"outcome": "ok"}, Output(), FOLDER)
    assert (found.artifacts, found.checks, found.metrics, found.cached) == ([], [], petri.Metrics(), False)
    assert (found.image, found.parent, found.committed, found.checkpoint) == (None, None, False, None)


def test_artifacts_are_read_inline_or_from_their_copy(tmp_path):
    (tmp_path / "outputs").mkdir()
    (tmp_path / "outputs" / "a.png").write_bytes(b"png")
    copied, refused, inline = make_result(REPORT, Output(), tmp_path).artifacts
    assert copied.file == tmp_path / "outputs" / "a.png" and copied.read_bytes() == b"png"
    assert inline.read_bytes() == b"hi"
    with pytest.raises(FileNotFoundError, match="b was not copied out: it is a link"):
        refused.read_bytes()


def test_a_copy_that_was_replaced_or_removed_is_an_error_and_not_other_bytes(tmp_path):
    copy = tmp_path / "a.txt"
    copy.write_bytes(b"mine")
    row = {"path": "a.txt", "action": "created", "copied_to": "a.txt", "sha256": hashlib.sha256(b"mine").hexdigest()}
    [artifact] = make_result({"outcome": "ok", "artifacts": [row]}, Output(), tmp_path).artifacts
    assert artifact.read_bytes() == b"mine"
    copy.write_bytes(b"that of another run")
    with pytest.raises(petri.FileNotKept, match="a.txt was replaced by a later run or another program"):
        artifact.read_bytes()
    copy.unlink()
    with pytest.raises(petri.FileNotKept, match="a.txt is not there any more"):
        artifact.read_bytes()


FAILURES = {
    ("error", "ValueError"): petri.CodeRaised,
    ("interrupted", "KeyboardInterrupt"): petri.CellInterrupted,
    ("timeout", "CellTimeout"): petri.CellTimeout,
    ("cpu", "CellCpuLimit"): petri.CellCpuLimit,
    ("memory", "CellMemoryLimit"): petri.CellMemoryLimit,
    ("crash", "CellCrashed"): petri.CellCrashed,
    ("refused", "CellRefused"): petri.CellRefused,
    ("refused", "BudgetExceeded"): petri.BudgetExceeded,
    ("sandbox", "SandboxError"): petri.SandboxError,
    ("an outcome of tomorrow", "New"): petri.CellFailed,
}


@pytest.mark.parametrize(("outcome", "ename"), FAILURES)
def test_each_outcome_has_its_exception(outcome, ename):
    failed = result(outcome=outcome, error={"ename": ename, "evalue": "It is so."})
    assert not failed.ok
    assert failure_class(outcome, ename) is FAILURES[outcome, ename]
    with pytest.raises(petri.CellFailed) as raised:
        failed.raise_for_outcome()
    assert type(raised.value) is FAILURES[outcome, ename]
    assert raised.value.result is failed and str(raised.value) == f"{ename}: It is so."


def test_a_check_that_fails_is_not_ok_but_the_outcome_stays():
    failed = result(validation=[{"check": "stdout_regex", "ok": False, "detail": "stdout does not match"}])
    assert failed.outcome == "ok" and not failed.ok
    assert failed.reason == "stdout_regex: stdout does not match"
    assert failed.raise_for_outcome() is failed
