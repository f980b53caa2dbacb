#!/bin/sh
# The first and last thing that the virtual machine does: every part of the live tests, in each way that people start
# programs under systemd. What it prints between the markers is what `make test-vm` prints.
#
#   guest.sh --targets   the targets of the build that it needs beside petri
set -u
export PETRI_REQUIRE_LIVE=1 CMOCKA_MESSAGE_OUTPUT=stdout PYTHONDONTWRITEBYTECODE=1 LC_ALL=C.UTF-8
user=alice # has a manager of systemd's
stranger=bob
part_seconds=1800 # until it counts as stuck
live="delegate cells threads view hostile" # those that make sandboxes: for the others it doesn't matter where they run
src=/petri/src
build=/petri/build
passed=0
failed=0
failures=

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

part() {
    name=$1
    shift
    echo "== $name"
    if (cd / && "$@"); then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        failures="$failures
FAILED  $name"
    fi
}

# live_tests NAME HOW [WHICH]
live_tests() {
    for test in ${3:-$live}; do
        part "test_$test $1" "$2" env -C $src/tests/sandbox "$build/tests/sandbox/test_$test"
    done
}

# python_tests NAME HOW WHAT_ENFORCES_MEMORY [WHICH]
python_tests() {
    part "test_guest.py $1" "$2" env PETRI_BUILD=$build PETRI_VM_MEMORY="$3" \
        python3 -m pytest -v -ra --tb=short --color=no -p no:cacheprovider \
        -k "${4:-test}" $src/tests/vm/test_guest.py
}

# hostile_cells NAME HOW WAY
hostile_cells() {
    part "hostile cells $1" "$2" env PETRI_BUILD=$build PETRI_SLOW=4 \
        python3 -m pytest -v -ra --tb=short --color=no -p no:cacheprovider \
        $src/tests/hostile/test_corpus.py --few "--way=$3"
}

if [ "${1:-}" = --targets ]; then
    for test in $live; do
        echo "test_$test"
    done
    exit
fi

echo "petri-vm: begin: $(uname -r), $(systemctl --version | head -n 1), $(stat -fc %T /sys/fs/cgroup)"
useradd --create-home --shell /bin/bash $user
useradd --create-home --shell /bin/bash $stranger
uid=$(id -u $user)
loginctl enable-linger $user
systemctl start "user@$uid.service"
live_tests "as root in a service" as_service
live_tests "as a user who logged in" as_login delegate # the others run as an ordinary user in the service, too
python_tests "as a user who logged in" as_login "cgroup v2" # what folders do isn't a matter of who has started petri
python_tests "as root in a service" as_service "cgroup v2" "not folders"
python_tests "as a service of the user's" as_user_service "cgroup v2" "report or memory"
python_tests "as a user without a bus" as_stranger watched "report or memory or cpu"
hostile_cells "as root in a service" as_service root
echo "$failures"
echo "petri-vm: end: $failed failed, $passed passed"
