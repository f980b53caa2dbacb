"""What a cell can show, and how it arrives."""

import pytest

from conftest import shared_kernel as kernel  # noqa: F401

pytestmark = pytest.mark.xdist_group("rich_output")  # one process: the kernel is there once


@pytest.mark.parametrize(
    "shown, mime, part",
    [
        ("HTML('<b>x</b>')", "text/html", "<b>x</b>"),
        ("SVG('<svg xmlns=\"http://www.w3.org/2000/svg\"></svg>')", "image/svg+xml", "<svg"),
        ("Image(data=PNG)", "image/png", "iVBOR"),
        ("Image(url='http://example.org/x.png')", "text/html", "<img"),
        ("Audio([0.0, 0.5, -0.5], rate=8000)", "text/html", "<audio"),
        ("Markdown('*x*')", "text/markdown", "*x*"),
        ("Latex('$x$')", "text/latex", "$x$"),
        ("Math('x')", "text/latex", "x"),
        ("Javascript('1')", "application/javascript", "1"),
        ("Pretty('x')", "text/plain", "x"),
        ("IFrame('http://example.org', 10, 10)", "text/html", "<iframe"),
        ("Code('x = 1', language='python')", "text/html", "x"),
        ("ProgressBar(5)", "text/html", "<progress"),
    ],
)
def test_a_display_object_arrives(kernel, shown, mime, part):
    png = "PNG = bytes.fromhex('89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489')"
    imports = "from IPython.display import *\nfrom IPython.display import ProgressBar"
    cell = kernel.good(f"{imports}\n{png}\ndisplay({shown})")
    [content] = cell.of("display_data")
    assert part in content["data"][mime]


@pytest.mark.parametrize(
    "magic, mime",
    [
        ("html", "text/html"),
        ("javascript", "application/javascript"),
        ("latex", "text/latex"),
        ("markdown", "text/markdown"),
        ("svg", "image/svg+xml"),
    ],
)
def test_a_cell_magic_shows_the_cell_as_its_type(kernel, magic, mime):
    [content] = kernel.good(f"%%{magic}\n<svg>shown</svg>").of("display_data")
    assert "<svg>shown</svg>" in content["data"][mime]


def test_json_arrives_as_json(kernel):
    [content] = kernel.good("from IPython.display import JSON\ndisplay(JSON({'a': [1]}))").of("display_data")
    assert content["data"]["application/json"] == {"a": [1]}


def test_a_custom_bundle_arrives_as_it_is(kernel):
    code = "display({'application/x-own+json': {'a': [1, None]}, 'text/plain': 'x'}, metadata={'k': 1}, raw=True)"
    [content] = kernel.good(code).of("display_data")
    assert content["data"] == {"application/x-own+json": {"a": [1, None]}, "text/plain": "x"}
    assert content["metadata"] == {"k": 1}


def test_representations_of_a_user_class_are_all_published(kernel):
    code = (
        "class Own:\n"
        "    def _repr_html_(self): return '<i>own</i>'\n"
        "    def _repr_mimebundle_(self, include=None, exclude=None):\n"
        "        return {'text/x-own': 'own'}, {'text/x-own': {'m': 1}}\n"
        "Own()"
    )
    [content] = kernel.good(code).of("execute_result")
    assert content["data"]["text/html"] == "<i>own</i>"
    assert content["data"]["text/x-own"] == "own"
    assert content["metadata"]["text/x-own"] == {"m": 1}


def test_object_with_ipython_display_shows_itself(kernel):
    cell = kernel.good("class Own:\n    def _ipython_display_(self): print('shown by itself')\nOwn()")
    assert (cell.stdout, cell.of("execute_result")) == ("shown by itself\n", [])


def test_display_update_and_clear_output_are_published(kernel):
    cell = kernel.good(
        "from IPython.display import clear_output, update_display\n"
        "display(1, display_id='one')\nupdate_display(2, display_id='one')\nclear_output()",
    )
    assert [content["data"]["text/plain"] for content in cell.of("update_display_data")] == ["2"]
    assert cell.of("clear_output") == [{"wait": False}]


def test_publisher_hook_sees_messages_and_can_withhold_them(kernel):
    code = (
        "seen = []\n"
        "def hook(message):\n"
        "    seen.append((message['header']['msg_type'], message['content']['data']))\n"
        "    return None if 'text/x-kept' in message['content']['data'] else message\n"
        "publisher = get_ipython().display_pub\n"
        "publisher.register_hook(hook)\n"
        "display({'text/x-kept': '1'}, raw=True)\n"
        "display({'text/x-shown': '2'}, raw=True)\n"
        "print(publisher.unregister_hook(hook), publisher.unregister_hook(hook))\n"
        "display({'text/x-after': '3'}, raw=True)"
    )
    cell = kernel.good(code)
    assert [list(content["data"]) for content in cell.of("display_data")] == [["text/x-shown"], ["text/x-after"]]
    assert cell.stdout == "True False\n"
    assert kernel.good("print([kind for kind, data in seen])").stdout == "['display_data', 'display_data']\n"
    assert kernel.value("[list(data) for kind, data in seen]") == "[['text/x-kept'], ['text/x-shown']]"


def test_matplotlib_inline_shows_a_png(kernel):
    code = "%matplotlib inline\nimport matplotlib.pyplot as plt\nfigure = plt.figure()\nplt.plot([1, 2])"
    assert any("image/png" in content["data"] for content in kernel.good(code).of("display_data"))


def test_a_pandas_table_is_html(kernel):
    [content] = kernel.good("import pandas as pd\npd.DataFrame({'a': [1, 2]})").of("execute_result")
    assert "<table" in content["data"]["text/html"]
    assert "a" in content["data"]["text/plain"]


@pytest.fixture
def needs(kernel, skip_or_fail):
    """What a test calls with the packages that it can't do without."""

    def look(*modules):
        missing = [module for module in modules if not kernel.interpreter.has(module)]
        if missing:
            skip_or_fail(f"the tests' environment has no {', '.join(missing)}")

    return look


def test_tqdm_shows_progress_as_text_and_as_a_widget(kernel, needs):
    needs("tqdm", "ipywidgets")
    cell = kernel.good("from tqdm import tqdm\nfor n in tqdm(range(3)): pass")
    assert "3/3" in cell.stderr and "\r" in cell.stderr
    cell = kernel.good("from tqdm.auto import tqdm\nfor n in tqdm(range(3)): pass")
    assert any("application/vnd.jupyter.widget-view+json" in content["data"] for content in cell.of("display_data"))
    assert any(content["data"].get("state", {}).get("value") == 3 for content in cell.of("comm_msg"))


@pytest.mark.parametrize(
    "module, code, mime",
    [
        (
            "plotly",
            "import plotly.graph_objects as go\ngo.Figure(go.Scatter(y=[1, 2]))",
            "application/vnd.plotly.v1+json",
        ),
        (
            "altair",
            "import altair as alt\nalt.renderers.enable('mimetype')\n"
            "alt.Chart(alt.Data(values=[{'a': 1}])).mark_bar().encode(x='a:Q')",
            "application/vnd.vegalite.v",
        ),
    ],
)
def test_a_chart_arrives_as_its_own_type(kernel, needs, module, code, mime):
    needs(module)
    cell = kernel.good(code)
    shown = cell.of("execute_result") + cell.of("display_data")
    assert any(name.startswith(mime) for content in shown for name in content["data"]), [list(c["data"]) for c in shown]


def test_progress_bar_with_carriage_returns_arrives_unchanged(kernel):
    code = "import sys\nfor n in range(3):\n    sys.stderr.write(f'\\r{n}/2')\n    sys.stderr.flush()"
    assert kernel.good(code).stderr == "\r0/2\r1/2\r2/2"
