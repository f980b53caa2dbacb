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
def mypy(skip_or_fail, tmp_path_factory):
    if importlib.util.find_spec("mypy") is None:
        skip_or_fail("there is no mypy")
    cache = tmp_path_factory.mktemp("mypy")  # what it knows of Python's own modules is the same for all of them

    def run(*arguments, cwd):
        command = [sys.executable, "-m", "mypy", "--cache-dir", cache, *arguments]
        return subprocess.run(command, check=False, capture_output=True, text=True, cwd=cwd)

    return run


def test_the_package_is_clean_under_strict_mypy(mypy):
    checked = mypy(cwd=ROOT)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_user_code_is_checked_against_the_types_of_the_package(mypy, tmp_path, monkeypatch):
    (tmp_path / "use.py").write_text(USE)
    monkeypatch.setenv("MYPYPATH", str(ROOT / "client"))
    checked = mypy("--strict", "use.py", cwd=tmp_path)
    assert re.search(r'Revealed type is "(builtins\.)?float \| None"|Union\[builtins.float, None\]', checked.stdout)
    assert re.search(r'Revealed type is "(builtins\.)?tuple\[(builtins\.)?str, \.\.\.\]"', checked.stdout)
    assert re.search(r'Revealed type is "(builtins\.)?str"', checked.stdout)
    assert re.search(r'Revealed type is "(builtins\.)?list\[petri_kernel.result.Check\]"', checked.stdout)
    assert re.search(r'"petri_kernel.result.Result \| None"|Union\[petri_kernel.result.Result, None\]', checked.stdout)
    assert re.search(r'Revealed type is "(builtins\.)?tuple\[petri_kernel.result.Result, \.\.\.\]"', checked.stdout)
    assert checked.stdout.count('incompatible type "list[int]"') == 2
    assert "Found 2 errors" in checked.stdout
