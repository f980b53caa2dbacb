#!/bin/sh
# Builds client/lab, JupyterLab's extension, from its sources and from exactly the packages of its package-lock.json:
# build/clients/lab/labextension is then what client/lab/labextension has to be. tests/clients/test_extension.py
# compares the two; with PETRI_WRITE_PAGES=1 it replaces the one in the tree.
set -eu
. "$(dirname -- "$0")/common.sh"

from=$root/client/lab
into=$build/clients/lab
key=$({ cat "$from/package-lock.json" && node --version; } | sha256sum | cut -d' ' -f1)
mkdir -p "$into"
rm -rf "${into:?}/src" "$into/style" "$into/core" "${into:?}/lib" "$into/labextension"
(cd "$from" && cp -r package.json package-lock.json install.json tsconfig.json webpack.config.cjs src style core "$into")
if ! up_to_date labextension "$key" || [ ! -d "$into/node_modules" ]; then
    say "fetching with npm what JupyterLab's extension is built with, into $into"
    npm ci --prefix "$into" --ignore-scripts --no-audit --no-fund --loglevel=error
    stamp labextension "$key"
fi
npm run --prefix "$into" --silent build >"$into/build.log" 2>&1 || { cat "$into/build.log" >&2; die "it could not be built"; }
