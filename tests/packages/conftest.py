"""Tells how long the steps of a package's way to a running notebook took: what tests note with record_property()."""

import fcntl
import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("PETRI_BUILD", ROOT / "build"))


@pytest.fixture(scope="session")
def need():
    """Skips a test for which programs or root's rights are missing: need(program, ...). In CI that is a failure."""

    def look(*programs):
        missing = [name for name in programs if not shutil.which(name)]
        if missing or os.geteuid() != 0:
            give_up = pytest.fail if os.environ.get("PETRI_REQUIRE_LIVE") == "1" else pytest.skip
            give_up(f"missing: {', '.join(missing)}" if missing else "root makes the clean Debian")

    return look


@pytest.fixture(scope="session")
def wheel(testrun_uid):
    """The path of the wheel, just made: by the first process that asks for it, where several run tests."""
    folder = BUILD / "wheel"
    folder.mkdir(parents=True, exist_ok=True)
    made_for = folder / "made-for"
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made_for.exists() or made_for.read_text() != testrun_uid:
            subprocess.run([ROOT / "scripts" / "wheel.sh"], check=True)
            made_for.write_text(testrun_uid)
    [path] = folder.glob("petri_kernel-*.whl")
    return path


def pytest_terminal_summary(terminalreporter):
    for report in terminalreporter.getreports("passed") + terminalreporter.getreports("failed"):
        if report.when == "call" and report.user_properties:
            terminalreporter.section(report.nodeid, sep="-")
            for name, seconds in report.user_properties:
                terminalreporter.line(f"{seconds:8.1f} s  {name}")
