"""A process that a cell forks ends as one that a script forks: with its error on stderr, and with its status."""

import re
import subprocess

import pytest

from kernel_side import interpreters

# How the child ends.
ENDS = {
    "nothing": "pass",
    "an output": "print('from the child')",
    "an error": "raise ValueError('lost')",
    "an error of an error": "try: 1 / 0\n    except ZeroDivisionError: raise KeyError('second')",
    "an error in a function": "int('x')",
    "a syntax error": "exec('1 +')",
    "a group": "raise ExceptionGroup('both', [ValueError(1), TypeError(2)])",
    "an error without a text": "raise ValueError",
    "exit": "sys.exit()",
    "exit 0": "sys.exit(0)",
    "exit 4": "sys.exit(4)",
    "exit -1": "sys.exit(-1)",
    "exit 256": "sys.exit(256)",
    "exit with True": "sys.exit(True)",
    "exit with a text": "sys.exit('that was all')",
    "exit with a list": "sys.exit([1, 2])",
    "exit in a function": "(lambda: sys.exit(5))()",
    "raise SystemExit": "raise SystemExit(6)",
    "exit inside try": "try: sys.exit(7)\n    except Exception: pass",
    "exit while an error is handled": "try: 1 / 0\n    except ZeroDivisionError: sys.exit(8)",
    "KeyboardInterrupt": "raise KeyboardInterrupt",
    "SIGINT": "os.kill(os.getpid(), signal.SIGINT)\n    while True: pass",
    "os._exit": "os._exit(9)",
    "SIGTERM": "os.kill(os.getpid(), signal.SIGTERM)\n    while True: pass",
    "stderr": "print('words', file=sys.stderr); sys.exit(3)",
}

IMPORTS = "import os, signal, sys, threading\n"
WAIT = "print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))"

# Where it is forked. What a program that a terminal has been given to writes is read by its parent.
WAYS = {
    "os.fork": f"pid = os.fork()\nif pid == 0:\n    {{end}}\nelse:\n    {WAIT}",
    "os.fork in a function": f"def work():\n    {{end}}\npid = os.fork()\nif pid == 0:\n    work()\nelse:\n    {WAIT}",
    "os.fork, the end comes later": f"pid = os.fork()\nif pid == 0:\n    {{end}}\nif pid:\n    {WAIT}",
    "os.fork in a thread": (
        "def work():\n    global pid\n    pid = os.fork()\n    if pid: return\n    {end}\n"
        f"one = threading.Thread(target=work)\none.start(); one.join()\n{WAIT}"
    ),
    "os.forkpty": (
        "pid, terminal = os.forkpty()\nif pid == 0:\n    {end}\n"
        "text = b''\n"
        "try:\n    while piece := os.read(terminal, 1000): text += piece\nexcept OSError: pass\n"
        f"print(text.decode().replace('\\r', ''), file=sys.stderr)\n{WAIT}"
    ),
    "Process": (
        "import multiprocessing\ndef work():\n    {end}\n"
        "one = multiprocessing.get_context('fork').Process(target=work)\none.start(); one.join()\nprint(one.exitcode)"
    ),
}


def last_line(text):
    """Of what is written, without colours, and without what IPython writes behind the name of an error without a text."""
    lines = re.sub(r"\x1b\[[0-9;]*m", "", text).strip().splitlines()
    return lines[-1].rstrip(": ") if lines else ""


def of_script(python, code):
    # Whoever starts the tests in the background of a shell has SIGINT ignored, and so has a script.
    code = f"import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n{code}"
    found = subprocess.run([python, "-S", "-c", code], capture_output=True, text=True, timeout=60)
    assert found.returncode == 0, found.stderr
    return found


@pytest.mark.parametrize("way", WAYS)
def test_forked_child_ends_as_that_of_a_script(worker, label, way):
    python = interpreters()[label]
    differences = []
    for name, end in [*ENDS.items()][:: 1 if way == "os.fork" else 3]:  # each takes a script of its own
        code = IMPORTS + WAYS[way].replace("{end}", end)
        expected = of_script(python, code)
        answer = worker.execute(code)
        assert answer.reply["status"] == "ok", (name, answer.reply)
        found = (answer.stdout, last_line(answer.stderr))
        wanted = (expected.stdout, last_line(expected.stderr))
        differences += [(name, found, wanted)] if found != wanted else []
    assert differences == []


def test_forked_child_of_a_thread_of_an_earlier_cell_writes_its_error(worker):
    code = (
        "import os, threading\n"
        "go = threading.Event()\n"
        "def work():\n"
        "    global pid\n"
        "    go.wait(); pid = os.fork()\n"
        "    if pid == 0: raise ValueError('lost')\n"
        "one = threading.Thread(target=work)\n"
        "one.start()\n"
    )
    worker.execute(code)
    answer = worker.execute("go.set(); one.join(); os.waitpid(pid, 0)[1]")
    assert (answer.result, last_line(answer.stderr)) == ("0", "ValueError: lost")


def test_forked_child_of_an_awaiting_cell_ends_with_its_error(worker):
    code = (
        "import asyncio, os\n"
        "pid = os.fork()\n"
        "await asyncio.sleep(0)\n"
        "if pid == 0: raise ValueError('lost')\n"
        "os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])"
    )
    answer = worker.execute(code)
    assert (answer.result, last_line(answer.stderr)) == ("1", "ValueError: lost")


def test_forked_child_calls_nothing_that_the_parent_calls_after_its_cell(worker):
    code = (
        "import os\n"
        "reader, writer = os.pipe()\n"
        "tell = lambda *arguments: os.write(writer, str(os.getpid()).encode())\n"
        "get_ipython().events.register('post_run_cell', tell)\n"
        "pid = os.fork()\n"
        "if pid == 0: raise ValueError('lost')\n"
        "os.waitpid(pid, 0)[1] >> 8"
    )
    assert worker.execute(code).result == "1"
    code = "get_ipython().events.unregister('post_run_cell', tell)\nos.read(reader, 1000) == str(os.getpid()).encode()"
    assert worker.execute(code).result == "True"


def test_forked_child_writes_an_error_that_the_code_displays_itself(worker):
    worker.execute("get_ipython().set_custom_exc((ValueError,), lambda *arguments, **keywords: display('shown'))")
    code = "import os\npid = os.fork()\nif pid == 0: raise ValueError('lost')\nos.waitpid(pid, 0)[1] >> 8"
    answer = worker.execute(code)
    worker.execute("get_ipython().set_custom_exc((), None)")
    assert (answer.result, last_line(answer.stderr)) == ("1", "ValueError: lost")
