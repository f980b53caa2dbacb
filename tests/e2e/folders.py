"""The notebook's folder in the writable mode: what is in it, and what is said of it under a cell."""

import pathlib


def tree(folder):
    """What a folder has: text of files, None for folders."""
    found = sorted(pathlib.Path(folder).rglob("*"))
    return {str(path.relative_to(folder)): None if path.is_dir() else path.read_text() for path in found}


def notes(cell):
    texts = [content["data"].get("text/plain", "") for content in cell.of("display_data")]
    return [text for text in texts if text.startswith(("Saved", "Removed", "Not saved", "Not removed"))]


def rows(cell):
    return {row["path"]: row for row in cell.report["artifacts"]}


def lose(kernel, code):
    cell = kernel.run(f"{code}\nimport os; os._exit(1)")
    assert cell.ename == "CellCrashed", cell
