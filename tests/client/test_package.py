"""What pip installs."""

import importlib.util
import os
import re
import subprocess
import sys
import textwrap
import zipfile

import pytest

from conftest import PROGRAM, ROOT


@pytest.fixture
def installed(tmp_path, skip_or_fail):
    """Where pip has installed the package from a checkout in which petri is built."""
    if importlib.util.find_spec("setuptools.command.bdist_wheel") is None:
        skip_or_fail("there is no setuptools that makes wheels")
    checkout = tmp_path / "checkout"
    (checkout / "build").mkdir(parents=True)
    (checkout / "build" / "petri").symlink_to(PROGRAM)
    subprocess.run(["cp", "-r", ROOT / "client", checkout / "client"], check=True)
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", "install", "--no-deps"]
    target = ["--no-build-isolation", "--target", tmp_path / "site", checkout / "client"]
    subprocess.run([*command, *target], check=True)
    return tmp_path / "site"


def test_readmes_example_works_after_its_two_commands(installed, tmp_path):
    section = (ROOT / "README.md").read_text().split("## From a program")[1]
    code = textwrap.dedent(re.search(r"(?m)^    import petri_kernel.*\n(?:    .*\n)+", section)[0])
    environment = {key: value for key, value in os.environ.items() if key != "PETRI"}
    environment |= {"PYTHONPATH": str(installed), "PATH": "/usr/bin:/bin"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout == "ok 42\n\n", done.stderr


def test_the_wheel_has_all_modules_and_the_marker_for_type_checkers(tmp_path, skip_or_fail):
    if importlib.util.find_spec("setuptools.command.bdist_wheel") is None:
        skip_or_fail("there is no setuptools that makes wheels")
    source = tmp_path / "source"
    subprocess.run(["cp", "-r", ROOT / "client", source], check=True)
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", "wheel", "--no-deps"]
    subprocess.run([*command, "--no-build-isolation", "-w", tmp_path, source], check=True)
    [wheel] = tmp_path.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    modules = {f"petri_kernel/{path.name}" for path in (ROOT / "client" / "petri_kernel").glob("*.py")}
    assert {*modules, "petri_kernel/py.typed"} <= names
