#!/bin/sh
# ctest.sh PRESET [CTEST ARGUMENTS]: configures, builds and runs the cmocka tests of one preset.
set -eu
. "$(dirname -- "$0")/common.sh"

preset=$1
shift
tree=$build/$preset
[ -f "$tree/build.ninja" ] || cmake -S "$root" --preset "$preset" -B "$tree"
cmake --build "$tree"
ctest --test-dir "$tree" --output-on-failure --no-tests=error "$@"
