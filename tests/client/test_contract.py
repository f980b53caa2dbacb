"""What a run may ask for beside its code, through the package: each part once, against petri."""

import hashlib

import pytest

import petri_kernel as petri


def test_files_come_as_texts_bytes_and_paths(shared, tmp_path):
    (tmp_path / "host.bin").write_bytes(b"\xff\0")
    found = shared.run(
        "print(open('in/a.txt').read(), open('b.bin', 'rb').read(), open('c.bin', 'rb').read())",
        files={"in/a.txt": "text", "b.bin": b"\0\1", "c.bin": tmp_path / "host.bin"},
    )
    assert found.stdout == "text b'\\x00\\x01' b'\\xff\\x00'\n", found.reason
    assert found.inputs[0] == petri.Input("in/a.txt", 4, hashlib.sha256(b"text").hexdigest())
    assert [given.path for given in found.inputs][:3] == ["in/a.txt", "b.bin", "c.bin"]


def test_stdin_is_read_to_its_end_and_without_it_input_fails_at_once(shared):
    assert shared.run("import sys; print(sum(map(int, sys.stdin)))", stdin="1\n2\n").stdout == "3\n"
    assert shared.run("input()").error.ename == "StdinNotImplementedError"


def test_variables_hold_for_one_run_where_the_configuration_allows_them():
    with petri.Session(config={"environment": ["MODE"]}) as session:
        code = "import os; print(os.environ.get('MODE'))"
        assert session.run(code, env={"MODE": "fast"}).stdout == "fast\n"
        assert session.run(code).stdout == "None\n"
        refused = session.run(code, env={"OTHER": "x"})
        assert refused.outcome == "refused" and "it allows MODE" in refused.error.evalue


def test_fresh_runs_see_nothing_of_the_session_and_leave_nothing(shared):
    shared.run("x = 1")
    assert shared.run("print('x' in globals()); x = 2", fresh=True).stdout == "False\n"
    assert shared.run("x").result == "1"


def test_artifacts_are_copied_out_and_read(tmp_path):
    with petri.Session(folder=tmp_path) as session:
        found = session.run(
            "open('a.bin', 'wb').write(bytes(range(200)))\nopen('b.txt', 'w').write('small')\n"
            "import os; os.symlink('/etc/passwd', 'c')",
            inline_bytes=10,
        )
        copied, inline, refused = found.artifacts
        assert copied.file == tmp_path / "outputs" / "a.bin" and copied.data is None
        assert copied.read_bytes() == bytes(range(200)) == (tmp_path / "outputs" / "a.bin").read_bytes()
        assert (copied.bytes, copied.sha256) == (200, hashlib.sha256(bytes(range(200))).hexdigest())
        assert inline.data is not None and inline.read_bytes() == b"small" and inline.mime == "text/plain"
        assert (refused.path, refused.copied_to, refused.refused) == ("c", None, "it is a link")
        assert [row.action for row in session.run("os.remove('b.txt')").artifacts] == ["deleted"]
        assert session.run("open('d', 'w').close()\nos._exit(3)").artifacts == []


def test_artifacts_over_the_limit_are_named_and_not_copied(shared):
    found = shared.run("open('big', 'wb').write(bytes(3000))", limits={"artifact": "2K"})
    assert found.outcome == "ok" and found.limits.artifact_bytes == 2048
    assert found.artifacts[0].copied_to is None and "2 KiB" in found.artifacts[0].refused


def test_artifacts_are_not_kept_where_the_configuration_says_so(tmp_path):
    with petri.Session(folder=tmp_path, config={"artifacts": False}) as session:
        found = session.run("open('a', 'w').close()")
    assert [row.path for row in found.artifacts] == ["a"] and found.artifacts[0].copied_to is None
    assert list(tmp_path.iterdir()) == []


def test_expectations_are_checked_and_the_outcome_stays(shared):
    expect = petri.Expect(
        artifacts=[petri.ExpectedArtifact("a.txt", "text/plain", 100), petri.ExpectedArtifact("b.txt")],
        stdout_regex="^done$",
        result_json_schema={"type": "integer"},
    )
    found = shared.run("open('a.txt', 'w').write('text'); print('done'); 'not a number'", expect=expect)
    assert found.outcome == "ok" and not found.ok
    assert [(check.check.split()[0], check.ok) for check in found.checks] == [
        ("artifact", True),
        ("artifact", False),
        ("stdout_regex", True),
        ("result_json_schema", False),
    ]
    assert "b.txt" in found.reason and all(check.detail for check in found.checks if not check.ok)
    assert shared.run("open('b.txt', 'w').close(); open('a.txt', 'w').write('x'); print('done'); 3", expect=expect).ok


def test_code_that_the_policy_refuses_is_named_with_its_line():
    with petri.Session(config={"refuse": {"imports": ["socket"]}}) as session:
        found = session.run("x = 1\nimport socket")
        assert (found.outcome, found.error.ename, found.error.line) == ("refused", "CellRefused", 2)
        assert session.run("'x' in globals()").result == "False"


def test_run_over_the_budget_is_refused(shared):
    for _ in range(2):
        assert shared.run("1", task="T-budget", limits={"runs": 2}).ok
    found = shared.run("print('it ran')", task="T-budget", limits={"runs": 2})
    assert (found.outcome, found.stdout, found.error.ename) == ("refused", "", "BudgetExceeded")
    with pytest.raises(petri.BudgetExceeded):
        found.raise_for_outcome()
    assert shared.run("1", task="another task", limits={"runs": 2}).ok


def test_network_attempts_are_listed_in_the_result(shared):
    found = shared.run("import socket\ntry: socket.create_connection(('192.0.2.1', 80), 1)\nexcept OSError: pass")
    assert found.ok
    assert [(row.syscall, row.count) for row in found.denied if "192.0.2.1" in row.detail] == [("connect", 1)]


def test_cached_result_is_given_where_requested(shared):
    code = "import random; print('drawn'); random.random()"
    first = shared.run(code, fresh=True, cache="1h").raise_for_outcome()
    again = shared.run(code, fresh=True, cache="1h")
    assert (first.cached, again.cached) == (False, True)
    assert (again.result, again.stdout, again.outcome) == (first.result, "drawn\n", "ok")
    assert not shared.run(code, fresh=True, cache=False).cached
    assert not shared.run(code, fresh=True).cached
    assert not shared.run(code, fresh=True, cache="1h", stdin="other").cached
