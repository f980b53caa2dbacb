"""
Processes that libraries keep for their next call, ended before the cell is.

A cell's processes end with it. A library that keeps some for later takes them for
alive then, and waits for an answer, or tells of a crash. So each is asked to end
them as it would at the program's end, and makes new ones for its next call. A Pool
or ProcessPoolExecutor that the user keeps goes on in later cells, with new
processes; what it had still to do fails, and says so. Others say that they are closed.

Processes that somebody has started by himself (Popen, Process) are dead in the next
cell, killed by SIGKILL: whoever asks is told that by Linux.
"""

import contextlib
import os
import signal
import sys
import threading
import weakref

from petri_worker.after_import import after_import

_SECONDS = 1.0  # for all of them; what is not done by then is killed with the rest
_LOST = "its process ended with the cell that started it: what it had not done by then is lost"

_pools = weakref.WeakSet()
_executors = weakref.WeakSet()
_loky = weakref.WeakSet()


def install():
    """Has libraries followed from their import on."""
    after_import("multiprocessing.pool", _follow_pools)
    after_import("concurrent.futures.process", _follow_executors)
    after_import("multiprocessing.resource_tracker", _follow_trackers)
    after_import("loky.process_executor", _follow_loky)
    after_import("joblib.externals.loky.process_executor", _follow_loky)


def end():
    """Ends what is kept. Costs one system call where the cell has no processes."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return
    if not (_pools or _executors or _loky or any(name in sys.modules for name, _ in _MODULES)):
        return
    lost = []
    thread = threading.Thread(target=_end_all, args=[lost], daemon=True)
    try:
        thread.start()
    except (RuntimeError, MemoryError):
        return  # the cell has used up what there is: its processes are killed
    thread.join(_SECONDS)
    if any(lost):
        print("petri: what processes had still to do is lost: they end with the cell that started them.", file=sys.stderr)


def _end_all(lost):
    """lost: gets whether there was something still to do, for each that has been ended."""
    for kept, function in (_pools, _end_pool), (_executors, _end_executor), (_loky, _end_loky):
        for one in list(kept):
            _quietly(lost, function, one)
    for name, function in _MODULES:
        if name in sys.modules:
            _quietly(lost, function, sys.modules[name])


def _quietly(lost, function, argument):
    # Whatever a library, or the user in its place, raises: its processes end all the same.
    with contextlib.suppress(BaseException):
        lost.append(function(argument))


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
        return False
    pool.terminate()
    pool.join()
    unfinished = list(pool._cache.values())
    for result in unfinished:
        _fail(result)
    pool._ended_with_cell = True
    return bool(unfinished)


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


# concurrent.futures.ProcessPoolExecutor


def _follow_executors(module):
    init = module.ProcessPoolExecutor.__init__

    def __init__(self, *args, **kwargs):
        init(self, *args, **kwargs)
        self._made_again = lambda: init(self, *args, **kwargs)
        _executors.add(self)

    module.ProcessPoolExecutor.__init__ = __init__


def _end_executor(executor):
    manager = executor._executor_manager_thread
    if manager is None or executor._shutdown_thread or executor._broken:
        return False
    unfinished = bool(executor._pending_work_items)
    if unfinished:
        for process in list(executor._processes.values()):
            process.kill()  # the executor sees it, and fails the rest
        manager.join()
    else:
        executor.shutdown(wait=True)
    executor._made_again()
    return unfinished


# loky's, and so joblib's and scikit-learn's: the one that is reused is made again by loky


def _follow_loky(module):
    init = module.ProcessPoolExecutor.__init__

    def __init__(self, *args, **kwargs):
        init(self, *args, **kwargs)
        _loky.add(self)

    module.ProcessPoolExecutor.__init__ = __init__


def _end_loky(executor):
    if executor._flags.shutdown or executor._executor_manager_thread is None:
        return False
    unfinished = bool(executor._pending_work_items)
    executor.shutdown(wait=True, kill_workers=True)
    return unfinished


# What keeps an account of names that are to be removed at the program's end


def _follow_trackers(module):
    send = module.ResourceTracker._send

    def _send(self, command, name, kind):
        names = self.__dict__.setdefault("_names", {})
        if self.__dict__.pop("_ended_with_cell", False):
            for (known, its_kind), times in names.items():
                for _ in range(times):
                    send(self, "REGISTER", known, its_kind)
        count = names.get((name, kind), 0)
        if command == "REGISTER":
            names[name, kind] = count + 1
        elif count == 0:
            send(self, "REGISTER", name, kind)  # a process that has ended did that, with a tracker that has
        elif command == "UNREGISTER" or count == 1:
            del names[name, kind]
        else:
            names[name, kind] = count - 1
        send(self, command, name, kind)

    module.ResourceTracker._send = _send


def _end_tracker(module):
    # Not by its own end, which removes all that it knows of: the session goes on. The next one is told again.
    tracker = module._resource_tracker
    if tracker._fd is None:
        return
    pid = getattr(tracker, "_pid", None)
    if pid is not None:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    os.close(tracker._fd)
    tracker._fd = tracker._pid = None
    tracker._ended_with_cell = True


# Others


def _end_forkserver(module):
    module._forkserver._stop()


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


def _end_ray(module):
    module.shutdown()


# The trackers last: others tell them.
_MODULES = [
    ("distributed", _end_dask),
    ("ray", _end_ray),
    ("multiprocessing.forkserver", _end_forkserver),
    ("loky.backend.resource_tracker", _end_tracker),
    ("joblib.externals.loky.backend.resource_tracker", _end_tracker),
    ("multiprocessing.resource_tracker", _end_tracker),
]
