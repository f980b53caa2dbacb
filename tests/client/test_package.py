"""What pip installs."""

import importlib.util
import subprocess
import sys
import zipfile

from conftest import ROOT


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
