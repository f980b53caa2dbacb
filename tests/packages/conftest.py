"""Tells how long the steps of a package's way to a running notebook took: what tests note with record_property()."""

import fcntl
import subprocess

import pytest

import commands
from commands import ROOT
from podman import BUILD


@pytest.fixture(scope="session")
def wheel(testrun_uid):
    """The path of the wheel, just made: by the first process that asks for it, where several run tests."""
    folder = BUILD / "wheel"
    folder.mkdir(parents=True, exist_ok=True)
    made_for = folder / "made-for"
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made_for.exists() or made_for.read_text() != testrun_uid:
            make = commands.lines(commands.sh("README.md", "Install"))[0]
            assert make == "make wheel"
            subprocess.run(make.split(), cwd=ROOT, check=True)
            made_for.write_text(testrun_uid)
    [path] = folder.glob("petri_kernel-*.whl")
    return path


def pytest_terminal_summary(terminalreporter):
    for report in terminalreporter.getreports("passed") + terminalreporter.getreports("failed"):
        if report.when == "call" and report.user_properties:
            terminalreporter.section(report.nodeid, sep="-")
            for name, seconds in report.user_properties:
                terminalreporter.line(f"{seconds:8.1f} s  {name}")
