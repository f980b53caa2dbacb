#!/bin/sh
# pytest.sh FOLDER [ARGUMENTS]: the folder's Python tests, in build/venv, against build/petri.
# `-n 4` runs four at a time; `--door test` those of `make test` (tests/conftest.py).
set -eu
. "$(dirname -- "$0")/common.sh"

folder=$1
shift
cd "$root"
# Compiled modules are kept apart from the checkout, and nothing compiled beside a module is looked at: so they have to be
# written, or each process, also of those that tests start, compiles all that it imports.
unset PYTHONDONTWRITEBYTECODE
PYTHONPYCACHEPREFIX="$build/pycache" exec "$venv/bin/python" -m pytest -q "$folder" "$@"
