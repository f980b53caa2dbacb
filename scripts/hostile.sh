#!/bin/sh
# hostile.sh [ARGUMENTS]: every hostile cell, in every way of running, with all that they need.
set -eu
. "$(dirname -- "$0")/common.sh"
. "$root/scripts/steps.sh"

"$scripts/deps.sh" install build python
"$scripts/build.sh"
"$scripts/venv.sh" run check test
python_tests tests/hostile "$@"
