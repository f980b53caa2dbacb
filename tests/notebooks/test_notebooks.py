"""Each notebook with petri and with ipykernel, cell by cell; what differs is in differences.json."""

import os

import pytest

import corpus
import differences
import fetch
from kernels import BUILD
from shown import notebook_shows

# Of the originals: those that make test runs too, each a kind of its own.
MOST_TELLING = {
    "errors-and-tracebacks",
    "exploring-a-table",
    "magics-of-cells",
    "objects-that-stay",
    "pools",
    "rich-display",
}

WRITE = os.environ.get("PETRI_WRITE_DIFFERENCES") == "1"


def parameters(notebooks):
    for notebook in notebooks:
        quick = notebook.path.stem in MOST_TELLING
        yield pytest.param(notebook, id=notebook.name, marks=() if quick else pytest.mark.thorough)


def real_ones():
    for package in corpus.packages():
        for notebook in corpus.real_ones(package, BUILD):
            yield pytest.param(package, notebook, id=notebook.name)


def write(notebook, run, ours, theirs):
    """Makes the notebook's rows those of this run, and of one more with ipykernel, which shows what is chance."""
    again, _ = run("python3")
    differences.change_list(notebook.name, lambda rows: differences.renewed(rows, ours, theirs, again))


def compare(notebook, kernel_dir, tmp_path):
    def run(kernel):
        return notebook_shows(kernel_dir, kernel, notebook.path, notebook.files, tmp_path / "notebook")

    (ours, ours_s), (theirs, theirs_s) = run("petri"), run("python3")
    print(f"{notebook.name}: {len(theirs)} cells, {ours_s:.1f} s with petri, {theirs_s:.1f} s with ipykernel")
    assert theirs, "it has no cells"
    if WRITE:
        write(notebook, run, ours, theirs)
    listed = differences.read_list().get(notebook.name, [])
    found = "\n".join(differences.mistakes(listed, ours, theirs))
    assert not found, f"{notebook.name}; PETRI_WRITE_DIFFERENCES=1 writes what is true now:\n{found}"


@pytest.mark.parametrize("notebook", parameters(corpus.originals()))
def test_an_original_shows_what_it_shows_with_ipykernel(notebook, kernel_dir, tmp_path):
    compare(notebook, kernel_dir, tmp_path)


@pytest.mark.thorough
@pytest.mark.parametrize("package, notebook", real_ones())
def test_a_real_notebook_shows_what_it_shows_with_ipykernel(package, notebook, kernel_dir, tmp_path, skip_or_fail):
    if reason := fetch.lacks(package):
        skip_or_fail(reason)
    compare(notebook, kernel_dir, tmp_path)
