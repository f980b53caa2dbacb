#!/bin/sh
# make run: from a fresh machine to an executed notebook, and to an agent that has code run.
set -eu
. "$(dirname -- "$0")/common.sh"

"$root/scripts/deps.sh" install build python
"$root/scripts/build.sh"
"$root/scripts/venv.sh" run
"$root/scripts/kernelspecs.sh"
"$venv/bin/python" "$root/scripts/tour.py" "$root/examples/tour.ipynb" "$root/tour.html"
say "an agent with five tasks: examples/agent/"
PETRI="$build/petri" PYTHONPATH="$root/client" PYTHONDONTWRITEBYTECODE=1 \
    "$venv/bin/python" "$root/examples/agent/run.py" "$root/agent-run"
printf '\n'
say "the files that the agent's code made: $root/agent-run/outputs"
say "the notebook with its results: $root/tour.html"
say "to go on in JupyterLab: make lab"
