#!/bin/sh
# make bench: arguments are passed on to bench/run.py, those behind the word classroom to bench/classroom.py.
set -eu
. "$(dirname -- "$0")/common.sh"

"$root/scripts/deps.sh" install build python
"$root/scripts/build.sh"
"$root/scripts/venv.sh" run bench optional-xeus
"$root/scripts/kernelspecs.sh"
program=run
if [ "${1:-}" = classroom ]; then
    program=classroom
    shift
fi
exec "$venv/bin/python" "$root/bench/$program.py" "$@"
