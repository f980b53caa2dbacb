#!/bin/sh
set -eu
. "$(dirname -- "$0")/common.sh"

rm -rf "$build" "$root/tour.html" "$root/agent-run"
