"""
Loads and tries out what cells need, ahead of time, in three portions. start() is
part of every start: what each first cell needs. The `warm` requests come while
the kernel is idle: what a first error needs, which takes as long as a start, and
what some completions need, which takes several times as long. None leaves
anything that a cell could see, or imports anything from the notebook's folder.
"""

import sys

from petri_worker import introspect
from petri_worker.packages import installed_only


def start(shell, executor):
    """Runs an empty cell, formats a result, and completes a name."""
    executor.execute({"code": "pass", "execution_count": 1, "silent": True})
    shell.display_formatter.format(0)
    introspect.try_out(shell)
    shell.execution_count = 1


def errors(shell):
    """Formats a traceback (lexer, style, source lines), and inspects a name."""
    filename = shell.compile.cache("1 / 0\n")
    try:
        exec(compile("1 / 0\n", filename, "exec"), {})
    except ZeroDivisionError:
        shell.InteractiveTB.structured_traceback(*sys.exc_info(), tb_offset=1)
    introspect.inspect(shell, {"code": "len", "cursor_pos": 3})


_PORTIONS = {"errors": errors, "completions": introspect.preload}


def idle(shell, request):
    """Loads the portion that is asked for. Returns the reply."""
    with installed_only():
        _PORTIONS[request["portion"]](shell)
    return {"status": "ok"}
