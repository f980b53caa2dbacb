"""petri, installed for the tests' own environment, and the page."""

import sys

import pytest

import ask
from kernels import STUCK_S, install


@pytest.fixture(scope="session")
def kernel_dirs(tmp_path_factory):
    return [str(install(tmp_path_factory.mktemp("prefix"), sys.executable))]


@pytest.fixture(scope="session")
def patient(tmp_path_factory):
    """For kernels that come after it: a first traceback takes longer than the usual 2 s on a busy machine."""
    folder = tmp_path_factory.mktemp("config")
    (folder / "petri").mkdir()
    (folder / "petri" / "config.json").write_text('{"interrupt_grace": "1m"}')
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(folder))
        yield


@pytest.fixture(scope="session")
def petri(patient, kernel_dirs):
    """One kernel for all rows; a probe that spoils it says so, and it is started anew."""
    kernel = ask.Asked("petri", wait_s=STUCK_S, kernel_dirs=kernel_dirs)
    yield kernel
    kernel.close()
