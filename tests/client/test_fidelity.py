"""docs/fidelity.md: what differs from ipykernel by design, with what a user really sees of it."""

import contextlib

import pytest

import petri_kernel as petri
from conftest import ROOT
from pages import names, settle

PAGE = ROOT / "docs" / "fidelity.md"

# Blocks: rows of (action, its cells, what to do). What the last cell shows stands beside the action.
ROWS = {
    "limits": [
        (
            "A cell needs more memory than its limit",
            ["%%limits memory=300M\nblocks = []\nwhile True: blocks.append(bytes(range(256)) * 40_000)"],
            "`%%limits memory=SIZE` in its first line, as the error says; `profiles` of the configuration for all cells",
        ),
        (
            "A cell runs longer than its limit",
            ["%%limits timeout=1s\nwhile True: pass"],
            "`%%limits timeout=TIME`, up to the ceiling (an hour by default); smaller steps: those that are done stay",
        ),
        (
            "The session's files pass their limit",
            ["with open('/tmp/large', 'wb') as file: file.write(bytes(100_000_000))"],
            "`disk` and `files` of the configuration's profiles",
        ),
        (
            "A cell prints endlessly",
            ["%%limits output=1M\nfor n in range(300_000): print(n)"],
            "`%%limits output=64M`; a file",
        ),
        (
            "The process of a cell dies",
            ["import os\nos.abort()"],
            "the session is as it was before: change the cell and run it again",
        ),
        (
            "A cell ends its process",
            ["import os\nos._exit(3)"],
            "`sys.exit()` ends the cell alone, as in ipykernel",
        ),
    ],
    "processes": [
        (
            "A child process is left running",
            ["import os\nos.remove('/tmp/large')", "import subprocess\nchild = subprocess.Popen(['sleep', '1000'])"],
            "wait for it in the cell that starts it; use a thread for work that shall go on",
        ),
        ("and a later cell waits for it", ["child.wait()"], "it was killed (SIGKILL) with its cell"),
        (
            "A pool still has work when its cell ends",
            ["import multiprocessing, time\npool = multiprocessing.Pool(1)\nlater = pool.apply_async(time.sleep, [1000])"],
            "ask for the results in the same cell",
        ),
        ("and a later cell asks for its result", ["later.get()"], "the pool itself goes on, with new processes"),
        (
            "A process id is kept",
            ["import os\npid = os.getpid()", "pid == os.getpid()"],
            "it stays the same; it is a pid of the cell's own namespace",
        ),
    ],
    "travel": [
        (
            "A cell that ended well was a mistake",
            ["total = 1", "total = None", "%undo", "total"],
            "`%undo`, `%restore NUMBER`, `%timeline`; in JupyterLab the buttons and the panel",
        ),
        (
            "and it was none",
            ["total = 2", "%undo", "%redo", "total"],
            "`%redo`: nothing is lost by going back",
        ),
        (
            "A magic is called as one of those lines is",
            [
                "from IPython.core.magic import register_line_magic\n@register_line_magic\ndef forget(line): return 'mine'",
                "%forget all",
            ],
            "another name; or call it inside of other code",
        ),
    ],
    "host": [
        (
            "A connection to another machine",
            ["import socket\nsocket.create_connection(('192.0.2.1', 80), 1)"],
            "put files beside the notebook; a cell has no network",
        ),
        (
            "A cell changes a file of the host",
            ["open('data.csv', 'a').write('more')\nopen('data.csv').read()"],
            "cells see it changed; the host's file stays as it was. Files that a cell has made are copied to `outputs/`; "
            "in the writable mode the folder itself is changed",
        ),
        (
            "A file outside of the notebook's folder",
            ["open('/srv/elsewhere.csv')"],
            "`inputs` of the configuration names other folders",
        ),
        (
            "An environment variable with which Jupyter was started",
            ["import os\nos.environ['API_KEY']"],
            "`variables` of the configuration; `%env NAME=value` in a cell, which the next ones see too; a request's "
            "`env`, for names that the configuration's `environment` lists",
        ),
        (
            "Another user's rights",
            ["import os\nos.setuid(0)"],
            "none: a cell has the rights of its sandbox",
        ),
        (
            "A mount",
            ["import ctypes\nctypes.CDLL(None, use_errno=True).mount(b'none', b'/tmp', b'tmpfs', 0, None)"],
            "a cell can write to `/tmp`, the home and the notebook's folder",
        ),
        (
            "A terminal",
            ["!tty"],
            "commands write as to a file: `ls -C` for columns, `--color=always`",
        ),
    ],
}


def seen(result):
    """What stands under a cell, in a line."""
    if result.error is not None:
        line = f"{result.error.ename}: {result.error.evalue}"
    elif result.stderr or result.stdout:
        line = (result.stderr or result.stdout).splitlines()[-1]
    else:
        line = f"`{result.result}`"
    return line.replace("|", "\\|")


@contextlib.contextmanager
def given(variable):
    """What is started meanwhile has the variable in its environment."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(variable, "something")
        yield


@pytest.fixture(scope="module")
def blocks(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fidelity")
    (folder / "data.csv").write_text("a,b\n")
    config = {"records": False, "profiles": {"notebook": {"disk": "50M"}}}
    made = {}
    with given("API_KEY"), petri.Session(config=config, folder=folder) as session:
        for name, rows in ROWS.items():
            table = "| action | what you see | what to do |\n| --- | --- | --- |\n"
            for what, cells, way_out in rows:
                for code in cells:
                    result = session.run(code)
                table += f"| {what} | {seen(result)} | {way_out} |\n"
            made[name] = table
    assert (folder / "data.csv").read_text() == "a,b\n"
    return made


@pytest.mark.parametrize("name", ROWS)
def test_the_page_says_what_is_seen(blocks, name):
    assert names(PAGE) == [*ROWS]
    settle(PAGE, name, blocks[name])
