#!/bin/sh
# debian_tree.sh FOLDER RELEASE, as root: FOLDER/tree, a Debian with what it can't do without, and nothing else.
# Does nothing where it is there and made by this same recipe; one at a time makes it.
set -eu
folder=$1
release=$2
tree=$folder/tree

mkdir -p "$folder"
exec 9>"$folder/lock"
flock 9
recipe=$(sha256sum <"$0")
[ "$(cat "$folder/recipe" 2>/dev/null || true)" = "$recipe" ] && exit 0

rm -rf "$tree" "$folder/recipe"
if ! mmdebstrap --mode=root --variant=minbase --format=directory --dpkgopt=force-unsafe-io \
    "$release" "$tree" "deb http://deb.debian.org/debian $release main" >"$folder/tree.log" 2>&1; then
    tail -n 5 "$folder/tree.log" >&2
    exit 1
fi
echo "$recipe" >"$folder/recipe"
