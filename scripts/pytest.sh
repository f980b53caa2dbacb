#!/bin/sh
# pytest.sh FOLDER [ARGUMENTS]: the folder's Python tests, in build/venv, against build/petri.
set -eu
. "$(dirname -- "$0")/common.sh"

folder=$1
shift
cd "$root"
# no:asyncio: of the suites in tests/clients, which are run apart.
PYTHONDONTWRITEBYTECODE=1 exec "$venv/bin/python" -m pytest -q -ra -p no:cacheprovider -p no:asyncio "$folder" "$@"
