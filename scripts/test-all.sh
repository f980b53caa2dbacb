#!/bin/sh
# make test-all: what make test leaves out, which is longer. Takes the same variables, and
#
#   FUZZ_SECONDS  for each fuzz target: 6
set -eu
. "$(dirname -- "$0")/common.sh"
. "$root/scripts/steps.sh"

"$scripts/deps.sh" install build python unit sanitize browser container wheel deb packages
"$scripts/deps.sh" install vm || true # what needs it says so, and is skipped, or fails in CI
"$scripts/build.sh"
"$scripts/venv.sh" run check test libraries clients course notebooks wheel packages
"$scripts/node.sh"
"$scripts/kernelspecs.sh"

# What virtual machines are made of waits for the network and for dpkg, so it is made while the first steps run. Whoever
# needs it waits for the lock on it, and tries again where this has failed.
mkdir -p "$build/vm/small"
(
    as_root "$scripts/vm/tree.sh" "$build/vm" || true
    as_root "$scripts/vm/small.sh" "$build/vm/small" make || true
) >"$build/vm/made.log" 2>&1 &

step "unit tests, at length" unit_tests all
step "worker, other interpreters" python_tests tests/worker --door rest
step "end to end, other interpreters, and at length" python_tests tests/e2e --door rest --alone no

clients() {
    step "other people's clients: Jupyter's own suites, nbgrader" python_tests tests/clients --door rest
    step "notebooks of others: fetched" "$venv/bin/python" "$root/tests/notebooks/fetch.py"
    step "notebooks, cell by cell beside ipykernel" python_tests tests/notebooks --door rest
}

# They wait for packages to be unpacked, and for systems to start.
systems() {
    step "packages, in clean systems" python_tests tests/packages --door rest
    step "what petri doctor says, in small virtual machines and in containers" "$scripts/test-doctor.sh"
}

beside clients systems
step "hostile cells, as root and without control groups, and at length" python_tests tests/hostile --door rest --alone no
step "a thousand cells, alone" "$scripts/pytest.sh" tests/e2e --door rest --alone yes
step "hostile cells: what time and memory they take, alone" "$scripts/pytest.sh" tests/hostile --door rest --alone yes
step "fuzz targets" "$scripts/fuzz.sh"
step "virtual machine" "$scripts/test-vm.sh"
report "With make test that is every test there is."
