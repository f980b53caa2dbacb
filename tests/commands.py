"""
The commands and configurations of a page, as they stand in it, for the tests that run them.

What a test takes of a page with sh(), python() or made() is its claim to run it: tests/documents finds the claims in
the tests' sources, so page and heading stand there as texts, and a block that no test claims is an error.

A fence says what it has (```sh, ```python, ```json); any other fence is no command. A block that is indented by four
spaces is one of the shell's, unless it begins with {, as JSON does, or as only Python can. A paragraph of Python ends a
block of the shell's.
"""

import dataclasses
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[1]

PAGES = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "docs/*.md", "examples/**/README.md", "*/README.md")

KINDS = ("sh", "python", "json")
FENCE = re.compile(r"( *)(```+)([\w-]*)")
HEADING = re.compile(r"#+ +(.+)")
MADE = re.compile(r"<!-- made: [\w-]+ -->")
AS_PYTHON = re.compile(r"(import|from) \w|%|with .*:$|async |await |print\(")
COMMENT = re.compile(r"(^|\s+)# .*$")


@dataclasses.dataclass(frozen=True)
class Block:
    """line: of its first line; heading: the one above it; made: a test writes it; fence: its word, None without one."""

    kind: str  # sh, python, json; empty for what is none of them
    text: str
    line: int
    heading: str
    made: bool = False
    fence: str | None = None


def kind_of(paragraph):
    """Of an indented paragraph."""
    if paragraph.startswith(("{", "[")):
        return "json"
    return "python" if AS_PYTHON.match(paragraph) else "sh"


def indented(lines, first, heading, made):
    """The blocks of lines that are all indented or empty; first: the number of the first one."""
    begin, kind = 0, kind_of(lines[0])
    for number, line in enumerate(lines):
        if number and not lines[number - 1] and kind == "sh" and kind_of(line) != "sh":
            yield Block(kind, "\n".join(lines[begin:number]).strip() + "\n", first + begin, heading, made)
            begin, kind = number, kind_of(line)
    yield Block(kind, "\n".join(lines[begin:]).strip() + "\n", first + begin, heading, made)


def blocks(text):
    """All blocks of a page's text, in their order."""
    lines = text.splitlines()
    heading, made, at = "", False, 0
    while at < len(lines):
        line, end = lines[at], at + 1
        if fence := FENCE.match(line):
            while end < len(lines) and lines[end].strip() != fence[2]:
                end += 1
            body = "".join(inner.removeprefix(fence[1]) + "\n" for inner in lines[at + 1 : end])
            kind = fence[3] if fence[3] in KINDS else ""
            yield Block(kind, body, at + 2, heading, made, fence[3])
            end += 1
        elif line.startswith("    ") and (at == 0 or not lines[at - 1].strip()):
            while end < len(lines) and (lines[end].startswith("    ") or not lines[end].strip()):
                end += 1
            yield from indented([inner[4:] for inner in lines[at:end]], at + 1, heading, made)
        elif found := HEADING.match(line):
            heading = found[1]
        elif MADE.match(line) or line == "<!-- end -->":
            made = line != "<!-- end -->"
        at = end


def pages(root=ROOT):
    """The paths of all pages from the root, each once; but not those about tests."""
    found = (path.relative_to(root).as_posix() for pattern in PAGES for path in sorted(root.glob(pattern)))
    return [path for path in dict.fromkeys(found) if not path.startswith(("build/", "tests/"))]


def of_page(page):
    return list(blocks((ROOT / page).read_text(encoding="utf-8")))


def chosen(found, kind, heading, number=None):
    """Those of one kind under a heading, or the one with this number."""
    same = [block for block in found if (block.kind, block.heading, block.made) == (kind, heading, False)]
    return same if number is None else same[number : number + 1]


def taken(kind, page, heading, number):
    found = chosen(of_page(page), kind, heading, number)
    assert found, f"{page} has no block of {kind} under {heading!r}, or not so many"
    return "".join(block.text for block in found)


def sh(page, heading, number=None):
    """What a shell is to run: all blocks under the heading, or the one with this number, from 0."""
    return taken("sh", page, heading, number)


def python(page, heading, number=None):
    """The same of Python."""
    return taken("python", page, heading, number)


def made(page):
    """The path of a page all of whose made blocks the test compares with what petri does."""
    return ROOT / page


def lines(script):
    """The commands of a script, one by one, without the comments behind them."""
    return [COMMENT.sub("", line) for line in script.replace("\\\n", "").splitlines() if COMMENT.sub("", line)]


def replaced(script, *pairs):
    """A script with a test's own words: (of the page, of the test); each has to be there."""
    for old, new in pairs:
        assert old in script, f"{old!r} is no longer in:\n{script}"
        script = script.replace(old, str(new))
    return script
