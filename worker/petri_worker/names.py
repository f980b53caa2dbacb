"""
The names of a session, each with its type and what tells its size, for the kernel's comparison of two states. They are
asked for in a throw-away copy, so nothing that is looked at stays.
"""

_MOST = 2000
_CHARACTERS = 100
_SIZED = (list, tuple, set, frozenset, dict, range)
_SHOWN = (int, float, complex, bool, type(None))


def list_names(shell, request):
    """`names`: rows of name, type and size, sorted by name; `cut`: whether there are more."""
    hidden = shell.user_ns_hidden
    space = dict(shell.user_ns)
    names = sorted(
        name for name in space if isinstance(name, str) and not name.startswith("_") and not _is_hidden(hidden, name, space)
    )
    rows = [[name[:_CHARACTERS], *_describe(space[name])] for name in names[:_MOST]]
    return {"status": "ok", "names": rows, "cut": len(names) > _MOST}


def _is_hidden(hidden, name, space):
    return name in hidden and hidden[name] is space[name]


def _describe(value):
    kind = type(value)
    try:
        size = _size(value, kind)
    except (Exception, SystemExit):  # of the object's own code
        size = ""
    return [str(kind.__qualname__)[:_CHARACTERS], size[:_CHARACTERS]]


def _size(value, kind):
    if kind in _SHOWN:
        return repr(value) if kind is not int or value.bit_length() < 256 else f"{value.bit_length()} bits"
    if kind is str:
        return _count(len(value), "character")
    if kind in (bytes, bytearray):
        return _count(len(value), "byte")
    if kind in _SIZED:
        return _count(len(value), "item")
    shape = getattr(value, "shape", None)
    if type(shape) is tuple and all(type(side) is int for side in shape):
        element = getattr(value, "dtype", None)
        return " × ".join(map(str, shape)) + (f" {element}" if element is not None and shape else "")
    return ""


def _count(n, thing):
    return f"{n} {thing}{'' if n == 1 else 's'}"
