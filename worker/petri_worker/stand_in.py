"""
ipykernel in sys.modules, without ipykernel.

Libraries recognize a notebook by the package's name there (keras' progress
bar), by that of `ipykernel.zmqshell` (tqdm), or by the class of sys.stdout in
`ipykernel.iostream` (click, astropy, iminuit). An import of a class of ours
gives the one that is in use; any other name gives the real ipykernel, where it
is installed.
"""

import sys
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import module_from_spec
from types import ModuleType

_PACKAGE = "ipykernel"


class _StandIn(ModuleType):
    """
    Stands for a module until another of its names is used, and then becomes the real one: the same object, for others
    have it. own: names that are ours before and after. wanted: names with underscores that say it is; the others
    inspect, pickle and unittest look for in all modules.
    """

    def __init__(self, name, own, wanted=()):
        super().__init__(name)
        self.__spec__ = ModuleSpec(name, None)
        self.__dict__.update(own)
        self._own, self._wanted = own, wanted

    def __getattr__(self, name):
        spec = None if name.startswith("__") and name not in self._wanted else self._find()
        if spec is None or spec.loader is None:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        self._become(spec)
        return getattr(self, name)

    def _find(self):
        parent = self.__name__.rpartition(".")[0]
        if not parent:
            return PathFinder.find_spec(self.__name__)
        path = getattr(sys.modules.get(parent), "__path__", None)
        return path and PathFinder.find_spec(self.__name__, path)

    def _become(self, spec):
        kept = dict(self.__dict__)
        self.__class__ = ModuleType
        self.__dict__.update(module_from_spec(spec).__dict__)
        try:
            spec.loader.exec_module(self)
        except BaseException:
            # Each further try raises again.
            self.__class__ = _StandIn
            self.__dict__.clear()
            self.__dict__.update(kept)
            raise
        self.__dict__.update(kept["_own"])


def install(*classes):
    """Puts the stand-ins there. classes: those in use, by name and `__module__` those of ipykernel."""
    modules = {}
    for own in classes:
        name = own.__module__
        module = sys.modules[name] = _StandIn(name, {own.__name__: own})
        modules[name.rpartition(".")[2]] = module
    sys.modules[_PACKAGE] = _StandIn(_PACKAGE, modules, wanted=("__path__", "__version__"))
