"""
Calls a function on a module once something imports it: importing it here would
cost time at every start.
"""

import sys
from importlib.machinery import PathFinder

_wanted = {}


class _Finder:
    """Finds the modules that a function waits for, as the next finder would."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        """The spec of a module that is waited for, with a loader of ours around its own; None for all others."""
        # Not popped: a caller that only asks for the spec, as importlib.util.find_spec() does, imports nothing.
        if name not in _wanted:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or spec.loader is None:
            return spec
        load = spec.loader.exec_module

        def load_and_do(module):
            load(module)
            do = _wanted.pop(name, None)
            if do is not None:
                do(module)

        spec.loader.exec_module = load_and_do
        return spec


def after_import(name, do):
    """Calls do(module) after the module's first import; now, where it has been imported."""
    if name in sys.modules:
        do(sys.modules[name])
        return
    _wanted[name] = do
    if _Finder not in sys.meta_path:
        sys.meta_path.insert(0, _Finder)
