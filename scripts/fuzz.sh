#!/bin/sh
# Builds the fuzz targets and runs each for FUZZ_SECONDS (6), as many at once as there are processors.
set -eu
. "$(dirname -- "$0")/common.sh"

tree=$build/fuzz
"$root/scripts/deps.sh" install build sanitize
configure "$tree" --preset fuzz
cmake --build "$tree" --target fuzz/all
for source in "$root"/fuzz/fuzz_*.c; do
    basename "$source" .c
done | xargs -P "$(nproc)" -I '{}' "$root/fuzz/run.sh" "${FUZZ_SECONDS:-6}" "$tree" '{}'
echo "every target held"
