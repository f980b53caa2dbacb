"""The documents as a site: built without a warning, every link leads somewhere, and mistakes are found."""

import html.parser
import os
import pathlib
import shutil
import subprocess
import urllib.parse

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("PETRI_BUILD", ROOT / "build"))

pytestmark = pytest.mark.xdist_group("docs")  # the site is built once


@pytest.fixture(scope="module")
def site():
    """The folder of the site, just built."""
    built = subprocess.run([ROOT / "scripts" / "docs.sh"], capture_output=True, text=True, check=False)
    assert built.returncode == 0 and "WARNING" not in built.stderr, built.stderr
    return BUILD / "html"


class Page(html.parser.HTMLParser):
    """What a page links, what it loads, and the names in it that can be linked."""

    def __init__(self, path):
        super().__init__()
        self.links, self.loads, self.names = set(), set(), set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.names |= {values[name] for name in ("id", "name") if values.get(name)}
        if tag == "a" and "href" in values:
            self.links.add(values["href"])
        self.loads |= {values[name] for name in ("src", "href") if tag != "a" and name in values}


@pytest.fixture(scope="module")
def pages(site):
    """Each page of the site, by its path."""
    return {path: Page(path) for path in site.rglob("*.html")}


def leads_nowhere(page, link, pages):
    """Whether a link of a page to the site itself leads to no file, or to no name in it."""
    address = urllib.parse.urlsplit(link)
    if address.scheme or address.netloc:
        return False
    path = urllib.parse.unquote(address.path)
    target = pathlib.Path(os.path.normpath(page.parent / path)) if path else page
    if not target.is_file():
        return True
    name = urllib.parse.unquote(address.fragment)
    return bool(name) and target in pages and name not in pages[target].names


def test_every_link_and_every_file_that_a_page_loads_is_there(pages):
    assert len(pages) > 30
    followed = [(page, link) for page, parsed in pages.items() for link in parsed.links | parsed.loads]
    assert len(followed) > 1000
    assert [(page.name, link) for page, link in followed if leads_nowhere(page, link, pages)] == []


def test_no_page_loads_anything_from_another_host(pages, site):
    elsewhere = {load for page in pages.values() for load in page.loads if urllib.parse.urlsplit(load).netloc}
    assert elsewhere == set()
    styles = "".join(path.read_text(encoding="utf-8") for path in site.rglob("*.css"))
    assert "url(http" not in styles and "@import" not in styles


def test_every_command_has_a_page_and_links_to_the_others(pages, site):
    said = subprocess.run([BUILD / "petri", "--help"], capture_output=True, text=True, check=True).stdout
    commands = [line.split()[0] for line in said.splitlines() if line.startswith("  ")]
    assert "run" in commands
    for command in commands:
        assert f"petri-{command}.1.html" in pages[site / "docs" / "man" / "petri.1.html"].links
        assert "petri.1.html" in pages[site / "docs" / "man" / f"petri-{command}.1.html"].links


def test_nothing_is_there_that_no_page_uses(site):
    assert [path for path in site.rglob("*") if path.suffix in (".map", ".gz") or "lunr" in path.parts] == []


def test_a_search_from_the_disk_finds_the_page(site, tmp_path):
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if not browser:
        give_up = pytest.fail if os.environ.get("PETRI_REQUIRE_LIVE") == "1" else pytest.skip
        give_up("no chromium: scripts/deps.sh install browser")
    # Time in the browser, which stands still while the page loads; nothing waits for it.
    look = [browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=10000", "--dump-dom",
            f"--user-data-dir={tmp_path}", f"{(site / 'index.html').as_uri()}?q=zygote"]  # fmt: skip
    shown = subprocess.run(look, capture_output=True, text=True, check=True, timeout=120).stdout
    assert f'<a href="{(site / "docs/sandbox.html").as_uri()}?h=zygote' in shown


def test_what_is_to_be_cited_is_this_version():
    said = subprocess.run([BUILD / "petri", "--version"], capture_output=True, text=True, check=True).stdout
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8").splitlines()
    assert f"version: {said.split()[1]}" in cited


MISTAKES = [
    # a file, what is added to it, and what has to be told
    ("docs/files.md", "\n[x](nothing.md)\n", "'nothing.md', but the target"),
    ("docs/files.md", "\n[x](../../outside.md)\n", "'../../outside.md'"),
    ("docs/files.md", "\n[x](/etc/passwd)\n", "absolute link '/etc/passwd'"),
    ("docs/files.md", "\n[x](records.md#nowhere)\n", "does not contain an anchor '#nowhere'"),
    ("docs/files.md", "\n[x](#neither)\n", "there is no such anchor on this page"),
    ("docs/files.md", "\n[x](../kernel/README.md)\n", "kernel/README.md"),
    ("docs/new.md", "# A page that nothing links\n", "docs/new.md"),
    ("docs/records.md", "\nA list without a blank line:\n- its row\n", "is a blank line missing"),
    ("man/petri-run.1", ".PP\n.BR petri\\-walk (1)\n", "petri-run(1) names petri-walk(1)"),
]


@pytest.fixture(scope="module")
def told(site, tmp_path_factory):
    """What is told of a copy of the repository that has all of the mistakes."""
    folder = tmp_path_factory.mktemp("mistakes")
    root = folder / "petri"
    shutil.copytree(ROOT, root, ignore=shutil.ignore_patterns("build", ".git", "__pycache__"))
    shutil.copytree(BUILD / "man", root / "man")
    for name, added, _ in MISTAKES:
        with open(root / name, "a", encoding="utf-8") as file:
            file.write(added)
    order = (root / "mkdocs.yml").read_text(encoding="utf-8")
    (root / "mkdocs.yml").write_text(order.replace("docs/glossary.md", "docs/glossary-2.md"), encoding="utf-8")
    program = [BUILD / "docs.venv/bin/python", "-m", "mkdocs", "build", "--strict"]
    built = subprocess.run(
        [*program, "--config-file", root / "mkdocs.yml", "--site-dir", folder / "site"],
        env={**os.environ, "PETRI_MAN": str(root / "man"), "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert built.returncode != 0
    return built.stderr


@pytest.mark.parametrize("mistake", [row[2] for row in MISTAKES] + ["docs/glossary-2.md"])
def test_a_mistake_is_told(told, mistake):
    assert mistake in told
