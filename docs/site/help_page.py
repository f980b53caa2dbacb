#!/usr/bin/env python3
"""Makes kernelspec/help.html, which the Help menu of JupyterLab shows, of pages in docs/.

    help_page.py           writes it
    help_page.py --check   exit 1 where it is not what the pages give now

A front end shows it in a frame that has no cookies, so nothing more can be loaded: all of it is in the one file, and
links to pages that are not in it are only their words.
"""

import pathlib
import re
import sys

from markdown_it import MarkdownIt

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "kernelspec" / "help.html"
BEGIN = """# petri in a notebook

A cell either finishes within its limits, or it never happened. What that means while you work stands first; what each
message means, and what to do, stands [below](#troubleshooting-by-message). Names that end with `.md` are other pages
of petri's: they are in the folder `docs/` of its sources, and where a Debian package brought it, below
`/usr/share/doc/petri-kernel/html`.

"""
# The pages, how each begins here if otherwise than there, and the sections that are left out: who reads this has petri.
SOURCES = {"docs/tutorial-notebook.md": (BEGIN, ["Install"]), "docs/troubleshooting.md": (None, [])}

MARK = re.compile(r"(?m)^<!-- .* -->\n")
HEAD = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>petri Reference</title>
<style>
:root { color-scheme: light dark; --line: #8884; --code: #8881; --link: #1f6384; }
@media (prefers-color-scheme: dark) { :root { --link: #8cc4dc; } }
body { max-width: 52rem; margin: 2rem auto; padding: 0 1.5rem; font: 15px/1.55 system-ui, sans-serif; }
h1 { margin-top: 3rem; font-weight: 500; }
h1:first-of-type { margin-top: 0; }
h2 { margin-top: 2.2rem; border-bottom: 1px solid var(--line); font-weight: 500; }
a { color: var(--link); }
code { padding: 0 .2em; border-radius: 3px; background: var(--code); font-size: 90%; overflow-wrap: anywhere; }
pre { padding: .8em 1em; border-radius: 5px; background: var(--code); white-space: pre-wrap; }
pre code { padding: 0; background: none; }
table { border-collapse: collapse; }
th, td { padding: .3em .7em; border: 1px solid var(--line); text-align: left; vertical-align: top; }
</style>
</head>
<body>
"""


def slug(heading):
    """What GitHub makes the address of a heading."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def cut(text, begin, left_out):
    if begin:
        text = begin + text[text.index("\n## ") + 1 :]
    for title in left_out:
        text, n = re.subn(rf"(?ms)^## {re.escape(title)}\n.*?(?=^## |\Z)", "", text)
        assert n == 1, f"there is no section {title}"
    return text


def own_address(href):
    """Where a link of the sources leads in this page; None where it leads out of it."""
    path, _, heading = href.partition("#")
    if path and path not in [pathlib.Path(source).name for source in SOURCES]:
        return None
    return f"#{heading}" if heading else None


def relink(inline):
    """Keeps links that lead to a place in this page, and the words of the others."""
    kept, open_links = [], []
    for token in inline.children:
        if token.type == "link_open":
            address = own_address(token.attrs["href"])
            open_links.append(address)
            token.attrs["href"] = address
        if token.type not in ("link_open", "link_close") or open_links[-1]:
            kept.append(token)
        if token.type == "link_close":
            open_links.pop()
    inline.children = kept


def make():
    parser = MarkdownIt("gfm-like", {"linkify": False})
    made, ids, targets = [HEAD], set(), set()
    for source, (begin, left_out) in SOURCES.items():
        text = cut((ROOT / source).read_text(encoding="utf-8"), begin, left_out)
        tokens = parser.parse(MARK.sub("", text))
        for token, following in zip(tokens, [*tokens[1:], None]):
            if token.type == "heading_open":
                token.attrs["id"] = slug(following.content)
                ids.add(token.attrs["id"])
            if token.type == "inline":
                relink(token)
                targets |= {child.attrs["href"][1:] for child in token.children if child.type == "link_open"}
        made.append(parser.renderer.render(tokens, parser.options, {}))
    assert targets <= ids, f"no heading is at {targets - ids}"
    return "".join([*made, "</body>\n</html>\n"])


def main():
    made = make()
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(made, encoding="utf-8")
    elif not PAGE.is_file() or PAGE.read_text(encoding="utf-8") != made:
        sys.exit(f"{PAGE.relative_to(ROOT)} is not what its pages give now: docs/site/help_page.py writes it")


if __name__ == "__main__":
    main()
