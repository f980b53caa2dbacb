"""
What Python does over several cells, beside ipykernel: `‖` begins the next cell.

Most rows run with both kernels, which give the same values.
"""

import json
import sys

import pytest

from conftest import shared_kernel as kernel  # noqa: F401
from kernels import Kernel

pytestmark = pytest.mark.xdist_group("fidelity-python")  # one process: both kernels are there once

ARGV = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]


@pytest.fixture(scope="module")
def ipykernel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ipykernel")
    (folder / "python3").mkdir()
    spec = {"argv": ARGV, "display_name": "ipykernel", "language": "python"}
    (folder / "python3" / "kernel.json").write_text(json.dumps(spec))
    kernel = Kernel(folder, tmp_path_factory.mktemp("beside"), name="python3")
    yield kernel.wait_until_up()
    kernel.close()


def run_all(kernel, cells):
    """Runs the cells, whatever comes of them; returns the last one's Cell."""
    for code in cells.split("‖"):
        cell = kernel.run(code.strip("\n"))
    return cell


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
    cell = run_all(kernel, cells)
    assert (cell.ok, cell.result) == (True, run_all(ipykernel, cells).result)


def test_context_variable_of_a_cell_that_awaits_goes_on(kernel):
    """Beyond ipykernel, where such a cell has a copy."""
    assert run_all(kernel, f"import asyncio\n{SET}\nawait asyncio.sleep(0)\n‖seen.get()").result == "1"


@pytest.mark.parametrize("last", ["", "await asyncio.sleep(0)\n"], ids=["plain", "awaits"])
def test_context_variable_of_a_rolled_back_cell_is_gone(kernel, last):
    kernel.good(f"import asyncio, decimal, os\n{SET}\ndecimal.getcontext().prec = 5")
    cell = kernel.run(f"seen.set('undone'); decimal.getcontext().prec = 9\n{last}os._exit(1)")
    assert cell.ename == "CellCrashed"
    assert kernel.value("seen.get(), decimal.getcontext().prec") == "(1, 5)"
