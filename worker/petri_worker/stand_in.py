"""
Modules of ipykernel in sys.modules, without ipykernel.

By `ipykernel.zmqshell` tqdm and others tell a notebook from a terminal, by the
class of sys.stdout in `ipykernel.iostream` astropy and iminuit. Whoever imports
a class of ours from there gets the one that is in use; whoever wants more of
ipykernel gets the real one, where it is installed.
"""

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType

from petri_worker.after_import import after_import


class _StandIn(ModuleType):
    """What is there until somebody imports ipykernel."""

    def __init__(self, own):
        name = own.__module__
        super().__init__(name)
        self.__spec__ = ModuleSpec(name, None)
        self._own = own
        setattr(self, own.__name__, own)

    def __getattr__(self, name):
        # inspect and pickle look through all modules for names of this kind.
        if name.startswith("__"):
            raise AttributeError(name)
        self.step_aside()
        try:
            return getattr(import_module(self.__name__), name)
        except ImportError:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}") from None

    def step_aside(self):
        """From now on the real module is found under the name, with our class in it."""
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
            own = self._own
            after_import(self.__name__, lambda module: setattr(module, own.__name__, own))


def install(*classes):
    """Puts the stand-ins there. classes: those in use, by name and `__module__` those of ipykernel."""
    modules = [_StandIn(own) for own in classes]
    sys.modules.update((module.__name__, module) for module in modules)

    def step_aside(package):
        for module in modules:
            module.step_aside()

    after_import("ipykernel", step_aside)
