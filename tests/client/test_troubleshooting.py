"""docs/troubleshooting.md has what users can read of petri, and quotes nothing that petri doesn't say."""

import functools
import re
import textwrap

import pytest

import messages
import petri_kernel
from conftest import ROOT

PAGE = ROOT / "docs" / "troubleshooting.md"

# An entry is an item of a list: messages in backticks with " · " between them, which a line may end with, and behind a
# line break what to do, with who can do it in bold.
ENTRY = re.compile(
    r"^- (?P<said>`[^`\n]+`(?:(?: ·\n {2}| · )`[^`\n]+`)*)(?P<text>(?:<br>\n(?: {2}\S.*\n)*)?)", re.MULTILINE
)
WHO = re.compile(r"\*\*(?:the operator|the administrator|whoever starts the container|you)[:,]?\*\*", re.IGNORECASE)
OTHERS = re.compile(r"<!-- said: by others -->\n.*?<!-- end -->", re.DOTALL)

# The log, and what petri writes before a sentence.
BEFORE = re.compile(r"^petri: (?:error: |warning: )?")


def entries(text):
    """Each entry of a page: its line, its messages with their lines, and what to do about them."""
    for match in ENTRY.finditer(text):
        said = [
            (text.count("\n", 0, match.start() + found.start()) + 1, found[1])
            for found in re.finditer(r"`([^`\n]+)`", match[0][: len(match["said"]) + 2])
        ]
        yield text.count("\n", 0, match.start()) + 1, said, match["text"]


def own(text):
    """The messages of petri's own that a page quotes: (line, message)."""
    text = OTHERS.sub(lambda match: "\n" * match[0].count("\n"), text)
    return [one for _, said, _ in entries(text) for one in said]


def of_others(text):
    """The messages of other programs."""
    [block] = OTHERS.findall(text)
    return [message for _, said, _ in entries(block) for _, message in said]


# What of the sources users can read, by the source.


def _is_note(text):
    """A line that begins with "petri:", below a cell or on a terminal."""
    return re.match(r"petri: \S.* ", text.text) is not None


def _is_sentence(text):
    """Words, and no format of JSON's or SQL's."""
    is_format = text.text.startswith(("{", "[", "PRAGMA "))
    return text.text.strip().count(" ") > 1 and not is_format and text.call != "{refused"


def _is_given_to(*calls):
    return lambda text: text.call in calls and " " in text.text.strip() and not text.text.startswith(",")


_refuses = _is_given_to(
    *("error_set", "refuse", "config_refuse", "refuse_replay", "spec_refuse", "fail_with", "terminal_complain")
)

FOR_USERS = {
    "kernel/**/*.c": lambda text: _is_note(text) or (text.call == "log_write" and " " in text.text.strip()),
    "kernel/start.c": lambda text: _refuses(text) or text.text.startswith("In a terminal"),
    "kernel/control.c": _is_given_to("reply_error"),
    "kernel/files/artifact*.c": _is_sentence,
    "kernel/files/autorun.c": _is_given_to("say_why", "snprintf"),
    "kernel/files/inputs.c": _is_sentence,
    "kernel/files/transaction.c": _is_given_to("{r"),
    "kernel/files/workdir.c": _refuses,
    "kernel/files/writing*.c": _is_sentence,
    "kernel/interpreter/python.c": _refuses,
    "kernel/policy/config*.c": _refuses,
    "kernel/policy/limits_change.c": _refuses,
    "kernel/policy/spec*.c": _refuses,
    "kernel/run/budget.c": _is_given_to("snprintf"),
    "kernel/run/execute.c": _is_given_to("run_set_outcome"),
    "kernel/run/recover.c": _is_sentence,
    "kernel/run/refuse.c": _is_given_to("snprintf"),
    "kernel/run/run.c": _is_given_to("snprintf"),
    "kernel/run/warm.c": _is_given_to("snprintf"),
    "kernel/run/watchdog.c": _is_given_to("snprintf"),
    "kernel/run/work.c": _is_given_to("snprintf"),
    "kernel/worker/outcome.c": _is_given_to("text_format"),
    "cli/[!dp]*.c": lambda text: _is_note(text) or _refuses(text),
    "worker/petri_worker/*.py": lambda text: _is_note(text) or text.call == "UsageError",
    "worker/petri_worker/hints.py": _is_sentence,
    "client/petri_kernel/*.py": _is_given_to("SessionError", "SessionClosed", "KernelDied", "ProgramNotFound"),
}
# Parts that only stand inside of others, and what only developers read.
PARTS = {"a tool", " and … more", " and the ", "no names", "no outcome", ": there is no memory"}
DEBUG = {
    "the interpreter is ready",
    "the interpreter has preloaded what is needed for …",
    "… huge pages were made of the session's memory",
    "a state has its own versions of files that are written: …",
}
NOT_A_STEP = "STEP_NONE"


@functools.cache
def texts():
    """All that the sources say: {path: texts}."""
    sources = {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
        for folder in ("base", "cli", "kernel", "protocol", "sandbox")
        for path in sorted((ROOT / folder).rglob("*.[ch]"))
    }
    names = messages.macros(sources.values())
    found = {path: messages.of_c(path, source, names) for path, source in sources.items()}
    for table, path in ((messages.outcomes, "kernel/worker/outcome.c"), (messages.steps, "sandbox/base/step.c")):
        found[f"{path}, the table"] = list(table(path, sources[path], names))
    for folder in ("worker/petri_worker", "client/petri_kernel"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            found[name] = messages.of_python(name, path.read_text(encoding="utf-8"))
    return found


def for_users():
    """What the page has to have: the tables, and what FOR_USERS names."""
    found = [text for path, of_path in texts().items() if path.endswith(", the table") for text in of_path]
    for pattern, is_for_users in FOR_USERS.items():
        paths = [path.relative_to(ROOT).as_posix() for path in sorted(ROOT.glob(pattern))]
        chosen = [text for path in paths for text in texts()[path] if is_for_users(text)]
        assert chosen, f"{pattern} says nothing any more: mend FOR_USERS"
        found += chosen
    return [
        text
        for text in found
        if text.call != NOT_A_STEP and text.text not in PARTS | DEBUG and messages.says_something(text.text)
    ]


def exceptions():
    return [name for name, kind in vars(petri_kernel.errors).items() if isinstance(kind, type) and name != "PetriError"]


@functools.cache
def is_said(message):
    """Whether a source says it."""
    whole = (message, BEFORE.sub("", message))
    known = (text for of_path in texts().values() for text in of_path)
    return message in exceptions() or any(messages.says(one, text.text) for text in known for one in whole)


def wrong(page):
    """What a page quotes that no source says, and the entries that don't say who can do something."""
    for line, message in own(page):
        if not is_said(message):
            yield f"{PAGE.name}:{line}: petri does not say: {message}"
    for line, said, text in entries(page):
        if not WHO.search(" ".join(text.split())):
            yield f"{PAGE.name}:{line}: who can do something about it? {said[0][1]}"


def missing(page):
    """What users can read of petri and a page does not quote."""
    quoted = {one for _, message in own(page) for one in (message, BEFORE.sub("", message))} | set(of_others(page))
    for text in for_users():
        if not any(messages.says(one, text.text) or messages.contains(one, text.text) for one in quoted):
            yield str(text)
    yield from (f"petri_kernel.{name}" for name in exceptions() if name not in quoted)


@pytest.fixture(scope="module")
def page():
    return PAGE.read_text(encoding="utf-8")


def test_the_page_quotes_what_petri_says_and_who_can_help(page):
    assert not list(wrong(page))


def test_the_page_has_what_users_can_read(page):
    assert not list(missing(page))


SENTENCES = {
    "an outcome": "The cell ran longer than its time limit of",
    "a step": "mounting a fresh /proc failed",
    "a note": "petri: this kernel has no network",
    "a hint": "a cell's localhost is its own",
    "a line of the configuration": "is no name of a distribution",
    "a command": "there is no run",
    "an exception": "`KernelDied`",
}


@pytest.mark.in_turn("kind")
@pytest.mark.parametrize("kind", SENTENCES)
def test_another_wording_is_found_with_its_line_and_missed(page, kind):
    words = SENTENCES[kind]
    changed = page.replace(words, words.replace(words.split()[-1], "Xyzzy") if " " in words else "`KernelXyzzy`")
    [where] = list(wrong(changed))
    line = changed.count("\n", 0, changed.index("Xyzzy")) + 1
    assert where.startswith(f"{PAGE.name}:{line}: ") and "Xyzzy" in where
    assert len(list(missing(changed))) == 1


def test_an_entry_without_a_person_is_found(page):
    [where] = list(wrong(page + "\n- `there is no memory`\n  Oh.\n"))
    assert "who can do something" in where


@pytest.mark.parametrize(
    "quoted, text, is_so",
    [
        ("The limit of … was passed", "The limit of … was passed.\n", True),
        ("The limit of 3 s was passed", "The limit of … was passed", True),
        ("The limit of …", "The limit of … was passed", True),
        ("The limit of", "The limit of … was passed", False),
        ("… was passed", "it was passed", True),
        ("ended 2 processes that run", "ended … process… that run", True),
        ("ended … processes that run", "ended … process… that run", True),
        ("ended … threads that run", "ended … process… that run", False),
        ("anything", "…: …", False),
    ],
)
def test_a_quotation_is_compared_with_a_text(quoted, text, is_so):
    assert messages.says(quoted, text) == is_so


def test_literals_are_read_as_the_compiler_and_python_read_them():
    code = r"""
        #define WHERE "there"
        int f(void) {
            say(a ? "in %s, " /* "x" */
                    "\"100 %%\" " WHERE : "%" PRIu64 " more", '"');
        }
        """
    code = textwrap.dedent(code)
    found = messages.of_c("a.c", code, messages.macros([code]))
    assert [(text.where, text.call, text.text) for text in found] == [
        ("a.c:2", "", "there"),
        ("a.c:4", "say", 'in …, "100 …" there'),
        ("a.c:5", "say", "… more"),
    ]
    found = messages.of_python("a.py", 'def f():\n    "doc"\n    raise Odd(f"no {name}" " here")\n')
    assert [(text.where, text.call, text.text) for text in found] == [("a.py:3", "Odd", "no … here")]


# What other programs say in a cell: each of their messages is said by one of these.
CELLS = [
    "import socket\nsocket.create_connection(('192.0.2.1', 80), 1)",
    "import socket\nsocket.create_connection(('localhost', 9), 1)",
    "import urllib.request\nurllib.request.urlopen('http://example.org')",
    "import sys\n!{sys.executable} -m pip install surely-not-there",
    "import surely_not_there",
    "open('/usr/new', 'w')",
    "open('/srv/absent.csv')",
    "open('closed.csv')",
    "open('/tmp/large', 'wb').write(bytes(100_000_000))",
    "import os\nos.remove('/tmp/large')\nos.setuid(1234)",
    "%%limits processes=20\nimport os, time\nfor n in range(40):\n    if os.fork() == 0: time.sleep(1000)",
    "%%limits processes=20\nimport subprocess, sys\n"
    "start = 'import threading\\nwhile True: threading.Thread(target=threading.Event().wait, daemon=True).start()'\n"
    "print(subprocess.run([sys.executable, '-c', start], capture_output=True, text=True).stderr)",
    "import numpy\nnumpy.ones((1 << 20, 1 << 12))",
    "import pty\npty.fork()",
    "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (10**7, 10**7))",
    "input()",
    "!sleep 1 &",
]


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """What each of CELLS shows."""
    folder = tmp_path_factory.mktemp("folder")
    (folder / "closed.csv").write_text("a,b\n")
    (folder / "closed.csv").chmod(0)
    config = {"profiles": {"notebook": {"disk": "50M", "timeout": "60s"}}}
    found = []
    with petri_kernel.Session(folder=folder, config=config) as session:
        for code in CELLS:
            result = session.run(code)
            error = f"{result.error.ename}: {result.error.evalue}" if result.error else ""
            found.append(f"{error}\n{result.stdout}\n{result.stderr}")
    return found


def test_other_programs_say_what_the_page_quotes_of_them(page, shown):
    patterns = {message: ".*".join(map(re.escape, message.split("…"))) for message in of_others(page)}
    said_by = {message: [bool(re.search(pattern, text)) for text in shown] for message, pattern in patterns.items()}
    assert [message for message, found in said_by.items() if not any(found)] == []
    assert [code for n, code in enumerate(CELLS) if not any(found[n] for found in said_by.values())] == []
