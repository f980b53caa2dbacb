"""
ipykernel in sys.modules, without ipykernel.

By the package's name there libraries and notebooks tell that they are in a
notebook (keras' progress bar), by that of `ipykernel.zmqshell` too (tqdm), by
the class of sys.stdout in `ipykernel.iostream` (click, astropy, iminuit).
Whoever imports a class of ours from there gets the one that is in use; whoever
wants more of ipykernel gets the real one, where it is installed.
"""

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import module_from_spec
from types import ModuleType

from petri_worker.after_import import after_import

_PACKAGE = "ipykernel"

# inspect, pickle and others ask all modules for names of this kind. These of a package say that it is wanted.
_WANTED = ("__path__", "__version__")


class _Package(ModuleType):
    """What is there until something of ipykernel is wanted, and is the real package from then on: the same object."""

    def __init__(self, modules):
        super().__init__(_PACKAGE)
        self.__spec__ = PathFinder.find_spec(_PACKAGE) or ModuleSpec(_PACKAGE, None)
        self._modules = modules

    def __getattr__(self, name):
        if (name.startswith("__") and name not in _WANTED) or self.__spec__.loader is None:
            raise AttributeError(f"module {_PACKAGE!r} has no attribute {name!r}")
        for module in self._modules:
            module.step_aside()
        self.__class__ = ModuleType
        self.__dict__.update(module_from_spec(self.__spec__).__dict__)
        try:
            self.__spec__.loader.exec_module(self)
        except BaseException:
            # As with any import: whoever tries it once more is told once more.
            del sys.modules[_PACKAGE]
            raise
        return getattr(self, name)


class _Module(ModuleType):
    """What is there of a module until somebody wants more of it than a class of ours."""

    def __init__(self, own):
        name = own.__module__
        super().__init__(name)
        self.__spec__ = ModuleSpec(name, None)
        self._own = own
        setattr(self, own.__name__, own)

    def __getattr__(self, name):
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
    modules = [_Module(own) for own in classes]
    for module in (*modules, _Package(modules)):
        sys.modules[module.__name__] = module
