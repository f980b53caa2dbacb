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


LONG = {"scikit-learn"}  # each call loads it in two processes
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
