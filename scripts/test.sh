#!/bin/sh
# make test: installs what is missing, builds, tries every kind of behaviour once; minutes.
#
#   PETRI_REQUIRE_LIVE=1  a test that can't run on this machine fails
#   PETRI_JOBS            how many tests at once: twice the number of processors
#   PETRI_STEPS           only steps whose names this extended regular expression matches
set -eu
. "$(dirname -- "$0")/common.sh"
. "$root/scripts/steps.sh"

"$scripts/deps.sh" install build python unit sanitize browser docs
"$scripts/build.sh"

# Two processes unpack what is fetched, and wait for it. Meanwhile the others run what needs none of it.
fetch() {
    "$scripts/venv.sh" run check test libraries clients
    "$scripts/kernelspecs.sh"
    record '' $(($(date +%s) - began)) "what is fetched is there"
}

fetch_apart() {
    "$scripts/venv.sh" docs
    "$scripts/node.sh"
}

# Each once: those that trace and sandbox real programs can't run with sanitizers, all others do.
units() {
    step "unit tests of live sandboxes" short unit_tests live_tests -L live
    step "unit tests of all else, with ASan and UBSan" short "$scripts/ctest.sh" asan -j "$jobs"
}

beside fetch fetch_apart units
need fetch fetch_apart

step "layers" "$root/tests/layers"
step "layers: a violation is found" "$root/tests/layers" --self-test
step "each source has its test, each page its files" "$root/tests/sources"
step "each source has its test, each page its files: a mistake is found" "$root/tests/sources" --self-test
step "each command in a page has its test" "$root/tests/documents"
step "each command in a page has its test: a mistake is found" "$root/tests/documents" --self-test
step "each program that a script calls is there" "$venv/bin/python" "$root/tests/programs.py"
step "each program that a script calls is there: a mistake is found" \
    "$venv/bin/python" "$root/tests/programs.py" --self-test
step "notebooks are valid and without outputs" "$venv/bin/python" "$scripts/check_notebooks.py" "$root/examples"
step "documents, without a warning" "$scripts/docs.sh"
step "worker" python_tests tests/worker --door test
step "end to end" python_tests tests/e2e --door test
step "the protocol, row by row" python_tests tests/surface --door test
step "the Python package, the agent example and the pages" python_tests tests/client --door test
step "the documents as a site: links, search, and mistakes that are found" "$scripts/pytest.sh" tests/docs --door test
step "what petri doctor says: the golden files are complete" "$scripts/pytest.sh" tests/doctor --door test

clients() {
    step "other people's clients" python_tests tests/clients --door test
    step "notebooks, cell by cell beside ipykernel" python_tests tests/notebooks --door test
}

# They wait for limits to be reached.
hostile() {
    step "hostile cells, as an ordinary user" python_tests tests/hostile --door test
}

beside clients hostile
report "Left out, and tried by make test-all: the other interpreters of this machine, hostile cells as root and without
control groups, unit tests and loops at length, Jupyter's own test suites, fuzzing, and a virtual machine with systemd
and control groups version 2."
