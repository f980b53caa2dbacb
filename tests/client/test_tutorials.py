"""
Tutorials in docs/ work when they are followed from the top: their commands, their cells, and what they show.

A block `sh` is run by a shell in the folder that its part of the page is about, a block `python` is a cell of one
notebook. A block "made" after either shows what came of it. The kernels are those that the page's own commands install.
"""

import contextlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest

from accounts import copy_etc
from conftest import PROGRAM, ROOT
from kernels import STUCK_S, Kernel
from pages import fenced, masked_text, names, settle

STEP = re.compile(
    r"^```(?P<kind>sh|python)\n(?P<code>.*?)^```$|^<!-- made: (?P<made>[\w-]+) -->$|^<!-- (?P<restart>restart) -->$"
    r"|^<!-- kernel: (?P<kernel>[\w-]+) -->$",
    re.DOTALL | re.MULTILINE,
)
ANSI = re.compile(r"\x1b\[[0-9;]*m")

# Where the code was: on a busy machine it may not be known in time.
STACK = re.compile(r"(?m)^The code was .*\n(?:  .*\n)*")
MACHINE = re.compile(r"(?<=memory=600M, or more up to )\d+[MG]")  # what this machine allows

ELSEWHERE = {"agent"}  # made blocks that another test makes: test_agent.py

# Folders of the pages, and what they are below the reader's home.
OF_THE_PAGE = {"class": "/srv/class", "data": "/srv/data"}

# How many kernels a student may have: tests beside this one have some of the same user.
BOUND, FAR_BOUND = '"kernels": {"number": 4,', '"kernels": {"number": 1000,'

# In a mount namespace. The list of running kernels is in the first of two folders that is there.
OPERATORS_VIEW = """
mount --bind "$1" /etc
mkdir -p -m 700 /run/petri-0
for list in /run/petri-0 /run/user/0; do [ ! -d "$list" ] || mount -t tmpfs -o mode=700 list "$list"; done
exec sh -e
"""


def shown(cell):
    """What a reader sees under a cell, as text, in its order; but for stacks of cells that were ended."""
    parts = []
    for message in cell.messages:
        content = message["content"]
        if message["msg_type"] == "stream":
            parts.append(content["text"])
        elif message["msg_type"] in ("execute_result", "display_data"):
            parts.append(content["data"].get("text/plain", ""))
        elif message["msg_type"] == "error":
            parts.append("\n".join(content["traceback"]))
    text = ANSI.sub("", "\n".join(part.rstrip("\n") for part in parts))
    return MACHINE.sub("…", STACK.sub("", re.sub(r"-{50,}", "-" * 50, text)))


class Walk:
    """One reader's way through a page: a shell and a notebook."""

    def __init__(self, home, folder):
        self.home, self.folder = home, folder
        self.name, self.kernel = "petri", None
        self.shell = ["sh", "-e"]

    def own(self, code):
        """Code of a page, with folders of the test's own, and without leave to change others."""
        code = code.replace("sudo ", "").replace("--prefix /usr/local ", f"--prefix {self.home / 'local'} ")
        code = code.replace(BOUND, FAR_BOUND)
        for folder, there in OF_THE_PAGE.items():
            code = code.replace(there, str(self.home / folder))
        return code

    def as_in_the_page(self, text):
        for folder, there in OF_THE_PAGE.items():
            text = text.replace(str(self.home / folder), there)
        return text.replace(str(self.home), "/home/ada")

    def sh(self, code):
        """In the checkout until there is a notebook, in the notebook's folder then."""
        if code.startswith("jupyter lab "):
            return self.lab(code)
        where = self.folder if self.kernel else ROOT
        script = self.own(code).replace("build/petri", str(PROGRAM))
        done = subprocess.run(self.shell, input=script, cwd=where, capture_output=True, text=True, check=False)
        degraded = done.returncode == 1 and code.split()[1:] == ["doctor"]  # its answer, and no failure
        assert done.returncode == 0 or degraded, f"{code}\n{done.stdout}{done.stderr}"
        return self.as_in_the_page(done.stdout)

    def lab(self, code):
        """JupyterLab, until it has said at which address it offers the kernels that the page has installed."""
        command = f"exec timeout {STUCK_S} {code.strip()} --no-browser --allow-root --ServerApp.port=0"
        with subprocess.Popen(
            ["sh", "-ec", command], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as server:
            lines = (re.search(r"(http://127\.0\.0\.1:\d+)/lab\?(token=\w+)", line) for line in server.stdout)
            found = next(filter(None, lines), None)
            assert "petri" in self.answer(f"{found[1]}/api/kernelspecs?{found[2]}")["kernelspecs"]
            server.terminate()
        return ""

    @staticmethod
    def answer(url):
        """Jupyter's server tells its address before it listens there."""
        until = time.monotonic() + STUCK_S
        while True:
            try:
                with urllib.request.urlopen(url, timeout=STUCK_S) as answer:
                    return json.load(answer)
            except urllib.error.URLError as error:
                if not isinstance(error.reason, ConnectionRefusedError) or time.monotonic() > until:
                    raise
                time.sleep(0.05)

    def python(self, code):
        if not self.kernel:
            installed = self.home / ".local" / "share" / "jupyter" / "kernels"
            self.kernel = Kernel(installed, self.folder, self.name).wait_until_up()
        return self.as_in_the_page(shown(self.kernel.run(self.own(code).rstrip("\n"))))

    def restart(self):
        self.kernel.manager.restart_kernel()
        self.kernel.wait_until_up()

    def close(self):
        if self.kernel:
            self.kernel.close()


class Operator(Walk):
    """A reader for whom /etc is a copy, and who has no kernels but those of the page."""

    def __init__(self, home, folder):
        super().__init__(home, folder)
        etc = home.parent / "etc"
        copy_etc(etc)
        shutil.rmtree(etc / "petri", ignore_errors=True)
        self.shell = ["unshare", "-m", "sh", "-ec", OPERATORS_VIEW, "sh", etc]

    def as_in_the_page(self, text):
        return "\n".join(map(masked_text, super().as_in_the_page(text).splitlines()))


def follow(page, walk):
    """Follows a page; returns what each of its made blocks has to show, by name."""
    made, last = {}, ("", "")
    for step in STEP.finditer(page.read_text(encoding="utf-8")):
        if step["kind"]:
            last = (step["code"], getattr(walk, step["kind"])(step["code"]))
        elif step["restart"]:
            walk.restart()
        elif step["kernel"]:
            walk.name = step["kernel"]
        elif step["made"] not in ELSEWHERE:
            made[step["made"]] = fenced("", last[1])
    return made


class Program:
    """A reader who puts the page's blocks together to one program."""

    def __init__(self):
        self.names = {}

    def python(self, code):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, "tutorial", "exec"), self.names)
        return printed.getvalue()


@pytest.mark.parametrize("name", ["tutorial-python.md", "tutorial-agents.md"])
def test_tutorial_for_programs_works_from_its_top_and_shows_what_petri_does(name):
    check(name, Program())


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["tutorial-python.md", "tutorial-agents.md"])
def test_tutorial_for_programs_works_a_second_time_beside_the_records_of_the_first(name):
    for _ in range(2):
        check(name, Program())


def check(name, reader):
    page = ROOT / "docs" / name
    made = follow(page, reader)
    assert [block for block in names(page) if block not in ELSEWHERE] == list(made)
    for block, body in made.items():
        settle(page, block, body)


PAGES = ["tutorial-notebook.md", "tutorial-class.md"]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A home of a reader's own, where python3 has the packages, and a copy of the examples."""
    home, folder = tmp_path / "home", tmp_path / "notebooks" / "examples"
    home.mkdir()
    shutil.copytree(ROOT / "examples", folder)
    (folder / "handed-in").mkdir()
    shutil.copy(ROOT / "examples" / "course" / "source" / "look" / "look.ipynb", folder / "handed-in" / "ada.ipynb")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", os.path.dirname(sys.executable), prepend=os.pathsep)
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name)
    return home, folder


@pytest.mark.parametrize("name", PAGES)
def test_tutorial_works_from_its_top_and_shows_what_petri_does(place, name):
    with contextlib.closing(Walk(*place)) as walk:
        check(name, walk)


def test_tutorial_for_operators_works_from_its_top_and_shows_what_petri_does(place, monkeypatch, skip_or_fail):
    if os.geteuid() != 0:
        skip_or_fail("only root can mount over /etc")
    installed = place[0] / "bin"
    installed.mkdir()
    (installed / "petri").symlink_to(PROGRAM)
    monkeypatch.setenv("PATH", str(installed), prepend=os.pathsep)
    check("tutorial-operators.md", Operator(*place))
