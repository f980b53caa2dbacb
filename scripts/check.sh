#!/bin/sh
# make check: what one runs while working; a minute or so after a build. No browser, no node, no clang.
set -eu
. "$(dirname -- "$0")/common.sh"
. "$root/scripts/steps.sh"

"$scripts/deps.sh" install build python unit
"$scripts/build.sh"
"$scripts/venv.sh" run check test

step "layers" "$root/tests/layers"
step "each source has its test, each page its files" "$root/tests/sources"
step "each command in a page has its test" "$root/tests/documents"
step "each program that a script calls is there" "$venv/bin/python" "$root/tests/programs.py"
step "unit tests" short unit_tests all
step "worker" python_tests tests/worker --door test
step "end to end, the main things" python_tests tests/e2e --door check
report "Left out: everything that make test tries (minutes)."
