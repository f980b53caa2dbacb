"""
Starts the worker: `python .../petri_worker/__main__.py`.

Run as a file, because `-m` and a folder both go through runpy, which costs
some milliseconds of imports before the first line of ours. The greeting goes
out before anything else is imported: a client that asks what this kernel is
need not wait for IPython.
"""

import os
import sys

_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# Needed for the imports below only.
sys.path[0] = _FOLDER

from petri_worker import hello  # noqa: E402

hello.send()

from petri_worker import app  # noqa: E402

del sys.path[0]
app.main()
