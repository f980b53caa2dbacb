"""
pdb as IPython has it: coloured, with completion, and an interrupt ends it
instead of asking again. It is put into the place of Python's own when
somebody imports either, for loading both takes some milliseconds of a start.
"""

from importlib import import_module

from petri_worker.after_import import after_import

_IPYTHON_S = "IPython.core.debugger"


def _replace(debugger):
    import pdb

    debugger.Pdb = pdb.Pdb = debugger.InterruptiblePdb
    pdb.set_trace = debugger.set_trace


def install():
    """From now on `import pdb` gives IPython's debugger. Older versions of IPython have loaded both already."""
    after_import(_IPYTHON_S, _replace)
    after_import("pdb", lambda module: import_module(_IPYTHON_S))
