"""Run by an environment's own interpreter: executes a notebook with the kernel petri of this environment.

Prints a JSON list: what each cell has written, or the name of the error that ended it.
"""

import json

import nbclient
import nbformat

CELLS = [
    "import sys\nkept = [sys.prefix]\nprint(sys.prefix, *sys.version_info[:2])",
    "kept.append('lost')\nimport os\nos._exit(1)",
    "kept.append(len(kept))\nprint(*kept)",
]


def said(output):
    return output["ename"] if output["output_type"] == "error" else output["text"].strip()


def main():
    cells = [nbformat.v4.new_code_cell(code) for code in CELLS]
    notebook = nbformat.v4.new_notebook(cells=cells)
    # By default it misses what comes 4 s after the reply.
    times = {"timeout": 300, "iopub_timeout": 300}
    nbclient.NotebookClient(notebook, kernel_name="petri", allow_errors=True, **times).execute()
    print(json.dumps([said(cell["outputs"][0]) for cell in notebook["cells"]]))


main()
