"""
What a request gives a cell beside its code: a standard input, and variables of
the environment.

Both are the cell's alone: afterwards everything is as it was, whatever the code
has done to it.
"""

import builtins
import contextlib
import getpass
import os
import sys

_INPUT = builtins.input


@contextlib.contextmanager
def given(stdin, env):
    """Inside of it descriptor 0, sys.stdin and input() have the text `stdin`, and os.environ the entries of `env`."""
    with contextlib.ExitStack() as stack:
        if env:
            stack.enter_context(_environment(env))
        if stdin is not None:
            stack.enter_context(_standard_input(stdin))
        yield


@contextlib.contextmanager
def _environment(env):
    before = {name: os.environ.get(name) for name in env}
    os.environ.update(env)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextlib.contextmanager
def _standard_input(text):
    """The text as a file behind descriptor 0, so that child processes have it too."""
    _open_if_closed()
    stream, before = sys.stdin, os.dup(0)
    asking = builtins.input, getpass.getpass
    file = _file_of(text.encode("utf-8", "surrogateescape"))
    try:
        os.dup2(file, 0)
        os.close(file)
        sys.stdin = open(0, encoding="utf-8", errors="surrogateescape", closefd=False)
        builtins.input, getpass.getpass = _INPUT, _secret
        yield
    finally:
        sys.stdin = stream
        builtins.input, getpass.getpass = asking
        os.dup2(before, 0)
        os.close(before)


def _open_if_closed():
    """An earlier cell may have closed descriptor 0: then it is what it was at the start. open() takes the lowest."""
    try:
        os.fstat(0)
    except OSError:
        os.set_inheritable(os.open(os.devnull, os.O_RDONLY), True)


def _file_of(data):
    """A descriptor of a new file in memory with this content, at its beginning."""
    fd = os.memfd_create("stdin")
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def _secret(prompt="Password: ", stream=None, **kwargs):
    """getpass.getpass(): the next line of the given text, which is not shown anyway."""
    return _INPUT(prompt)
