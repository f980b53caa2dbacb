"""
Completion, inspection and is-complete. They run in a throw-away copy of the
session, so nothing that they load or change stays.

See: Jupyter messaging, "Completion", "Introspection", "Code completeness".
"""

import os
from itertools import chain, repeat

from IPython import version_info
from IPython.core.oinspect import Inspector

from petri_worker import live

_TYPES = "_jupyter_types_experimental"

# Whether jedi is ready. Until then names are completed without it, which IPython does well from 9 on: to load it takes
# longer than a front end waits, and what a throw-away copy has loaded is gone with it.
_is_ready = version_info[0] < 9


class CellInspector(Inspector):
    """What `?` and inspect requests show."""

    def info(self, *args, **kwargs):
        """As IPython's, but code of a cell is in no folder: Python makes an absolute path of whatever code is called."""
        found = super().info(*args, **kwargs)
        name = os.path.basename(found["file"] or "")
        if name.startswith("<") and name.endswith(">"):
            found["file"] = name
        return found


def preload(shell):
    """Completes a name without jedi, and one with it, which is used from then on."""
    global _is_ready
    _is_ready = True
    for code in ("impor", "(impor"):  # in brackets it may be the name of an argument
        complete(shell, {"code": code, "cursor_pos": len(code)})


def try_out(shell):
    """Completes a name without jedi: the copies that do it later find what that takes, some 12 ms of it, loaded."""
    if version_info[0] >= 9:
        complete(shell, {"code": "impor", "cursor_pos": 5})


def prepare(shell):
    """Loads what completion and inspection need. Before IPython 9 that is jedi."""
    from IPython.core import completer, oinspect  # noqa: F401
    from IPython.utils import tokenutil  # noqa: F401

    if version_info[0] < 9:
        preload(shell)


def is_complete(shell, request):
    """The is_complete_reply's content; `indent` only where the code is incomplete."""
    try:
        status, spaces = shell.input_transformer_manager.check_complete(request["code"])
    except Exception:
        # Lone surrogates, too many brackets: "invalid" is the protocol's word for what the tokenizer can't read.
        return {"status": "unknown"}
    reply = {"status": status}
    if status == "incomplete":
        reply["indent"] = " " * (spaces or 0)
    return reply


def complete(shell, request):
    """The complete_reply's content. Positions are code points, in the request and in the reply."""
    code, cursor = request["code"], request["cursor_pos"]
    found = _completions(shell.Completer, code, cursor)
    types = [
        {"start": one.start, "end": one.end, "text": one.text, "type": one.type, "signature": one.signature}
        for one in found
    ]
    return {
        "status": "ok",
        "matches": [one.text for one in found],
        "cursor_start": found[0].start if found else cursor,
        "cursor_end": found[0].end if found else cursor,
        "metadata": {_TYPES: types},
    }


def _completions(completer, code, cursor):
    from IPython.core.completer import provisionalcompleter, rectify_completions

    wanted = completer.use_jedi
    names = _live_names(completer, code[:cursor]) if wanted else None
    completer.use_jedi = wanted and (names is not None or _is_ready)
    if "\\" in code[:cursor].rpartition("\n")[2]:
        _list_characters(completer)
    if names is not None:
        completer._jedi_matches = lambda *arguments, **keywords: names
    try:
        with provisionalcompleter():
            return list(rectify_completions(code, completer.completions(code, cursor)))
    finally:
        completer.use_jedi = wanted
        vars(completer).pop("_jedi_matches", None)


def _list_characters(completer):
    """
    Makes the list of the names of all characters, which IPython completes `\\ROCKE` from, where there is none. IPython's
    own way looks at each code point twice, and for most of them in vain: a second or so on a busy machine, each time,
    because what a throw-away copy keeps is gone with it. To have the list in each image would take ten megabytes.
    """
    if getattr(completer, "_unicode_names", ()) is None:
        from unicodedata import name

        from IPython.core.completer import _UNICODE_RANGES

        codes = chain.from_iterable(range(*ends) for ends in _UNICODE_RANGES)
        completer._unicode_names = list(filter(None, map(name, map(chr, codes), repeat(None))))


def _live_names(completer, code):
    """What live.names() finds, without the names that the completer is to omit; None where it leaves them to jedi."""
    namespaces = [space for space in (completer.namespace, completer.global_namespace) if space is not None]
    found = live.names(code, namespaces)
    if found is None or not code.endswith("."):
        return found
    hidden = {0: (), 1: "__", 2: "_"}.get(completer.omit__names, "_")
    return [one for one in found if not (hidden and one.name.startswith(hidden))]


def inspect(shell, request):
    """The inspect_reply's content."""
    from IPython.utils.tokenutil import token_at_cursor

    name = token_at_cursor(request["code"], request["cursor_pos"])
    try:
        data = shell.object_inspect_mime(
            name, detail_level=request.get("detail_level", 0), omit_sections=request.get("omit_sections") or ()
        )
    except KeyError:
        return {"status": "ok", "found": False, "data": {}, "metadata": {}}
    if not shell.enable_html_pager:
        data.pop("text/html", None)
    return {"status": "ok", "found": True, "data": data, "metadata": {}}
