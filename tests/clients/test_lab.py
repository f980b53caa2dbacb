"""
JupyterLab in headless Chromium: what a reader sees, with screenshots in
build/screenshots/, which are there to be looked at.
"""

import json
import os
import re
import shutil

import nbformat
import pytest
from PIL import Image, ImageOps, PngImagePlugin

from jupyters import install_ipykernel
from kernels import BUILD, ROOT
from nodes import run_node
from servers import serving

pytestmark = pytest.mark.xdist_group("lab")  # one process: JupyterLab and its server are there once

SCREENSHOTS = BUILD / "screenshots"
# What README.md and docs/time-travel.md show of it. The text of each has the cells and what they answered.
PICTURES = ROOT / "docs" / "images"
ANSI = re.compile(r"\x1b\[[0-9;]*m")
STACK = re.compile(r"(?m)^The code was .*\n(?:  .*\n)*")  # where it was: another line each time

BUSY = "import time\nprint('the cell runs', flush=True)\nwhile True:\n    time.sleep(0.01)"

NOTEBOOKS = {
    "complete": ["alpha_bravo = 1\nalpha_charlie = [2]", BUSY, ""],
    "interrupt": [f"kept = 23\n{BUSY}", "kept"],
    "restart": ["lost = 23\nlost", "lost"],
    "timeout": [
        "total = 42",
        "%%limits timeout=1s\n\n"
        "def search(numbers):\n    while True:\n        numbers.append(1)\n\n"
        "total = None\nsearch([])",
        "total",
        "def divide(a, b):\n    return a / b\n\ndivide(1, 0)",
        "print('a'",
    ],
    "customers": [
        "import pandas as pd\n\n"
        'orders = pd.read_csv("data/orders.csv")\n'
        'best = orders.groupby("customer")[["revenue"]].sum().nlargest(3, "revenue")\n'
        "best",
        "%%limits memory=1G\n"
        "best = []\n"
        "queue = list(orders.customer)\n"
        "for customer in queue:  # grows while it is read: never ends\n"
        "    best.append(customer)\n"
        "    queue.append(customer)",
        "best",
        "",
    ],
    "usage": [f"held = bytearray(b'x') * (300 << 20)\n" + BUSY.replace("time.sleep(0.01)", "pass")],
    "limits": ["data = bytearray(b'x') * (100 << 20)\nprint('y' * 1000)", "%limits"],
    "timeline": ["x = 1", "x = 2", "x = 3", "print(x)"],
    "branches": [
        'prices = {"tea": 3, "milk": 2, "rye": 4}',
        "basket = list(prices)",
        "basket.sort(key=prices.get, reverse=True)",
        'del prices["tea"]',
        "basket.sort()",
        "basket, sum(prices.values())",
    ],
    "plain": ["x = 1"],
    "launcher": ["1"],
    "help": ["1"],
    "broken": ["6 * 7"],
    "slider": [
        "import ipywidgets\n"
        "slider = ipywidgets.IntSlider(value=3, description='number')\n"
        "seen = ipywidgets.Output()\n"
        "@seen.capture(clear_output=True)\n"
        "def observe(change):\n"
        "    print('the observer has seen', change['new'])\n"
        "slider.observe(observe, 'value')\n"
        "ipywidgets.VBox([slider, seen])",
        "slider.value",
    ],
    "libraries": [
        "import pandas as pd\npd.DataFrame({'city': ['Oslo', 'Lima'], 'people': [709_037, 10_092_000]})",
        "from tqdm import tqdm\nfor n in tqdm(range(20)): pass",
        "from tqdm.notebook import tqdm as bar\nfor n in bar(range(20), desc='notebook'): pass",
        "import rich.traceback\nfrom rich import print as show\nfrom rich.table import Table\n"
        "table = Table(title='rich')\ntable.add_column('name')\ntable.add_row('[bold green]petri')\nshow(table)",
        "import plotly.express as px\npx.bar(x=['a', 'b', 'c'], y=[1, 3, 2], height=300)",
        "from IPython.display import HTML, Latex, Markdown, display\n"
        "display(HTML('<b>bold</b>'), Markdown('*markdown*'), Latex(r'$\\int_0^1 x\\,dx$'))",
        "import matplotlib.pyplot as plt\nplt.figure(figsize=(4, 2)); plt.plot([1, 3, 2]);",
        "rich.traceback.install()\ndef divide(a, b):\n    return a / b\n\ndivide(1, 0)",
    ],
}


# Notebooks with a kernel of their own: its configuration, and its name in the launcher.
OWN_KERNELS = {
    # It can't be used.
    "broken": ('{\n "profiles": {"notebook": {"timeuot": "5m"}}\n}\n', "A broken configuration"),
    # So that what is said of memory is the same on every machine.
    "customers": ('{"profiles": {"notebook": {"ceilings": {"memory": "4G"}}}}', "Python 3 (petri)"),
}


def install_own_kernels(petri):
    kernels = petri.folder / "share" / "jupyter" / "kernels"
    install_ipykernel(petri.folder, "plain")
    spec = json.loads((kernels / "petri" / "kernel.json").read_text())
    for name, (config, title) in OWN_KERNELS.items():
        path = kernels / name / "class.json"
        path.parent.mkdir()
        path.write_text(config)
        own = {**spec, "argv": [*spec["argv"], "--config", str(path)], "display_name": title}
        (kernels / name / "kernel.json").write_text(json.dumps(own))


@pytest.fixture(scope="module")
def lab(petri, tmp_path_factory):
    """A running JupyterLab on a folder with the tour and NOTEBOOKS."""
    folder = tmp_path_factory.mktemp("notebooks") / "examples"
    shutil.copytree(ROOT / "examples", folder)
    install_own_kernels(petri)
    for name, sources in NOTEBOOKS.items():
        kernel = name if name in OWN_KERNELS or name == "plain" else "petri"
        notebook = nbformat.v4.new_notebook(metadata={"kernelspec": {"name": kernel, "display_name": kernel}})
        notebook.cells = [nbformat.v4.new_code_cell(source) for source in sources]
        nbformat.write(notebook, folder / f"{name}.ipynb")
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    # No question about news over the lower right corner.
    settings = petri.folder / "config" / "labconfig"
    settings.mkdir(parents=True)
    disabled = {"disabledExtensions": {"@jupyterlab/apputils-extension:announcements": True}}
    (settings / "page_config.json").write_text(json.dumps(disabled))
    with serving(petri, folder, "jupyterlab") as server:
        yield server


@pytest.fixture
def play(lab):
    """Plays a scenario of lab.cjs; returns what it has seen."""
    return lambda scenario: run_node("lab.cjs", scenario, lab.url, lab.token, f"{scenario}.ipynb", SCREENSHOTS)


def errors(cell):
    return [output for output in cell["outputs"] if output["output_type"] == "error"]


def text_of(cell):
    """All text of a cell's outputs, without colours."""
    parts = []
    for output in cell["outputs"]:
        text = output.get("text") or output.get("data", {}).get("text/plain") or output.get("traceback", "")
        parts.append("".join(text) if output["output_type"] != "error" else "\n".join(text))
    return ANSI.sub("", "\n".join(parts))


@pytest.mark.thorough
def test_tour_runs_to_its_end(play):
    cells = play("tour")["cells"]
    # %undo is the ninth cell, and takes no number: the eighth one's is free again.
    assert [cell["count"] for cell in cells] == [*range(1, 10), *range(8, len(cells) - 1)]
    assert [errors(cell)[0]["ename"] for cell in cells if errors(cell)] == ["CellTimeout", "CellCrashed"]
    assert "best customer" in text_of(cells[-1])


def keep_picture(name, shown):
    """Makes the picture of a page of the screenshot: few colours, a thin frame, and in its text what it shows."""
    with Image.open(SCREENSHOTS / f"{name}.png") as sharp:
        framed = ImageOps.expand(sharp.convert("RGB"), 2, "#c4c4c4")
    told = PngImagePlugin.PngInfo()
    told.add_itxt("shown", json.dumps(shown))
    framed.quantize(dither=Image.Dither.NONE).save(PICTURES / f"{name}.png", optimize=True, pnginfo=told)


def compare_picture(name, shown):
    """Fails if the picture shows something else; with PETRI_WRITE_PAGES=1 it is taken anew."""
    if os.environ.get("PETRI_WRITE_PAGES") == "1":
        keep_picture(name, shown)
    with Image.open(PICTURES / f"{name}.png") as picture:
        why = f"{name}.png shows something else; PETRI_WRITE_PAGES=1 takes it anew"
        assert json.loads(picture.text["shown"]) == shown, why


def drawn(rows):
    """The rows of the timeline as one text each: level, number, line, names, and a star where one is."""
    return [
        " ".join([str(row["level"]), row["number"], row["line"], *row["names"], *(["*"] if row["now"] else [])]).replace(
            "  ", " "
        ).rstrip()
        for row in rows
    ]


@pytest.mark.thorough
def test_cell_that_takes_all_memory_is_undone_as_the_picture_of_the_readme_shows(play):
    first, ended, again = (text_of(cell) for cell in play("customers")["cells"])
    assert "Birch Bakery" in first and again == first
    assert "CellMemoryLimit: The cell held more memory" in ended and "the session is as it was before" in ended
    shown = [*NOTEBOOKS["customers"], first, STACK.sub("", ended), again]
    if os.environ.get("PETRI_WRITE_PAGES") == "1":
        assert "Cell In[2], line " in ended, "the picture lacks where the code was: write it again on an idle machine"
    compare_picture("customers", shown)


@pytest.mark.thorough
def test_help_menu_shows_petris_own_page(play):
    assert play("help")["headings"] == ["petri in a notebook", "Troubleshooting by message"]


@pytest.mark.thorough
def test_completions_are_shown_while_a_cell_runs(play):
    seen = play("complete")
    assert seen["status"] == "busy"
    assert {"alpha_bravo", "alpha_charlie"} <= {item.strip() for item in seen["items"]}


@pytest.mark.thorough
def test_interrupted_cell_ends_and_the_next_one_runs(play):
    interrupted, following = play("interrupt")["cells"]
    assert [error["ename"] for error in errors(interrupted)] == ["KeyboardInterrupt"]
    assert text_of(following) == "23"


@pytest.mark.thorough
def test_restart_begins_anew(play):
    seen = play("restart")
    assert text_of(seen["before"][0]) == "23"
    _, after = seen["cells"]
    assert after["count"] == 1
    assert [error["ename"] for error in errors(after)] == ["NameError"]


def test_timeout_says_what_happened_and_nothing_is_lost(play):
    _, timeout, after, division, syntax = play("timeout")["cells"]
    assert [error["ename"] for error in errors(timeout)] == ["CellTimeout"]
    assert "in search" in text_of(timeout)
    assert text_of(after) == "42"
    assert "ZeroDivisionError" in text_of(division) and "in divide" in text_of(division)
    assert "SyntaxError" in text_of(syntax)


@pytest.mark.thorough
def test_usage_of_a_running_cell_is_shown(play):
    seen = play("usage")
    # Once: the cell's own 300 MiB are not added for each task that has them.
    assert 250 < seen["busy"]["memory"] - seen["idle"]["memory"] < 500 and seen["busy"]["cpu"] > 10


@pytest.mark.thorough
def test_kernel_with_a_broken_configuration_starts_and_says_in_the_cell_what_is_wrong(play):
    seen = play("broken")
    assert [error["ename"] for error in errors(seen["cells"][0])] == ["SandboxError"]
    assert "class.json, line 2" in text_of(seen["cells"][0]) and "timeuot" in text_of(seen["cells"][0])
    assert seen["status"] == "idle"


@pytest.mark.thorough
def test_limits_are_shown_with_bars_of_what_is_used(play):
    seen = play("limits")
    assert seen["bars"] >= 8
    assert "ceiling" in text_of(seen["cells"][1])


@pytest.mark.thorough
def test_launcher_shows_each_kernel_with_a_logo_of_its_own(play):
    seen = play("launcher")
    ours = [title for title in seen["titles"] if "petri" in title]
    assert {"Python 3 (petri)", "Python 3 (petri, strict)", "Python 3 (petri, writable)"} <= set(ours)
    assert len({logo.rsplit("/kernelspecs/", 1)[1].split("/")[0] for logo in seen["logos"]}) >= 3


def test_timeline_goes_back_and_on_by_buttons_and_panel_after_a_reload_and_in_two_pages(play):
    seen = play("timeline")
    assert drawn(seen["ran"]) == ["1 first", "1 [1] x = 1", "1 [2] x = 2", "1 [3] x = 3", "1 [4] print(x) *"]
    assert "[4]" in seen["undoIs"]
    assert drawn(seen["undone"])[2:] == ["1 [2] x = 2 *", "1 [3] x = 3", "1 [4] print(x)"]
    assert "3 cells ([1], [2], [3]) are undone" in seen["dialog"]
    assert seen["undoAtFirst"] == "true"  # disabled
    branch = ["2 [1] x = 1", "2 [2] x = 2", "2 [3] x = 3 three", "2 [4] print(x)"]
    assert drawn(seen["branch"]) == drawn(seen["reloaded"]) == ["1 first", *branch, "1 [1] x = 1 *"]
    assert seen["focused"] == "first"  # up from the last row, which is on the beginning
    assert [cell["count"] for cell in seen["cells"]] == [1, 2, 3, 4] and text_of(seen["cells"][3]) == "3\n"


@pytest.mark.thorough
def test_branches_are_drawn_and_marked_as_the_pictures_of_the_page_show(play):
    seen = play("branches")
    rows = drawn(seen["rows"])
    assert rows[3:5] == ["2 [3] basket.sort(key=prices.get, reverse=True) sorted", '2 [4] del prices["tea"]']
    assert rows[-1] == "1 [4] basket, sum(prices.values()) *"
    shown = [*NOTEBOOKS["branches"], *rows, text_of(seen["cells"][-1])]
    for name in ("timeline-light", "timeline-dark"):
        compare_picture(name, shown)


@pytest.mark.thorough
def test_kernel_that_is_not_petri_has_no_timeline(play):
    seen = play("plain")
    assert seen == {"sentence": "This kernel has no timeline.", "buttons": 0, "tree": False}


@pytest.mark.thorough
def test_slider_moves_and_its_observer_is_called(play):
    seen = play("slider")
    assert seen["readout"] == "6"
    assert text_of(seen["cells"][1]) == "6"


@pytest.mark.thorough
def test_libraries_run_without_errors_and_show_a_failing_cell(play):
    *cells, failed = play("libraries")["cells"]
    assert not [errors(cell) for cell in cells if errors(cell)]
    assert "ZeroDivisionError" in text_of(failed)
