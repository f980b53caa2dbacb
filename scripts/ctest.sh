#!/bin/sh
# ctest.sh PRESET [CTEST ARGUMENTS]: configures, builds and runs the cmocka tests of one preset.
set -eu
. "$(dirname -- "$0")/common.sh"

preset=$1
shift
tree=$build/$preset
"$root/scripts/deps.sh" install build unit sanitize
configure "$tree" --preset "$preset"
cmake --build "$tree"
ctest --test-dir "$tree" --output-on-failure --no-tests=error "$@"
