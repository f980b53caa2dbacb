#!/bin/sh
# The first and last thing that the virtual machine does: every part of the live tests, in each way that people start
# programs under systemd. What it prints between the markers is what `make test-vm` prints.
set -u
export PETRI_REQUIRE_LIVE=1 CMOCKA_MESSAGE_OUTPUT=stdout PYTHONDONTWRITEBYTECODE=1 LC_ALL=C.UTF-8
user=alice
uid=$(id -u $user)
src=/petri/src
build=/petri/build
passed=0
failed=0
failures=

# As a service of the system's manager: this script is one.
as_service() {
    env HOME=/root "$@"
}

# As someone who has logged in: through PAM, so with a session scope, a user manager and its bus.
as_login() {
    systemd-run --quiet --pipe --wait --collect -p PAMName=login -p User=$user -p WorkingDirectory=/home/$user \
        -E PETRI_REQUIRE_LIVE -E CMOCKA_MESSAGE_OUTPUT -E PYTHONDONTWRITEBYTECODE -E LC_ALL "$@"
}

# As a service of the user's own manager.
as_user_service() {
    runuser -u $user -- env HOME=/home/$user XDG_RUNTIME_DIR=/run/user/"$uid" \
        systemd-run --user --quiet --pipe --wait --collect -E PETRI_REQUIRE_LIVE -E PYTHONDONTWRITEBYTECODE \
        -E LC_ALL "$@"
}

# As an ordinary user that systemd knows nothing of: no bus, so no group of one's own.
as_nobody_knows() {
    runuser -u $user -- env -u XDG_RUNTIME_DIR -u DBUS_SESSION_BUS_ADDRESS HOME=/home/$user "$@"
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

cmocka() {
    for test in "$build"/tests/"$1"/test_*; do
        if [ -f "$test" ]; then # and no folder of cmake's
            part "$(basename "$test") $2" "$3" env -C "$src/tests/$1" "$test"
        fi
    done
}

python_tests() {
    part "test_guest.py $1" "$2" env PETRI_BUILD=$build PETRI_VM_MEMORY="$3" \
        python3 -m pytest -v -ra --tb=short -p no:cacheprovider $src/tests/vm/test_guest.py
}

echo "petri-vm: begin: $(uname -r), $(systemctl --version | head -n 1), $(stat -fc %T /sys/fs/cgroup)"
loginctl enable-linger $user
systemctl start "user@$uid.service"
cmocka sandbox "as root in a service" as_service
cmocka sandbox "as a user who logged in" as_login
python_tests "as root in a service" as_service "cgroup v2"
python_tests "as a user who logged in" as_login "cgroup v2"
python_tests "as a service of the user's" as_user_service "cgroup v2"
python_tests "as a user without a bus" as_nobody_knows watched
echo "$failures"
echo "petri-vm: end: $failed failed, $passed passed"
