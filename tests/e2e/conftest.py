"""Fixtures: petri installed for each interpreter of this machine, and kernels of it."""

import json
import os
import sys

import pytest
from jupyter_client.connect import write_connection_file

import surroundings
from kernels import Kernel, install, interpreters

INTERPRETERS = interpreters()


@pytest.fixture(scope="session", autouse=True)
def data_folder(tmp_path_factory):
    """Where kernels keep what lasts: not among the data of who runs the tests."""
    folder = tmp_path_factory.mktemp("data")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", str(folder))
        yield folder


@pytest.fixture(scope="session")
def kernel_dirs(tmp_path_factory):
    """Folders with kernelspecs, by the interpreter's label."""
    prefix = tmp_path_factory.mktemp("prefix")
    return {python.label: install(prefix / python.label, python.path) for python in INTERPRETERS}


@pytest.fixture
def start(kernel_dirs, tmp_path):
    """Starts kernels for an interpreter, in a notebook folder of the test's own, and ends them with the test."""
    started = []

    def start_kernel(interpreter=INTERPRETERS[0], kernel_dir=None, folder=tmp_path, wait=True, **options):
        directory = kernel_dir or kernel_dirs[interpreter.label]
        kernel = Kernel(directory, folder, interpreter=interpreter, **options)
        started.append(kernel)
        return kernel.wait_until_up() if wait else kernel

    yield start_kernel
    for kernel in started:
        kernel.close()


@pytest.fixture
def writable(start):
    """Starts a kernel of the writable mode."""
    return lambda **options: start(**{"name": "petri-writable", **options})


@pytest.fixture(params=INTERPRETERS, ids=lambda interpreter: interpreter.label)
def kernel(request, start):
    """A kernel for each interpreter of this machine."""
    return start(request.param)


@pytest.fixture(scope="module", params=INTERPRETERS, ids=lambda interpreter: interpreter.label)
def row_kernel(request, kernel_dirs, tmp_path_factory):
    """The same, one for all rows of a file's tables: what a row leaves must not matter to the next one."""
    folder = tmp_path_factory.mktemp("rows")
    kernel = Kernel(kernel_dirs[request.param.label], folder, interpreter=request.param)
    yield kernel.wait_until_up()
    kernel.close()


@pytest.fixture
def venv_kernel(start):
    """A kernel for the tests' own environment, which has all the packages."""
    return start()


@pytest.fixture(scope="module")
def shared_kernel(kernel_dirs, tmp_path_factory):
    """One kernel like that for all tests of a file, which leave no trace in it that another would mind."""
    interpreter = INTERPRETERS[0]
    kernel = Kernel(kernel_dirs[interpreter.label], tmp_path_factory.mktemp("notebook"), interpreter=interpreter)
    yield kernel.wait_until_up()
    kernel.close()


@pytest.fixture(scope="module")
def ipykernel(tmp_path_factory):
    """The peer, as where a user has started it, in the same environment."""
    folder = tmp_path_factory.mktemp("ipykernel")
    argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    spec = {"argv": argv, "display_name": "ipykernel", "language": "python", "env": {"SHELL": "/bin/bash"}}
    (folder / "python3").mkdir()
    (folder / "python3" / "kernel.json").write_text(json.dumps(spec))
    kernel = Kernel(folder, tmp_path_factory.mktemp("beside"), name="python3")
    yield kernel.wait_until_up()
    kernel.close()


@pytest.fixture
def write_connection(next_port, tmp_path):
    """Writes the connection file of a kernel that the test starts itself; returns its path and what it has."""

    def write(**options):
        ports = {f"{channel}_port": next_port() for channel in ("shell", "control", "stdin", "iopub", "hb")}
        return write_connection_file(str(tmp_path / "connection.json"), **ports, **options)

    return write


@pytest.fixture
def config_file(tmp_path_factory, monkeypatch):
    """The user's configuration of one test, not there yet."""
    folder = tmp_path_factory.mktemp("config")
    (folder / "petri").mkdir()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder))
    return folder / "petri" / "config.json"


@pytest.fixture
def configure(config_file):
    """Writes the configuration of the kernels of one test."""
    return lambda **config: config_file.write_text(json.dumps(config))


@pytest.fixture
def patient(configure):
    """For kernels that come after it: a first traceback takes longer than the usual 2 s on a busy machine."""
    configure(interrupt_grace="1m")


@pytest.fixture(scope="module")
def place():
    """Folders for a test that every user can get into, and petri as everybody can start it."""
    place = surroundings.make_place()
    yield place
    surroundings.remove_place(place)


@pytest.fixture
def skip_or_fail():
    """What a test calls that can't run here: in CI that is a failure."""
    return pytest.fail if os.environ.get("PETRI_REQUIRE_LIVE") == "1" else pytest.skip
