"""petri, installed for the tests' own environment, and the page."""

import sys

import pytest

import ask
from kernels import STUCK_S, install


@pytest.fixture(scope="session")
def kernel_dirs(tmp_path_factory):
    return [str(install(tmp_path_factory.mktemp("prefix"), sys.executable))]


@pytest.fixture(scope="session")
def petri(kernel_dirs):
    """One kernel for all rows; a probe that spoils it says so, and it is started anew."""
    kernel = ask.Asked("petri", wait_s=STUCK_S, kernel_dirs=kernel_dirs)
    yield kernel
    kernel.close()
