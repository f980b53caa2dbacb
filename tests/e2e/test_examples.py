"""The examples do what their text says."""

import shutil
import subprocess
import sys

import nbclient
import nbformat
import pytest
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager

from kernels import ROOT, STUCK_S

EXAMPLES = ROOT / "examples"


@pytest.fixture(scope="module")
def tour(kernel_dirs, tmp_path_factory):
    """The executed tour: each cell's outputs by the cell's id."""
    folder = tmp_path_factory.mktemp("tour")
    shutil.copytree(EXAMPLES / "data", folder / "data")
    notebook = nbformat.read(EXAMPLES / "tour.ipynb", as_version=4)
    specs = KernelSpecManager(kernel_dirs=[str(kernel_dirs["venv"])], ensure_native_kernel=False)
    manager = AsyncKernelManager(kernel_name="petri", kernel_spec_manager=specs)
    client = nbclient.NotebookClient(
        notebook,
        km=manager,
        timeout=300,
        iopub_timeout=int(STUCK_S),  # by default it misses what comes 4 s after the reply
        resources={"metadata": {"path": str(folder)}},
    )
    client.execute()
    return {cell.id: cell.outputs for cell in notebook.cells if cell.cell_type == "code"}


def text(outputs):
    return "".join(output.get("text", "") for output in outputs)


def error(outputs):
    [found] = [output for output in outputs if output.output_type == "error"]
    return found.ename


def test_tour_prints_the_expected_results(tour):
    assert "average of the seven days: 10.2%" in text(tour["sales"])
    assert "Birch Bakery" in tour["orders"][0]["data"]["text/plain"]
    assert "text/html" in tour["orders"][0]["data"]
    assert "before: 85 rows" in text(tour["clean"])
    assert "after:  60 rows" in text(tour["clean"])
    assert "Ada Abel,ada.abel@example.org" in text(tour["clean-read"])
    assert "image/png" in tour["chart"][0]["data"]


def test_tour_goes_back_before_its_slip(tour):
    assert text(tour["slip"]) == "0 orders are left\n"
    assert text(tour["undo"]).startswith("Back before [8]: 1 cell"), tour["undo"]
    assert text(tour["undone"]) == "400 orders are there again, and 60 people in the list\n"


def test_tour_keeps_its_threads_and_state(tour):
    assert "[1229, 9592, 78498]" in text(tour["pool-again"])
    assert error(tour["loop"]) == "CellTimeout"
    assert error(tour["crash"]) == "CellCrashed"
    still = text(tour["still"])
    assert "best customer: Birch Bakery with 36,638.80" in still
    assert "days in the report: 7 - average 10.2%" in still
    assert "rows in the clean file: 60" in still
    assert "664579" in still


@pytest.mark.parametrize("script, into", [("data/make_data.py", "."), ("course/make_data.py", "data")])
def test_data_is_what_its_script_makes(tmp_path, script, into):
    shutil.copy(EXAMPLES / script, tmp_path)
    subprocess.run([sys.executable, tmp_path / "make_data.py"], check=True)
    made = sorted((tmp_path / into).glob("*.csv"))
    assert made
    for path in made:
        assert path.read_bytes() == ((EXAMPLES / script).parent / into / path.name).read_bytes(), path.name


def test_notebook_check_finds_outputs(tmp_path):
    check = [sys.executable, ROOT / "scripts" / "check_notebooks.py", tmp_path]
    notebook = nbformat.read(EXAMPLES / "tour.ipynb", as_version=4)
    nbformat.write(notebook, tmp_path / "tour.ipynb")
    assert subprocess.run(check, check=False, capture_output=True).returncode == 0
    notebook.cells[2].execution_count = 1
    nbformat.write(notebook, tmp_path / "tour.ipynb")
    assert subprocess.run(check, check=False, capture_output=True).returncode == 1
