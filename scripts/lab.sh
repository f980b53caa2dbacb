#!/bin/sh
# make lab: JupyterLab on examples/, petri preselected. Arguments are passed on.
set -eu
. "$(dirname -- "$0")/common.sh"

"$root/scripts/deps.sh" install build python
"$root/scripts/build.sh"
"$root/scripts/venv.sh" run lab
"$root/scripts/kernelspecs.sh"
cd "$root/examples"
# Jupyter's server starts for root only when told to; what runs in cells isn't root in any case.
[ "$(id -u)" -ne 0 ] || set -- --allow-root "$@"
exec "$venv/bin/jupyter" lab --MultiKernelManager.default_kernel_name=petri "$@" tour.ipynb
