"""
The end of a process that a cell has forked and that has run the cell to its end:
as that of a script that has forked, because the notebook is the parent's alone.

What is registered for the interpreter's end is not called: it is the session's,
and the parent goes on to use it.

See: os.fork(), sys.exit() in Python's documentation.
"""

import _signal
import os
import sys


def end(error, flush):
    """
    Ends this process with the status that a script would have; does not return.

    error: what the cell's code has raised, shown already; None where it has ended well.
    flush(): writes what is still in the streams.
    """
    status = 1
    try:
        status = _status(error)
        flush()
        if isinstance(error, KeyboardInterrupt):
            _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
            _signal.pthread_sigmask(_signal.SIG_UNBLOCK, {_signal.SIGINT})
            os.kill(os.getpid(), _signal.SIGINT)
    finally:
        os._exit(status)


def _status(error):
    """The exit status; the text that sys.exit() was given is written."""
    if not isinstance(error, SystemExit):
        return 0 if error is None else 1
    if error.code is None or isinstance(error.code, int):
        return (error.code or 0) & 0xFF
    print(error.code, file=sys.stderr)
    return 1
