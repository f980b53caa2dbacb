#!/bin/sh
# Registers petri in build/venv, for build/venv's own interpreter.
set -eu
. "$(dirname -- "$0")/common.sh"

key="$build/petri $venv"
up_to_date kernelspecs "$key" && [ -d "$venv/share/jupyter/kernels/petri" ] && exit 0
say "registering the kernels petri, petri-strict and petri-writable in $venv"
"$build/petri" install --prefix "$venv" --python "$venv/bin/python"
stamp kernelspecs "$key"
