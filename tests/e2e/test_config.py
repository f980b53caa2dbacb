"""The configuration: its JSON schema accepts what `petri config check` accepts, and a broken one runs no cell."""

import json
import subprocess
import sys

import jsonschema
import pytest

from kernels import PETRI

GOOD = [
    {},
    {"history": False},
    {"profiles": {"strict": {"timeout": "90s", "ceilings": {"timeout": "2m"}}, "exam": {"based_on": "strict"}}},
    {"profiles": {"notebook": {"displays": 1_000_000, "ceilings": {"displays": 2_000_000}}}},
    {"profiles": {"notebook": {"timeout": "5m", "disk": "1G", "processes": 8}, "strict": {"memory": "128 MiB"}}},
    {"profiles": {"notebook": {"timeout": 1500, "memory": 1 << 30, "runs": 10, "budget": "1h"}}},
    {"records": False},
    {"records": {"keep_days": 1, "max_bytes": "64M"}},
    {"records": {"max_bytes": 1 << 20, "path": "/var/runs.sqlite"}},
    {"cache": {"ttl": "1 h"}},
    {"packages": ["numpy", "zope.interface"], "inputs": ["/srv"], "environment": ["REGION"]},
    {"artifacts": False},
    {"artifacts": "out"},
    {"interrupt_grace": "500ms"},
    {"variables": {"REGION": "eu", "API_KEY": True}},
    {"variables": {}},
    {"locked": True},
    {"locked": ["records", "profiles"]},
    {"refuse": {"imports": ["os.path"], "patterns": ["x+"]}, "redact": ["K-[0-9]+"]},
]
BAD = [
    [],
    {"unheard": 1},
    {"history": 1},
    {"profiles": {"lax": {}}},
    {"profiles": {"Lax": {"based_on": "strict"}}},
    {"profiles": {"strict": {"based_on": "notebook"}}},
    {"profiles": {"exam": {"based_on": "strict", "colour": 1}}},
    {"profiles": {"strict": {"ceilings": {"timeout": 0}}}},
    {"profiles": {"notebook": {"colour": 1}}},
    {"profiles": {"notebook": {"timeout": 0}}},
    {"profiles": {"notebook": {"timeout": "0s"}}},
    {"profiles": {"notebook": {"timeout": "1d"}}},
    {"profiles": {"notebook": {"displays": 1_000_000}}},
    {"profiles": {"strict": {"memory": "0M"}}},
    {"records": True},
    {"records": {"keep_days": 0}},
    {"records": {"max_bytes": "1.5G"}},
    {"records": {"path": "runs.sqlite"}},
    {"cache": {"ttl": "0h"}},
    {"cache": {"ttl": 5}},
    {"cache": False},
    {"packages": ["numpy>=2"]},
    {"packages": "numpy"},
    {"environment": ["1X"]},
    {"inputs": ["data"]},
    {"variables": {"1X": "a"}},
    {"variables": {"X": False}},
    {"variables": ["X"]},
    {"artifacts": "../x"},
    {"artifacts": ""},
    {"artifacts": True},
    {"interrupt_grace": 2},
    {"locked": False},
    {"locked": ["locked"]},
    {"locked": ["keep_days"]},
    {"refuse": {"lines": []}},
]


@pytest.fixture(scope="module")
def validator():
    schema = json.loads(subprocess.run([PETRI, "config", "schema"], capture_output=True, check=True).stdout)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@pytest.mark.parametrize("config", [*GOOD, *BAD], ids=json.dumps)
def test_schema_accepts_what_config_check_accepts_and_nothing_else(validator, tmp_path, config):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config))
    checked = subprocess.run([PETRI, "config", "check", path], capture_output=True, text=True, check=False)
    assert checked.returncode == (0 if config in GOOD else 2), checked.stderr
    assert validator.is_valid(config) == (config in GOOD)


BROKEN = {
    "key": ('{"unheard": 1}', "unheard"),
    "value": ('{"profiles": {"notebook": {"timeout": "2h"}}}', "timeout 7200 s is over the ceiling"),
    "syntax": ('{"history": tru}', "It is not a JSON object"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_kernel_with_a_broken_configuration_says_so_in_each_reply_and_runs_nothing(start, config_file, kind, tmp_path):
    text, why = BROKEN[kind]
    config_file.write_text(text)
    kernel = start()
    assert kernel.shell_reply(kernel.client.kernel_info())["content"]["status"] == "ok"
    for _ in range(2):
        cell = kernel.run("open('made', 'w').close()")
        assert cell.ename == "SandboxError" and cell.report["outcome"] == "sandbox"
        assert str(config_file) in cell.reply["evalue"] and why in cell.reply["evalue"]
        assert "petri config check" in cell.reply["traceback"][-1]
        assert [shown["ename"] for shown in cell.of("error")] == ["SandboxError"]
    assert kernel.shell_reply(kernel.client.complete("impor", 5))["content"]["matches"] == []
    assert not (tmp_path / "outputs").exists() and not (tmp_path / "made").exists()
    assert kernel.manager.is_alive()


def test_kernel_whose_configuration_was_mended_runs_after_a_restart(start, config_file):
    config_file.write_text("{")
    kernel = start()
    assert kernel.run("1").ename == "SandboxError"
    config_file.write_text("{}")
    kernel.manager.restart_kernel()
    assert kernel.wait_until_up().value("6 * 7") == "42"


def test_kernel_with_a_broken_configuration_stores_nothing(start, config_file, data_folder):
    config_file.write_text('{"records": {"path": 5}}')
    stored = sorted(data_folder.rglob("*"))
    assert start().run("secret = 'x'").report["record"] is False
    assert sorted(data_folder.rglob("*")) == stored


def test_command_with_a_broken_configuration_ends_with_usage(config_file, tmp_path):
    config_file.write_text('{"unheard": 1}')
    (tmp_path / "code.py").write_text("1")
    done = subprocess.run([PETRI, "run", tmp_path / "code.py"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "unheard" in done.stderr and done.stdout == ""


def check(path):
    done = subprocess.run([PETRI, "config", "check", path], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and done.stdout == ""
    return done.stderr.splitlines()


def test_check_tells_all_that_is_wrong_with_its_line(tmp_path):
    path = tmp_path / "config.json"
    path.write_text("""{
  "unheard": 1,
  "profiles": {
    "notebook": {"timeout": "2h",
                 "memory": "5m"},
    "lax": {}
  },
  "records": {
    "keep_days": 0,
    "path": "runs.sqlite"
  },
  "history": true
}
""")
    lines = check(path)
    assert [line.removeprefix(f"petri: {path}:").split(": ")[0] for line in lines] == ["2", "4", "5", "6", "9", "10"]
    parts = ["unheard", "over the ceiling", "memory needs", "based_on", "keep_days", "absolute path"]
    assert all(part in line for part, line in zip(parts, lines, strict=True))


@pytest.mark.parametrize(("text", "where"), [('{"history": tru}', ":1: "), ('{\n "a": 1,\n}', ":3: "), ("[]", ":1: ")])
def test_check_tells_where_a_file_is_no_json(tmp_path, text, where):
    path = tmp_path / "config.json"
    path.write_text(text)
    [line] = check(path)
    assert line.startswith(f"petri: {path}{where}It is not a JSON object")


def class_of(timeout, ceiling):
    return {"profiles": {"exam": {"based_on": "strict", "timeout": timeout, "ceilings": {"timeout": ceiling}}}}


CLASS = class_of("30s", "50s")


def test_profile_of_the_configuration_has_a_kernel_and_its_ceilings_hold(start, tmp_path):
    (tmp_path / "class.json").write_text(json.dumps(CLASS))
    prefix = tmp_path / "prefix"
    command = [PETRI, "install", "--prefix", prefix, "--python", sys.executable, "--profile", "exam"]
    done = subprocess.run([*command, "--config", tmp_path / "class.json"], capture_output=True, text=True, check=True)
    assert "Python 3 (petri, exam) is registered" in done.stdout
    exam = {"kernel_dir": prefix / "share" / "jupyter" / "kernels", "name": "petri-exam"}
    kernel = start(**exam)
    cell = kernel.good("import os; os.getcwd()")
    assert (cell.result, cell.report["profile"], cell.report["limits"]["timeout_ms"]) == ("'/work'", "exam", 30_000)
    for asked in (kernel.run("%%limits timeout=51s\n1"), kernel.ask("1", {"limits": {"timeout": "51s"}})):
        assert asked.ename == "CellRefused" and "over the ceiling of 50 s in profile exam" in asked.reply["evalue"]
    (tmp_path / "class.json").write_text(json.dumps(class_of("300ms", "500ms")))
    late = start(**exam).run("while True: pass")
    assert late.reply["traceback"][-1].startswith(
        "For more time begin the cell with %%limits timeout=500ms, the most that there is;"
    )


def test_all_kernels_that_are_installed_with_a_configuration_use_it(start, tmp_path):
    (tmp_path / "class.json").write_text(json.dumps({"profiles": {"notebook": {"timeout": "77s"}}}))
    command = [PETRI, "install", "--prefix", "prefix", "--python", sys.executable, "--config", "class.json"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=tmp_path)
    kernel = start(kernel_dir=tmp_path / "prefix" / "share" / "jupyter" / "kernels")
    assert kernel.good("1").report["limits"]["timeout_ms"] == 77000


@pytest.mark.parametrize(("text", "why"), [(None, "No such file"), ('{"unheard": 1}', '"unheard" is not known')])
def test_install_with_a_configuration_that_can_not_be_used_installs_nothing(tmp_path, text, why):
    if text:
        (tmp_path / "class.json").write_text(text)
    command = [PETRI, "install", "--prefix", "prefix", "--python", sys.executable, "--config", "class.json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 2 and why in done.stderr and not (tmp_path / "prefix").exists()


def test_install_of_a_profile_that_is_not_there_says_which_there_are(tmp_path):
    command = [PETRI, "install", "--prefix", tmp_path, "--python", sys.executable, "--profile", "exam"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "there is no profile exam; there are notebook, strict" in done.stderr


def test_kernel_of_a_profile_that_is_gone_says_so(start, config_file, tmp_path):
    config_file.write_text(json.dumps(CLASS))
    prefix = tmp_path / "prefix"
    command = [PETRI, "install", "--prefix", prefix, "--python", sys.executable, "--profile", "exam"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    config_file.write_text("{}")
    kernel = start(kernel_dir=prefix / "share" / "jupyter" / "kernels", name="petri-exam")
    cell = kernel.run("1")
    assert cell.ename == "SandboxError" and "there is no profile exam" in cell.reply["evalue"]
