#!/bin/sh
# pytest.sh FOLDER [ARGUMENTS]: the folder's Python tests, in build/venv, against build/petri.
# `-n 4` runs four at a time; `--door test` those of `make test` (tests/conftest.py).
set -eu
. "$(dirname -- "$0")/common.sh"

folder=$1
shift
cd "$root"
PYTHONPYCACHEPREFIX="$build/pycache" exec "$venv/bin/python" -m pytest -q "$folder" "$@"
