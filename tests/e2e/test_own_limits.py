"""The limits that petri is started with (ulimit, prlimit): it works with them, or names the one that is too low."""

import json
import resource
import subprocess
import sys

import pytest

from kernels import PETRI

NAMES = [name for name in dir(resource) if name.startswith("RLIMIT_") and name != "RLIMIT_OFILE"]
# Below what petri needs, at it, and above.
VALUES = [0, 5, 64, 4096, 65536, 1 << 20, 1 << 30]
LOADED = 32 << 20
# With less Linux or the loader ends any program, before it can say a word.
LEAST = {"RLIMIT_AS": LOADED, "RLIMIT_DATA": LOADED, "RLIMIT_STACK": 65536, "RLIMIT_NOFILE": 5, "RLIMIT_CPU": 1}


def limited(*command, timeout=60, **limits):
    def lower():
        for name, value in limits.items():
            hard = resource.getrlimit(getattr(resource, name))[1]
            value = value if hard == resource.RLIM_INFINITY else min(value, hard)
            resource.setrlimit(getattr(resource, name), (value, value))

    return subprocess.run(command, preexec_fn=lower, capture_output=True, text=True, timeout=timeout, check=False)


def cases():
    for name in NAMES:
        for value in VALUES:
            yield name, max(value, LEAST.get(name, 0))


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "value"), sorted(set(cases())))
@pytest.mark.parametrize("command", ["run", "doctor"])
def test_start_below_any_limit_works_or_names_it(tmp_path, command, name, value):
    cell = tmp_path / "cell.py"
    cell.write_text("print(1)")
    done = limited(PETRI, command, "--python", sys.executable, *([cell] if command == "run" else []), **{name: value})
    assert done.returncode >= 0, done
    if name not in done.stderr:
        assert done.returncode == 0 if command == "run" else "cells" in done.stdout.lower(), done


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("RLIMIT_NOFILE", 64),
        ("RLIMIT_NPROC", 5),
        ("RLIMIT_STACK", 65536),
        ("RLIMIT_FSIZE", 0),
        ("RLIMIT_FSIZE", 4096),
        ("RLIMIT_AS", LOADED),
        ("RLIMIT_DATA", LOADED),
    ],
)
@pytest.mark.parametrize("command", ["run", "kernel", "doctor"])
def test_limit_that_is_too_low_is_named_before_anything_is_done(tmp_path, command, name, value):
    given = tmp_path / "given"
    given.write_text("1" if command == "run" else json.dumps({}))
    arguments = {"run": [given], "kernel": [given], "doctor": []}[command]
    done = limited(PETRI, command, *arguments, **{name: value})
    assert done.returncode == 2 and done.stdout == "", done
    assert done.stderr.startswith(f"petri: {name} is {value} ") and "ulimit -" in done.stderr
    assert done.stderr.count("\n") == 1


def test_cell_has_the_lower_limit_that_petri_was_started_with(tmp_path):
    cell = tmp_path / "cell.py"
    cell.write_text("import resource; print(resource.getrlimit(resource.RLIMIT_DATA))")
    done = limited(PETRI, "run", "--python", sys.executable, cell, RLIMIT_DATA=2 << 30)
    assert done.returncode == 0 and json.loads(done.stdout)["stdout"] == f"({2 << 30}, {2 << 30})\n", done
