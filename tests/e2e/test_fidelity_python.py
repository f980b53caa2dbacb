"""
What Python does over several cells, beside ipykernel: `‖` begins the next cell.

Most rows run with both kernels, which give the same values.
"""

import pytest

from beside import run_all
from conftest import shared_kernel as kernel  # noqa: F401

pytestmark = pytest.mark.xdist_group("fidelity-python")  # one process: both kernels are there once

# Context variables

SET = "import contextvars\nseen = contextvars.ContextVar('seen', default=0)\nseen.set(1)"
CONTEXTS = {
    "a variable, before asyncio": f"{SET}\n‖seen.get()",
    "a variable, with asyncio": f"import asyncio\n{SET}\n‖seen.get()",
    "a variable, in a cell that fails": f"import asyncio\n{SET}\n1 / 0\n‖seen.get()",
    "a variable, read by a cell that awaits": f"import asyncio\n{SET}\n‖await asyncio.sleep(0, seen.get())",
    "a token": f"{SET}\ntoken = seen.set(2)\n‖seen.reset(token)\n‖seen.get()",
    "a variable, set by a task": f"{SET}\nimport asyncio\nasync def f(): seen.set(5)\n‖t = asyncio.create_task(f())\n"
    "‖await t\n‖seen.get()",
    "decimal": "import asyncio, decimal\ndecimal.getcontext().prec = 5\n‖str(decimal.Decimal(1) / 3)",
    "decimal, a context of its own": "import asyncio, decimal\ndecimal.setcontext(decimal.Context(prec=7))\n‖"
    "str(decimal.Decimal(1) / 3)",
    "numpy's errstate": "import asyncio, numpy\nbefore = numpy.seterr(divide='raise')\n‖numpy.geterr()['divide']",
    "numpy's printoptions": "import asyncio, numpy\nnumpy.set_printoptions(precision=2)\n‖numpy.array([1 / 3])",
    "a hook": f"{SET}\nimport asyncio\ndef hook(*_): seen.set(7); events.unregister('post_run_cell', hook)\n"
    "events = get_ipython().events\nevents.register('post_run_cell', hook)\n‖seen.get()",
}


@pytest.mark.parametrize("cells", CONTEXTS.values(), ids=CONTEXTS)
def test_context_variables_go_on_as_in_ipykernel(kernel, ipykernel, cells):
    cell, other = run_all(kernel, cells)[-1], run_all(ipykernel, cells)[-1]
    assert (cell.ok, cell.result) == (True, other.result)


def test_context_variable_of_a_cell_that_awaits_goes_on(kernel):
    """Beyond ipykernel, where such a cell has a copy."""
    assert run_all(kernel, f"import asyncio\n{SET}\nawait asyncio.sleep(0)\n‖seen.get()")[-1].result == "1"


@pytest.mark.parametrize("last", ["", "await asyncio.sleep(0)\n"], ids=["plain", "awaits"])
def test_context_variable_of_a_rolled_back_cell_is_gone(kernel, last):
    kernel.good(f"import asyncio, decimal, os\n{SET}\ndecimal.getcontext().prec = 5")
    cell = kernel.run(f"seen.set('undone'); decimal.getcontext().prec = 9\n{last}os._exit(1)")
    assert cell.ename == "CellCrashed"
    assert kernel.value("seen.get(), decimal.getcontext().prec") == "(1, 5)"


# What notebooks look at

SHOWN = {
    "the status of a script": "%%bash\nexit 3",
    "a request's header": "get_ipython().parent_header['msg_type']",
    "a display by hand": "ip = get_ipython()\nip.kernel.session.send(ip.kernel.iopub_socket, 'display_data', "
    "{'data': {'text/plain': 'x'}, 'metadata': {}}, parent=ip.parent_header)['content']['data']",
    "the encoding of streams": "import sys\nsys.stdout.encoding, sys.stderr.encoding",
    "the trait of a notebook": "get_ipython().has_trait('kernel')",
    "figures by comms": "%matplotlib notebook\n‖import matplotlib\nmatplotlib.get_backend()\n‖%matplotlib inline",
    "a magic that fails": "%config InteractiveShell.cache_size",
}


@pytest.mark.parametrize("cells", SHOWN.values(), ids=SHOWN)
def test_what_a_cell_shows_is_what_ipykernel_shows(kernel, ipykernel, cells):
    cell, other = run_all(kernel, cells)[-1], run_all(ipykernel, cells)[-1]
    assert (cell.result, cell.ename, cell.reply.get("evalue")) == (other.result, other.ename, other.reply.get("evalue"))
    assert "petri_worker" not in str(cell)


# Commands

COMMANDS = {
    "braces": "!echo {1..3}",
    "braces, kept": "x = !echo {1..3}\nprint(x)",
    "source": "open('vars.sh', 'w').write('v=7')\n‖!source ./vars.sh; echo $v",
    "process substitution": "!cat <(echo a) <(echo b)",
    "arrays": "!a=(1 2 3); echo ${a[1]}",
    "order": "print('first')\n!echo second; echo third >&2\nprint('fourth')",
    "captured": "%%capture got\n!echo out; echo err >&2\n‖print((got.stdout.replace('\\r', ''), got.stderr))",
    "captured by contextlib": "import contextlib, io\nwith contextlib.redirect_stdout(io.StringIO()) as s:\n"
    "    get_ipython().system('echo hidden')\n‖print(s.getvalue().split())",
    "a script, captured": "%%capture got\n%%bash\necho out\necho err >&2\n‖print((got.stdout, got.stderr))",
    "a status": "!exit 3\n‖print(_exit_code)",
    "a signal": "!kill -9 $$\n‖print(_exit_code)",
    "the status of a signal": "!exit 137\n‖print(_exit_code)",
    "a variable of the cell": "word = 'hi there'\n!echo $word {word.upper()}",
    "no UTF-8": "!printf 'a\\377b\\n'",
    "a child that stays": "!(sleep 60 &) ; echo over",
    "the shell": "import os; print(os.environ['SHELL'])",
}


@pytest.mark.parametrize("cells", COMMANDS.values(), ids=COMMANDS)
def test_commands_do_what_they_do_in_ipykernel(kernel, ipykernel, cells):
    """There by a pseudo-terminal, which ends lines with \\r\\n."""
    cell, other = run_all(kernel, cells)[-1], run_all(ipykernel, cells)[-1]
    assert (cell.ok, cell.stdout) == (True, other.stdout.replace("\r\n", "\n"))


def test_command_that_writes_a_character_in_pieces(kernel):
    """ipykernel breaks it."""
    assert kernel.run("!printf '\\303'; sleep 0.1; printf '\\244\\n'").stdout == "ä\n"
