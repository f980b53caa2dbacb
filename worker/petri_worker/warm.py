"""
Loads and tries out what cells need, ahead of time, in two portions. start() is
part of every start: what each first cell needs. The `warm` request comes while
the kernel is idle: what a first error and a first completion need, which takes
as long as half a start. Neither leaves anything that a cell could see, or
imports anything from the notebook's folder.
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


def idle(shell):
    """Formats a traceback (lexer, style, source lines), and completes an argument's name (jedi). Returns the reply."""
    with installed_only():
        filename = shell.compile.cache("1 / 0\n")
        try:
            exec(compile("1 / 0\n", filename, "exec"), {})
        except ZeroDivisionError:
            shell.InteractiveTB.structured_traceback(*sys.exc_info(), tb_offset=1)
        introspect.preload(shell)
    return {"status": "ok"}
