#!/bin/sh
# make: builds build/petri (hardened) and build/site. Configures the unit tests, too, if there is cmocka.
#
#   PETRI_PRESET  another preset of CMakePresets.json than release
#   CI=true       warnings are errors
set -eu
. "$(dirname -- "$0")/common.sh"

"$root/scripts/deps.sh" check build python
[ "${CI:-}" = true ] && werror=ON || werror=OFF
pkg-config --exists cmocka && tests=ON || tests=OFF
configure "$build" --preset "${PETRI_PRESET:-release}" -DPETRI_WERROR="$werror" -DPETRI_TESTS="$tests"
cmake --build "$build" --target petri
"$root/scripts/venv.sh" site
