"""What a request asks for beside its code (metadata.petri), and what the run report says of it."""

import base64
import hashlib

import pytest
from kernels import WORK


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def test_files_are_there_before_the_code_runs(kernel, tmp_path):
    (tmp_path / "host.txt").write_text("host")
    data = bytes(range(256))
    files = [
        {"path": "in/table.csv", "text": "a,b\n1,2\n"},
        {"path": "raw.bin", "data": base64.b64encode(data).decode()},
        {"path": "host.txt", "text": "request"},
    ]
    code = f"print(open('in/table.csv').read(), len(open('{WORK}/raw.bin', 'rb').read()), open('host.txt').read())"
    cell = kernel.ask(code, {"files": files})
    assert cell.stdout == "a,b\n1,2\n 256 request\n", str(cell)
    assert cell.report["inputs"] == [
        {"path": "in/table.csv", "bytes": 8, "sha256": sha256(b"a,b\n1,2\n")},
        {"path": "raw.bin", "bytes": 256, "sha256": sha256(data)},
        {"path": "host.txt", "bytes": 7, "sha256": sha256(b"request")},
    ]
    assert (tmp_path / "host.txt").read_text() == "host"
    assert not (tmp_path / "raw.bin").exists()
    assert kernel.value("import os; os.access('raw.bin', os.W_OK), os.stat('raw.bin').st_uid == os.getuid()") == (
        "(True, True)"
    )


def test_files_of_a_cell_that_is_rolled_back_are_gone(venv_kernel):
    cell = venv_kernel.ask("import os; os._exit(3)", {"files": [{"path": "in.txt", "text": "x"}]})
    assert cell.ename == "CellCrashed"
    assert cell.report["inputs"] == [{"path": "in.txt", "bytes": 1, "sha256": sha256(b"x")}]
    assert venv_kernel.value("import os; os.path.exists('in.txt')") == "False"


@pytest.mark.parametrize(
    ("before", "path", "why"),
    [
        ("import os; os.symlink('/tmp', 'away')", "away/x", "a folder in its path is a link in the notebook's folder"),
        ("import os; os.mkdir('sub')", "sub", "the notebook's folder has a folder of that name"),
        ("open('file', 'w').close()", "file/x", "a folder in its path is a file in the notebook's folder"),
    ],
)
def test_files_that_cannot_be_put_are_refused(venv_kernel, before, path, why):
    assert venv_kernel.run(before).ok
    cell = venv_kernel.ask("print('it ran')", {"files": [{"path": path, "text": "x"}]})
    assert cell.ename == "CellRefused"
    assert cell.reply["evalue"] == (
        f"The cell was not run: the file \"{path}\" can't be put there: {why};"
        " the session is as it was before the cell."
    )
    assert cell.stdout == ""
    assert venv_kernel.value("1 + 1") == "2"


@pytest.mark.parametrize(
    ("petri", "why"),
    [
        ({"fresh": "yes"}, 'metadata.petri: "fresh" has to be true or false'),
        ({"timeout": 3}, 'metadata.petri has no "timeout"; there are "'),
        ({"files": [{"path": "../x", "text": ""}]}, 'the path "../x" has "." or ".." in it'),
        ({"env": {"HOME": "/"}}, 'env: the configuration does not allow "HOME"; it allows no names'),
        ({"limits": {"timeout": "2h"}}, "timeout 7200 s is over the ceiling of 3600 s in profile notebook"),
        (["fresh"], "metadata.petri has to be an object"),
    ],
)
def test_request_with_bad_metadata_is_refused_and_does_not_run(row_kernel, petri, why):
    cell = row_kernel.ask("print('it ran')", petri)
    assert cell.ename == "CellRefused"
    assert cell.reply["evalue"].startswith(f"The cell was not run: {why}")
    assert cell.report["outcome"] == "refused"
    assert cell.stdout == ""


def test_stdin_is_read_to_its_end(kernel):
    cell = kernel.ask("n = int(input('n? '))\nimport sys\nprint(n + sum(map(int, sys.stdin)))", {"stdin": "1\n2\n3\n"})
    assert cell.stdout == "n? 6\n", str(cell)
    assert kernel.run("input()").ename == "StdinNotImplementedError"


@pytest.mark.check
def test_fresh_runs_begin_at_the_start_and_leave_nothing(kernel):
    shown = kernel.value("__import__('os').listdir('.')")  # an interpreter below /work is seen there
    files = f"sorted({{*os.listdir('.')}} - {{'outputs', *{shown}}})"  # the first is where copies are, on the host's disk
    assert kernel.run("import os; x = 1; open('kept.txt', 'w').write('kept')").ok
    for _ in range(4):
        code = f"import os\nprint('x' in globals(), {files}, os.listdir('/tmp'))\nx = 2\nopen('mine', 'w').close()"
        cell = kernel.ask(code, {"fresh": True})
        assert cell.stdout.splitlines()[-1].startswith("False []"), str(cell)
        assert (cell.report["fresh"], cell.report["rolled_back"], cell.report["outcome"]) == (True, False, "ok")
        assert kernel.value(f"x, {files}") == "(1, ['kept.txt'])"


def test_fresh_runs_are_held_to_their_limits(venv_kernel):
    cell = venv_kernel.ask("while True: pass", {"fresh": True, "limits": {"timeout": "500ms"}})
    assert cell.ename == "CellTimeout"
    cell = venv_kernel.ask("b = bytearray(900 << 20)", {"fresh": True, "limits": {"memory": "100M"}})
    assert cell.ename in ("MemoryError", "CellMemoryLimit")
    assert venv_kernel.ask("print(6 * 7)", {"fresh": True}).stdout == "42\n"


def test_allowed_environment_variables_hold_for_one_cell(configure, start):
    configure(environment=["MODE"])
    kernel = start()
    code = "import os, subprocess\nprint(os.environ.get('MODE'), subprocess.getoutput('echo $MODE'))"
    assert kernel.ask(code, {"env": {"MODE": "fast"}}).stdout == "fast fast\n"
    assert kernel.run(code).stdout == "None \n"
    cell = kernel.ask(code, {"env": {"PATH": "/"}})
    assert 'the configuration does not allow "PATH"; it allows MODE' in cell.reply["evalue"]


def test_a_task_is_in_the_report(venv_kernel):
    assert venv_kernel.ask("1", {"task": "T-17"}).report["task"] == "T-17"
    assert "task" not in venv_kernel.ask("1", {}).report


def checks(cell):
    return {row["check"]: (row["ok"], row["detail"]) for row in cell.report["validation"]}


def test_artifacts_are_checked_against_what_is_expected(venv_kernel):
    expected = [
        {"path": "good.csv", "mime": "text/csv", "max_bytes": 100},
        {"path": "large.csv", "max_bytes": 3},
        {"path": "plot.png", "mime": "image/png"},
        {"path": "none.txt"},
        {"path": "link"},
    ]
    code = (
        "import os\nopen('good.csv', 'w').write('a,b\\n')\nopen('large.csv', 'w').write('a,b\\n')\n"
        "open('plot.png', 'w').write('no picture')\nos.symlink('good.csv', 'link')"
    )
    cell = venv_kernel.ask(code, {"expect": {"artifacts": expected}})
    assert cell.report["outcome"] == "ok"
    assert checks(cell) == {
        "artifact good.csv": (True, "text/csv, 4 bytes"),
        "artifact large.csv": (False, "its 4 bytes are more than 3"),
        "artifact plot.png": (False, "it is text/plain and not image/png"),
        "artifact none.txt": (False, "the cell has not made it"),
        "artifact link": (False, "it is no plain file any more"),
    }


@pytest.mark.parametrize(
    ("pattern", "ok", "detail"),
    [
        ("^done: \\d+$", False, "not found"),
        ("(?m)^done: \\d+$", True, "found at 6"),
        ("done", True, "found at 6"),
        ("(", False, "the pattern is not valid: missing ), unterminated subpattern at position 0"),
    ],
)
def test_stdout_is_matched_with_the_expected_pattern(row_kernel, pattern, ok, detail):
    cell = row_kernel.ask("print('first'); print('done: 17')", {"expect": {"stdout_regex": pattern}})
    assert checks(cell) == {"stdout_regex": (ok, detail)}


def test_pattern_that_times_out_fails_only_its_own_check(venv_kernel):
    expect = {"stdout_regex": "^(a+)+$", "result_json_schema": {"const": 1}}
    cell = venv_kernel.ask("print('a' * 60 + '!'); 1", {"expect": expect})
    assert (cell.report["outcome"], cell.report["rolled_back"]) == ("ok", False)
    assert checks(cell) == {
        "stdout_regex": (False, "timed out"),
        "result_json_schema": (True, "the result is valid"),
    }
    assert venv_kernel.value("1 + 1") == "2"


ROW = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}
RESULTS = {
    "a literal": ("{'n': 1, 2: (1, None)}", ROW, True, "the result is valid"),
    "JSON": ("from IPython.display import JSON\nJSON({'n': 1})", ROW, True, "the result is valid"),
    "a wrong type": ("{'n': 'x'}", ROW, False, "$.n: 'x' is not of type 'integer'"),
    "a missing key": ("{}", ROW, False, "$: 'n' is a required property"),
    "no result": ("pass", ROW, False, "the run has no result"),
    "no value": ("object()", ROW, False, "the result is neither JSON nor a literal of Python's"),
    "a bad schema": ("1", {"type": "number of things"}, False, None),
    "true": ("1", True, True, "the result is valid"),
}


@pytest.mark.check
@pytest.mark.parametrize("case", RESULTS)
def test_result_is_checked_against_the_expected_schema(row_kernel, case):
    code, schema, ok, detail = RESULTS[case]
    cell = row_kernel.ask(code, {"expect": {"result_json_schema": schema}})
    ((found, text),) = checks(cell).values()
    assert found == ok, text
    if detail:
        assert text == detail
    else:
        assert text.startswith("the schema is not valid: 'number of things' is not valid")


def test_result_too_large_to_be_kept_fails_its_check(kernel):
    cell = kernel.ask("'x' * (5 << 20)", {"expect": {"result_json_schema": True}})
    assert checks(cell) == {"result_json_schema": (False, "the result was too large to be kept")}


def test_reason_cut_inside_a_character_is_still_reported(kernel):
    cell = kernel.ask("'é' * 400", {"expect": {"result_json_schema": {"type": "integer"}}})
    ((ok, detail),) = checks(cell).values()
    assert not ok and detail.startswith("$: 'éé")


def test_code_of_the_run_cannot_change_its_checks(venv_kernel):
    """It may change what it can reach: the checks run where none of it has been."""
    venv_kernel.run("import re, json, sys\nre.compile = re.search = lambda *a: True\nsys.modules['jsonschema'] = re")
    code = "import petri_worker.checks as c\nc.check = c._CHECKS = None\nprint('no')\n1"
    cell = venv_kernel.ask(code, {"expect": {"stdout_regex": "yes", "result_json_schema": {"const": 2}}})
    assert [ok for ok, _ in checks(cell).values()] == [False, False]


def test_checks_of_a_rolled_back_cell_all_fail(venv_kernel):
    expect = {"artifacts": [{"path": "a.txt"}], "stdout_regex": "x"}
    code = "print('x', flush=True); open('a.txt', 'w').close(); import os; os._exit(1)"
    cell = venv_kernel.ask(code, {"expect": expect})
    why = (False, "the cell has left nothing to check")
    assert checks(cell) == {"artifact a.txt": why, "stdout_regex": why}


def test_expectations_of_a_fresh_run_that_raised_are_checked(venv_kernel):
    cell = venv_kernel.ask("print('x')\n1 / 0", {"fresh": True, "expect": {"stdout_regex": "x"}})
    assert (cell.report["outcome"], checks(cell)) == ("error", {"stdout_regex": (True, "found at 0")})


def test_files_that_a_cell_reads_are_listed_as_inputs(kernel, tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "data.csv").write_text("1,2\n")
    (tmp_path / "sub" / "module.py").write_text("value = 7\n")
    (tmp_path / "unread.csv").write_text("x")
    code = """
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, "sub")
import module
total = sum(map(int, open("data.csv").read().split(",")))
open("made.csv", "w").write("a")
open("made.csv").read()
open("brought.txt").read()
"""
    cell = kernel.ask(code, {"files": [{"path": "brought.txt", "text": "b"}]})
    assert cell.report["inputs"] == [
        {"path": "brought.txt", "bytes": 1, "sha256": sha256(b"b")},
        {"path": "data.csv", "bytes": 4, "sha256": sha256(b"1,2\n")},
        {"path": "sub/module.py", "bytes": 10, "sha256": sha256(b"value = 7\n")},
    ], str(cell)
    assert cell.report["inputs_complete"]
    cell = kernel.run("open('made.csv').read()")
    assert cell.report["inputs"] == [{"path": "made.csv", "bytes": 1, "sha256": sha256(b"a")}]
    assert kernel.run("1").report["inputs"] == []


def test_input_that_the_cell_changes_is_listed_as_it_was_before(venv_kernel, tmp_path):
    (tmp_path / "data.csv").write_text("before")
    cell = venv_kernel.run("text = open('data.csv').read()\nopen('data.csv', 'w').write('after')")
    assert cell.report["inputs"] == [{"path": "data.csv", "bytes": 6, "sha256": sha256(b"before")}]
    (tmp_path / "other.csv").write_text("one")
    assert venv_kernel.run("open('other.csv').read()").report["inputs"][0]["sha256"] == sha256(b"one")
    (tmp_path / "other.csv").write_text("two")
    assert venv_kernel.run("open('other.csv').read()").report["inputs"][0]["sha256"] == sha256(b"two")


def test_inputs_too_large_or_too_many_are_reported_as_incomplete(venv_kernel, tmp_path):
    (tmp_path / "large.bin").write_bytes(bytes(17 << 20))
    cell = venv_kernel.run("n = len(open('large.bin', 'rb').read(10))")
    assert cell.report["inputs"] == [{"path": "large.bin", "bytes": 17 << 20, "sha256": None}]
    assert not cell.report["inputs_complete"]
    for i in range(200):
        (tmp_path / f"d{i}").mkdir()
    venv_kernel.run("1")
    assert not venv_kernel.run("1").report["inputs_complete"]


LOOKUPS = {
    "python": "import socket\nsocket.getaddrinfo('data.example.org', 443)",
    "urllib": "import urllib.request\nurllib.request.urlopen('https://data.example.org/x')",
    "another process": "!getent hosts data.example.org",
    "C": "import ctypes\nctypes.CDLL(None).gethostbyname(b'data.example.org')",
}


@pytest.mark.parametrize("how", LOOKUPS)
def test_name_that_is_looked_up_is_denied_with_it_and_told_once(start, how):
    kernel = start()
    for told in (True, False):
        cell = kernel.run(LOOKUPS[how])
        [row] = [row for row in cell.report["denied"] if row["syscall"] == "getaddrinfo"]
        assert (row["detail"], row["count"] >= 1) == ("data.example.org", True)
        assert ("petri: this kernel has no network" in cell.stderr) == told
        assert not told or "could not reach data.example.org" in cell.stderr


def test_fresh_run_leaves_the_session_what_is_told_once(venv_kernel):
    for petri in ({"fresh": True}, {"fresh": True}, {}):
        assert "no network" in venv_kernel.ask(LOOKUPS["python"], petri).stderr
    assert "no network" not in venv_kernel.ask(LOOKUPS["python"], {}).stderr


def test_name_that_is_looked_up_in_a_fresh_or_silent_run(venv_kernel):
    cell = venv_kernel.ask(LOOKUPS["python"], {"fresh": True})
    assert cell.ename == "gaierror" and cell.report["denied"][0]["detail"] == "data.example.org"
    assert "no network" in cell.stderr
    silent = venv_kernel.ask("import socket\ntry: socket.getaddrinfo('b.org', 1)\nexcept OSError: pass", {}, silent=True)
    assert silent.of("stream") == []


def test_names_without_end_are_bounded_and_the_kernel_answers(venv_kernel):
    code = (
        "import socket\nasked = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        "for n in range(5000):\n"
        "    name = b'n%d' % n\n"
        "    asked.sendto(bytes.fromhex('000101000001000000000000') + bytes([len(name)]) + name + b'\\0\\0\\1\\0\\1',"
        " ('127.0.0.1', 53))\n"
    )
    cell = venv_kernel.good(code)
    assert len(cell.report["denied"]) <= 100
    assert venv_kernel.value("6 * 7") == "42"


def test_localhost_and_the_hosts_own_name_are_known(venv_kernel):
    code = "import socket\n[socket.gethostbyname(name) for name in ('localhost', 'petri')]"
    cell = venv_kernel.good(code)
    assert (cell.result, cell.report["denied"]) == ("['127.0.0.1', '127.0.0.1']", [])


def test_pip_install_ends_at_once(venv_kernel):
    cell = venv_kernel.good("!pip install surely-not-there")
    assert "Retrying" not in cell.stdout + cell.stderr and "this kernel has no network" in cell.stderr


def test_address_out_of_reach_is_told_only_where_the_code_has_failed(start):
    kernel = start()
    probe = "import socket\nsocket.socket(socket.AF_INET, socket.SOCK_DGRAM).connect_ex(('192.0.2.1', 80))"
    cell = kernel.good(probe)
    assert cell.report["denied"] and cell.stderr == ""
    failed = kernel.run("socket.create_connection(('192.0.2.1', 80))")
    assert "could not reach 192.0.2.1 port 80" in failed.stderr
