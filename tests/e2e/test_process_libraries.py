"""
Libraries that keep processes for their next call, beside ipykernel. The cells are as in beside.py: each gives what
ipykernel gives, and no traceback or warning of a process that has ended stands under a later one.
"""

import importlib.util

import pytest

from beside import run_all, run_good
from conftest import shared_kernel as kernel  # noqa: F401

pytestmark = pytest.mark.xdist_group("process-libraries")  # one process: both kernels are there once

JOBLIB = """
import joblib, time
import numpy as np
def square(n): return n * n
def parallel(backend): return joblib.Parallel(n_jobs=2, backend=backend)(joblib.delayed(square)(n) for n in range(5))
"""
BACKENDS = ("loky", "multiprocessing", "threading")
SCORES = """
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
X = np.random.RandomState(0).rand(60, 2); y = X[:, 0] > 0.5
"""

# Packages, and cells.
KEPT = {
    **{f"joblib's {backend}": ("joblib", JOBLIB + f"‖parallel({backend!r})" * 4 + f"✗parallel({backend!r})" + f"‖parallel({backend!r})" * 2)
       for backend in BACKENDS},
    "joblib, a context that is kept": ("joblib", JOBLIB + """
kept = joblib.Parallel(n_jobs=2).__enter__(); kept(joblib.delayed(square)(n) for n in range(3))
‖kept(joblib.delayed(square)(n) for n in range(4))
✗kept.__exit__(None, None, None)
‖parallel('loky')
‖kept(joblib.delayed(square)(n) for n in range(5))
‖kept.__exit__(None, None, None)
"""),
    "joblib, mapped arrays": ("joblib", JOBLIB + """
big = np.ones(300_000)
def add(*_): return joblib.Parallel(n_jobs=2, max_nbytes='1M')(joblib.delayed(np.sum)(big * n) for n in range(3))
‖[float(n) for n in add()]
✗add()
‖[float(n) for n in add()]
‖import gc; gc.collect(); None
"""),
    "scikit-learn": ("sklearn", SCORES + """
‖len(cross_val_score(LogisticRegression(), X, y, n_jobs=2))
✗cross_val_score(LogisticRegression(), X, y, n_jobs=2)
‖GridSearchCV(LogisticRegression(), {'C': [0.1, 10]}, cv=2, n_jobs=2).fit(X, y).best_params_
‖len(cross_val_score(LogisticRegression(), X, y, n_jobs=2))
"""),
    "pathos": ("pathos", """
import pathos; pool = pathos.multiprocessing.ProcessingPool(2); pool.map(lambda n: n * n, [1, 2])
‖pool.map(lambda n: n + 1, [1, 2])
✗pool.map(lambda n: n, [1])
‖pool.amap(lambda n: -n, [1, 2]).get()
‖pool.clear()
"""),
    "dask's threads": ("distributed", """
from distributed import Client
client = Client(processes=False, dashboard_address=None)
‖client.submit(abs, -1).result()
✗client.submit(abs, -2).result(); client.close()
‖client.gather(client.map(abs, [-3, -4]))
‖client.close()
"""),
    "dask.multiprocessing": ("dask", """
import dask
‖dask.compute(dask.delayed(abs)(-1), scheduler='processes')
‖dask.compute(dask.delayed(abs)(-2), scheduler='processes')
"""),
}  # fmt: skip


LONG = {"scikit-learn", "joblib's loky", "joblib, mapped arrays"}  # each call loads the library in two processes
ROWS = [pytest.param(*row, id=name, marks=[pytest.mark.thorough] * (name in LONG)) for name, row in KEPT.items()]


def need(packages, skip_or_fail):
    missing = [name for name in packages.split() if importlib.util.find_spec(name) is None]
    if missing:
        skip_or_fail(f"not installed: {', '.join(missing)} (scripts/venv.sh libraries)")


@pytest.mark.parametrize(("packages", "cells"), ROWS)
def test_library_goes_on_in_later_cells(kernel, ipykernel, skip_or_fail, packages, cells):
    need(packages, skip_or_fail)
    mine, other = run_all(kernel, cells), run_all(ipykernel, cells, lost=False)
    for one in other + mine:
        assert one.ok, f"{cells}\n{one}"
    assert [(one.stdout, one.result) for one in mine] == [(one.stdout, one.result) for one in other]
    assert [one.stderr for one in mine] == [""] * len(mine)


# Work without an end, and a thread that says when it has begun: a library that is interrupted while it starts its
# processes fails in its own ways, with ipykernel as well.
WORK = "import pathlib, time; pathlib.Path('/tmp/begun').touch(); time.sleep(1000)"
TELL = """import pathlib, threading, time
begun = pathlib.Path('/tmp/begun'); begun.unlink(missing_ok=True)
def tell():
    while not begun.exists(): time.sleep(0.01)
    print('begun', flush=True)
threading.Thread(target=tell).start()
"""


@pytest.mark.in_turn("lost")
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("lost", ["%%limits timeout=300ms", "interrupt"])
def test_joblib_goes_on_after_a_call_that_was_ended(kernel, skip_or_fail, backend, lost):
    need("joblib", skip_or_fail)
    run_good(kernel, f"{JOBLIB}‖parallel({backend!r})")
    endless = f"joblib.Parallel(n_jobs=2, backend={backend!r})([joblib.delayed(exec)({WORK!r})] * 2)"
    if lost == "interrupt":
        request = kernel.send(f"{TELL}{endless}")
        messages = kernel.iopub_until(request, lambda message: message["msg_type"] == "stream")
        kernel.manager.interrupt_kernel()
        assert kernel.finish(request, messages).ename in ("KeyboardInterrupt", "CellInterrupted")
    else:
        assert kernel.run(f"{lost}\n{endless}").ename == "CellTimeout"
    for cell in run_all(kernel, f"parallel({backend!r})" + f"‖parallel({backend!r})" * 2):
        assert (cell.ok, cell.result, cell.stderr) == (True, "[0, 1, 4, 9, 16]", ""), str(cell)


def test_dask_client_has_workers_that_go_on_and_says_so(kernel, skip_or_fail):
    need("distributed", skip_or_fail)
    begun = kernel.good("from distributed import Client; client = Client(dashboard_address=None)")
    assert begun.stderr.startswith("petri: the workers of dask's cluster are threads, which go on in later cells.")
    assert kernel.value("client.submit(abs, -1).result()") == "1"
    kernel.good("client.close()")


def test_processes_of_dask_are_closed_with_their_cell_which_says_so(kernel, skip_or_fail):
    need("distributed", skip_or_fail)
    begun = kernel.good(
        "from distributed import Client; client = Client(processes=True, n_workers=1, dashboard_address=None)\n"
        "client.submit(abs, -1).result()"
    )
    assert begun.result == "1"
    assert begun.stderr == "petri: dask's cluster is closed: its processes end with the cell that started them.\n"
    assert kernel.run("client.submit(abs, -1)").ename == "ClosedClientError"
    kernel.good("client.close()")


def test_processes_of_pathos_are_started_anew(kernel, skip_or_fail):
    """They are other programs: ipykernel keeps them to its end."""
    need("pathos", skip_or_fail)
    cells = "import pathos; pathos.pools.ParallelPool(1).map(abs, [-1])‖pathos.pools.ParallelPool(1).map(abs, [-2])"
    assert [cell.result for cell in run_all(kernel, cells)] == ["[1]", "[2]"]


# torch has several gigabytes, ray half a one. These have the names of them that the worker relies on, and processes as
# they have them.
IMITATIONS = {
    "ray.py": '''
import subprocess
running = None
def init():
    global running
    running = subprocess.Popen(["/bin/sleep", "1000"])
def is_initialized():
    return running is not None
def shutdown():
    global running
    running.kill()
    running.wait()
    running = None
''',
    "torch/__init__.py": "",
    "torch/multiprocessing.py": (
        "chosen = 'file_descriptor'\n"
        "def set_sharing_strategy(new_strategy):\n"
        "    global chosen\n"
        "    chosen = new_strategy\n"
    ),
    "torch/utils/__init__.py": "",
    "torch/utils/data/__init__.py": "",
    "torch/utils/data/dataloader.py": '''
import multiprocessing
from types import SimpleNamespace

_utils = SimpleNamespace(signal_handling=SimpleNamespace(_remove_worker_pids=lambda key: None))


def work(asked, given):
    for n in iter(asked.get, None):
        given.put(n * n)


class _MultiProcessingDataLoaderIter:
    def __init__(self, loader):
        self._loader, self._shutdown, self._workers_status = loader, False, [True]
        self._asked, self._given = multiprocessing.SimpleQueue(), multiprocessing.SimpleQueue()
        self._workers = [multiprocessing.Process(target=work, args=(self._asked, self._given), daemon=True)]
        self._workers[0].start()
        self._reset()

    def _reset(self):
        self._tasks_outstanding = self._loader.count
        for n in range(self._loader.count):
            self._asked.put(n)

    def __iter__(self):
        return self

    def __next__(self):
        return self._next_data()

    def _next_data(self):
        if not self._tasks_outstanding:
            raise StopIteration
        self._tasks_outstanding -= 1
        return self._given.get()

    def _shutdown_workers(self):
        self._shutdown = True
        self._asked.put(None)
        self._workers[0].join()


class DataLoader:
    _iterator = None

    def __init__(self, count):
        self.count = count

    def __iter__(self):
        if self._iterator is None:
            self._iterator = _MultiProcessingDataLoaderIter(self)
        else:
            self._iterator._reset()
        return self._iterator
''',
}


@pytest.fixture
def imitating(start, tmp_path):
    """A kernel in whose folder the imitations lie."""
    for path, text in IMITATIONS.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    return start()


def test_loaders_with_processes_go_on_and_iterators_say_what_they_lost(imitating):
    kernel = imitating
    kernel.good("from torch.utils.data.dataloader import DataLoader\nimport torch.multiprocessing\nloader = DataLoader(4)")
    for cell in run_all(kernel, "list(loader)‖list(loader)✗list(loader)‖list(loader)"):
        assert (cell.ok, cell.result, cell.stderr) == (True, "[0, 1, 4, 9]", ""), str(cell)
    begun = kernel.good("begun = iter(loader)\nnext(begun)")
    assert begun.stderr.startswith("petri: what processes had still to do is lost")
    assert kernel.run("next(begun)").ename == "ProcessError"
    assert kernel.value("list(loader)") == "[0, 1, 4, 9]"


def test_what_a_process_of_torch_would_hold_is_held_by_descriptors(imitating):
    cell = imitating.good("import torch.multiprocessing as mp\nmp.set_sharing_strategy('file_system')\nmp.chosen")
    assert cell.result == "'file_descriptor'"
    assert cell.stderr.startswith("petri: torch goes on to share tensors by descriptors")


def test_ray_is_shut_down_with_its_cell_which_says_so(imitating):
    cell = imitating.good("import ray\nray.init()\nray.is_initialized()")
    assert cell.result == "True"
    assert cell.stderr.startswith("petri: ray is shut down") and "ended 1 process" not in cell.stderr
    later = imitating.good("import subprocess\nsubprocess.run(['true'])\nray.is_initialized()")
    assert (later.result, later.stderr) == ("False", "")
