#!/bin/sh
# make: builds build/petri (hardened) and build/site.
set -eu
. "$(dirname -- "$0")/common.sh"

"$root/scripts/deps.sh" check build python
[ "${CI:-}" = true ] && werror=ON || werror=OFF
[ -f "$build/build.ninja" ] || cmake -S "$root" --preset release -B "$build" -DPETRI_WERROR="$werror"
cmake --build "$build" --target petri
"$root/scripts/venv.sh" site
