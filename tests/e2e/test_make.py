"""What CONTRIBUTING.md and two more pages have somebody run in a checkout. `make run` and the like: ../packages."""

import os
import re
import shutil
import subprocess
import sys

import pytest

import commands
from kernels import BUILD, PETRI, ROOT

STUCK_S = 1800

# One after the other: they use one build.
pytestmark = [pytest.mark.thorough, pytest.mark.xdist_group("make")]

def run(line, **env):
    """A line of a page in the checkout, as from a terminal; what it wrote."""
    of_caller = ("MAKE", "MFLAGS", "PYTEST_", "PETRI_STEPS")
    others = {name: value for name, value in os.environ.items() if not name.startswith(of_caller)}
    path = f"{os.path.dirname(sys.executable)}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-ec", line], cwd=ROOT, env={**others, "PATH": path, **env},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=STUCK_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{line}\n{done.stdout[-3000:]}"
    return done.stdout


# Tests are found and not run: CI has just run them, or will.
COLLECTED_ONLY = {"PYTEST_ADDOPTS": "--collect-only"}


def test_each_part_can_be_run_alone_as_contributing_says():
    for line in commands.lines(commands.sh("CONTRIBUTING.md", "Build and check", 1)):
        printed = run(line.replace("--test-dir build ", f"--test-dir {BUILD} "), **COLLECTED_ONLY)
        if "pytest.sh" in line:
            assert re.search(r"\b[1-9]\d*(/\d+)? tests collected", printed), f"{line}\n{printed[-1000:]}"
        elif "ctest" in line:
            assert "100% tests passed" in printed, line


def test_agent_runs_from_a_checkout_as_two_pages_say(tmp_path):
    script = commands.sh("examples/README.md", "examples")
    assert script == commands.sh("docs/tutorial-agents.md", "The whole agent")
    line = commands.replaced(script, ("build/petri", PETRI))
    assert "5 tests passed" in run(line, HOME=str(tmp_path))
