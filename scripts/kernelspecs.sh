#!/bin/sh
# Registers petri in build/venv, for build/venv's own interpreter.
set -eu
. "$(dirname -- "$0")/common.sh"

key=$(find "$build/petri" "$root/kernelspec" "$root/client/lab/labextension" -type f -exec sha256sum {} + | sha256sum)
up_to_date kernelspecs "$venv $key" && [ -d "$venv/share/jupyter/kernels/petri" ] && exit 0
say "registering the kernels petri, petri-strict and petri-writable in $venv"
"$build/petri" install --prefix "$venv" --python "$venv/bin/python"
stamp kernelspecs "$venv $key"
