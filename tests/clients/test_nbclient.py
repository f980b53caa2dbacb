"""
nbclient on cells with every kind of output: what comes back is what ipykernel
gives for the same cells.
"""

import re

import nbclient
import nbformat
import pytest

from kernels import STUCK_S

pytestmark = pytest.mark.xdist_group("nbclient")  # one process: both kernels have executed the notebook once

DISPLAY = "from IPython.display import *\n"
PNG = "__import__('base64').b64decode('iVBORw0KGgo=')"

CELLS = {
    "stdout": "print('one'); print('two', end='')",
    "stderr": "import sys\nprint('to stderr', file=sys.stderr)",
    "both streams": "import sys\nprint('a'); print('b', file=sys.stderr); print('c')",
    "child process": "!echo from a child",
    "result": "6 * 7",
    "html": DISPLAY + "display(HTML('<b>bold</b>'))",
    "svg": DISPLAY + "display(SVG('<svg xmlns=\"http://www.w3.org/2000/svg\"><circle r=\"4\"/></svg>'))",
    "png": DISPLAY + f"display(Image({PNG}, format='png', width=7))",
    "jpeg": DISPLAY + "display(Image(b'\\xff\\xd8\\xff', format='jpeg'))",
    "json": DISPLAY + "display(JSON({'a': [1, 2, {'b': None}]}, expanded=True))",
    "geojson": DISPLAY + "display(GeoJSON({'type': 'Point', 'coordinates': [1, 2]}))",
    "latex": DISPLAY + "display(Latex('$x^2$'), Math('x^2'))",
    "markdown": DISPLAY + "display(Markdown('*text*'))",
    "javascript": DISPLAY + "display(Javascript('element.text(1)'))",
    "audio": DISPLAY + "display(Audio(data=b'RIFF', rate=8000, embed=True))",
    "raw bundle": DISPLAY + "display({'text/plain': 'x', 'application/x.petri+json': {'n': 1}}, raw=True)",
    "metadata": DISPLAY + "display({'text/html': 'x'}, raw=True, metadata={'text/html': {'isolated': True}})",
    "update": DISPLAY + "handle = display('first', display_id='d')\nhandle.update(HTML('<i>second</i>'))",
    "update from another cell": "handle.update('third')",
    "clear": DISPLAY + "print('gone')\nclear_output()\nprint('left')",
    "clear and wait": DISPLAY + "print('gone')\nclear_output(wait=True)\nprint('left')",
    "error": "def divide(a, b):\n    return a / b\n\ndivide(1, 0)",
    "syntax error": "print('a'",
    "indentation error": "if True:\nprint(1)",
    "display that fails": "class Bad:\n    def __repr__(self):\n        raise ValueError('no text')\n\nBad()",
    "exit status": "!exit 3\n_exit_code",
    "magic": "%%capture seen\nprint('captured')",
    "captured": "seen.stdout",
    "usage error": "%no_such_magic",
    "pandas": "import pandas as pd\npd.DataFrame({'a': [1, 2]})",
    "styled": "pd.DataFrame({'a': [1]}).style.set_uuid('u')",
    "figure": "import matplotlib.pyplot as plt\nplt.figure(figsize=(1, 1)); plt.plot([1, 2]);",
    "tqdm": "from tqdm import tqdm\nfor n in tqdm(range(3), bar_format='{n}/{total}', mininterval=1000): pass",
    "rich": "from rich import print as show\nshow('[bold]text[/bold]')",
    "plotly": "import plotly.graph_objects as go\ngo.Figure(go.Bar(y=[1, 2]), layout={'template': 'none'})",
    "altair": "import altair as alt\nalt.Chart(pd.DataFrame({'x': [1]})).mark_bar().encode(x='x:Q')",
    "await": "import asyncio\nawait asyncio.sleep(0, 'awaited')",
    "widgets": "import ipywidgets\nslider = ipywidgets.IntSlider(value=3)\ndisplay(slider)",
    "output widget": "out = ipywidgets.Output()\nwith out:\n    print('inside')\nout",
    "output widget's content": "out.outputs",
    "notebook progress": "from tqdm.notebook import tqdm as bar\nfor n in bar(range(2)): pass",
}

# What differs from run to run, or says which kernel it is, is not compared.
UNEQUAL = [
    (re.compile(r"0x[0-9a-f]+"), "0x"),
    (re.compile(r"\b[0-9a-f]{32}\b"), "ID"),
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "UUID"),
    (re.compile(r"\d+:\d+<\d+:\d+, [ \d.]+it/s|\d+:\d+<\?, \?it/s"), "RATE"),
    (re.compile(r"\x1b\[[0-9;]*m"), ""),
    (re.compile(r"\((<ipython-input-[^>]*>|\d+\.py), line"), "(CELL, line"),
    (re.compile(r"\r\n"), "\n"),  # ipykernel gives children a terminal
]

DIFFERENCES = {
    "usage error": "A client waits for an error output where the reply says error; ipykernel prints to stderr instead.",
}


def arrows(traceback):
    """
    What matters of a traceback: where it points, and the error. How much source is shown around that, and with which
    colours, depends on which of its two ways IPython goes.
    """
    lines = equalised("\n".join(traceback)).strip().splitlines()
    return [" ".join(line.split()) for line in lines if line.startswith("---->")] + lines[-1:]


def equalised(value):
    """A copy without what differs from run to run."""
    if isinstance(value, dict):
        return {key: equalised(item) for key, item in value.items()}
    if isinstance(value, list):
        return [equalised(item) for item in value]
    if isinstance(value, str):
        for pattern, name in UNEQUAL:
            value = pattern.sub(name, value)
    return value


def joined(outputs):
    """
    Outputs with all text of a stream as one, and of errors what matters. petri keeps the order between stdout and
    stderr, ipykernel gathers each for a fifth of a second.
    """
    whole, streams = [], {}
    for output in map(dict, outputs):
        if output["output_type"] == "error":
            output["traceback"] = arrows(output["traceback"])
        if output.get("name") in streams:
            streams[output["name"]]["text"] += output["text"]
            continue
        if output["output_type"] == "stream":
            streams[output["name"]] = output
        whole.append(output)
    return whole


def execute(jupyter, folder):
    """{name: outputs} of CELLS, and the notebook's widgets."""
    notebook = nbformat.v4.new_notebook()
    notebook.cells = [nbformat.v4.new_code_cell(source) for source in CELLS.values()]
    with pytest.MonkeyPatch.context() as patch:
        for name, value in jupyter.env.items():
            patch.setenv(name, value)
        nbclient.NotebookClient(
            notebook,
            kernel_name="python3",
            allow_errors=True,
            timeout=int(STUCK_S),
            iopub_timeout=int(STUCK_S),
            resources={"metadata": {"path": str(folder)}},
        ).execute()
    cells = {name: equalised(joined(cell.outputs)) for name, cell in zip(CELLS, notebook.cells, strict=True)}
    widgets = notebook.metadata.get("widgets", {}).get("application/vnd.jupyter.widget-state+json", {})
    return cells, sorted(model["model_name"] for model in widgets.get("state", {}).values())


@pytest.fixture(scope="module")
def ours(petri, tmp_path_factory):
    return execute(petri, tmp_path_factory.mktemp("notebook"))


@pytest.fixture(scope="module")
def theirs(ipykernel, tmp_path_factory):
    return execute(ipykernel, tmp_path_factory.mktemp("notebook"))


@pytest.mark.parametrize("name", CELLS)
def test_outputs_are_those_of_ipykernel(name, ours, theirs):
    if name in DIFFERENCES:
        assert ours[0][name] != theirs[0][name], "these are equal now: the row can go"
    else:
        assert ours[0][name] == theirs[0][name]


def test_widgets_are_those_of_ipykernel(ours, theirs):
    assert ours[1] == theirs[1]
    assert "IntSliderModel" in ours[1]
