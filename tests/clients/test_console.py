"""jupyter_console in a pseudo-terminal: what somebody types, and what the terminal shows."""

import os
import re
import sys

import pexpect
import pytest

from kernels import STUCK_S

ESCAPE = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07]*\x07|[()][A-Z0-9]|[=>78])")
ENTER = "\r"
CONTROL_C = "\x03"
CONTROL_D = "\x04"
UP = "\x1b[A"


class Console:
    """A running jupyter console."""

    def __init__(self, petri, folder):
        env = {**petri.whole_env, "TERM": "xterm-256color", "PROMPT_TOOLKIT_NO_CPR": "1", "COLUMNS": "100"}
        arguments = ["-m", "jupyter_console", "--kernel", "petri", "--ZMQTerminalInteractiveShell.simple_prompt=False"]
        # After a second it would go by rules of its own, for which one line is never complete.
        arguments += [f"--ZMQTerminalInteractiveShell.kernel_is_complete_timeout={STUCK_S}"]
        self.process = pexpect.spawn(
            sys.executable, arguments, env=env, cwd=folder, timeout=STUCK_S, dimensions=(40, 100), encoding="utf-8"
        )
        self.log = open(os.path.join(folder, "console.log"), "w", encoding="utf-8")  # noqa: SIM115
        self.process.logfile_read = self.log

    def prompt(self, number):
        """Waits for In [number]."""
        self.process.expect(rf"In \[.*?{number}.*?\]: ")

    def type(self, text):
        self.process.send(text)

    def shows(self, text):
        """Waits for text, which the terminal may show with colours between its words."""
        self.process.expect(r"(\x1b\[[0-9;]*m|\s)*".join(map(re.escape, text.split())))

    def ends(self):
        """Waits for its end, which has to be a good one."""
        self.process.expect(pexpect.EOF)
        self.process.wait()
        assert self.process.exitstatus == 0

    def close(self):
        self.process.close(force=True)
        self.log.close()


@pytest.fixture
def console(petri, tmp_path):
    console = Console(petri, str(tmp_path))
    console.prompt(1)
    yield console
    console.close()


def test_line_is_run_and_its_value_shown(console):
    console.type("20 + 22" + ENTER)
    console.shows("42")
    console.prompt(2)


def test_incomplete_code_gets_another_line(console):
    console.type("for n in range(3):" + ENTER)
    console.shows("...:")
    console.type("print('line', 10 + n)" + ENTER)
    console.shows("...:")
    console.type(ENTER)
    console.shows("line 12")
    console.prompt(2)


def test_history_brings_back_what_was_typed(console):
    console.type("first = 'history ' + 'works'" + ENTER)
    console.prompt(2)
    console.type("print(first.upper())" + ENTER)
    console.shows("HISTORY WORKS")
    console.prompt(3)
    console.type(UP)
    console.shows("first.upper()")
    console.type(ENTER)
    console.shows("HISTORY WORKS")
    console.prompt(4)


def test_interrupt_ends_the_running_cell(console):
    console.type("import time; print('on' + 'ward'); time.sleep(3000)" + ENTER)
    console.shows("onward")
    console.type(CONTROL_C)
    console.shows("KeyboardInterrupt")
    console.prompt(2)
    console.type("20 + 22" + ENTER)
    console.shows("42")
    console.prompt(3)


def test_question_is_asked_on_the_terminal(console):
    console.type("input('na' + 'me? ')" + ENTER)
    console.shows("name?")
    console.type("petri" + ENTER)
    console.shows("'petri'")
    console.prompt(2)


def test_exit_ends_console_and_kernel(console):
    console.type("exit" + ENTER)
    console.ends()


def test_end_of_input_asks_and_ends(console):
    console.type(CONTROL_D)
    console.shows("Do you really want to exit")
    console.type("y" + ENTER)
    console.ends()
