"""
libc's stdout, into which C code prints.

It is buffered where it is no terminal, so what C code prints would come after
what Python prints later, a forked child would print it once more, and a crash
would lose it.

See: setbuf(3).
"""

try:
    # Not ctypes: it makes a callback when it is loaded, for which libffi maps memory that can be executed.
    import _ctypes
except ImportError:
    _ctypes = None

_IONBF = 2


def unbuffer():
    """What C code prints is on descriptor 1 at once from now on. Without _ctypes, nothing."""
    if _ctypes is not None:
        stdout = _Pointer.from_address(_symbol("stdout"))
        _ctypes.call_cdeclfunction(_symbol("setvbuf"), (stdout, None, _IONBF, _Pointer(0)))


def flush():
    """Writes what C code has left in buffers: in files that it has open, and in a stdout that it buffers again."""
    if _ctypes is not None:
        _ctypes.call_cdeclfunction(_symbol("fflush"), (None,))


def _symbol(name):
    return _ctypes.dlsym(_ctypes.dlopen(None, 0), name)


if _ctypes is not None:

    class _Pointer(_ctypes._SimpleCData):
        _type_ = "P"
