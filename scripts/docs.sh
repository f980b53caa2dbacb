#!/bin/sh
# docs.sh [MADE OUT]: the documents and the manual pages as a site, in build/html. Any warning is an error.
#
# With PETRI_WRITE_PAGES=1 kernelspec/help.html is written anew; else it has to be what its pages give.
# With arguments: with the manual pages of the CMake build in MADE, into OUT.
set -eu
. "$(dirname -- "$0")/common.sh"
made=${1:-$build}
out=${2:-$build/html}

"$root/scripts/deps.sh" install build python docs
[ $# -gt 0 ] || "$root/scripts/build.sh"
"$root/scripts/venv.sh" docs
use_date_of_commit
cmake --build "$made" --target man
check=--check
[ "${PETRI_WRITE_PAGES:-}" != 1 ] || check=
# shellcheck disable=SC2086 # an option or none
"$build/docs.venv/bin/python" "$root/docs/site/help_page.py" $check
# The theme's authors announce another tool in each build.
PETRI_MAN="$made/man" NO_MKDOCS_2_WARNING=1 PYTHONDONTWRITEBYTECODE=1 \
    "$build/docs.venv/bin/python" -m mkdocs build --strict --config-file "$root/mkdocs.yml" --site-dir "$out"
say "the documents are in $out/index.html"
