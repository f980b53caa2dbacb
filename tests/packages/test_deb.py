"""The Debian package: made from this checkout, installed in a clean Debian 12, used there, and purged."""

import json
import os
import subprocess

import pytest

import commands
from conftest import BUILD, ROOT
from machine import Machine
from podman import need

TOOLS = ("help2man", "dpkg-shlibdeps", "lintian", "mandoc", "man", "mmdebstrap", "podman", "runc")

MAKE, INSTALL = commands.lines(commands.sh("docs/tutorial-operators.md", "Install it for all", 0))
[PURGE] = commands.lines(commands.sh("docs/tutorial-operators.md", "Back up, update, remove"))

# The package is made once, by one process.
pytestmark = [pytest.mark.thorough, pytest.mark.xdist_group("deb")]


@pytest.fixture(scope="module")
def tools():
    need(*TOOLS)


@pytest.fixture(scope="module")
def package(tools):
    """The path of the package, just made."""
    for old in BUILD.glob("petri-kernel_*.deb"):
        old.unlink()
    made = subprocess.run(MAKE.split(), cwd=ROOT, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stdout[-2000:] + made.stderr
    (package,) = BUILD.glob("petri-kernel_*.deb")
    assert f"install it with: apt install {package}" in made.stdout
    return package


@pytest.fixture(scope="module")
def unpacked(package, tmp_path_factory):
    """The folder with the files of the package."""
    folder = tmp_path_factory.mktemp("unpacked")
    subprocess.run(["dpkg-deb", "--extract", package, folder], check=True)
    return folder


@pytest.fixture
def machine(package):
    machine = Machine("bookworm", package)
    yield machine
    machine.close()


def pages(help_text):
    """The manual pages that there have to be by what `petri --help` says: the name of each, and its command."""
    commands = [line.split()[0] for line in help_text.splitlines() if line.startswith("  ")]
    assert "run" in commands
    return {"petri": [], **{f"petri-{name}": [name] for name in commands}}


def test_lintian_finds_no_error_and_no_warning(package):
    done = subprocess.run(["lintian", "--fail-on=error,warning", package], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_package_depends_on_its_libraries_and_on_debians_ipython(package):
    depends = subprocess.run(
        ["dpkg-deb", "--field", package, "Depends"], capture_output=True, text=True, check=True
    ).stdout.split(", ")
    names = {row.split()[0] for row in depends}
    assert {"libc6", "libzmq5", "libseccomp2", "python3", "python3-ipython", "python3-comm"} <= names


def test_no_file_of_the_package_names_the_folder_that_it_was_built_in(unpacked):
    files = [path for path in unpacked.rglob("*") if path.is_file()]
    assert files
    assert [path for path in files if str(ROOT).encode() in path.read_bytes()] == []


def test_the_kernelspecs_of_the_package_start_the_installed_program(unpacked):
    specs = {path.parent.name: json.loads(path.read_text()) for path in unpacked.rglob("kernel.json")}
    assert set(specs) == {"petri", "petri-strict", "petri-writable"}
    for spec in specs.values():
        assert spec["argv"][0] == "/usr/bin/petri"
        assert spec["argv"][spec["argv"].index("--python") + 1] == "/usr/bin/python3"


def test_the_package_brings_jupyterlabs_extension_for_all_and_for_petri_install(unpacked):
    built = labextension(ROOT / "client" / "lab" / "labextension")
    assert labextension(unpacked / "usr/share/jupyter/labextensions/petri-timeline") == built
    assert labextension(unpacked / "usr/share/petri/labextension") == built


def labextension(folder):
    """The files of an extension of JupyterLab: {path: content}."""
    files = {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert files
    return files


def help_of(unpacked, *command):
    called = [unpacked / "usr/bin/petri", *command, "--help"]
    return subprocess.run(called, capture_output=True, text=True, check=True).stdout


def test_every_command_has_a_manual_page_that_says_all_of_its_help(unpacked):
    folder = unpacked / "usr/share/man/man1"
    expected = pages(help_of(unpacked))
    assert {path.name for path in folder.iterdir()} == {f"{page}.1.gz" for page in expected}
    for page, command in expected.items():
        read = ["man", "--warnings", "--no-hyphenation", "--encoding=ASCII", "--local-file", folder / f"{page}.1.gz"]
        shown = subprocess.run(read, capture_output=True, text=True, env={**os.environ, "MANWIDTH": "1000"}, check=True)
        assert shown.stderr == ""
        words = " ".join(shown.stdout.replace("|", " ").split())
        for line in help_of(unpacked, *command).splitlines():
            if line.strip() and not line.endswith(":") and not line.startswith("Usage: "):
                assert " ".join(line.replace("|", " ").split()) in words, page


def test_mandoc_finds_nothing_wrong_with_the_manual_pages(unpacked):
    for page in (unpacked / "usr/share/man/man1").iterdir():
        lint = ["mandoc", "-T", "lint", "-W", "warning", page]
        done = subprocess.run(lint, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_the_documents_are_a_site_that_doc_base_knows(unpacked):
    fields = (unpacked / "usr/share/doc-base/petri-kernel.petri-kernel").read_text().split("\n\n")[1]
    _, index, files = fields.replace("\n ", " ").splitlines()
    assert (unpacked / index.removeprefix("Index: /")).is_file()
    folder = unpacked / "usr/share/doc/petri-kernel"
    known = {path for pattern in files.split()[1:] for path in unpacked.glob(pattern.removeprefix("/"))}
    assert known == set(folder.rglob("*.html")) != set()
    assert list(folder.rglob("*.md")) == []


def use(machine):
    """What a user does who has just installed it."""
    machine.step("petri doctor", "petri", "doctor", user="ada", ok=(0, 1))
    outputs = machine.run_notebook("jupyter")
    assert outputs[1:4] == ["CellCrashed", "42\n", "['notebook.ipynb']\n"], outputs
    for page in pages(machine.run("petri", "--help")):
        assert machine.run("man", "-w", page).strip() == f"/usr/share/man/man1/{page}.1.gz"


def test_from_a_clean_debian_to_a_running_notebook_and_a_purge_leaves_nothing(machine, package, record_property):
    before = machine.paths()
    machine.step("apt-get update", "apt-get", "update")
    machine.run("install", "-D", f"/packages/{package.name}", f"/root/build/{package.name}")
    others = ["jupyter-nbconvert", "man-db"]
    # Without what is only recommended: what petri can't do without it has to depend on.
    install = commands.replaced(INSTALL, ("sudo apt install", "apt-get install --yes --no-install-recommends"))
    machine.script(" ".join([install, *others]), "apt-get install")
    assert machine.run("find", "/usr/share/petri", "-name", "*.pyc")  # not only when kernels start, where it can't
    use(machine)
    machine.script(commands.replaced(PURGE, ("sudo apt purge", "apt-get purge --yes")), "apt-get purge")
    assert [path for path in machine.paths() if "petri" in path] == []
    machine.run("apt-get", "purge", "--yes", *others)
    machine.step(
        "apt-get autoremove", "apt-get", "--option=APT::AutoRemove::RecommendsImportant=false",
        "--option=APT::AutoRemove::SuggestsImportant=false", "autoremove", "--purge", "--yes",
    )  # fmt: skip
    assert machine.paths() - before == set()
    machine.tell(record_property)
