"""
pdb as IPython has it: coloured, with completion, and an interrupt ends it
instead of asking again. It is put into the place of Python's own when
somebody imports that, for loading both takes some milliseconds of a start.
"""

import sys
from importlib.machinery import PathFinder


class _Finder:
    """Finds pdb, once."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        """The spec of pdb, with our hand on its loading; None for everything else."""
        if name != "pdb":
            return None
        sys.meta_path.remove(_Finder)
        spec = PathFinder.find_spec(name, path, target)
        load = spec.loader.exec_module

        def load_and_replace(module):
            load(module)
            _replace(module)

        spec.loader.exec_module = load_and_replace
        return spec


def _replace(pdb):
    from IPython.core import debugger

    debugger.Pdb = pdb.Pdb = debugger.InterruptiblePdb
    pdb.set_trace = debugger.set_trace


def install():
    """From now on `import pdb` gives IPython's debugger. Older versions of IPython have loaded both already."""
    if "pdb" in sys.modules:
        _replace(sys.modules["pdb"])
    else:
        sys.meta_path.insert(0, _Finder)
