"""Checks notebooks as they are committed: valid, for petri, and without outputs.

usage: check_notebooks.py FOLDER
"""

import pathlib
import sys

import nbformat


def problems(path):
    """One sentence for each thing that is wrong with the notebook at path."""
    try:
        notebook = nbformat.read(path, as_version=4)
        nbformat.validate(notebook)
    except (nbformat.ValidationError, nbformat.reader.NotJSONError) as error:
        yield f"not a valid notebook: {error}"
        return
    if notebook.metadata.get("kernelspec", {}).get("name", "").split("-")[0] != "petri":
        yield "its kernelspec is not petri's"
    for cell in notebook.cells:
        if cell.cell_type == "code" and (cell.outputs or cell.execution_count is not None):
            yield f"cell {cell.id} has outputs or an execution count"


def main(folder):
    paths = sorted(p for p in pathlib.Path(folder).rglob("*.ipynb") if ".ipynb_checkpoints" not in p.parts)
    found = [f"{path}: {problem}" for path in paths for problem in problems(path)]
    print(*found, sep="\n", end="\n" if found else "")
    print(f"{len(paths)} notebooks checked, {len(found)} problems")
    return 1 if found or not paths else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
