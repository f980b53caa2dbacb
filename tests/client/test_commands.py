"""What pages say that petri can be asked for: its commands, their options, and configurations."""

import json
import re
import subprocess

import pytest

import commands
from conftest import PROGRAM

# In `code`, over the end of a line, too; a command of petri's in it, where a command begins and whatever path it is
# called by, and its options.
SPAN = re.compile(r"(?<!`)`([^`]+)`(?!`)")
CALLED = re.compile(r"(?:^|[/$(]|[|;&'] *|sudo +|IMAGE +)petri +([a-z]+)\b([^|;&<]*)")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


def petri(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, check=False)


def code(page):
    """Each piece of code of a page in which a command may be: spans, and the lines of blocks."""
    text = (commands.ROOT / page).read_text(encoding="utf-8")
    yield from (" ".join(span.split()) for span in SPAN.findall(re.sub(r"(?ms)^ *```.*?^ *```$", "", text)))
    for block in commands.blocks(text):
        if block.kind != "json":
            yield from block.text.replace("\\\n", " ").splitlines()


def calls():
    """What pages call: page, command, its options."""
    for page in commands.pages():
        for piece in code(page):
            for command, rest in CALLED.findall(piece):
                yield page, command, OPTION.findall(rest)


def configurations():
    """Each configuration in a page: where it is, what it says."""
    known = json.loads(petri("config", "schema").stdout)["properties"]
    for page in commands.pages():
        for block in commands.of_page(page):
            if block.kind == "json" and not block.made:
                if page == "docs/configuration.md" or set(json.loads(block.text)) & set(known):
                    yield f"{page}:{block.line}", block.text


def test_each_command_and_option_that_a_page_names_is_one_of_petris():
    names = re.findall(r"(?m)^  (\w+) ", petri("--help").stdout)
    options = {name: set(OPTION.findall(petri(name, "--help").stdout)) for name in names}
    called = list(calls())
    assert {command for _, command, _ in called} == set(names)  # each is in a page, too
    wrong = [(page, command, option) for page, command, asked in called for option in asked if option not in options[command]]
    assert wrong == []


def test_each_configuration_in_a_page_is_one_that_petri_accepts(tmp_path):
    found = dict(configurations())
    assert len(found) >= 5
    for where, text in found.items():
        (tmp_path / "config.json").write_text(text)
        done = petri("config", "check", tmp_path / "config.json")
        assert done.returncode == 0, f"{where}: {done.stderr}"


@pytest.mark.parametrize("piece, found", [
    ("sudo build/petri install --prefix /usr/local", [("install", ["--prefix"])]),
    ("sudo $petri config check", [("config", [])]),
    ("petri runs --json | head --lines=3", [("runs", ["--json"])]),
    ("podman run IMAGE petri doctor --seccomp", [("doctor", ["--seccomp"])]),
    ("petri: no command", []),
    ("no longer has what petri needs", []),
    ("import petri_kernel as petri", []),
])  # fmt: skip
def test_commands_are_found_in_code(piece, found):
    assert [(command, OPTION.findall(rest)) for command, rest in CALLED.findall(piece)] == found
