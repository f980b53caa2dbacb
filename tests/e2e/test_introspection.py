"""Completion, inspection and is_complete beside a cell: code that they run can spoil their own answer only."""

import os
import time

import pytest

from kernels import STUCK_S, wait_for
from processes import family, name_of, open_all, wait_for_end

# An object whose attributes are looked for by completion; {body} is what looking for them does.
TRAP = """
import os, subprocess, sys, threading
class Trap:
    beside = False
    def __dir__(self):
        {body}
        return ["looked_at"]
trap = Trap()
kept = ["as it was"]
"""

PRINTS = """
        print("printed aside")
        sys.stderr.write("printed aside")
        os.write(1, b"written aside")
        subprocess.run(["echo", "echoed aside"])
        os.write(os.dup(1), b"duplicated aside")
"""

LOOKS_UP = """
        import socket
        try:
            socket.getaddrinfo("example.org", 80)
        except socket.gaierror as error:
            return ["no_such_name" if error.errno == socket.EAI_NONAME else "nobody_answered"]
"""

HARM = {
    "loops": "while True: pass",
    "allocates": "kept.append(bytearray(os.urandom(1 << 20) * 1024))",
    "forks": "while True: os.fork()",
    "kills": "os.kill(os.getpid(), 9)",
    "kills_all": "os.kill(-1, 9)",
    "exits": "os._exit(0)",
    "closes": "os.closerange(0, 1000)",
}
# What ends in an error there, or may: where nobody has measured by then, Linux refuses that much memory.
# Names are found without asking the object.
ERRORS = {"allocates", "forks", "kills_all"}


def complete(kernel, code):
    return kernel.shell_reply(kernel.client.complete(code))["content"]


def ask(kernel, code):
    """Starts a cell that waits for an answer; returns its request."""
    request = kernel.send(code, allow_stdin=True)
    kernel.client.get_stdin_msg(timeout=STUCK_S)
    return request


def test_output_of_a_completion_is_in_no_later_cell(kernel):
    assert kernel.run(TRAP.format(body=PRINTS)).ok
    assert kernel.matches("trap."), "the trap was not looked at"
    cell = kernel.run("print('printed here')")
    assert (cell.stdout, cell.stderr) == ("printed here\n", "")


@pytest.mark.check
def test_output_of_a_completion_is_not_in_the_running_cell(kernel):
    body = PRINTS + "\n        os.write(other, b'written to another')"
    assert kernel.run("import os\nother = os.dup(1)\n" + TRAP.format(body=body)).ok
    request = ask(kernel, "input()\nprint('printed here')")
    assert kernel.matches("trap."), "the trap was not looked at"
    kernel.client.input("")
    cell = kernel.finish(request)
    assert (cell.stdout, cell.stderr) == ("printed here\n", "")


def test_name_that_a_completion_looks_up_is_answered(kernel):
    assert kernel.run(TRAP.format(body=LOOKS_UP)).ok
    assert [match.lstrip(".") for match in kernel.matches("trap.n")] == ["no_such_name"]


@pytest.mark.parametrize("name", HARM)
def test_harmful_completion_loses_only_its_own_answer(venv_kernel, name):
    kernel = venv_kernel
    assert kernel.run(TRAP.format(body=HARM[name])).ok
    request = ask(kernel, "value = input()\nkept, value")
    reply = complete(kernel, "trap.")
    assert reply["status"] == "ok"
    assert not any("looked_at" in match for match in reply["matches"])
    if name not in ERRORS:
        assert (reply["matches"], reply["cursor_start"], reply["cursor_end"]) == ([], 5, 5)
    assert "kept" in kernel.matches("kep")
    kernel.client.input("answered")
    cell = kernel.finish(request)
    assert cell.ok, str(cell)
    assert cell.result == "(['as it was'], 'answered')"


ENDLESS = """
import time
class Loops:
    def __dir__(self):
        while True: pass
    __repr__ = __dir__
class Sleeps:
    def __dir__(self): time.sleep(10_000)
    __repr__ = __dir__
class Spins:
    @property
    def part(self):
        while True: pass
loops, sleeps, spins, kept = Loops(), Sleeps(), Spins(), 1
"""


def test_completions_without_an_end_keep_no_other_waiting(venv_kernel):
    kernel = venv_kernel
    assert kernel.run(ENDLESS).ok
    endless = []

    def ask_behind_them():
        endless.extend(kernel.client.complete(code) for code in ("loops.", "sleeps.") * 2)
        endless.extend(kernel.client.inspect(code) for code in ("loops", "sleeps") * 2)
        return kernel.client.complete("kep")

    assert "kept" in kernel.known(ask_behind_them, matches=[])["matches"]
    for one in endless:
        content = kernel.shell_reply(one)["content"]
        assert content["status"] == "ok" and not content.get("matches") and not content.get("found")


@pytest.mark.parametrize("code", ["loops.", "sleeps.", "spins.part.", "spins.par"])
def test_first_completion_without_an_end_has_no_matches(start, code):
    kernel = start()
    assert kernel.run(ENDLESS).ok
    assert complete(kernel, code) == {
        "status": "ok",
        "matches": [],
        "cursor_start": len(code),
        "cursor_end": len(code),
        "metadata": {},
    }
    assert "kept" in kernel.matches("kep")


def test_first_inspection_without_an_end_finds_nothing(start):
    kernel = start()
    assert kernel.run(ENDLESS).ok
    content = kernel.shell_reply(kernel.client.inspect("loops"))["content"]
    assert (content["status"], content["found"]) == ("ok", False)
    assert kernel.run("kept").result == "1"


def test_completion_that_the_next_one_overtakes_is_answered_first(venv_kernel):
    kernel = venv_kernel
    assert kernel.run(ENDLESS).ok

    def last_of_three():
        requests = [kernel.client.complete(code) for code in ("loops.", "sleeps.", "kep")]
        replies = [kernel.client.get_shell_msg(timeout=STUCK_S) for _ in requests]
        assert [reply["parent_header"]["msg_id"] for reply in replies] == requests
        *overtaken, last = [reply["content"]["matches"] for reply in replies]
        assert overtaken == [[], []]
        return last  # nothing, where the kernel had no time

    assert wait_for(last_of_three) == ["kept"]


# Says what it sees of other completions, and when its process was born.
AGED = """
class Aged:
    def __dir__(self):
        kept.append(1)
        open("left", "a").write("x")
        born = open("/proc/self/stat").read().rpartition(")")[2].split()[19]
        return [f"looked_at_{len(kept)}_{len(open('left').read())}_{born}"]
aged, kept = Aged(), []
"""


def be_idle():
    """For so long that a cell is made ahead for the next completion, where the machine is not too busy."""
    time.sleep(0.3)


def complete_in_a_cell_made_ahead(kernel):
    """Completes until that happened in a process that is older than the request; returns what each one has seen."""
    ticks, deadline, seen = os.sysconf("SC_CLK_TCK"), time.monotonic() + STUCK_S, set()
    while time.monotonic() < deadline:
        be_idle()
        asked = time.clock_gettime(time.CLOCK_BOOTTIME)
        (match,) = kernel.matches("aged.looked")
        what, _, born = match.lstrip(".").rpartition("_")
        seen.add(what)
        if int(born) / ticks < asked - 2 / ticks:
            return seen
    raise AssertionError("no cell was made ahead")


def test_completion_in_a_cell_made_ahead_changes_nothing(venv_kernel):
    kernel = venv_kernel
    assert kernel.run(AGED).ok
    for _ in range(2):
        assert complete_in_a_cell_made_ahead(kernel) == {"looked_at_1_1"}
    assert kernel.run("import os\nkept, os.path.exists('left')").result == "([], False)"


def test_completion_collects_no_garbage_and_cells_do(venv_kernel):
    """To collect it writes to each object, which then is copied for nothing."""
    venv_kernel.good(TRAP.format(body='import gc; return [f"collects_{gc.isenabled()}"]'))
    assert venv_kernel.matches("trap.") == ["collects_False"]
    assert venv_kernel.value("__import__('gc').isenabled()") == "True"


def test_completion_sees_what_the_last_cell_has_set(venv_kernel):
    kernel = venv_kernel
    assert kernel.run("value = 'text'").ok
    for name, code in (("upper", "value = 'text'"), ("items", "value = {}"), ("upper", "value = 'more'")):
        assert kernel.matches("value.")
        be_idle()
        assert kernel.run(code).ok
        matches = {match.lstrip(".") for match in kernel.matches("value.")}
        assert {"upper", "items"} & matches == {name}


def test_processes_that_a_completion_started_are_ended(venv_kernel):
    kernel = venv_kernel
    assert kernel.run(TRAP.format(body="subprocess.Popen(['sleep', '9999'])")).ok
    request = ask(kernel, "input()")
    for _ in range(5):
        assert kernel.matches("trap."), "the trap was not looked at"
    kernel.client.input("")
    assert kernel.finish(request).ok
    sleepers = [pid for pid in family(kernel.pid) if name_of(pid) == "sleep"]
    assert wait_for_end(open_all(sleepers), STUCK_S) == 0


def test_inspect_and_is_complete_are_answered_beside_a_cell(kernel):
    assert kernel.run(TRAP.format(body="pass") + "trap.__class__.__doc__ = 'What it is.'").ok
    request = ask(kernel, "input()")
    inspected = kernel.inspected("trap", 4)
    assert inspected["found"] and "What it is." in inspected["data"]["text/plain"]
    assert kernel.is_complete("if 1:") == "incomplete"
    kernel.client.input("")
    assert kernel.finish(request).ok


def test_first_completion_before_jedi_finds_names_of_the_session(start):
    """Before jedi is loaded, which takes seconds: names are those of the session."""

    def first_matches():
        kernel = start()
        assert kernel.run("kept = 1").ok
        matches = complete(kernel, "kep")["matches"]
        kernel.close()
        return matches  # nothing, where the kernel had no time

    assert "kept" in wait_for(first_matches)
