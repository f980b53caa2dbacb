"""The line below a traceback where the cause is petri, and not the code."""

import os

import pytest

# What a cell does, and a part of the line that tells its user what to do.
HINTS = {
    "module": ("import surely_not_there", "-m pip install"),
    "variable": ("import os; os.environ['MY_KEY']", "%env MY_KEY=VALUE"),
    "home": ("open(os.path.expanduser('~/data.csv'))", "a home folder of its own"),
    "outside": ("open('/opt/absent/data.csv')", '"inputs" in petri\'s configuration'),
    "outside, by pathlib": ("import pathlib; pathlib.Path('/srv/absent/x').read_text()", '"inputs"'),
    "port": ("import socket; socket.create_connection(('127.0.0.1', 9))", "a cell's localhost is its own"),
    "port, wrapped": ("import urllib.request; urllib.request.urlopen('http://127.0.0.1:9/')", "localhost"),
    "watching": ("def inotify_init(): raise OSError(38, 'Function not implemented')\ninotify_init()", "PollingObserver"),
    "watching, by ctypes": ("libc = lambda: None\nlibc.inotify_init = 1\nif libc.inotify_init: raise OSError(38, 'x')", "watch"),
    "watching, in words": ("raise OSError('Cannot initialize new instance of inotify, Errno=x (ENOSYS)')", "can't watch"),
    "watching, wrapped": (
        "def inotify_init(): raise OSError(38, 'x')\ntry: inotify_init()\nexcept OSError as error: raise RuntimeError from error",
        "can't watch",
    ),
    "memory": ("raise MemoryError", "%%limits memory=SIZE"),
    "threads": ("raise RuntimeError(\"can't start new thread\")", "%%limits processes=NUMBER"),
    "processes": (
        "reader, writer = os.pipe()\nos.set_blocking(reader, False)\n"
        "def _execute_child(): os.read(reader, 1)\n_execute_child()",
        "%%limits processes=NUMBER",
    ),
}


@pytest.fixture(autouse=True)
def nothing_said(worker):
    """The worker is the same for many tests."""
    worker.execute("import petri_worker.hints; petri_worker.hints._told.clear()")


def last_line(worker, code):
    reply = worker.execute(f"import os\n{code}").reply
    assert reply["status"] == "error", code
    return reply["traceback"][-1]


@pytest.mark.parametrize("cause", HINTS)
def test_error_whose_cause_is_petri_says_what_to_do(worker, cause):
    code, hint = HINTS[cause]
    line = last_line(worker, code)
    assert line.startswith("petri: ") and hint in line


def test_error_of_too_many_open_files_says_how_many_there_may_be(worker):
    worker.execute("import resource\nwas = resource.getrlimit(resource.RLIMIT_NOFILE)\nopened = []")
    worker.execute("resource.setrlimit(resource.RLIMIT_NOFILE, (300, was[1]))")
    line = last_line(worker, "while True: opened.append(open(os.devnull))")
    worker.execute("resource.setrlimit(resource.RLIMIT_NOFILE, was)\ndel opened")
    assert line.startswith("petri: ") and " 300 files, pipes and sockets open at a time" in line


def test_first_error_of_a_session_that_can_open_nothing_is_shown_with_its_traceback(worker):
    worker.execute("import resource\nwas = resource.getrlimit(resource.RLIMIT_NOFILE)")
    reply = worker.execute("resource.setrlimit(resource.RLIMIT_NOFILE, (3, was[1]))\nNone.absent").reply
    worker.execute("resource.setrlimit(resource.RLIMIT_NOFILE, was)")
    assert reply["ename"] == "AttributeError"
    assert any("None.absent" in line for line in reply["traceback"])


@pytest.mark.parametrize(
    "code",
    [
        "{}['MY_KEY']",
        "open('absent.csv')",
        "open('/tmp/absent')",
        "reader, writer = os.pipe()\nos.set_blocking(reader, False)\nos.read(reader, 1)",
        "raise BlockingIOError(11, 'x')",
        "reader, writer = os.pipe()\nos.set_blocking(reader, False)\nif not reader:\n    os.fork()\nos.read(reader, 1)",
        "import json.absent",
        "raise KeyError('MY_KEY')",
        "raise OSError(2, 'x', 3)",
        "class Odd(OSError):\n    @property\n    def filename(self): raise RuntimeError\nraise Odd(2, 'x')",
        "raise OSError(38, 'Function not implemented')",
        "def inotify_init(): raise OSError(22, 'x')\ninotify_init()",
        "1 / 0",
    ],
)
def test_error_of_the_code_has_no_hint(worker, code):
    assert not last_line(worker, code).startswith("petri: ")


def test_missing_file_of_a_folder_in_a_home_has_no_hint(new_worker, label):
    worker = new_worker(label, env={"HOME": os.path.dirname(os.getcwd())})
    assert not last_line(worker, "open('absent.csv')").startswith("petri: ")


def test_hint_is_said_once_a_session_and_cause(worker):
    assert last_line(worker, "open('/srv/absent')").startswith("petri: ")
    assert not last_line(worker, "open('/srv/absent')").startswith("petri: ")
    assert last_line(worker, "os.environ['X']").startswith("petri: ")
    for _ in range(2):
        assert last_line(worker, "raise MemoryError").startswith("petri: ")


def test_hint_of_errors_in_a_circle_ends(worker):
    code = "one, two = ValueError(), ValueError()\none.args, two.args = (two,), (one, one)\none.reason = one\nraise one"
    assert "ValueError" in last_line(worker, code)
