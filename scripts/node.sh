#!/bin/sh
# Clients from npm, exactly those of tests/clients/package-lock.json, into build/clients/node.
# Does nothing where they are already.
set -eu
. "$(dirname -- "$0")/common.sh"

from=$root/tests/clients
into=$build/clients/node
key=$({ cat "$from/package.json" "$from/package-lock.json" && node --version; } | sha256sum | cut -d' ' -f1)
up_to_date node "$key" && [ -d "$into/node_modules" ] && exit 0
say "fetching clients with npm, into $into"
mkdir -p "$into"
cp "$from/package.json" "$from/package-lock.json" "$into"
npm ci --prefix "$into" --ignore-scripts --no-audit --no-fund --loglevel=error
stamp node "$key"
