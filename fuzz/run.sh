#!/bin/sh
# Runs a fuzz target for SECONDS from its committed seeds; fails on the first finding.
# What a target learns stays in the build folder, and so does an input that breaks it.
set -eu

if [ $# -ne 3 ]; then
    echo "usage: $0 SECONDS BUILD_DIR TARGET" >&2
    exit 2
fi
seconds=$1
targets=$2/fuzz
name=$3
folder=$(cd "$(dirname "$0")" && pwd)

# Inputs that break it go to $found.
run() {
    "$targets/$name" -rss_limit_mb=1024 -artifact_prefix="$found/" "$@"
}

fail() {
    echo "$name $*" >&2
    exit 1
}

# What has an input to show is a finding. But a time-out is one only if it comes again: it is measured by the clock on
# the wall, which goes on while a machine stands still.
judge() {
    status=$1
    set --
    for input in "$found"/*; do
        case ${input##*/} in
        timeout-*) set -- "$@" "$input" ;;
        crash-* | leak-* | oom-*) fail "found something; the input is $input" ;;
        esac
    done
    if [ $# -eq 0 ]; then
        [ "$status" -le 128 ] || fail "was ended by signal $((status - 128))"
        fail "ended with status $status and no input to show"
    fi
    for input; do
        echo "$name took more than 10 s for an input; once more, with 30 s"
        run -timeout=30 "$input" || fail "found something; the input is $input"
    done
    echo "$name: it was the machine; the rest of its time is left out"
}

learned=$targets/corpus/$name
mkdir -p "$learned" "$targets/found"
found=$(mktemp -d "$targets/found/$name-XXXXXX")
echo "$name: $seconds s"
status=0
run -max_total_time="$seconds" -max_len=4096 -timeout=10 -verbosity=0 "$learned" "$folder/seeds/${name#fuzz_}" || status=$?
[ "$status" -eq 0 ] || judge "$status"
rmdir "$found" 2>/dev/null || : # what is found there stays
echo "$name held"
