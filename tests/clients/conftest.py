"""Fixtures: both kernels as `python3` for other people's clients, and the table at the end of the run."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))

import pytest  # noqa: E402

import tally  # noqa: E402
from jupyters import IPYKERNEL, PETRI, Jupyter  # noqa: E402


@pytest.fixture(scope="session")
def petri(tmp_path_factory):
    """A Jupyter whose `python3` is petri."""
    return Jupyter(PETRI, tmp_path_factory.mktemp("petri"))


@pytest.fixture(scope="session")
def ipykernel(tmp_path_factory):
    """A Jupyter whose `python3` is ipykernel."""
    return Jupyter(IPYKERNEL, tmp_path_factory.mktemp("ipykernel"))


def pytest_runtest_logreport(report):
    tally.note(report)


def pytest_terminal_summary(terminalreporter):
    tally.save_own()
    lines = tally.table()
    if lines:
        terminalreporter.section("other people's clients")
        for line in lines:
            terminalreporter.write_line(line)
