"""What `pip install petri-kernel` gives, in environments of every kind, and that `pip uninstall` takes it away again."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import tomllib
import zipfile

import pytest

import commands
import environments
from conftest import ROOT
from machine import Machine
from podman import need

pytestmark = pytest.mark.thorough

INTERPRETERS = environments.interpreters()
NEWEST = INTERPRETERS.get(max(set(INTERPRETERS) - {"debian"}, default="debian"), environments.SYSTEM)
WAYS = {
    **{f"venv of {label}": (environments.make_venv, python) for label, python in INTERPRETERS.items()},
    "uv": (environments.make_uv, NEWEST),
    "conda style": (environments.make_conda_style, NEWEST),
}
NOTEBOOK = (ROOT / "tests" / "packages" / "notebook.py").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
# Installed before the wheel, so that what the wheel adds is petri's own.
DEPENDENCIES = ["nbclient", *PROJECT["dependencies"]]


def requirements(lines):
    """{name: version} of lines such as name>=version or name>=version,<other."""
    return dict(re.match(r"([\w-]+)>=([\d.]+)", line).groups() for line in lines if not line.startswith("#"))


@pytest.mark.parametrize("way", WAYS)
def test_the_wheel_gives_a_notebook_the_interpreter_it_is_installed_for_and_goes_without_a_trace(way, wheel, tmp_path):
    make, python = WAYS[way]
    environment = make(tmp_path / "an environment", python)
    environment.prepare(*DEPENDENCIES)
    before = environment.files()
    environment.pip("install", str(wheel))
    where, end, kept = json.loads(environment.run("python3", "-c", NOTEBOOK))
    prefix = str(environment.prefix)
    assert (where, end) == ("{} {} {}".format(prefix, *environments.version_of(python)), "CellCrashed")
    assert kept == f"{prefix} 1"
    doctor = json.loads(environment.run("petri", "doctor", "--json"))
    [cell] = [row for row in doctor["probes"] if row["probe"] == "cell"]
    assert (cell["finding"], cell["text"].split(" was ")[0]) == ("good", f"{prefix}/bin/python3")
    assert environment.run("python3", "-c", commands.python("README.md", "From a program")) == "ok 42\n\n"
    environment.pip("uninstall", *([] if way == "uv" else ["-y"]), "petri-kernel")
    left = environment.files() ^ before
    # uv leaves empty folders.
    assert [name for name in left if way != "uv" or (environment.prefix / name).is_file()] == []


@pytest.fixture
def tools():
    need("mmdebstrap", "podman", "runc")


def install_as_readme(machine, wheel):
    """For ada alone, in an environment of her own; returns where its programs are."""
    machine.run("install", "-D", f"/packages/{wheel.name}", f"/home/ada/build/wheel/{wheel.name}")
    machine.step("python3 -m venv", "python3", "-m", "venv", "environment", user="ada")
    # The first line has made the wheel.
    install = commands.lines(commands.sh("README.md", "Install"))[1]
    install = commands.replaced(install, ("pip install", "environment/bin/pip install --quiet jupyterlab"))
    machine.script(install, "pip install", user="ada")
    return "environment/bin"


def install_as_an_operator(machine, wheel):
    """The same, for all users."""
    machine.run("install", "-D", f"/packages/{wheel.name}", f"/root/build/wheel/{wheel.name}")
    install = commands.sh("docs/tutorial-operators.md", "Install it for all", 1)
    own = ("make wheel\n", ""), ("sudo ", ""), ("pip install", "pip install --quiet")
    machine.script(commands.replaced(install, *own), "python3 -m venv, pip install")
    assert machine.run("petri", "--version", user="ada").startswith("petri ")
    return "/opt/jupyter/bin"


@pytest.mark.parametrize(
    ("release", "version", "install", "home"),
    [
        ("bookworm", "3.11", install_as_readme, ["build", "environment", "notebook.ipynb"]),
        ("trixie", "3.13", install_as_an_operator, ["notebook.ipynb"]),
    ],
    ids=["bookworm", "trixie"],
)
def test_from_a_clean_debian_to_a_running_notebook_with_pip(
    release, version, install, home, wheel, tools, record_property
):
    with contextlib.closing(Machine(release, wheel)) as machine:
        machine.step("apt-get update", "apt-get", "update")
        machine.step("apt-get install", "apt-get", "install", "--yes", "--no-install-recommends", "python3-venv")
        programs = install(machine, wheel)
        machine.step("petri doctor", f"{programs}/petri", "doctor", user="ada", ok=(0, 1))
        listed = json.loads(machine.run(f"{programs}/jupyter", "kernelspec", "list", "--json", user="ada"))
        assert {"petri", "petri-strict"} <= set(listed["kernelspecs"])
        outputs = machine.run_notebook(f"{programs}/jupyter")
        assert outputs[1:4] == ["CellCrashed", "42\n", f"{home}\n"], outputs
        assert outputs[4].startswith(f"{version}."), outputs
        machine.tell(record_property)


def test_pip_installs_from_a_checkout_whose_path_has_a_blank(tmp_path):
    """As two pages say; and with what a teacher needs, as the course has it, so that it is built once."""
    checkout = tmp_path / "a checkout"
    shutil.copytree(ROOT, checkout, symlinks=True, ignore=shutil.ignore_patterns("build", ".git", "__pycache__"))
    pages = [
        commands.sh("docs/tutorial-python.md", "Install"),
        commands.sh("client/README.md", "client"),
    ]
    course = commands.sh("examples/course/README.md", "Ten minutes", 0)
    assert {line for page in pages for line in commands.lines(page)} == {"pip install ."}
    assert "\npip install . " in course
    cache = os.environ.get("PIP_CACHE_DIR", pathlib.Path.home() / ".cache" / "pip")
    path = f"{pathlib.Path(NEWEST).parent}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "HOME": str(tmp_path), "PATH": path, "PIP_CACHE_DIR": str(cache)}
    done = subprocess.run(["sh", "-ec", course], cwd=checkout, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    environment = environments.of(tmp_path / "grading")
    assert environment.run("petri", "--version").startswith("petri ")
    assert "nbgrader" in environment.run("pip", "list")
    shutil.copytree(ROOT / "examples" / "data", tmp_path / "data")
    example = commands.replaced(commands.python("client/README.md", "client"), ('"10s"', '"10m"'))  # others work, too
    assert "235479.7" in environment.run("python3", "-c", example)
    environment.pip("uninstall", "-y", "petri-kernel")


def test_the_wheel_depends_on_all_that_an_interpreter_of_cells_needs():
    declared = requirements(PROJECT["dependencies"])
    for group in ("site", "checks"):
        lines = (ROOT / "scripts" / "requirements" / f"{group}.txt").read_text().splitlines()
        assert requirements(lines).items() <= declared.items()


def test_the_program_of_the_wheel_names_no_folder_that_it_was_built_in(wheel):
    program = zipfile.ZipFile(wheel).read("petri_kernel/bin/petri")
    assert b"kernel/records/records.c" in program
    assert re.findall(rb"/[^\0]+/kernel/records/records\.c", program) == []


def test_the_wheel_has_all_modules_the_types_marker_jupyterlabs_extension_and_its_libraries(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    modules = {f"petri_kernel/{path.name}" for path in (ROOT / "client" / "petri_kernel").glob("*.py")}
    worker = {f"petri_kernel/share/petri/worker/petri_worker/{path.name}" for path in ROOT.glob("worker/*/*.py")}
    assert {*modules, *worker, "petri_kernel/py.typed", "petri_kernel/bin/petri"} <= names
    extension = [path for path in (ROOT / "client" / "lab" / "labextension").rglob("*") if path.is_file()]
    beside = {path.relative_to(ROOT / "client" / "lab").as_posix() for path in extension}
    assert beside and {f"petri_kernel/share/petri/{name}" for name in beside} <= names
    place = "data/share/jupyter/labextensions/petri-timeline"
    at_root = {name.removeprefix("labextension/") for name in beside}
    assert {name.split(f"{place}/")[1] for name in names if f".data/{place}/" in name and name[-1] != "/"} == at_root
    libraries = {re.match(r"petri_kernel\.libs/(lib[a-z0-9]+?)(-8)?-", name)[1] for name in names if ".libs/lib" in name}
    assert libraries == {"libjansson", "libpcre2", "libseccomp", "libsodium", "libsqlite3", "libzmq"}
    licenses = {name.rsplit("/", 1)[1] for name in names if "/share/petri/licenses/" in name} - {""}
    assert licenses == {"jansson", "libpcre2-8", "libseccomp", "libsodium", "libzmq", "sqlite3"}
    # As docs/tutorial-operators.md says, of a wheel that Debian 12 has built.
    assert re.search(r"-py3-none-manylinux_2_34_x86_64\.whl$", wheel.name), wheel.name
