"""What is seen of a cell with ipykernel: all that it has written, and nothing that another one has."""

import nbformat
import pytest

from shown import notebook_shows

# As on a busy machine: the thread that reads what is written to a descriptor gets its turn late.
LATE = """
import os, sys, threading, time

read = os.read

def read_late(*arguments):
    text = read(*arguments)
    if threading.current_thread() is not threading.main_thread():
        time.sleep(0.05)
    return text

os.read = read_late
"""


@pytest.mark.parametrize("stream, descriptor", [("stdout", 1), ("stderr", 2)])
def test_what_is_written_to_a_descriptor_is_shown_with_its_cell(stream, descriptor, kernel_dir, tmp_path):
    texts = ["", *(f"{number} of {stream}\n" for number in range(5))]
    cells = [LATE, *(f"os.write({descriptor}, {text.encode()});" for text in texts[1:])]
    notebook = nbformat.v4.new_notebook(cells=list(map(nbformat.v4.new_code_cell, cells)))
    nbformat.write(notebook, tmp_path / "late.ipynb")
    shown, _ = notebook_shows(kernel_dir, "python3", tmp_path / "late.ipynb", {}, tmp_path / "notebook")
    assert [cell[stream] for cell in shown.values()] == texts
