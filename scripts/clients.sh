#!/bin/sh
# clients.sh [ARGUMENTS]: tests/clients, with everything that they need; then the table is in build/clients/.
set -eu
. "$(dirname -- "$0")/common.sh"

"$root/scripts/deps.sh" install build python browser
"$root/scripts/build.sh"
"$root/scripts/venv.sh" run check test clients course
"$root/scripts/node.sh"
exec "$root/scripts/pytest.sh" tests/clients "$@"
