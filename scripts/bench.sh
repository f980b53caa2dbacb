#!/bin/sh
# make bench: arguments are passed on to bench/run.py.
set -eu
. "$(dirname -- "$0")/common.sh"

"$root/scripts/deps.sh" install build python
"$root/scripts/build.sh"
"$root/scripts/venv.sh" run bench optional-xeus
"$root/scripts/kernelspecs.sh"
exec "$venv/bin/python" "$root/bench/run.py" "$@"
