"""Blocks of pages that show what petri really does: compared with a fresh run, or written from it.

A block stands between two comments of the page:

    <!-- made: NAME -->
    ...
    <!-- end -->

With PETRI_WRITE_PAGES=1 the tests write the blocks instead of comparing them.
"""

import difflib
import os
import re

BLOCK = re.compile(r"(<!-- made: (?P<name>[\w-]+) -->\n)(?P<body>.*?)(<!-- end -->)", re.DOTALL)

# What is never the same twice, in a line of text.
VOLATILE = [
    (re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), "RUN"),
    (re.compile(r"\d{4}-\d\d-\d\d([T ])\d\d:\d\d:\d\d(\.\d+Z)?"), r"YYYY-MM-DD\1HH:MM:SS"),
    (re.compile(r"^((?: *(?:\[\d+\] +)?)|began in +)[0-9a-f]{8}\b"), r"\1RUN-ID.."),
    (re.compile(r"(?<=^RUN-ID\.\.  )[0-9a-f]{8}\b"), "SESSION."),
    (re.compile(r" +\d+\.\d+ s\b"), "       N s"),
    (re.compile(r"\b\d+\.\d+ (ms|MiB)\b"), r"N \1"),
    (re.compile(r"\b0\.\d{6,}"), "0.NNNNNN"),
    (re.compile(r"^(environment +)[0-9a-f]{64}"), r"\1..."),
]


def names(page):
    """The names of a page's blocks, in their order."""
    return [match["name"] for match in BLOCK.finditer(page.read_text(encoding="utf-8"))]


def settle(page, name, body):
    """Asserts that a page shows body in its block of that name; or writes it there."""
    text = page.read_text(encoding="utf-8")
    [match] = [match for match in BLOCK.finditer(text) if match["name"] == name]
    if os.environ.get("PETRI_WRITE_PAGES") == "1":
        page.write_text(text[: match.start("body")] + body + text[match.end("body") :], encoding="utf-8")
        return
    diff = "\n".join(difflib.unified_diff(match["body"].splitlines(), body.splitlines(), "page", "now", lineterm=""))
    why = f"{page.name} shows something else; PETRI_WRITE_PAGES=1 writes what is true now:\n{diff}"
    assert match["body"] == body, why


def masked_text(text):
    """A line without it."""
    for pattern, mask in VOLATILE:
        text = pattern.sub(mask, text)
    return text.rstrip(" ")


def fenced(language, text):
    """A block of code in Markdown."""
    return f"```{language}\n{text.strip()}\n```\n"
