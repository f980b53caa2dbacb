"""What mkdocs.yml adds to mkdocs: the site has the paths of the repository, so that its links are right as they stand.

The pages of the site are those of docs/, those that the navigation names, and the pages that these link, and so on;
other files that they link are copied. The manual pages are made of those of man(1), which are in the folder that
PETRI_MAN names; `docs/man` in the navigation stands for all of them.
"""

import collections
import logging
import os
import pathlib
import re
import subprocess
from importlib import metadata

from markdown_it import MarkdownIt
from mkdocs.structure.files import File, Files

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LINK = re.compile(r"\]\((?!\w+:)([^)#\s]+)(?:#[^)\s]*)?\)")
CODE = re.compile(r"(?ms)^```.*?^```$")
# Files that are a page of their own in the site, and how their text is shown.
AS_PAGES = {"LICENSE": ("License", "text"), "CITATION.cff": ("How to cite petri", "yaml")}
LOGO = "assets/logo.svg"
# What the theme brings and this site has no use for: sources of scripts, other languages, a list of absolute addresses.
UNUSED = ("assets/**/*.map", "assets/javascripts/lunr/**/*", "sitemap.xml*", "404.html")

log = logging.getLogger("mkdocs.hooks.petri")


def manual_folder():
    return pathlib.Path(os.environ["PETRI_MAN"])


def manual_pages():
    """The names of the manual pages: petri(1) first."""
    names = sorted(path.name.removesuffix(".1") for path in manual_folder().glob("*.1"))
    if not names:
        log.warning("there is no manual page in %s", manual_folder())
    return names


def on_config(config):
    """Puts the manual pages into the navigation."""
    pages = [{f"{name}(1)": f"docs/man/{name}.1.md"} for name in manual_pages()]

    def filled(item):
        if isinstance(item, list):
            return [filled(part) for part in item]
        if isinstance(item, dict):
            return {title: pages if part == "docs/man" else filled(part) for title, part in item.items()}
        return item

    config.nav = filled(config.nav)


def named_in(nav):
    if isinstance(nav, str):
        yield nav
    else:
        for part in nav.values() if isinstance(nav, dict) else nav:
            yield from named_in(part)


def linked_in(page):
    """The paths from the root of the files that a page links, as far as they are there."""
    text = CODE.sub("", (ROOT / page).read_text(encoding="utf-8"))
    for target in LINK.findall(text):
        path = pathlib.Path(os.path.normpath(ROOT / page / ".." / target))
        if path.is_file() and path.is_relative_to(ROOT):
            yield path.relative_to(ROOT).as_posix()


def reached_from(pages):
    """These pages, and all files that a reader comes to from them."""
    found, to_read = set(), [page for page in pages if (ROOT / page).is_file()]
    while to_read:
        path = to_read.pop()
        if path not in found:
            found.add(path)
            to_read += linked_in(path) if path.endswith(".md") else []
    return found


def named_command(item):
    """A row of petri(1)'s list of commands, with a link to the command's page; an exit status stays as it is."""
    page = f"petri-{item[1]}"
    return f'<dt><a href="{page}.1.html">{item[1]}</a></dt>' if page in manual_pages() else item[0]


def manual_markdown(name):
    """A manual page as Markdown: headings, and HTML between them."""
    page = manual_folder() / f"{name}.1"
    made = subprocess.run(["mandoc", "-T", "html", "-O", "fragment", page], capture_output=True, text=True, check=True)
    text = re.search(r'(?s)<div class="manual-text">(.*)</div>', made.stdout)[1]
    text = re.sub(r'</?section[^>]*>|<br/>|<p class="Pp">\s*(<br/>)?\s*</p>', "", text)
    text = re.sub(r'(?s)<a class="permalink"[^>]*>(.*?)</a>', r"\1", text)
    text = re.sub(r"<b>(petri[\w-]*)</b>\(1\)", r'<a href="\1.1.html">\1(1)</a>', text)
    text = re.sub(r"<dt[^>]*>(\w+)</dt>", named_command, text)
    for other in set(re.findall(r'href="([\w-]+)\.1\.html"', text)) - set(manual_pages()):
        log.warning("%s(1) names %s(1), which is no manual page", name, other)
    parts = re.split(r'(?s)<h1 class="Sh"[^>]*>(.*?)</h1>', text)
    sections = (
        f"## {' '.join(title.split()).capitalize()}\n\n<div>{body.strip()}</div>\n"
        for title, body in zip(parts[1::2], parts[2::2])
    )
    return f"# {name}(1)\n\n" + "\n".join(sections)


def license_of_theme():
    """What the licence asks for who passes the theme on."""
    (text,) = (file.read_text() for file in metadata.files("mkdocs-material") if file.match("licenses/LICENSE"))
    return text


def on_files(files, config):
    """The files of the site: of the repository, what is reached, and of the theme, all."""
    made = [File.generated(config, f"docs/man/{name}.1.md", content=manual_markdown(name)) for name in manual_pages()]
    for path, (title, language) in AS_PAGES.items():
        if (ROOT / path).is_file():
            text = (ROOT / path).read_text(encoding="utf-8")
            made.append(File.generated(config, f"{path}.md", content=f"# {title}\n\n```{language}\n{text}```\n"))
    made.append(File.generated(config, "assets/mkdocs-material.txt", content=license_of_theme()))
    made.append(File.generated(config, LOGO, abs_src_path=str(ROOT / "kernelspec" / "logo-svg.svg")))
    pages = [*named_in(config.nav), *(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))]
    made += [
        File(path, ROOT, config.site_dir, config.use_directory_urls)
        for path in sorted(reached_from(pages) - set(AS_PAGES))
    ]
    return Files([*made, *(file for file in files if file.src_dir != config.docs_dir)])


def on_page_markdown(markdown, page, config, files):
    """Links to files that are pages here lead to these pages; no room is left for lists that would be empty."""
    empty = {"navigation": page.is_homepage, "toc": not re.search(r"(?m)^##+ ", CODE.sub("", markdown))}
    page.meta["hide"] = [part for part, is_empty in empty.items() if is_empty]
    if any(section.title == "Project" for section in page.ancestors):  # a search is rarely about petri's own tree
        page.meta["search"] = {"boost": 0.5}
    names = "|".join(map(re.escape, AS_PAGES))
    return re.sub(rf"\]\(((?:\.\./)*)({names})\)", r"](\1\2.md)", markdown)


def counted(text):
    """How many there are of each element that Markdown makes of lines."""
    return collections.Counter(re.findall(r"<(h[1-6]|li|pre|tr|blockquote|img)\b", text))


def on_page_content(content, page, config, files):
    """The site and GitHub read Markdown by different rules: where a page comes out otherwise, that is a warning."""
    github = counted(MarkdownIt("gfm-like", {"linkify": False}).render(page.markdown))
    for element in sorted(github.keys() | counted(content).keys()):
        if github[element] != counted(content)[element]:
            log.warning(
                "%s has %d <%s> here, and %d where CommonMark is read: is a blank line missing, or four blanks?",
                page.file.src_uri, counted(content)[element], element, github[element],
            )  # fmt: skip


def on_post_build(config):
    """Removes what no page uses."""
    site = pathlib.Path(config.site_dir)
    for path in [path for pattern in UNUSED for path in site.glob(pattern) if path.is_file()]:
        path.unlink()
    for folder in sorted((path for path in site.rglob("*") if path.is_dir()), reverse=True):
        if not any(folder.iterdir()):
            folder.rmdir()
