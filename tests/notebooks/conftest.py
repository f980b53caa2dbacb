"""Fixtures: petri and ipykernel in one folder of kernelspecs, in surroundings that are nobody's."""

import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))

import pytest  # noqa: E402

from kernels import install  # noqa: E402

# As in cells of petri, which docs/records.md names: so sets come in the same order, and texts by the same rules.
SAME = {"PYTHONHASHSEED": "0", "LANG": "C.UTF-8", "TZ": "UTC", "SHELL": "/bin/bash"}


@pytest.fixture(scope="session")
def kernel_dir(tmp_path_factory):
    """A folder with the kernelspecs `petri` and `python3`, for the tests' own environment."""
    folder = install(tmp_path_factory.mktemp("prefix"), sys.executable)
    # By this variable ipykernel would take itself for a part of a test, and leave alone what a cell's children print.
    argv = ["env", "-u", "PYTEST_CURRENT_TEST", sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    spec = {"argv": argv, "display_name": "Python 3 (ipykernel)", "language": "python", "env": SAME}
    (folder / "python3").mkdir()
    (folder / "python3" / "kernel.json").write_text(json.dumps(spec))
    return folder


@pytest.fixture(autouse=True)
def surroundings(tmp_path, monkeypatch):
    """What kernels keep and read is not what belongs to who runs the tests."""
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "IPYTHONDIR"):
        folder = tmp_path / name.lower()
        folder.mkdir()
        monkeypatch.setenv(name, str(folder))
    # Commands that look for a profile want its place to be there.
    (tmp_path / "ipythondir" / "profile_default").mkdir()


@pytest.fixture
def skip_or_fail():
    """What a test calls that can't run here: in CI that is a failure."""
    return pytest.fail if os.environ.get("PETRI_REQUIRE_LIVE") == "1" else pytest.skip
