"""The folder behind %store, made when something is stored."""

import fnmatch
from collections.abc import MutableMapping


class LazyStore(MutableMapping):
    """IPython's PickleShareDB at `root`, opened on first use."""

    def __init__(self, root):
        self._root = root
        self._real = None

    def _store(self):
        if self._real is None:
            self._real = _open(self._root)
        return self._real

    def __getitem__(self, key):
        return self._store()[key]

    def __setitem__(self, key, value):
        self._store()[key] = value

    def __delitem__(self, key):
        del self._store()[key]

    def __iter__(self):
        return iter(self._store())

    def __len__(self):
        return len(self._store())

    def keys(self, globpat=None):
        """The keys; where a pattern is given, those that match it, as PickleShareDB has it."""
        return [key for key in self if globpat is None or fnmatch.fnmatch(key, globpat)]

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._store(), name)


def _open(root):
    try:
        from IPython.external.pickleshare import PickleShareDB
    except ImportError:
        try:
            from pickleshare import PickleShareDB
        except ImportError:
            # IPython 8.17 and later do without it too: what is stored then lasts as long as the session.
            return {}
    return PickleShareDB(root)
