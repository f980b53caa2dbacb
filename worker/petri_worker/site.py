"""Where IPython comes from."""

import os
import sys
from importlib.util import find_spec


def find_packages():
    """
    The interpreter's own IPython is used where it has one. Otherwise petri's
    copy (the folder that PETRI_SITE names) is put last on sys.path, so that
    everything else still comes from the interpreter's own environment.
    """
    site = os.environ.pop("PETRI_SITE", None)
    if site and not all(map(find_spec, ("IPython", "comm", "matplotlib_inline"))):
        sys.path.append(site)
