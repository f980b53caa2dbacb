# shellcheck shell=sh disable=SC2154
# Sourced after common.sh by the scripts that run several kinds of test: steps, one after the other. A step that fails
# doesn't keep the others from running.

scripts=$root/scripts
summary=$(mktemp)
began=$(date +%s)
trap 'rm -f "$summary"' EXIT

# How many tests at once: most of a test's time it waits for a kernel.
jobs=${PETRI_JOBS:-$((2 * $(nproc)))}

# step NAME COMMAND...: runs it, remembers how it went and how long it took.
step() {
    name=$1
    shift
    printf '\n== %s\n' "$name"
    start=$(date +%s)
    if "$@"; then result=ok; else result=FAILED; fi
    printf '%-8s%5d s  %s\n' "$result" "$(($(date +%s) - start))" "$name" >>"$summary"
}

# The cmocka programs, against the very libraries that build/petri is made of.
unit_tests() {
    cmake -S "$root" -B "$build" -DPETRI_TESTS=ON >/dev/null
    cmake --build "$build"
    ctest --test-dir "$build" --output-on-failure --no-tests=error -j "$jobs" "$@"
}

# python_tests FOLDER ARGUMENTS...: several at once; what shares something costly is in one group (xdist_group), and
# tests/conftest.py has the order in which they begin.
python_tests() {
    "$scripts/pytest.sh" "$@" -n "$jobs" --dist loadgroup --no-loadscope-reorder
}

# report LEFT_OUT: how each step went; what has not been tried, and where it is.
report() {
    printf '\n== summary\n'
    cat "$summary"
    printf '%-8s%5d s  in all\n' '' "$(($(date +%s) - began))"
    if grep -q '^FAILED' "$summary"; then
        exit 1
    fi
    printf '\n%s\n' "$1"
}
