"""What the package promises to type checkers holds."""

import importlib.util
import re
import subprocess
import sys

import pytest

from conftest import ROOT

pytestmark = pytest.mark.xdist_group("mypy")

USE = """
import petri_kernel as petri
session = petri.Session()
result = session.run("1", timeout="1s", files={"a": b"b"}, expect=petri.Expect(stdout_regex="x"))
reveal_type(result.metrics.wall_ms)
with session.attempt() as trial:
    session.run("1", from_="first", checkpoint="one")
    session.restore(session.timeline().images[0])
    trial.keep()
with session.branch(from_=1) as branch:
    reveal_type(branch.run("1", timeout="1s").checks)
    branch.branch().keep()
found = session.best_of(["1", "2"], key=lambda result: result.metrics.max_memory_bytes or 0, keep=True, memory="1G")
reveal_type(found.best)
reveal_type(found.results)
reveal_type(session.timeline().current.names)
reveal_type(session.undo().detail)
session.run("1", timeout=[1])
session.branch().run("1", memory=[1])
"""


@pytest.fixture(scope="module")
def checked(skip_or_fail, tmp_path_factory):
    """What mypy says of the package, and of code that uses it: lines, each with its file. In one run, which is long."""
    if importlib.util.find_spec("mypy") is None:
        skip_or_fail("there is no mypy")
    use = tmp_path_factory.mktemp("types") / "use.py"
    use.write_text(USE)
    options = ["--config-file", "pyproject.toml", "--cache-dir", "/dev/null"]
    command = [sys.executable, "-m", "mypy", *options, "client/petri_kernel", use]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout.splitlines()


def test_the_package_is_clean_under_strict_mypy(checked):
    assert [line for line in checked if line.startswith("client/")] == []
    assert re.fullmatch(r"Found 2 errors in 1 file \(checked \d\d source files\)", checked[-1])


def test_user_code_is_checked_against_the_types_of_the_package(checked):
    told = "\n".join(line for line in checked if "use.py:" in line)
    assert re.search(r'Revealed type is "(builtins\.)?float \| None"|Union\[builtins.float, None\]', told)
    assert re.search(r'Revealed type is "(builtins\.)?tuple\[(builtins\.)?str, \.\.\.\]"', told)
    assert re.search(r'Revealed type is "(builtins\.)?str"', told)
    assert re.search(r'Revealed type is "(builtins\.)?list\[petri_kernel.result.Check\]"', told)
    assert re.search(r'"petri_kernel.result.Result \| None"|Union\[petri_kernel.result.Result, None\]', told)
    assert re.search(r'Revealed type is "(builtins\.)?tuple\[petri_kernel.result.Result, \.\.\.\]"', told)
    assert told.count('incompatible type "list[int]"') == 2
