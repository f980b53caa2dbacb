"""
Python objects as JSON that any parser takes.

What the user's code publishes is not under our control: bytes in MIME
bundles, numpy numbers, NaN, lone surrogates. What has an obvious JSON form
gets it; the rest is a TypeError in the code that published it.

See: Jupyter messaging, "display_data" (binary MIME types are base64).
"""

import codecs
import json
import math


def dumps(message):
    """The message as UTF-8 bytes. TypeError or ValueError where it can't be JSON."""
    try:
        text = _encode(message)
    except (TypeError, ValueError):
        # Keys that are no strings, NaN, infinity: rare, so only looked for when they were found.
        text = _encode(_plain(message))
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-8", "petri.show")


def _show(error):
    # As streams show half of a surrogate pair: \ud800. In JSON the backslash is written twice.
    halves = error.object[error.start : error.end]
    return "".join(f"\\\\u{ord(half):04x}" for half in halves), error.end


codecs.register_error("petri.show", _show)


def _default(value):
    if isinstance(value, (bytes, bytearray, memoryview)):
        import base64

        return base64.b64encode(value).decode("ascii")
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if hasattr(value, "__index__"):
        return int(value)
    if hasattr(value, "__float__"):
        return _plain(float(value))
    if hasattr(value, "__iter__"):
        return list(value)
    raise TypeError(f"{type(value).__name__} has no JSON form: {value!r}")


def _plain(value):
    """The same value with string keys and finite numbers only."""
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(item) for item in value]
    return value


_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_default).encode
