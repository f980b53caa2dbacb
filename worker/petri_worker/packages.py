"""Where IPython comes from, and how it is imported without its terminal."""

import os
import sys
import types
from importlib.util import find_spec

_EMBED = "IPython.terminal.embed"


def find_packages():
    """
    The interpreter's own IPython is used where it has one. What is missing
    comes from petri's copy (the folder that PETRI_SITE names), put last on
    sys.path: everything else still comes from the interpreter's environment.
    """
    site = os.environ.pop("PETRI_SITE", None)
    if site and not all(map(find_spec, ("IPython", "comm", "matplotlib_inline"))):
        sys.path.append(site)


def import_ipython():
    """
    Imports IPython. Most versions import their terminal with it, for the sake
    of one name, embed(); with all that it needs it is two thirds of the time.
    That name is left for who wants it.
    """
    stand_in = types.ModuleType(_EMBED)
    stand_in.embed = _embed
    sys.modules[_EMBED] = stand_in
    try:
        import IPython  # noqa: F401
    finally:
        del sys.modules[_EMBED]


def _embed(**kwargs):
    from IPython.terminal.embed import embed

    return embed(**kwargs)
