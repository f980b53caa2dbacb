#!/bin/sh
# make test: every test there is; a failing step doesn't keep the others from running.
#
#   PETRI_REQUIRE_LIVE=1  a test that can't run on this machine fails
#   FUZZ_SECONDS          for each fuzz target: 10, in CI 60
set -eu
. "$(dirname -- "$0")/common.sh"

scripts=$root/scripts
summary=$(mktemp)
trap 'rm -f "$summary"' EXIT

prepare() {
    "$scripts/deps.sh" install build python test browser
    "$scripts/build.sh"
    "$scripts/venv.sh" run test clients
    "$scripts/node.sh"
    "$scripts/kernelspecs.sh"
}

# step NAME COMMAND...: runs it, remembers how it went and how long it took.
step() {
    name=$1
    shift
    printf '\n== %s\n' "$name"
    start=$(date +%s)
    if "$@"; then result=ok; else result=FAILED; fi
    printf '%-8s%5d s  %s\n' "$result" "$(($(date +%s) - start))" "$name" >>"$summary"
}

report() {
    printf '\n== summary\n'
    cat "$summary"
    if grep -q '^FAILED' "$summary"; then
        exit 1
    fi
}

prepare
step "layers" "$root/tests/layers"
step "layers: a violation is found" "$root/tests/layers" --self-test
step "notebooks are valid and without outputs" "$venv/bin/python" "$scripts/check_notebooks.py" "$root/examples"
step "unit tests" "$scripts/ctest.sh" dev
step "unit tests with ASan and UBSan" "$scripts/ctest.sh" asan -L '^(protocol|kernel)$'
step "fuzz targets" "$scripts/fuzz.sh"
step "worker" "$scripts/pytest.sh" tests/worker
step "end to end" "$scripts/pytest.sh" tests/e2e
step "the protocol, row by row" "$scripts/pytest.sh" tests/surface
step "the Python package, the agent example and the pages" "$scripts/pytest.sh" tests/client
step "other people's clients" "$scripts/pytest.sh" tests/clients
step "hostile cells" "$scripts/pytest.sh" tests/hostile
report
