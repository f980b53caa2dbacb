"""Tells how long the steps of a package's way to a running notebook took: what tests note with record_property()."""

import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("PETRI_BUILD", ROOT / "build"))


@pytest.fixture(scope="session")
def skip_or_fail():
    """What a test calls that can't run here: in CI that is a failure."""
    return pytest.fail if os.environ.get("PETRI_REQUIRE_LIVE") == "1" else pytest.skip


@pytest.fixture(scope="session")
def wheel():
    """The path of the wheel, just made."""
    subprocess.run([ROOT / "scripts" / "wheel.sh"], check=True)
    [path] = BUILD.glob("wheel/petri_kernel-*.whl")
    return path


def pytest_terminal_summary(terminalreporter):
    for report in terminalreporter.getreports("passed") + terminalreporter.getreports("failed"):
        if report.when == "call" and report.user_properties:
            terminalreporter.section(report.nodeid, sep="-")
            for name, seconds in report.user_properties:
                terminalreporter.line(f"{seconds:8.1f} s  {name}")
