#!/bin/sh
# The first and last thing that the virtual machine does: those of the live tests that the machine can show something
# with, in the ways that people start programs under systemd. What it prints between the markers is what `make
# test-vm` prints. README.md says what runs here and what doesn't.
#
#   guest.sh --targets   the targets of the build that it needs beside petri
set -u
export PETRI_REQUIRE_LIVE=1 CMOCKA_MESSAGE_OUTPUT=stdout PYTHONDONTWRITEBYTECODE=1 LC_ALL=C.UTF-8
user=alice # has a manager of systemd's
stranger=bob
newcomer=carol # like the stranger, until doctor is asked what to do
undelegated=dora # has a manager that may not divide memory, until then
part_seconds=900 # until it counts as stuck
live="delegate cells beside kept threads view proc hostile" # those that make sandboxes: for the others it doesn't matter where they run
src=/petri/src
build=/petri/build
kept=/run/petri-vm # what each part printed, and a line on each in kept/parts

# As a service of the system's manager: this script is one.
as_service() {
    timeout -k 5 $part_seconds env HOME=/root "$@"
}

# As someone who has logged in: through PAM, so with a session scope, a user manager and its bus.
as_login() {
    systemd-run --quiet --pipe --wait --collect -p RuntimeMaxSec=$part_seconds -p PAMName=login -p User=$user \
        -p WorkingDirectory=/home/$user -E PETRI_REQUIRE_LIVE -E CMOCKA_MESSAGE_OUTPUT -E PYTHONDONTWRITEBYTECODE -E LC_ALL "$@"
}

# As a service of the user's own manager.
as_user_service() {
    runuser -u $user -- env HOME=/home/$user XDG_RUNTIME_DIR=/run/user/"$uid" \
        systemd-run --user --quiet --pipe --wait --collect -p RuntimeMaxSec=$part_seconds \
        -E PETRI_REQUIRE_LIVE -E PYTHONDONTWRITEBYTECODE -E LC_ALL "$@"
}

# As an ordinary user that systemd knows nothing of: no bus, so no group of one's own.
as_stranger() {
    timeout -k 5 $part_seconds runuser -u $stranger -- env HOME=/home/$stranger "$@"
}

# The same as another user: as_other USER COMMAND...
as_other() {
    other=$1
    shift
    timeout -k 5 $part_seconds runuser -u "$other" -- env HOME=/home/"$other" "$@"
}

# What cmocka or pytest say themselves of how many tests went how.
counts() {
    sed -n -e 's/^\[  PASSED  \] \([0-9]*\) test.*/\1 passed/p' \
        -e 's/^\[  SKIPPED \] \([0-9]*\) test.*/\1 skipped/p' \
        -e 's/^\[  FAILED  \] \([0-9]*\) test.*/\1 failed/p' \
        -e 's/^=* \(.*\) in [0-9.]*s.*=*$/\1/p' "$1" | paste -s -d , - | sed 's/,/, /g; s/,  /, /g'
}

# Runs a part, and prints what it printed once it is over: parts run beside each other. One without a test has failed.
part() {
    name=$1
    shift
    output=$kept/$(echo "$name" | tr ' ' -)
    echo "-- $name: begins"
    start=$(date +%s)
    ended=failed
    (cd / && "$@") >"$output" 2>&1 && ended=passed
    seconds=$(($(date +%s) - start))
    counted=$(counts "$output")
    case $counted in "" | 0\ passed*) ended=failed ;; esac
    {
        flock 9
        echo "== $name"
        cat "$output"
        printf '%-6s %4d s  %s: %s\n' $ended $seconds "$name" "${counted:-no tests}" | tee -a $kept/parts
    } 9>$kept/lock
}

# live_tests NAME HOW [WHICH]
live_tests() {
    for test in ${3:-$live}; do
        part "test_$test $1" "$2" env -C $src/tests/sandbox PETRI_LIVE_BRIEF=1 "$build/tests/sandbox/test_$test"
    done
}

# python_tests NAME HOW WHAT_ENFORCES_MEMORY [WHICH]
python_tests() {
    part "test_guest.py $1" "$2" env PETRI_BUILD=$build PETRI_VM_MEMORY="$3" \
        python3 -m pytest -v -ra --durations=10 --tb=short --color=no -p no:cacheprovider \
        -k "${4:-test}" $src/tests/vm/test_guest.py
}

# hostile_cells NAME HOW WAY
hostile_cells() {
    part "hostile cells $1" "$2" env PETRI_BUILD=$build PETRI_SLOW=2 PETRI_LATE_S=120 \
        python3 -m pytest -v -ra --durations=10 --tb=short --color=no -p no:cacheprovider \
        $src/tests/hostile/test_corpus.py --linux "--way=$3"
}

# mend USER: an administrator does what doctor tells the user, and the manager that comes of it is up.
mend() {
    as_other "$1" $build/petri doctor --json --python /usr/bin/python3 | python3 $src/tests/doctor/carry_out.py
    # shellcheck disable=SC2016  # for the shell inside
    timeout 120 sh -c 'until systemctl -q is-active "$0"; do sleep 1; done' "user@$(id -u "$1").service" ||
        echo "petri-doctor: failed: $1 has no manager"
}

# The manager of the user who may not divide memory: as where an administrator counts it for nothing in the user's slice.
start_undelegated() {
    id=$(id -u $undelegated)
    for unit in "user@$id.service" "user-runtime-dir@$id.service"; do
        mkdir -p "/run/systemd/system/$unit.d"
        printf '[Service]\nDelegate=\nDelegate=pids\nMemoryAccounting=no\n' >"/run/systemd/system/$unit.d/narrow.conf"
    done
    systemctl daemon-reload
    loginctl enable-linger $undelegated
    systemctl start "user@$id.service"
}

# What doctor says in each of the ways: tests/doctor compares it, outside.
doctors() {
    show systemd-root /root as_service $build/petri
    show systemd-login / as_login $build/petri
    show systemd-user-service / as_user_service $build/petri
    show systemd-stranger /home/$newcomer as_other $newcomer $build/petri
    mend $newcomer
    show systemd-stranger-mended /home/$newcomer as_other $newcomer $build/petri
    start_undelegated
    show systemd-undelegated /home/$undelegated as_other $undelegated $build/petri
    mend $undelegated
    show systemd-undelegated-mended /home/$undelegated as_other $undelegated $build/petri
    echo "petri-doctor: end"
}

show_doctors() {
    doctors >$kept/doctor
    flock $kept/lock cat $kept/doctor
}

# The two halves take about as long, beside each other: the machine has two processors.
one_half() {
    show_doctors
    live_tests "as a user who logged in" as_login delegate # the others run as an ordinary user in the service, too
    live_tests "as root in a service" as_service
    python_tests "as a user without a bus" as_stranger watched "report or memory or cpu"
}

other_half() {
    python_tests "as a user who logged in" as_login "cgroup v2" # what folders do isn't a matter of who has started petri
    python_tests "as root in a service" as_service "cgroup v2" "not folders"
    python_tests "as a service of the user's" as_user_service "cgroup v2" "report or memory"
    hostile_cells "as root in a service" as_service root
}

if [ "${1:-}" = --targets ]; then
    for test in $live; do
        echo "test_$test"
    done
    exit
fi

. $src/tests/doctor/show.sh
echo "petri-vm: begin: $(uname -r), $(systemctl --version | head -n 1), $(stat -fc %T /sys/fs/cgroup)"
mkdir -p $kept
cp /proc/uptime $kept/booted
useradd --create-home --shell /bin/bash $user
useradd --create-home --shell /bin/bash $stranger
useradd --create-home --shell /bin/bash $newcomer
useradd --create-home --shell /bin/bash $undelegated
uid=$(id -u $user)
loginctl enable-linger $user
systemctl start "user@$uid.service"
one_half &
other_half
wait $! || echo "failed    0 s  one half of the parts: it ended before its time" | tee -a $kept/parts
echo "== all parts; the machine was up after $(cut -d. -f1 $kept/booted) s, and is done after $(cut -d. -f1 /proc/uptime) s"
cat $kept/parts
echo "petri-vm: end: $(grep -c ^failed $kept/parts) failed, $(grep -c ^passed $kept/parts) passed"
