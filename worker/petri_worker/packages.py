"""Where IPython comes from, and how it is imported without its terminal."""

import contextlib
import os
import sys
import types
from importlib.machinery import FileFinder
from importlib.util import find_spec

_EMBED = "IPython.terminal.embed"

# The folder that PETRI_SITE named, or None.
site = None

# The notebook's folder, once modules are imported from it; the finders of it and of folders in it, by path, as they
# were found when Python had so many finders.
_folder = None
_finders = {}
_n_finders = 0

# What PETRI_PACKAGES lists: the packages that the configuration lets cells see; None where that is all.
listed = os.environ.pop("PETRI_PACKAGES", None)


def explain_missing(error):
    """Adds to a ModuleNotFoundError that it may be the configuration that hides the module."""
    name = (error.name or "").partition(".")[0]
    if listed is None or not name or getattr(error, "_petri_explained", False) or find_spec_safely(name):
        return
    sentence = f'{error.msg}. Cells see only the packages that the configuration lists ("packages": {listed}).'
    error.msg, error.args, error._petri_explained = sentence, (sentence,), True


def find_spec_safely(name):
    """As find_spec(); None too where a module of that name is broken."""
    try:
        return find_spec(name)
    except (ImportError, ValueError):
        return None


@contextlib.contextmanager
def installed_only():
    """Inside of it nothing is imported from the notebook's folder: what petri does by itself is no cell of the user's."""
    before = list(sys.path)
    sys.path[:] = [path for path in before if path]
    try:
        yield
    finally:
        sys.path[:] = before


def find_packages():
    """
    The interpreter's own IPython is used where it has one. What else is missing
    comes from petri's copy (the folder that PETRI_SITE names), put last on
    sys.path: everything else still comes from the interpreter's environment.
    Where IPython itself is missing, the copy goes before the environment, which
    may have parts of it that are too old for the rest (Debian's jupyter_client
    brings traitlets without IPython).
    """
    global site
    site = os.environ.pop("PETRI_SITE", None)
    missing = [name for name in ("IPython", "comm", "matplotlib_inline") if not find_spec(name)]
    if site and missing:
        sys.path.insert(_first_installed() if "IPython" in missing else len(sys.path), site)


def add_folder():
    """
    The notebook's folder, where ipykernel has it: before what is installed, and
    after the standard library. Before the first cell nothing is imported from it.
    """
    global _folder
    _folder = os.getcwd()
    sys.path.insert(_first_installed(), "")


def look_anew():
    """
    The next import lists the notebook's folder, and those in it, once more. Python does so where a folder has another
    time of modification; but one that cells have written in has its own, whatever the host puts there.
    """
    cache = sys.path_importer_cache
    # To go through all of them writes a page for nearly each.
    if len(cache) != _n_finders or any(cache.get(path) is not finder for path, finder in _finders.items()):
        _find_finders(cache)
    for finder in _finders.values():
        finder.invalidate_caches()


def _find_finders(cache):
    global _finders, _n_finders
    _finders = {
        path: finder
        for path, finder in list(cache.items())
        if isinstance(finder, FileFinder) and f"{path}/".startswith(f"{_folder}/")
    }
    _n_finders = len(cache)


def _first_installed():
    """Where on sys.path the environment's packages begin, after the standard library."""
    installed = (n for n, path in enumerate(sys.path) if path.endswith(("site-packages", "dist-packages")))
    return next(installed, len(sys.path))


def import_ipython():
    """
    Imports IPython. Most versions import their terminal with it, for the sake
    of one name, embed(); with all that it needs it is two thirds of the time.
    That name is loaded when it is used.
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
