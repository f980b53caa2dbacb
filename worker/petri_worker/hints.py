"""
What to do about an error whose cause is petri: a line below the traceback.

Most of these lines are said once in a session: who has read one knows it. An
error may be wrapped in others, as libraries do, so all that an error came of are
looked at. What an exception says of itself is the user's code: where it fails,
there is no hint.
"""

import dis
import errno
import os
import sys

from petri_worker.magics import configured
from petri_worker.packages import find_spec_safely

# An error that came of more others than these is looked at no further.
_MOST = 20

_told = set()


class _Place:
    """Where cells may look for files of their own."""

    folder = os.getcwd()
    home = os.path.expanduser("~")
    own = (folder, "/work", home, "/tmp", "/dev/shm")


def hint(error):
    """What to do about an error: a list of one line, or none."""
    for one in _origins(error):
        for look in _LOOKS:
            try:
                found = look(one)
            except Exception:
                found = None
            if found and (found[0] is None or found[0] not in _told):
                _told.add(found[0])
                return [f"petri: {found[1]}"]
    return []


def _origins(error):
    """The error, and those that it came of."""
    waiting, seen = [error], []
    while waiting and len(seen) < _MOST:
        one = waiting.pop(0)
        if not isinstance(one, BaseException) or any(one is other for other in seen):
            continue
        seen.append(one)
        waiting += [one.__cause__, one.__context__]
        try:
            waiting += [getattr(one, "reason", None), *one.args]
        except Exception:
            pass
    return seen


# Each of these takes an error, and returns (what is said once, or None for each time; the line), or None.


def _memory(error):
    if isinstance(error, MemoryError):
        return None, (
            "a cell's memory is limited. %%limits memory=SIZE as the cell's first line asks for more, "
            "up to the ceiling that %limits shows."
        )


def _room(error):
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return None, (
            "the files of a session are limited, in bytes and number (disk and files in %limits). "
            "The configuration's profiles give more room."
        )


def _open_files(error):
    if isinstance(error, OSError) and error.errno == errno.EMFILE:
        return None, (
            f"a process of a cell may have {os.sysconf('SC_OPEN_MAX')} files, pipes and sockets open at a time, with those of "
            "earlier cells. No setting gives more: close some, or use them one after the other."
        )


def _watching(error):
    """inotify, which a cell doesn't have: whoever calls it has its name in the code, or in the error's text."""
    if isinstance(error, OSError) and (error.errno == errno.ENOSYS or "ENOSYS" in str(error)) and _names_inotify(error):
        return "watching", (
            "cells can't watch files. A library that compares them from time to time works: PollingObserver of "
            "watchdog.observers.polling, force_polling=True of watchfiles."
        )


def _names_inotify(error):
    traceback, words = error.__traceback__, [str(error)]
    while traceback is not None:
        code = traceback.tb_frame.f_code
        words += [code.co_filename, code.co_name, *code.co_names]
        traceback = traceback.tb_next
    return any("inotify" in word.lower() for word in words)


def _tasks(error):
    """One process or thread too many."""
    refused = isinstance(error, BlockingIOError) and error.errno == errno.EAGAIN and _has_started_processes(error)
    if refused or (isinstance(error, RuntimeError) and error.args == ("can't start new thread",)):
        return None, (
            "a cell's processes and threads are limited in number, with the threads of earlier cells that have not "
            "ended (processes in %limits). %%limits processes=NUMBER as the cell's first line asks for more."
        )


def _has_started_processes(error):
    """Whether an error comes of the code that starts a process: of reading from a descriptor it has the same number."""
    traceback = _innermost(error)
    if traceback is None:
        return False
    code = traceback.tb_frame.f_code
    return code.co_name in ("_execute_child", "_launch") or "fork" in _names_in(code, traceback.tb_lineno)


def _names_in(code, line):
    """The names and constants in a line of a code object."""
    places = [range(first, end) for first, end, number in code.co_lines() if number == line]
    return [step.argval for step in dis.get_instructions(code) if any(step.offset in place for place in places)]


def _module(error):
    if not isinstance(error, ModuleNotFoundError) or getattr(error, "_petri_explained", False):
        return None
    name = (error.name or "").partition(".")[0]
    if name and not find_spec_safely(name):
        return "module", (
            f"the interpreter of this kernel, {sys.executable}, has no module {name!r}. Install the package that has it "
            f"in a terminal, with {sys.executable} -m pip install, and restart the kernel: cells have no network."
        )


def _variable(error):
    if not isinstance(error, KeyError) or not _raised_by(error, type(os.environ).__getitem__):
        return None
    always = ', and "variables" in the configuration for each' if configured is not None else ""
    return "variable", (
        f"cells don't have your environment variables. %env {error.args[0]}=VALUE sets this one for the session{always}."
    )


def _raised_by(error, function):
    """Whether an error comes of a function's own code."""
    traceback = _innermost(error)
    return traceback is not None and traceback.tb_frame.f_code is function.__code__


def _innermost(error):
    """The last part of an error's traceback; None for an error that was not raised."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    return traceback


def _file(error):
    """A file that is not there, or may not be used, because of what cells see and may write."""
    if not isinstance(error, OSError) or not isinstance(error.filename, str):
        return None
    path = os.path.abspath(error.filename)
    inside = [place for place in _Place.own if path == place or path.startswith(place + os.sep)]
    nearest = max(inside, key=len, default=None)  # the notebook's folder may be in a home of the same name
    if error.errno == errno.ENOENT and nearest == _Place.home:
        return "home", f"a cell has a home folder of its own, {_Place.home}: your files are not in it. {_BRING}"
    if error.errno == errno.ENOENT and not nearest:
        return "outside", (
            f"cells see the notebook's folder, and of the rest of the disk only what Python needs. {_BRING}"
        )
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS) and not nearest:
        return "read-only", "cells can write to the notebook's folder, to /tmp and to their own home, and nowhere else."
    if error.errno in (errno.EACCES, errno.EPERM) and nearest != _Place.home:
        return "rights", (
            "cells have the rights of the user who runs petri; where that is root, those of the owner of the "
            "notebook's folder. chmod or chown in a terminal gives them more."
        )


_BRING = (
    "Put what the cell needs into the notebook's folder, or have its folder listed under \"inputs\" in petri's "
    "configuration."
)


def _port(error):
    if isinstance(error, ConnectionRefusedError):
        return "port", (
            "a cell's localhost is its own: what listens on a port of this machine can't be reached from it, only a "
            "server that runs in this session."
        )


_LOOKS = (_memory, _room, _open_files, _watching, _tasks, _module, _variable, _file, _port)
