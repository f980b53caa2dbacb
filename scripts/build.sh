#!/bin/sh
# make: builds build/petri (hardened) and build/site.
set -eu
. "$(dirname -- "$0")/common.sh"

"$root/scripts/deps.sh" check build python
[ -f "$build/build.ninja" ] || cmake -S "$root" --preset release -B "$build"
cmake --build "$build"
"$root/scripts/venv.sh" site
