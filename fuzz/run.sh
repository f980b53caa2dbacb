#!/bin/sh
# Runs each fuzz target for SECONDS from its committed seeds; fails on the first finding.
# What a target learns stays in the build folder, and so does an input that breaks it.
set -eu

if [ $# -ne 2 ]; then
    echo "usage: $0 SECONDS BUILD_DIR" >&2
    exit 2
fi
seconds=$1
targets=$2/fuzz
folder=$(cd "$(dirname "$0")" && pwd)

for source in "$folder"/fuzz_*.c; do
    name=$(basename "$source" .c)
    learned=$targets/corpus/$name
    mkdir -p "$learned"
    echo "$name: $seconds s"
    if ! "$targets/$name" -max_total_time="$seconds" -max_len=4096 -timeout=10 -rss_limit_mb=1024 \
        -print_final_stats=1 -verbosity=0 -artifact_prefix="$targets/$name-" \
        "$learned" "$folder/seeds/${name#fuzz_}"; then
        echo "$name found something; the input is $targets/$name-*" >&2
        exit 1
    fi
done
echo "every target held"
