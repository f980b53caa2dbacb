"""The folder behind %store, made when somebody stores something."""

from collections.abc import MutableMapping


class LazyStore(MutableMapping):
    """IPython's PickleShareDB at `root`, opened on first use."""

    def __init__(self, root):
        self._root = root
        self._real = None

    def _open(self):
        if self._real is None:
            try:
                from IPython.external.pickleshare import PickleShareDB
            except ImportError:
                from pickleshare import PickleShareDB
            self._real = PickleShareDB(self._root)
        return self._real

    def __getitem__(self, key):
        return self._open()[key]

    def __setitem__(self, key, value):
        self._open()[key] = value

    def __delitem__(self, key):
        del self._open()[key]

    def __iter__(self):
        return iter(self._open())

    def __len__(self):
        return len(self._open())

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._open(), name)
