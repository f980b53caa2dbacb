"""Executes a notebook through its kernel and prints each cell with its result.

usage: tour.py NOTEBOOK.ipynb OUTPUT.html

A cell tagged "raises-exception" is meant to fail: where it doesn't, or another
one does, the exit status is 1.
"""

import pathlib
import re
import sys
import time

import nbclient
import nbconvert
import nbformat

ANSI = re.compile(r"\x1b\[[0-9;]*m")
WIDTH = 100


def indent(text, mark):
    return "\n".join(f"  {mark} {line}".rstrip() for line in text.rstrip("\n").split("\n"))


def result_text(output):
    """What a reader of a terminal sees of one output."""
    if output.output_type == "stream":
        return output.text
    if output.output_type == "error":
        return f"{output.ename}: {ANSI.sub('', output.evalue)}"
    plain = output.data.get("text/plain", "")
    others = [kind for kind in output.data if kind != "text/plain"]
    return f"{plain}  ({', '.join(others)})" if any(kind.startswith("image/") for kind in others) else plain


def code_line(source):
    """The first line of code, and how many follow."""
    lines = [line for line in source.splitlines() if line.strip() and not line.startswith("#")]
    more = f"   ... {len(lines) - 1} more lines" if len(lines) > 1 else ""
    return lines[0][: WIDTH - 24] + more


class Tour:
    """Prints cells as they end; counts the ones that did not do what they were meant to."""

    def __init__(self):
        self.surprises = []
        self.started = 0.0

    def on_start(self, cell, cell_index):
        self.started = time.monotonic()

    def on_executed(self, cell, cell_index, execute_reply):
        elapsed = time.monotonic() - self.started
        print(f"\nIn [{cell.execution_count}] {code_line(cell.source)}   ({elapsed:.2f} s)")
        for output in cell.outputs:
            print(indent(result_text(output), "!" if output.output_type == "error" else "|"))
        failed = execute_reply["content"]["status"] != "ok"
        if failed != ("raises-exception" in cell.metadata.get("tags", [])):
            self.surprises.append(f"cell {cell.id} {'failed' if failed else 'was meant to fail'}")
            print(*execute_reply["content"].get("traceback", []), sep="\n")


def execute(path):
    """Returns the notebook with its results and what was not as it was meant to be."""
    notebook = nbformat.read(path, as_version=4)
    tour = Tour()
    client = nbclient.NotebookClient(
        notebook,
        timeout=300,
        resources={"metadata": {"path": str(path.parent)}},
        allow_errors=True,
        on_cell_execute=tour.on_start,
        on_cell_executed=tour.on_executed,
    )
    client.execute()
    return notebook, tour.surprises


def main(source, target):
    notebook, surprises = execute(pathlib.Path(source).resolve())
    html, _ = nbconvert.HTMLExporter().from_notebook_node(notebook)
    pathlib.Path(target).write_text(html, encoding="utf-8")
    print()
    for surprise in surprises:
        print(f"not as it was meant to be: {surprise}", file=sys.stderr)
    return 1 if surprises else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
