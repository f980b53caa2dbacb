"""
Running a cell.

See: Jupyter messaging, "Execute".
"""

import builtins
import getpass
import sys

from petri_worker.errors import describe
from petri_worker.given import given
from petri_worker.imports import find_refused


class Executor:
    """
    Serves `execute` requests on a ZMQInteractiveShell; `streams` is flushed by the caller, which ends the request.
    loop: the CellLoop, in whose context all that may call the user's code is called.
    """

    def __init__(self, shell, loop):
        self._shell = shell
        self._loop = loop

    def execute(self, request):
        """request: as in docs/worker-wire.md. Returns the execute_reply's content."""
        shell = self._shell
        shell.forget_error()
        shell.interrupted = False
        shell.allow_stdin = bool(request.get("allow_stdin"))
        builtins.input = shell.raw_input
        getpass.getpass = shell.getpass
        shell.has_stdin = request.get("stdin") is not None
        silent = bool(request.get("silent"))
        store = bool(request.get("store_history", True)) and not silent
        # What takes no number shows the next cell's, so that its value does not replace the last cell's in Out.
        shell.request_count = shell.execution_count = request["execution_count"] + (not store)
        try:
            shell.history_manager.begin(shell.request_count if store else None, request.get("missed") or ())
            with given(request.get("stdin"), request.get("env")):
                code, refused = request["code"], request.get("refuse")
                cell, failed = self._transform(code)
                found = find_refused(code, cell, refused, self._transform_body) if refused and not failed else None
                if found is not None:
                    return {"status": "refused", "module": found[0], "line": found[1]}
                error = self._run(code, cell, failed, silent, store) or shell.display_error
            wanted = request.get("user_expressions") or {}
            expressions = {} if error is not None else self._loop.call(shell.user_expressions, wanted)
        except BaseException as caught:
            error = caught
            self._loop.call(self._show, error)
            shell.end_child(error)
        # Taken in any case, so that a payload never goes out with the next cell.
        payload = shell.payload_manager.read_payload()
        if payload:
            shell.payload_manager.clear_payload()
        if error is None:
            return {"status": "ok", "user_expressions": expressions, "payload": payload}
        # An error that a function of the user's has shown is in the reply alone, as in every notebook.
        shown = shell.shown if shell.has_shown(error) else describe(error)
        return {"status": "error", **shown, "user_expressions": {}, "payload": payload}

    def _transform(self, code):
        """The code as Python, and None; or the code as it is, and what has failed."""
        try:
            return self._transform_body(code), None
        except Exception:
            return code, sys.exc_info()

    def _transform_body(self, code):
        return self._loop.call(self._shell.transform_cell, code)

    def _run(self, code, cell, failed, silent, store):
        """Runs the code, which _transform() has made `cell` of; returns the exception that it has raised, or None."""
        shell = self._shell
        result = None
        try:
            result = self._loop.run_cell(
                code,
                cell,
                shell.run_cell_async(
                    code, store_history=store, silent=silent, transformed_cell=cell, preprocessing_exc_tuple=failed
                ),
            )
            shell.end_child(_error_of(result))
        finally:
            # Figures are shown by a callback of this event, after a cell that failed too.
            self._loop.call(shell.events.trigger, "post_execute")
            if not silent:
                self._loop.call(shell.events.trigger, "post_run_cell", result)
        return _error_of(result)

    def _show(self, error):
        """Shows an error that IPython has not seen."""
        if not self._shell.has_shown(error):
            self._shell.showtraceback((type(error), error, error.__traceback__))


def _error_of(result):
    """What the code has raised, before it ran or as it did; None where nothing."""
    return result.error_in_exec if result.error_before_exec is None else result.error_before_exec
