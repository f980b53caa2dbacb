"""README's two commands, and `make check`, in a clone of this commit on a machine that has only git, make and sudo."""

import contextlib
import re
import subprocess

import pytest

import commands
import programs
from conftest import BUILD, ROOT
from machine import Root
from podman import give_up, need

pytestmark = [pytest.mark.thorough, pytest.mark.long]

RUN, TEST = commands.lines(commands.sh("README.md", "petri"))
CHECK = commands.lines(commands.sh("CONTRIBUTING.md", "Build and check", 0))[1]
# Steps that take seconds, one at least for each program that the others need; none that runs hundreds of cells.
QUICK = {
    CHECK: "^layers|^each |^end to end",
    TEST: "^layers|^each |^documents|^the documents|^notebooks are valid|^what petri doctor says",
}
# CI itself is `make test` as root in a checkout of its own.
LINES = {"ada": (RUN, CHECK, TEST)}
PACKAGES = ["dpkg-query", "--show", "--showformat=${Package}\\n"]


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """The path of a bundle of this commit, which can be cloned."""
    need("mmdebstrap", "git", "unshare", "nsenter")
    if not (ROOT / ".git").exists():
        give_up("this is no clone, and there is no commit")
    bundle = tmp_path_factory.mktemp("clone") / "petri.bundle"
    subprocess.run(["git", "-C", ROOT, "bundle", "create", bundle, "HEAD"], capture_output=True, check=True)
    return bundle


@pytest.fixture(params=LINES)
def user(request):
    return request.param


@pytest.fixture
def machine(clone, user):
    """A clean Debian on which the user has the clone in petri/, and may install."""
    with contextlib.closing(Root("bookworm", BUILD / "packages" / f"checkout-{user}", clone)) as machine:
        machine.step("apt-get update", "apt-get", "update")
        machine.step(
            "git, make and sudo", "apt-get", "install", "--yes", "--no-install-recommends", "git", "make", "sudo"
        )  # fmt: skip
        machine.run("sh", "-c", "echo 'ada ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/ada")
        machine.run("git", "clone", "--quiet", f"/packages/{clone.name}", "petri", user=user)
        yield machine


def on_path(machine, user):
    """PATH there, and the names of all programs on it."""
    path = machine.run("sh", "-c", 'echo "$PATH"', user=user).strip()
    names = machine.run("find", *path.split(":"), "-mindepth", "1", "-printf", "%f\\n", user=user, ok=(0, 1))
    return path, set(names.split())


def make(machine, user, line):
    """A line of README's, as a step; what it wrote."""
    before = set(machine.run(*PACKAGES).split())
    only = f"PETRI_STEPS='{QUICK[line]}' " if line in QUICK else ""
    wrote = machine.script(f"{only}{line} 2>&1", line, user=user, folder=f"{machine.home(user)}/petri")
    return wrote, sorted(set(machine.run(*PACKAGES).split()) - before)


def test_every_command_works_after_the_others_on_a_machine_that_has_nothing(machine, user, record_property):
    path, names = on_path(machine, user)
    assert programs.OF_DEBIAN - names == set()
    assert names & {"cc", "cmake", "python3", "help2man", "mandoc", "clang", "node"} == set()
    note = [f"PATH={path}", f"programs: {' '.join(sorted(names))}"]
    for line in LINES[user]:
        wrote, installed = make(machine, user, line)
        note.append(f"{line} installs: {' '.join(installed)}")
        if line == TEST:
            passed = re.findall(r"(?m)^ok +\d+ s  (.*)$", wrote)
            assert "documents, without a warning" in passed and len(passed) > 8, wrote[-3000:]
    (BUILD / "packages" / f"checkout-{user}.txt").write_text("\n".join(note) + "\n", encoding="utf-8")
    machine.tell(record_property)
