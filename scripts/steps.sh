# shellcheck shell=sh disable=SC2154
# Sourced after common.sh by the scripts that run several kinds of test: steps, one after the other or beside each other.
# A step that fails doesn't keep the others from running.
#
#   PETRI_STEPS  an extended regular expression: only steps whose names it matches
#
# build/steps/SCRIPT has what each step printed, and how many seconds it took when it last went well.

scripts=$root/scripts
steps=$build/steps/$(basename -- "$0" .sh)
work=$(mktemp -d)
summary=$work/summary
began=$(date +%s)

# Where tests have petri installed, once for all steps (tests/installed.py): every user can get there.
[ -w /srv ] && above=/srv || above=${TMPDIR:-/tmp}
PETRI_INSTALLED=$(mktemp -d "$above/petri-steps-XXXXXX")
export PETRI_INSTALLED
chmod 755 "$PETRI_INSTALLED"
trap 'rm -rf "$work" "$PETRI_INSTALLED"' EXIT
trap 'exit 130' INT TERM
mkdir -p "$steps" "$work/running"
: >"$summary"

# Ends what runs in the background of a script, too, which doesn't hear of an interrupt.
interrupted() {
    trap '' TERM
    kill 0
    exit 130
}

# Whether other steps run beside this one: then what it prints is shown when it has ended.
is_held=no

# How many tests at once: most of a test's time it waits for a kernel.
jobs=${PETRI_JOBS:-$((2 * $(nproc)))}

# The names of this script's steps, in their order.
sed -n 's/^ *step "\([^"]*\)".*/\1/p' "$0" | grep -E -e "${PETRI_STEPS:-}" >"$work/names" ||
    die "PETRI_STEPS: no step's name matches ${PETRI_STEPS:-}"

# step NAME COMMAND...: runs it, remembers how it went and how long it took.
step() {
    name=$1
    shift
    grep -qxF -e "$name" "$work/names" || return 0
    file=$(printf %s "$name" | tr -cs '[:alnum:]' -)
    start=$(date +%s)
    show begin_step
    if [ $is_held = yes ]; then
        run_step "$@" >"$steps/$file.log"
    else
        run_step "$@" | tee "$steps/$file.log"
    fi
    show end_step
}

begin_step() {
    [ -s "$summary" ] || record '' $((start - began)) "what they need: installed and built"
    last=$(sed 's/$/ s last time/' "$steps/$file.seconds" 2>/dev/null) || last="not timed yet"
    printf '%s\n' "$name" | tee -a "$work/begun" >"$work/running/$file"
    [ $is_held = yes ] && mark='-- begins:' || mark='=='
    printf '\n%s %s (step %d of %d, %s)\n' "$mark" "$name" "$(wc -l <"$work/begun")" "$(wc -l <"$work/names")" "$last"
}

# record RESULT SECONDS NAME: a row of the summary.
record() {
    printf '%-8s%5d s  %s\n' "$1" "$2" "$3" >>"$summary"
}

run_step() {
    result=FAILED
    "$@" 2>&1 && result=ok
    echo $result >"$work/$file"
}

# show COMMAND...: its output, which nothing else that is shown comes into.
show() {
    { flock 9 && "$@"; } 9>"$work/lock"
}

end_step() {
    seconds=$(($(date +%s) - start))
    result=$(cat "$work/$file" 2>/dev/null) || result=FAILED
    record "$result" $seconds "$name"
    rm -f "$work/running/$file"
    if [ "$result" = ok ]; then echo $seconds >"$steps/$file.seconds"; else echo "$file" >>"$work/failed"; fi
    if [ $is_held = yes ]; then
        printf '\n== %s\n' "$name"
        cat "$steps/$file.log"
    fi
    printf -- '-- ended: %s, %s, %d s' "$name" "$result" $seconds
    cat "$work/running/"* 2>/dev/null | sed '1s/^/; still running: /' | paste -s -d ';' -
}

# beside FUNCTION...: each runs its steps one after the other, and all of them at once. For steps that leave processors
# idle, and share nothing that is there once on a machine. A function may also do what is no step.
beside() {
    if [ "$jobs" -eq 1 ]; then
        for lane in "$@"; do "$lane"; done
        return
    fi
    trap interrupted INT
    lanes=
    for lane in "$@"; do
        run_lane "$lane" &
        lanes="$lanes $!:$lane"
    done
    for lane in $lanes; do
        wait "${lane%%:*}" || lane_ended "${lane#*:}"
    done
    trap 'exit 130' INT
}

lane_ended() {
    printf '%-8s%7s  %s\n' FAILED '' "$1: ended before its last step" | tee -a "$steps/$1.log" >>"$summary"
    echo "$1" >>"$work/failed"
}

run_lane() {
    is_held=yes
    jobs=$((jobs * 3 / 4)) # each waits less for its own
    "$1"
}

# need FUNCTION...: ends here if such a function of beside has failed, which what follows can't do without.
need() {
    for lane in "$@"; do
        ! grep -qsx "$lane" "$work/failed" || report ''
    done
}

# unit_tests TARGET ARGUMENTS...: the cmocka programs of a target, against the very libraries that build/petri is made of.
unit_tests() {
    cmake --build "$build" --target "$1" && shift &&
        ctest --test-dir "$build" --output-on-failure --no-tests=error -j "$jobs" "$@"
}

# short COMMAND...: unit tests that repeat something, or walk at random, do it a fraction as often.
short() {
    (
        export PETRI_LIVE_BRIEF=1 PETRI_SNAPSHOTS=25 PETRI_MERGES=10 PETRI_KILLS=50 PETRI_STRANGE=1
        "$@"
    )
}

# python_tests FOLDER ARGUMENTS...: several at once; what shares something costly is in one group (xdist_group), and
# tests/conftest.py has the order in which they begin. The slowest are named.
python_tests() {
    "$scripts/pytest.sh" "$@" -n "$jobs" --dist loadgroup --no-loadscope-reorder --durations=10 --durations-min=3
}

# report LEFT_OUT: how each step went, what those that failed printed last, or what has not been tried, and where that is.
report() {
    printf '\n== summary\n'
    cat "$summary"
    printf '%-8s%5d s  in all\n' '' "$(($(date +%s) - began))"
    if [ -e "$work/failed" ]; then
        while read -r file; do
            printf '\n== what failed: the end of %s\n' "$steps/$file.log"
            tail -n 25 "$steps/$file.log"
        done <"$work/failed"
        exit 1
    fi
    [ -z "${PETRI_STEPS:-}" ] || set -- "Only the steps that match PETRI_STEPS=$PETRI_STEPS."
    printf '\n%s\n' "$1"
}
