"""
Processes that libraries keep for their next call, ended before the cell is.

A cell's processes end with it. A library that keeps some for later believes
that they are alive, and waits for an answer, or reports a crash. So each is
asked to end them as it would at the program's end, and makes new ones for its
next call. A Pool or ProcessPoolExecutor that the user keeps goes on in later
cells, with new processes; what it had still to do fails, and says so. Others
say that they are closed.

Processes that the user's own code has started (Popen, Process) are dead in the
next cell, killed by SIGKILL, which their exit status says.
"""

import contextlib
import inspect
import os
import signal
import sys
import threading
import warnings
import weakref

from petri_worker import trackers
from petri_worker.after_import import after_import

_SECONDS = 2.0  # for all of them, on a busy machine; what is not done by then is killed with the rest
_LOST = "its process ended with the cell that started it: what it had not done by then is lost"

_SAYS_LOST = "petri: what processes had still to do is lost: they end with the cell that started them."
_SAYS_CLOSED = "petri: dask's cluster is closed: its processes end with the cell that started them."
_SAYS_SHUT_DOWN = "petri: ray is shut down: its processes end with the cell that started them. ray.init() starts it again."
_SAYS_DESCRIPTORS = (
    "petri: torch goes on to share tensors by descriptors: the process that has those of 'file_system' would end with "
    "this cell."
)
_SAYS_THREADS = (
    "petri: the workers of dask's cluster are threads, which go on in later cells. With processes=True they are "
    "processes, and end with this cell."
)

_pools = weakref.WeakSet()
_executors = weakref.WeakSet()
_loky = weakref.WeakSet()
_loading = weakref.WeakSet()


def install():
    """Follows libraries from their import on."""
    after_import("multiprocessing.pool", _follow_pools)
    after_import("multiprocess.pool", _follow_pools)
    after_import("concurrent.futures.process", _follow_executors)
    after_import("loky.process_executor", _follow_loky)
    after_import("joblib.externals.loky.process_executor", _follow_loky)
    after_import("torch.utils.data.dataloader", _follow_loaders)
    after_import("torch.multiprocessing", _follow_sharing)
    after_import("distributed.deploy.local", _follow_dask)
    trackers.install()


def end():
    """Ends what is kept. Costs one system call where the cell has no processes."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return
    is_kept = any(kept for kept, _ in _KEPT) or any(name in sys.modules for name, _ in _MODULES)
    if not (is_kept or trackers.are_loaded()):
        return
    ending = _Ending(daemon=True)
    try:
        ending.start()
    except (RuntimeError, MemoryError):
        return  # the cell has used up what there is: its processes are killed
    try:
        ending.join(_SECONDS)
    finally:
        ending.is_over = True
    if ending.is_alive():
        trackers.end()
    for sentence in sorted(ending.said):
        print(sentence, file=sys.stderr)


class _Ending(threading.Thread):
    """
    Ends one after the other. said: sentences that the user is to read; is_over: the cell ends now. What is left must
    not be ended in the next one, which may have begun it anew.
    """

    said, is_over = frozenset(), False

    def run(self):
        said = set()
        for function, kept in self._all():
            if self.is_over:
                return
            # A library, or what the user has put in its place, may raise anything: its processes end all the same.
            with contextlib.suppress(BaseException):
                said.add(function(kept))
            self.said = said - {None}

    @staticmethod
    def _all():
        """The trackers last: others tell them."""
        for kept, function in _KEPT:
            yield from ((function, one) for one in list(kept))
        yield from ((function, sys.modules[name]) for name, function in _MODULES if name in sys.modules)
        yield lambda _: trackers.end(), None


# multiprocessing.Pool


def _follow_pools(module):
    init, check = module.Pool.__init__, module.Pool._check_running

    def __init__(self, *args, **kwargs):
        init(self, *args, **kwargs)
        if not isinstance(self, module.ThreadPool):
            self._made_again = lambda: init(self, *args, **kwargs)
            _pools.add(self)

    def _check_running(self):
        if self.__dict__.pop("_ended_with_cell", False):
            self._made_again()
        check(self)

    module.Pool.__init__, module.Pool._check_running = __init__, _check_running


def _end_pool(pool):
    if pool._state != "RUN":
        return None
    pool.terminate()
    pool.join()
    unfinished = list(pool._cache.values())
    for result in unfinished:
        _fail(result)
    pool._ended_with_cell = True
    return _SAYS_LOST if unfinished else None


def _fail(result):
    """Fails what apply_async() and the like have given."""
    from multiprocessing import ProcessError

    failure = (False, ProcessError(_LOST))
    if hasattr(result, "_number_left"):  # of several pieces
        result._number_left = 1
    if hasattr(result, "_items"):  # an iterator, which ends with this
        result._unsorted.clear()
        result._length = result._index + 1
        result._set(result._index, failure)
    else:
        result._set(0, failure)


# Executors: those that have ended are made again by their next call, with what they were made of


def _follow(kind, kept):
    init, submit, shutdown = kind.__init__, kind.submit, kind.shutdown

    def __init__(self, *args, **kwargs):
        init(self, *args, **kwargs)
        self._made_again = lambda: init(self, *args, **kwargs)
        kept.add(self)

    def followed(self, *args, **kwargs):
        if self.__dict__.pop("_ended_with_cell", False):
            self._made_again()
        return submit(self, *args, **kwargs)

    def ended(self, *args, **kwargs):
        self.__dict__.pop("_ended_with_cell", None)
        return shutdown(self, *args, **kwargs)

    kind.__init__, kind.submit, kind.shutdown = __init__, followed, ended


# concurrent.futures.ProcessPoolExecutor


def _follow_executors(module):
    _follow(module.ProcessPoolExecutor, _executors)


def _end_executor(executor):
    manager = executor._executor_manager_thread
    if manager is None or executor._shutdown_thread or executor._broken:
        return None
    unfinished = bool(executor._pending_work_items)
    if unfinished:
        for process in list(executor._processes.values()):
            process.kill()  # the executor sees it, and fails the rest
        manager.join()
    else:
        executor.shutdown(wait=True)
    executor._ended_with_cell = True
    return _SAYS_LOST if unfinished else None


# loky's, and so joblib's and scikit-learn's


def _follow_loky(module):
    _follow(module.ProcessPoolExecutor, _loky)


def _end_loky(executor):
    if executor._flags.shutdown or executor._executor_manager_thread is None:
        return None
    unfinished = bool(executor._pending_work_items)
    executor.shutdown(wait=True, kill_workers=True)
    executor._ended_with_cell = True
    return _SAYS_LOST if unfinished else None


# torch's DataLoader with num_workers. One with persistent_workers goes on in later cells, with new processes; an
# iterator that a cell has begun and not used up fails.


def _follow_loaders(module):
    loader, iterator = module.DataLoader, module._MultiProcessingDataLoaderIter
    iterate, init, next_data = loader.__iter__, iterator.__init__, iterator._next_data

    def __iter__(self):
        if hasattr(self._iterator, "_lost_with_cell"):
            self._iterator = None
        return iterate(self)

    def __init__(self, *args, **kwargs):
        _loading.add(self)
        init(self, *args, **kwargs)

    def _next_data(self):
        if getattr(self, "_lost_with_cell", False):
            from multiprocessing import ProcessError

            raise ProcessError(_LOST)
        return next_data(self)

    loader.__iter__, iterator.__init__, iterator._next_data = __iter__, __init__, _next_data


def _end_loading(iterator):
    if iterator._shutdown:
        return None
    # Workers of an IterableDataset that have given all they had leave what they were asked for more.
    unfinished = iterator._tasks_outstanding > 0 and any(iterator._workers_status)
    iterator._lost_with_cell = unfinished  # one that has been used up ends as it would have
    if unfinished:
        # Otherwise it would wait for them, and its handler of SIGCHLD tell of a crash.
        sys.modules[type(iterator).__module__]._utils.signal_handling._remove_worker_pids(id(iterator))
        iterator._worker_pids_set = False
        for worker in iterator._workers:
            worker.kill()
    iterator._shutdown_workers()
    return _SAYS_LOST if unfinished else None


def _follow_sharing(module):
    choose = module.set_sharing_strategy

    def set_sharing_strategy(new_strategy):
        if new_strategy == "file_system":
            print(_SAYS_DESCRIPTORS, file=sys.stderr)
        else:
            choose(new_strategy)

    module.set_sharing_strategy = set_sharing_strategy


# Others


def _end_forkserver(module):
    server = module._forkserver
    if getattr(server, "_forkserver_pid", None) is not None:
        os.kill(server._forkserver_pid, signal.SIGKILL)  # by itself it waits for the processes that it has started
    server._stop()


def _follow_dask(module):
    init = module.LocalCluster.__init__
    signature = inspect.signature(init)

    def __init__(self, *args, **kwargs):
        given = signature.bind(self, *args, **kwargs)
        if given.arguments.get("processes") is None and given.arguments.get("worker_class") is None:
            given.arguments["processes"] = False
            print(_SAYS_THREADS, file=sys.stderr)
        init(*given.args, **given.kwargs)

    module.LocalCluster.__init__ = __init__
    # It looks for a route to another machine, which does not exist here.
    warnings.filterwarnings("ignore", "Couldn't detect a suitable IP address", RuntimeWarning, r"distributed\.utils")


def _end_dask(module):
    ended = [
        cluster
        for cluster in module.deploy.spec.SpecCluster._instances
        if any(isinstance(worker, module.Nanny) for worker in cluster.workers.values())
    ]
    for client in list(module.client.Client._instances):
        if client.cluster in ended:
            client.close(timeout=_SECONDS)
    for cluster in ended:
        cluster.close(timeout=_SECONDS)
    return _SAYS_CLOSED if ended else None


def _end_ray(module):
    if not module.is_initialized():
        return None
    module.shutdown()
    return _SAYS_SHUT_DOWN


def _end_pathos(module):
    servers = module.__dict__["__STATE"]
    for server in list(servers.values()):
        server.destroy()
    servers.clear()


# What is kept: objects, and modules.
_KEPT = [(_pools, _end_pool), (_executors, _end_executor), (_loky, _end_loky), (_loading, _end_loading)]
_MODULES = [
    ("distributed", _end_dask),
    ("ray", _end_ray),
    ("pathos.parallel", _end_pathos),
    ("multiprocessing.forkserver", _end_forkserver),
    ("multiprocess.forkserver", _end_forkserver),
]
