#!/bin/sh
# Runs every fuzz target from its committed corpus; what it finds on the way stays in build/.
set -eu
. "$(dirname -- "$0")/common.sh"

tree=$build/fuzz
seconds=${FUZZ_SECONDS:-10}
[ "${CI:-}" != true ] || seconds=${FUZZ_SECONDS:-60}

run_target() {
    name=$(basename "$1")
    seeds=$root/fuzz/corpus/$name
    mkdir -p "$tree/corpus/$name" "$tree/crashes"
    [ -d "$seeds" ] || die "no corpus for $name: $seeds"
    say "$name for $seconds s"
    "$1" -max_total_time="$seconds" -print_final_stats=1 -verbosity=0 -timeout=10 \
        -artifact_prefix="$tree/crashes/$name-" "$tree/corpus/$name" "$seeds"
}

[ -f "$tree/build.ninja" ] || cmake -S "$root" --preset fuzz -B "$tree"
cmake --build "$tree"
ran=0
for target in "$tree"/fuzz/fuzz_*; do
    if [ -f "$target" ] && [ -x "$target" ]; then
        run_target "$target"
        ran=$((ran + 1))
    fi
done
[ "$ran" -gt 0 ] || die "no fuzz target was built"
say "$ran fuzz targets ran clean"
