# shellcheck shell=sh disable=SC2154
# Sourced after common.sh by the scripts that run several kinds of test: steps, one after the other or beside each other.
# A step that fails doesn't keep the others from running.

scripts=$root/scripts
summary=$(mktemp)
began=$(date +%s)
trap 'rm -f "$summary"' EXIT

# Where the output of a step goes that has another one beside it.
held=

# How many tests at once: most of a test's time it waits for a kernel.
jobs=${PETRI_JOBS:-$((2 * $(nproc)))}

# step NAME COMMAND...: runs it, remembers how it went and how long it took.
step() {
    name=$1
    shift
    start=$(date +%s)
    if [ -n "$held" ]; then
        show printf '\n-- %s: begins\n' "$name"
        if "$@" >"$held" 2>&1; then result=ok; else result=FAILED; fi
        show print_held
    else
        printf '\n== %s\n' "$name"
        if "$@"; then result=ok; else result=FAILED; fi
    fi
    printf '%-8s%5d s  %s\n' "$result" "$(($(date +%s) - start))" "$name" >>"$summary"
}

# beside FUNCTION...: each runs its steps one after the other, and all of them at once. What a step prints is shown when
# it has ended, whole. For steps that leave the processors idle, and share nothing that is there once on a machine.
beside() {
    if [ "$jobs" -eq 1 ]; then
        for lane in "$@"; do "$lane"; done
        return
    fi
    trap 'trap "" TERM; kill 0; exit 130' INT # which what runs in the background of a script doesn't hear
    lanes=
    for lane in "$@"; do
        run_lane "$lane" &
        lanes="$lanes $!:$lane"
    done
    for lane in $lanes; do
        wait "${lane%%:*}" || printf '%-8s%7s  %s\n' FAILED '' "${lane#*:}: ended before its last step" >>"$summary"
    done
    trap - INT
}

run_lane() {
    held=$(mktemp)
    trap 'rm -f "$held"' EXIT
    jobs=$((jobs * 3 / 4)) # each waits less for its own
    "$1"
}

# show COMMAND...: its output, which nothing else that is shown comes into.
show() {
    { flock 9 && "$@"; } 9>>"$summary"
}

print_held() {
    printf '\n== %s\n' "$name"
    cat "$held"
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
