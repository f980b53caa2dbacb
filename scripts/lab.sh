#!/bin/sh
# make lab: JupyterLab on examples/, petri preselected. Arguments are passed on.
set -eu
. "$(dirname -- "$0")/common.sh"

"$root/scripts/deps.sh" install build python
"$root/scripts/build.sh"
"$root/scripts/venv.sh" run lab
"$root/scripts/kernelspecs.sh"
cd "$root/examples"
exec "$venv/bin/jupyter" lab --MultiKernelManager.default_kernel_name=petri "$@" tour.ipynb
