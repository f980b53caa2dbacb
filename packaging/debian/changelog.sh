#!/bin/sh
# changelog.sh VERSION MAINTAINER OUT: what CHANGELOG.md says of a version, as Debian's changelog has it, compressed.
# SOURCE_DATE_EPOCH is its date. See: deb-changelog(5).
set -eu

version=$1
maintainer=$2
out=$3
changes=$(dirname -- "$0")/../../CHANGELOG.md
date=$(date -u -R -d "@${SOURCE_DATE_EPOCH:-$(date +%s)}")

# The items below the version's heading, up to the next one: with a star, two columns to the right, in shorter lines.
items=$(awk -v version="$version" '
    /^## / { within = ($2 ~ "^" version ",?$"); next }
    within && NF { sub(/^- /, "* "); print "  " $0 }' "$changes" | fmt -t -w 79)
[ -n "$items" ] || {
    echo "petri: CHANGELOG.md has nothing of version $version" >&2
    exit 1
}
printf 'petri-kernel (%s) unstable; urgency=medium\n\n%s\n\n -- %s  %s\n' \
    "$version" "$items" "$maintainer" "$date" | gzip -9n >"$out"
