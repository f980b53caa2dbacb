"""
Names and attributes of objects that are there, looked up in the objects.

jedi reads and parses the source of whatever a name leads to: half a second for
matplotlib.pyplot, and what it learns in a throw-away copy is gone with it. For
`name` and `name.attribute` that says nothing which the objects don't say
themselves, so these are completed here, and everything else is left to jedi: a
call, a subscript, an argument's name, and a name that the code itself gives a
value to.

Found names look like jedi's, for IPython's completer takes them as those.

See: jedi's documentation, "Interpreter"; IPython.core.completer, "_jedi_matches".
"""

import builtins
import inspect
import io
import keyword
import re
import tokenize

_CHAIN = re.compile(r"(?:[^\W\d]\w*\.)*(?:[^\W\d]\w*)?\Z")
_STATEMENTS = ("import", "from", "global", "nonlocal", "del")
_NAMING = ("def", "class", "as", "for", "lambda")
_MISSING = object()


class LiveName:
    """A name that completes what is typed, with what jedi's completion would say of it."""

    def __init__(self, name, typed, value):
        self.name = self.name_with_symbols = name
        self.complete = name[len(typed) :]
        self._value = value  # a function, for to get it may run code of the object's; None of a keyword
        self._parameters = ""

    @property
    def type(self):
        """jedi's word for what the name stands for."""
        if self._value is None:
            return "keyword"
        try:
            return _type_of(self._value())
        except Exception:
            return "instance"

    def get_signatures(self):
        """The name itself, where it has a signature."""
        try:
            self._parameters = _written_parameters(self.name, self._value())
        except Exception:
            return []
        return [self]

    def to_string(self):
        """`name(parameters)`, after get_signatures() has found some."""
        return f"{self.name}({self._parameters})"


def names(code, namespaces):
    """The names that complete the code, sorted as jedi sorts them; None where they are left to jedi."""
    typed = _CHAIN.search(code).group()
    path, dot, prefix = typed.rpartition(".")
    if not _stands_alone(code, typed, path.partition(".")[0] or prefix, bool(dot)):
        return None
    if dot:
        found = _attributes(path, namespaces)
    else:
        found = _globals(namespaces) if prefix and not prefix.startswith("_") else None
    if found is None:
        return None
    matching = [LiveName(name, prefix, value) for name, value in found if name.startswith(prefix)]
    return sorted(matching, key=lambda one: (one.name.startswith("__"), one.name.startswith("_"), one.name.lower()))


def _stands_alone(code, typed, root, is_attribute):
    """Whether what is typed means the object of this name, as far as the code says."""
    try:
        before = _tokens(code[: len(code) - len(typed)])
    except (tokenize.TokenError, SyntaxError, ValueError):
        return False
    words = [token.string for token in before if token.type == tokenize.NAME]
    line = _last_line(before)
    if line and (line[0].string in _STATEMENTS or line[-1].string in (".", ")", "]", "}", *_NAMING)):
        return False
    if line and line[-1].type in (tokenize.NUMBER, tokenize.STRING):
        return False
    if is_attribute:
        return root not in words
    return not _is_in_brackets(before) and not any(word.startswith(root) for word in words)


def _tokens(code):
    """TokenError in a comment, or in a string that has no end. Brackets without one are no error."""
    found = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(code).readline):
            found.append(token)
    except tokenize.TokenError as error:
        if "multi-line statement" not in str(error):
            raise
    last_row = code.count("\n") + 1
    for token in found:
        is_comment = token.type == tokenize.COMMENT and token.start[0] == last_row
        if is_comment or (token.type == tokenize.ERRORTOKEN and token.string in "\"'"):
            raise tokenize.TokenError("in a comment or a string")
    return found


def _last_line(tokens):
    """The tokens of the logical line that the code ends in."""
    blank = (tokenize.NL, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    line = []
    for token in tokens:
        if token.type == tokenize.NEWLINE and token.string:
            line = []
        elif token.type not in (*blank, tokenize.NEWLINE):
            line = [] if token.string == ";" else [*line, token]
    return line


def _is_in_brackets(tokens):
    marks = [token.string for token in tokens if token.type == tokenize.OP]
    return sum(mark in "([{" for mark in marks) > sum(mark in ")]}" for mark in marks)


def _globals(namespaces):
    """Names, each with a function that gets its value."""
    found = {}
    for space in (vars(builtins), *reversed(namespaces)):
        found.update((name, _getter(space, name)) for name in list(space) if isinstance(name, str))
    found.update((name, None) for name in keyword.kwlist)
    return found.items()


def _getter(space, name):
    return lambda: space[name]


def _attributes(path, namespaces):
    """The same of an object's attributes; None where the path leads to none."""
    root, *steps = path.split(".")
    value = next((space[root] for space in (*namespaces, vars(builtins)) if root in space), _MISSING)
    try:
        for step in steps:
            value = getattr(value, step)
        if value is _MISSING:
            return None
        found = {*dir(value), *(dir(type(value)) if inspect.isclass(value) else ())}
        return [(name, _attribute_getter(value, name)) for name in found if isinstance(name, str)]
    except Exception:
        return None


def _attribute_getter(value, name):
    return lambda: getattr(value, name)


def _type_of(value):
    if inspect.isclass(value):
        return "class"
    if inspect.ismodule(value):
        return "module"
    return "function" if inspect.isroutine(value) else "instance"


def _written_parameters(name, value):
    try:
        return ", ".join(_parameters(inspect.signature(value)))
    except ValueError:
        # Python's own functions may say it in their first line alone: "S.count(sub[, start[, end]]) -> int".
        line = inspect.getdoc(value).partition("\n")[0]
        return re.search(rf"\b{re.escape(name)}\((.*?)\)", line).group(1)


def _parameters(signature):
    """The parameters as jedi writes them, with the marks of those that have no name or need it."""
    kinds = inspect.Parameter
    written, last = [], None
    for one in signature.parameters.values():
        if last is kinds.POSITIONAL_ONLY and one.kind is not last:
            written.append("/")
        if one.kind is kinds.KEYWORD_ONLY and last not in (kinds.VAR_POSITIONAL, kinds.KEYWORD_ONLY):
            written.append("*")
        mark = {kinds.VAR_POSITIONAL: "*", kinds.VAR_KEYWORD: "**"}.get(one.kind, "")
        note = "" if one.annotation is one.empty else ": " + inspect.formatannotation(one.annotation)
        default = "" if one.default is one.empty else "=" + repr(one.default)
        written.append(mark + one.name + note + default)
        last = one.kind
    return [*written, "/"] if last is kinds.POSITIONAL_ONLY else written
