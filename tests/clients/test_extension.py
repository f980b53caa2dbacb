"""JupyterLab's extension, client/lab: its parts that need no page, and that the built one in the tree is that of its sources."""

import json
import os
import shutil
import subprocess

import pytest

from jupyters import CLIENTS
from kernels import ROOT
from nodes import HERE

pytestmark = [pytest.mark.thorough, pytest.mark.xdist_group("extension")]

BUILT = CLIENTS / "lab"
IN_TREE = ROOT / "client" / "lab" / "labextension"


@pytest.fixture(scope="module")
def built():
    """The folder in which it has been built, from package-lock.json."""
    subprocess.run([ROOT / "scripts" / "labextension.sh"], check=True)
    return BUILT


def files(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_built_extension_in_the_tree_is_that_of_its_sources(built):
    if os.environ.get("PETRI_WRITE_PAGES") == "1":
        shutil.rmtree(IN_TREE, ignore_errors=True)
        shutil.copytree(built / "labextension", IN_TREE)
    expected, found = files(built / "labextension"), files(IN_TREE)
    assert set(found) == set(expected), "PETRI_WRITE_PAGES=1 builds it anew"
    assert [name for name in expected if expected[name] != found[name]] == [], "PETRI_WRITE_PAGES=1 builds it anew"


def test_parts_of_the_extension_that_need_no_page(built):
    env = {**os.environ, "PETRI_LAB_LIB": str(built / "lib")}
    command = ["node", "--test", "--test-reporter=tap", HERE / "extension"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "\n# tests 24\n" in done.stdout, done.stdout


def test_built_extension_has_no_package_of_others_but_what_loads_its_style():
    licenses = json.loads((IN_TREE / "static" / "third-party-licenses.json").read_text())
    assert {package["name"] for package in licenses["packages"]} == {"css-loader", "style-loader"}
    assert sum(len(content) for content in files(IN_TREE).values()) < 150_000


def test_versions_of_the_extension_are_petris():
    (line,) = [line for line in (ROOT / "CMakeLists.txt").read_text().splitlines() if line.startswith("project(petri")]
    version = line.split()[2]
    for path in ("package.json", "package-lock.json", "labextension/package.json"):
        assert json.loads((ROOT / "client" / "lab" / path).read_text())["version"] == version, path
