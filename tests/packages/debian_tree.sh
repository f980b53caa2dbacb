#!/bin/sh
# debian_tree.sh FOLDER, as root: FOLDER/tree, a Debian 12 with what it can't do without, and nothing else.
# Does nothing where it is there and made by this same recipe.
set -eu
folder=$1
tree=$folder/tree

recipe=$(sha256sum <"$0")
[ "$(cat "$folder/recipe" 2>/dev/null || true)" = "$recipe" ] && exit 0

rm -rf "$tree" "$folder/recipe"
mkdir -p "$folder"
if ! mmdebstrap --mode=root --variant=minbase --format=directory --dpkgopt=force-unsafe-io \
    bookworm "$tree" 'deb http://deb.debian.org/debian bookworm main' >"$folder/tree.log" 2>&1; then
    tail -n 5 "$folder/tree.log" >&2
    exit 1
fi
echo "$recipe" >"$folder/recipe"
