#!/bin/sh
# make bench: arguments are passed on to bench/run.py, those behind the word classroom or travel to bench/classroom.py or
# bench/travel.py.
set -eu
. "$(dirname -- "$0")/common.sh"

"$root/scripts/deps.sh" install build python
"$root/scripts/build.sh"
"$root/scripts/venv.sh" run bench optional-xeus optional-kishu
"$root/scripts/kernelspecs.sh"
if "$build/kishu/bin/python" -c 'import ipykernel, kishu' 2>/dev/null; then
    "$build/kishu/bin/python" -m ipykernel install --prefix "$venv" --name kishu --display-name Kishu >/dev/null
fi
program=run
case ${1:-} in
classroom | travel)
    program=$1
    shift
    ;;
esac
exec "$venv/bin/python" "$root/bench/$program.py" "$@"
