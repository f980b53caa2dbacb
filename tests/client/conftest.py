"""Fixtures: the package, which needs no installation here, and sessions of the petri that was built."""

import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "client"), str(HERE.parent / "e2e")]

import pytest  # noqa: E402

import petri_kernel as petri  # noqa: E402
from kernels import PETRI as PROGRAM  # noqa: E402
from kernels import ROOT  # noqa: E402, F401  (for the tests)


@pytest.fixture(scope="session", autouse=True)
def environment(tmp_path_factory):
    """petri is found by $PETRI; what kernels keep, and their configuration, are not those of who runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PETRI", str(PROGRAM))
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))
        config = tmp_path_factory.mktemp("config")
        (config / "petri").mkdir()
        # A first traceback takes longer than the usual 2 s on a busy machine.
        (config / "petri" / "config.json").write_text('{"interrupt_grace": "1m"}')
        patch.setenv("XDG_CONFIG_HOME", str(config))
        yield


@pytest.fixture(scope="module")
def shared():
    """One session for tests that leave it as they found it."""
    with petri.Session() as session:
        yield session


@pytest.fixture
def session():
    """A session of the test's own."""
    with petri.Session() as session:
        yield session


@pytest.fixture(scope="session")
def skip_or_fail():
    """What a test calls that can't run here: in CI that is a failure."""
    return pytest.fail if os.environ.get("PETRI_REQUIRE_LIVE") == "1" else pytest.skip
