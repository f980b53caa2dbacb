"""
Resource trackers: processes that remove named resources when their program has
ended.

multiprocessing has one for semaphores and shared memory, loky (joblib) one for
files and folders as well. A tracker ends with its cell like any process, and
would do so by removing all that it knows of, though the session goes on. So
each is killed instead, what it knew is kept here, and the next one is told. In
between none is needed: a name that is only unregistered is unregistered here.

See: multiprocessing/resource_tracker.py in the standard library.
"""

import contextlib
import os
import signal
import sys

from petri_worker.after_import import after_import

_MODULES = (
    "multiprocessing.resource_tracker",
    "multiprocess.resource_tracker",
    "loky.backend.resource_tracker",
    "joblib.externals.loky.backend.resource_tracker",
)
_LOCK_S = 1.0


def install():
    """Follows trackers from the import of their modules on."""
    for name in _MODULES:
        after_import(name, _follow)
    os.register_at_fork(before=_before_fork)


def are_loaded():
    """Whether there may be one."""
    return any(name in sys.modules for name in _MODULES)


def end():
    """Ends them."""
    for tracker in _trackers():
        with contextlib.suppress(Exception):
            _end(tracker)


def _trackers():
    return [sys.modules[name]._resource_tracker for name in _MODULES if name in sys.modules]


def _follow(module):
    # Of one that is derived from another each method is followed once.
    kind = module.ResourceTracker
    for name, follow in (("_send", _follow_send), ("ensure_running", _follow_ensure_running)):
        method = getattr(kind, name)
        if not hasattr(method, "unfollowed"):
            followed = follow(method)
            followed.unfollowed = method
            setattr(kind, name, followed)
    module.ensure_running = module._resource_tracker.ensure_running


def _follow_send(send):
    def _send(self, command, name, kind):
        names = _names(self)
        count = names.get((name, kind), 0)
        if command == "REGISTER":
            _tell_again(self)
            names[name, kind] = count + 1
        elif command == "UNREGISTER" or count <= 1:
            names.pop((name, kind), None)
        else:
            names[name, kind] = count - 1
        if command != "REGISTER" and _has_ended(self):
            if command == "MAYBE_UNLINK" and count <= 1:
                _remove(self, name, kind)
            return
        if command != "REGISTER" and count == 0:
            send(self, "REGISTER", name, kind)  # a process that has ended did that, with a tracker that has
        send(self, command, name, kind)

    return _send


def _follow_ensure_running(ensure_running):
    def followed(self):
        _tell_again(self)
        return ensure_running(self)

    return followed


def _names(tracker):
    """{(name, kind): how often it was registered}."""
    return tracker.__dict__.setdefault("_names", {})


def _has_ended(tracker):
    return tracker.__dict__.get("_ended_with_cell", False)


def _tell_again(tracker):
    """Starts the tracker that comes after one that has ended, with all names; else nothing."""
    if tracker.__dict__.pop("_ended_with_cell", False):
        for (name, kind), times in list(_names(tracker).items()):
            for _ in range(times):
                tracker._send.unfollowed(tracker, "REGISTER", name, kind)


def _remove(tracker, name, kind):
    """What the tracker would do with a name that is not used any more."""
    clean_up = sys.modules[type(tracker).__module__]._CLEANUP_FUNCS.get(kind)
    with contextlib.suppress(Exception):
        clean_up(name)


def _before_fork():
    # A child that has no tracker from its parent starts one, which removes at the child's end what the child has used.
    for tracker in _trackers():
        with contextlib.suppress(Exception):
            if _has_ended(tracker):
                tracker.ensure_running()


def _end(tracker):
    if tracker._fd is None:
        return
    # Before the lock, for finalizers that run in here; and once more, for threads that have begun another meanwhile.
    tracker._ended_with_cell = True
    has_lock = tracker._lock.acquire(timeout=_LOCK_S)
    try:
        pid = getattr(tracker, "_pid", None)
        if pid is not None:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        os.close(tracker._fd)
        tracker._fd = tracker._pid = None
        tracker._ended_with_cell = True
    finally:
        if has_lock:
            tracker._lock.release()
