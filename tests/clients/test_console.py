"""jupyter_console in a pseudo-terminal: what somebody types, and what the terminal shows."""

import os
import re
import sys

import pexpect
import pytest

from kernels import STUCK_S

COLOUR = r"\x1b\[[0-9;]*m"
ENTER = "\r"
END = 3 * ENTER  # of code, by the console's own rules: an empty line
CONTROL_C = "\x03"
CONTROL_D = "\x04"
UP = "\x1b[A"


class Console:
    """A running jupyter console, which asks the kernel what is complete, or goes by rules of its own."""

    def __init__(self, petri, folder, asks):
        env = {**petri.whole_env, "TERM": "xterm-256color", "PROMPT_TOOLKIT_NO_CPR": "1", "COLUMNS": "100"}
        arguments = ["-m", "jupyter_console", "--kernel", "petri", "--ZMQTerminalInteractiveShell.simple_prompt=False"]
        # After a second it would go by rules of its own, for which one line is never complete.
        arguments += [f"--ZMQTerminalInteractiveShell.kernel_is_complete_timeout={STUCK_S}"]
        arguments += [f"--ZMQTerminalInteractiveShell.use_kernel_is_complete={asks}"]
        self.process = pexpect.spawn(
            sys.executable, arguments, env=env, cwd=folder, timeout=STUCK_S, dimensions=(40, 100), encoding="utf-8"
        )
        self.log = open(os.path.join(folder, "console.log"), "w", encoding="utf-8")  # noqa: SIM115
        self.process.logfile_read = self.log

    def prompt(self, number):
        """Waits for In [number]."""
        self.process.expect(rf"In \[({COLOUR})*{number}({COLOUR})*\]: ")

    def type(self, text):
        self.process.send(text)

    def shows(self, text):
        """Waits for text, which the terminal may show with colours between its words."""
        self.process.expect(rf"({COLOUR}|\s)*".join(map(re.escape, text.split())))

    def ends(self):
        """Waits for its end, which has to be a good one."""
        self.process.expect(pexpect.EOF)
        self.process.wait()
        assert self.process.exitstatus == 0

    def close(self):
        self.process.close(force=True)
        self.log.close()


# The console takes any "idle" for the end of its cell, also that of the question before whether the code is complete, if the
# cell's "busy" comes 50 ms later than that, as on a busy machine: then it looks for no question, and shows no output before
# its next turn. So most tests have it ask nothing before.
@pytest.fixture
def console(petri, tmp_path):
    console = Console(petri, str(tmp_path), asks=False)
    console.prompt(1)
    yield console
    console.close()


@pytest.fixture
def asking_console(petri, tmp_path):
    console = Console(petri, str(tmp_path), asks=True)
    console.prompt(1)
    yield console
    console.close()


def test_line_is_run_and_its_value_shown(console):
    console.type("20 + 22" + END)
    console.shows("42")
    console.prompt(2)


def test_incomplete_code_gets_another_line_and_complete_code_does_not(asking_console):
    asking_console.type("for n in range(3):" + ENTER)
    asking_console.shows("...:")
    asking_console.type("print('line', 10 + n)" + ENTER)
    asking_console.shows("...:")
    asking_console.type(ENTER + ENTER)  # the second one shows what is left to show
    asking_console.shows("line 12")
    asking_console.type("print('the' + ' end')" + ENTER + ENTER)
    asking_console.shows("the end")


def test_history_brings_back_what_was_typed(console):
    console.type("first = 'history ' + 'works'" + END)
    console.prompt(2)
    console.type("print(first.upper())" + END)
    console.shows("HISTORY WORKS")
    console.prompt(3)
    console.type(UP)
    console.shows("first.upper()")
    console.type(END)
    console.shows("HISTORY WORKS")
    console.prompt(4)


def test_interrupt_ends_the_running_cell(console):
    console.type("import time; print('on' + 'ward'); time.sleep(3000)" + END)
    console.shows("onward")
    console.type(CONTROL_C)
    console.shows("KeyboardInterrupt")
    console.prompt(2)
    console.type("20 + 22" + END)
    console.shows("42")
    console.prompt(3)


def test_question_is_asked_on_the_terminal(console):
    console.type("input('na' + 'me? ')" + END)
    console.shows("name?")
    console.type("petri" + ENTER)
    console.shows("'petri'")
    console.prompt(2)


def test_exit_ends_console_and_kernel(asking_console):
    asking_console.type("exit" + ENTER)
    asking_console.ends()


def test_end_of_input_asks_and_ends(console):
    console.type(CONTROL_D)
    console.shows("Do you really want to exit")
    console.type("y" + ENTER)
    console.ends()
