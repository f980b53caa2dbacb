#!/bin/sh
# Builds the fuzz targets and runs each for FUZZ_SECONDS: 10, in CI 60.
set -eu
. "$(dirname -- "$0")/common.sh"

tree=$build/fuzz
[ "${CI:-}" = true ] && seconds=60 || seconds=10
[ -f "$tree/build.ninja" ] || cmake -S "$root" --preset fuzz -B "$tree"
cmake --build "$tree" --target fuzz/all
exec "$root/fuzz/run.sh" "${FUZZ_SECONDS:-$seconds}" "$tree"
