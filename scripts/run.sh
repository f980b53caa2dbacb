#!/bin/sh
# make run: from a fresh machine to an executed notebook.
set -eu
. "$(dirname -- "$0")/common.sh"

"$root/scripts/deps.sh" install build python
"$root/scripts/build.sh"
"$root/scripts/venv.sh" run
"$root/scripts/kernelspecs.sh"
"$venv/bin/python" "$root/scripts/tour.py" "$root/examples/tour.ipynb" "$root/tour.html"
say "the notebook with its results: $root/tour.html"
say "to go on in JupyterLab: make lab"
