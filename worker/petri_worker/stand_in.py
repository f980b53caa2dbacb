"""
`ipykernel.zmqshell` in sys.modules, without ipykernel.

By that name tqdm and others tell a notebook from a terminal. Whoever imports
the shell's class from it gets the one that is running; whoever wants more of
ipykernel gets the real one, where it is installed.
"""

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType

from petri_worker.after_import import after_import

_NAME = "ipykernel.zmqshell"
_CLASS = "ZMQInteractiveShell"


class _StandIn(ModuleType):
    """What is there until somebody imports ipykernel."""

    def __getattr__(self, name):
        # inspect and pickle look through all modules for names of this kind.
        if name.startswith("__"):
            raise AttributeError(name)
        self.step_aside()
        try:
            return getattr(import_module(_NAME), name)
        except ImportError:
            raise AttributeError(f"module {_NAME!r} has no attribute {name!r}") from None

    def step_aside(self, package=None):
        """From now on the real module is found under the name, with the class of the running shell in it."""
        if sys.modules.get(_NAME) is self:
            del sys.modules[_NAME]
            after_import(_NAME, lambda module: setattr(module, _CLASS, self.__dict__[_CLASS]))


def install(shell_class):
    """Puts the stand-in there. shell_class: of the shell that is running."""
    module = _StandIn(_NAME)
    module.__spec__ = ModuleSpec(_NAME, None)
    setattr(module, _CLASS, shell_class)
    sys.modules[_NAME] = module
    after_import("ipykernel", module.step_aside)
