"""
The sentences of petri's sources, to be compared with those that a page quotes.

A text is what one place of a source says: string literals that stand one behind the other are one, "…" is what it
puts in (a conversion of printf, a value of an f-string). A page writes "…" for the same, or an example, and ends a
quotation with " …" where more follows.
"""

import ast
import dataclasses
import functools
import re

_TOKEN = re.compile(
    r"""/\*.*?\*/ | //[^\n]* | (?P<text>"(?:[^"\\\n]|\\.)*") | '(?:[^'\\]|\\.)+' | \s+ | (?P<name>[A-Za-z_]\w*) | .""",
    re.DOTALL | re.VERBOSE,
)
_DEFINE = re.compile(r'^#define ([A-Z]\w+) ((?:[A-Z]\w+ )?(?:"[^"\n]*" ?)+)$', re.MULTILINE)
_CONVERSION = re.compile(r"%(?:%|[-+ #0]*(?:\*|\d+)?(?:\.(?:\*|\d+))?(?:hh|h|ll|l|z|j|t)?[diuoxXeEfgGcsp])")
_FIELD = re.compile(r"\{\w*(?:![rsa])?\}")  # of str.format()
_ESCAPES = {"\\n": "\n", '\\"': '"', "\\\\": "\\", "\\t": "\t", "\\r": "\r"}

# A text with fewer letters of its own than these says nothing: "%s: %s".
_LEAST = 7


@dataclasses.dataclass(frozen=True)
class Text:
    """What a source says, at its path and line; `call` is the function that it is given to, or the table it is in."""

    where: str
    call: str
    text: str

    def __str__(self):
        return f"{self.where}: {self.text}"


def _plain(literal):
    """The content of a C literal, with "…" for conversions; for "%%" too, which is one sign only in a format."""
    return _CONVERSION.sub("…", re.sub(r"\\x[0-9a-f]{2}|\\.", lambda match: _ESCAPES.get(match[0], ""), literal[1:-1]))


def macros(sources):
    """The C sources' own names of literals."""
    found = {}
    for source in sources:
        for name, value in _DEFINE.findall(source):
            parts = re.findall(r'\w+|"[^"]*"', value)
            found[name] = "".join(_plain(part) if part[0] == '"' else found.get(part, "…") for part in parts)
    return found


def of_c(path, source, names):
    """The texts of a C source. names: what macros() found."""
    calls, found, now, last, line = [""], [], None, "", 1
    for match in _TOKEN.finditer(source):
        token = match[0]
        if match["text"]:
            now = now or [line, calls[-1], ""]
            now[2] += _plain(token)
        elif match["name"] and (now or (token in names and last != "define")):
            if token in names or token.isupper() or token.startswith("PRI"):
                now = now or [line, calls[-1], ""]
                now[2] += names.get(token, "…")
            else:
                found.append(now)
                now = None
        elif not token.isspace() and not token.startswith(("/*", "//")):
            if now:
                found.append(now)
                now = None
            if token in "({":
                calls.append(last if token == "(" else f"{{{last}")
            elif token in ")}" and len(calls) > 1:
                calls.pop()
        if match["name"]:
            last = token
        line += token.count("\n")
    if now:
        found.append(now)
    return [Text(f"{path}:{line}", call, text.replace("%…", "…")) for line, call, text in found if text.strip()]


def _of_string(node):
    """A string of Python's as one text; None for anything else."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return _FIELD.sub("…", node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else "…" for part in node.values)
    return None


class _OfPython(ast.NodeVisitor):
    def __init__(self, path):
        self.path, self.calls, self.found = path, [""], []

    def visit_Call(self, node):
        function = node.func
        self.calls.append(getattr(function, "id", getattr(function, "attr", "")))
        self.generic_visit(node)
        self.calls.pop()

    def visit_Expr(self, node):
        if not isinstance(node.value, ast.Constant):  # else a docstring
            self.generic_visit(node)

    def _visit_string(self, node):
        text = _of_string(node)
        if text and text.strip():
            self.found.append(Text(f"{self.path}:{node.lineno}", self.calls[-1], text))

    visit_Constant = visit_JoinedStr = _visit_string


def of_python(path, source):
    """The texts of a Python source."""
    visitor = _OfPython(path)
    visitor.visit(ast.parse(source))
    return visitor.found


# The two tables whose sentences are put together of several literals.

_STEP = re.compile(r"\[(STEP_\w+)\]\s*=\s*\{(.*?)\}", re.DOTALL)
_OUTCOME = re.compile(r"\[(OUTCOME_\w+)\]\s*=\s*\{(.*?)\}", re.DOTALL)


def _row(body, names):
    """The texts of one row of a table."""
    return [text.text for text in of_c("", body, names)]


def steps(path, source, names):
    """What sandbox_error_text() says of each step."""
    for match in _STEP.finditer(source):
        what, mend = (*_row(match[2], names), "")[:2]
        line = source.count("\n", 0, match.start()) + 1
        yield Text(f"{path}:{line}", match[1], f"{what} failed…{'. ' + mend if mend else '.'}")


def outcomes(path, source, names):
    """What outcome_sentence() says of each outcome that has a sentence, behind its ename."""
    for match in _OUTCOME.finditer(source):
        row = _row(match[2], names)
        if len(row) >= 4:
            line = source.count("\n", 0, match.start()) + 1
            yield Text(f"{path}:{line}", match[1], f"{row[1]}: {row[2]}…{row[3]}")


# Comparing


@functools.lru_cache(maxsize=None)
def _bare(text):
    """One line, without what may stand around it: the signs that join it to others, and the blank beside a "…"."""
    text = " ".join(text.split()).strip(":, ").rstrip(".")
    return re.sub("^… |[:,]? …$", "…", text)


@functools.lru_cache(maxsize=None)
def _longest(text):
    """The longest piece without "…"."""
    return max(map(str.strip, text.split("…")), key=len)


@functools.lru_cache(maxsize=None)
def says_something(text):
    """Whether there is something of its own in a text: it is not "%s: %s"."""
    return len(re.sub(r"\W", "", text)) >= _LEAST


def _skip(reach, text, may_be_left_out):
    """Adds to the places that are reached those behind what may be left out there."""
    for at, char in enumerate(text):
        if at in reach and may_be_left_out(char):
            reach.add(at + 1)


def _meet(quoted, text):
    """
    Whether one string can be both. "…" of the text stands for anything; of the quotation for anything at its ends,
    and between them for what the text puts in.
    """
    reach = {0}  # how much of the text can be what was taken of the quotation
    for n, char in enumerate(quoted):
        _skip(reach, text, lambda char: char == "…")
        if char == "…":
            is_end = n in (0, len(quoted) - 1)
            _skip(reach, text, lambda char, is_end=is_end: is_end or not char.isalnum())
        else:
            inside = {at for at in reach if text[at : at + 1] == "…"}
            reach = inside | {at + 1 for at in reach if text[at : at + 1] == char}
        if not reach:
            return False
    _skip(reach, text, lambda char: char == "…")
    return len(text) in reach


def says(quoted, text):
    """Whether a quotation of a page is what a text of the sources says."""
    quoted, text = _bare(quoted), _bare(text)
    near = _longest(quoted) in text or _longest(text) in quoted
    return near and says_something(text) and _meet(quoted, text)


def contains(quoted, text):
    """Whether a quotation has a text in it, as a part of a longer sentence."""
    return says_something(text) and _bare(text) in quoted
