"""docs/contract.md and docs/limits.md show what petri really answers; ids, times and what differs by machine are masked."""

import functools
import json
import os
import re
import shlex
import subprocess
import sys

import pytest

import commands
import petri_kernel as petri
from conftest import PROGRAM, ROOT
from kernels import install, with_its_stack
from pages import fenced, masked_text, names, settle
from petri_kernel.request import Request

PAGE = commands.made("docs/contract.md")

# What is another thing each time or on each machine, by its key.
MASKED = set(
    "run_id session_id environment_sha256 wall_ms cpu_ms sandbox_ms max_memory_bytes memory processes_max cpus "
    "memory_bytes disk_bytes history_memory_bytes".split()
)

# Blocks: the code, what is asked for beside it, and which keys of the report are shown (all where there are none).
RUNS = {
    "report": ("print('working')\n6 * 7", {}, []),
    "state": ("total = 10", {}, ["outcome"]),
    "timeout": (
        "import time\ntotal = 11\ntime.sleep(60)",
        {"timeout": "2s"},
        ["outcome", "rolled_back", "error", "exit"],
    ),
    "after": ("total", {}, ["outcome"]),
    "travel": (
        "total += 1\ntotal",
        {"from_": 2, "commit": False},
        ["outcome", "image", "parent", "committed"],
    ),
    "named": ("total += 1", {"checkpoint": "eleven"}, ["outcome", "image", "parent", "committed", "checkpoint"]),
    "unknown": ("total", {"from_": "twelve"}, ["outcome", "rolled_back", "error"]),
    "ceiling": ("total", {"timeout": "2h"}, ["outcome", "rolled_back", "error"]),
    "files": (
        "import csv, os\n"
        "rows = list(csv.DictReader(open('in/people.csv')))\n"
        "print(len(rows), input(), os.environ['MODE'])",
        {"files": {"in/people.csv": "name,age\nAda,36\nBen,41\n"}, "stdin": "hello\n", "env": {"MODE": "fast"}},
        ["outcome", "inputs"],
    ),
    "fresh": ("'total' in globals()", {"fresh": True}, ["outcome", "fresh"]),
    "random": ("import random\nrandom.random()", {"fresh": True}, ["outcome"]),
    "cached": ("import random\nrandom.random()", {"fresh": True, "cache": "1h"}, ["run_id", "outcome", "cached"]),
    "cached-again": (
        "import random\nrandom.random()",
        {"fresh": True, "cache": "1h"},
        ["run_id", "outcome", "cached"],
    ),
    "artifacts": (
        "import os\n"
        "with open('table.csv', 'w') as file:\n"
        "    file.write('name,age\\nAda,36\\n')\n"
        "os.symlink('/etc/passwd', 'link')",
        {"inline_bytes": 100},
        ["outcome", "artifacts"],
    ),
    "artifacts-later": ("os.remove('table.csv')", {}, ["outcome", "artifacts"]),
    "expect": (
        "with open('people.csv', 'w') as file:\n"
        "    file.write('name,age\\nAda,36\\n')\n"
        "print('1 row')\n"
        "[{'name': 'Ada', 'age': '36'}]",
        {
            "expect": {
                "artifacts": [{"path": "people.csv", "mime": "text/csv", "max_bytes": 1000}],
                "stdout_regex": "^\\d+ rows?$",
                "result_json_schema": {"type": "array", "items": {"properties": {"age": {"type": "integer"}}}},
            }
        },
        ["outcome", "validation"],
    ),
    "denied": (
        "import urllib.request\nurllib.request.urlopen('http://192.0.2.1/', timeout=1)",
        {},
        ["outcome", "denied"],
    ),
    "budget-1": ("total / 0", {"task": "T-17", "limits": {"runs": 1}}, ["outcome", "task"]),
    "budget-2": ("total / 2", {"task": "T-17", "limits": {"runs": 1}}, ["outcome", "task", "error"]),
}


# A program without the Python package, which a test runs.
BY_JUPYTER_CLIENT = """\
from jupyter_client.manager import start_new_kernel

manager, client = start_new_kernel(kernel_name="petri")


def answer(message, channel, get):
    channel.send(message)
    while True:
        reply = get(timeout=60)
        if reply["parent_header"]["msg_id"] == message["header"]["msg_id"]:
            return reply


def execute(code, asked):
    message = client.session.msg("execute_request", {"code": code}, metadata={"petri": asked})
    return answer(message, client.shell_channel, client.get_shell_msg)["metadata"]["petri"]


def control(msg_type, **content):
    message = client.session.msg(msg_type, content)
    return answer(message, client.control_channel, client.get_control_msg)["content"]


execute("total = 10", {"checkpoint": "ten", "limits": {"timeout": 5000}})
report = execute("del total", {})
print(report["outcome"], report["committed"])
timeline = control("petri_timeline_request")
print([(image["code_first_line"], image["names"]) for image in timeline["images"]])
print(execute("total + 1", {"from": "ten", "commit": False})["outcome"])
print(control("petri_restore_request", to="ten")["detail"].split(":")[0])
print(control("petri_restore_request", to="eleven"))

client.stop_channels()
manager.shutdown_kernel()
"""

LOOP = "print('working')\nimport time\ntime.sleep(60)\n"

# Blocks: a command, where RUN_NAME is the id of a run above, and which keys of the JSON that it writes are shown (all
# that it writes where there are none).
COMMANDS = {
    "petri-run": (
        ["run", "--timeout", "2s", "loop.py"],
        ["outcome", "rolled_back", "error", "exit", "stdout", "result"],
    ),
    "petri-runs": (["runs", "--task", "T-17"], []),
    "petri-show": (["show", "RUN_files"], []),
    "replay-same": (["replay", "RUN_files"], []),
    "replay-differs": (["replay", "RUN_random"], []),
}


def masked(value, key=""):
    """The same, without what is never the same twice."""
    if key in MASKED and not isinstance(value, dict):
        return "..."
    if isinstance(value, dict):
        return {name: masked(part, name) for name, part in value.items()}
    if isinstance(value, list):
        return [masked(part) for part in value]
    return masked_text(value) if isinstance(value, str) else value


def shown(result, keys):
    """Of a report what a block is about."""
    report = {key: result.report[key] for key in keys or result.report if key in result.report}
    return json.dumps(masked(report), indent=2, ensure_ascii=False)


def exchanged(result, code, asked, keys):
    """One run as the page shows it: the code, metadata.petri, and of the reply's report what it is about."""
    request = Request(**asked).metadata()
    parts = [fenced("python", code)]
    if request:
        parts.append("`metadata.petri` of the request:\n\n" + fenced("json", json.dumps(request, indent=2)))
    if result.stdout:
        parts.append("It prints:\n\n" + fenced("", result.stdout))
    if result.result is not None:
        parts.append("Its result:\n\n" + fenced("", masked_text(result.result)))
    heading = "`metadata.petri` of the reply" + (", of it:" if keys else ":")
    parts.append(f"{heading}\n\n" + fenced("json", shown(result, keys)))
    return "\n".join(parts)


def commanded(folder, run_ids, arguments, keys):
    """A command as the page shows it: what it prints and how it ends."""
    named = [run_ids[word[4:]] if word.startswith("RUN_") else word for word in arguments]
    arguments = ["RUN" if word.startswith("RUN_") else word for word in arguments]
    python = ["--python", sys.executable] if arguments[0] in ("run", "replay") else []
    command = [PROGRAM, *named, "--config", folder / "config.json", *python]
    run = functools.partial(subprocess.run, command, cwd=folder, capture_output=True, text=True, check=False)
    done = with_its_stack(run, lambda done: keys and "line" not in json.loads(done.stdout).get("error", {}))
    written = done.stdout + done.stderr
    if keys:
        report = json.loads(done.stdout)
        written = json.dumps(masked({key: report[key] for key in keys}), indent=2, ensure_ascii=False)
    else:
        written = re.sub(r"(?m)^petri: replaying in .*$", "petri: replaying in FOLDER with INTERPRETER", written)
        written = "\n".join(map(masked_text, written.splitlines()))
    heading = "It writes, among other things, and ends with" if keys else "It writes, and ends with"
    text = [fenced("sh", shlex.join(["petri", *arguments])), f"{heading} exit status {done.returncode}:\n"]
    return "\n".join([*text, fenced("json" if keys else "", written)])


def by_jupyter_client(folder):
    """The program as the page shows it, and what it prints beside a kernel that was installed."""
    kernels = install(folder / "prefix", sys.executable)
    environment = {**os.environ, "JUPYTER_PATH": str(kernels.parent)}
    command = [sys.executable, "-c", BY_JUPYTER_CLIENT]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return fenced("python", BY_JUPYTER_CLIENT) + "\nIt prints:\n\n" + fenced("", done.stdout)


@pytest.fixture(scope="module")
def blocks(tmp_path_factory):
    """All runs of the page in one session, one after the other, and what each block is to show."""
    folder = tmp_path_factory.mktemp("page")
    config = {"environment": ["MODE"], "records": {"path": str(folder / "records.sqlite")}}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "loop.py").write_text(LOOP)
    made, run_ids = {}, {}
    (folder / "work").mkdir()
    with petri.Session(config=config, folder=folder / "work") as session:
        for name, (code, asked, keys) in RUNS.items():
            run = functools.partial(session.run, code, **asked)
            result = with_its_stack(run, lambda result: result.outcome == "timeout" and not result.error.line)
            run_ids[name] = result.run_id
            made[name] = exchanged(result, code, asked, keys)
            if name == "unknown":
                made["jupyter-client"] = by_jupyter_client(folder)
    for name, (arguments, keys) in COMMANDS.items():
        made[name] = commanded(folder, run_ids, arguments, keys)
    return made


def test_the_page_has_a_block_for_each_run_and_no_other(blocks):
    assert names(PAGE) == list(blocks)


@pytest.mark.parametrize("name", [*RUNS, *COMMANDS, "jupyter-client"])
def test_the_page_shows_what_petri_answers(blocks, name):
    settle(PAGE, name, blocks[name])


# The table of docs/limits.md: what it calls a limit, and what happens past it.
LIMITS = {
    "timeout": ("`timeout`", "`CellTimeout`"),
    "input_wait": ("`input_wait`: for answers to `input()`", "`CellTimeout`"),
    "cpu": ("`cpu` time of all its processes", "`CellCpuLimit`"),
    "memory": ("`memory` its processes take", "`MemoryError` where Python can raise it, or `CellMemoryLimit`"),
    "processes": ("`processes`, threads too", "no new ones"),
    "cpus": ("`cpus`", "it is slower"),
    "disk": ("`disk`: what the session has written", "no space left"),
    "files": ("`files`: their number", "no space left"),
    "output": ("`output`: text of a cell", "the rest is counted and dropped"),
    "display": ("`display`, one rich output", "a text in its place"),
    "artifact": ("`artifact`, one file copied out", "not copied, and named"),
    "artifacts": ("`artifacts`, all of a cell's", "not copied, and named"),
    "history": ("`history`: states that `%undo` can go back to", "the oldest one without a name is forgotten"),
    "history_memory": ("`history_memory`: what these hold that the present one doesn't", "the same"),
}
# What is this machine's, by profile and limit.
OF_THE_MACHINE = {
    ("notebook", "cpu"): "timeout × cpus, none",
    ("notebook", "memory"): "½ of the machine, ¾ of it",
    ("notebook", "disk"): "¼ of that, 8 GiB",
    ("notebook", "cpus"): "2, all",
    ("notebook", "history_memory"): "2 GiB, ½ of the machine",
    ("strict", "cpus"): "1, 2",
}


def limits_of(profile):
    """What %%limits shows of a profile: {limit: "default, ceiling"}."""
    with petri.Session(profile) as session:
        [table] = session.run("%%limits").displays
    lines = table.data["text/plain"].splitlines()
    shown = {}
    for name, default, ceiling in (re.split(" {2,}", line)[:3] for line in lines if line.split()[0] in LIMITS):
        shown[name] = OF_THE_MACHINE.get((profile, name), f"{default}, {ceiling}")
    return shown


def test_the_page_of_limits_shows_them():
    notebook, strict = limits_of("notebook"), limits_of("strict")
    rows = [("", "notebook, and its ceiling", "strict, and its ceiling", "past it"), ("---",) * 4]
    rows += [(what, notebook[name], strict[name], past) for name, (what, past) in LIMITS.items()]
    settle(ROOT / "docs" / "limits.md", "limits", "".join(f"| {' | '.join(row)} |\n" for row in rows))


def test_limits_of_the_pages_example_hold_for_the_cell():
    with petri.Session() as session:
        result = session.run(commands.python("docs/limits.md", "Limits") + "1")
    limits = result.report["limits"]
    assert (result.result, limits["timeout_ms"], limits["memory_bytes"]) == ("1", 10_000, 512 << 20)
