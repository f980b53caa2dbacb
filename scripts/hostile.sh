#!/bin/sh
# make test-hostile: every hostile cell, in every way of running, with all that they need.
set -eu
. "$(dirname -- "$0")/common.sh"
. "$root/scripts/steps.sh"

"$scripts/deps.sh" install build python
"$scripts/build.sh"
"$scripts/venv.sh" run check test

step "hostile cells" python_tests tests/hostile --alone no
step "hostile cells: what time and memory they take, alone" "$scripts/pytest.sh" tests/hostile --alone yes
report "Left out: hostile cells in the virtual machine, make test-vm."
