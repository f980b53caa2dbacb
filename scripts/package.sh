#!/bin/sh
# package.sh deb: builds the Debian package of this checkout, for the release of Debian that it runs on, into build/.
set -eu
. "$(dirname -- "$0")/common.sh"

# The same commit gives the same package, byte by byte: all of it is built anew, and has the commit's date.
if [ -z "${SOURCE_DATE_EPOCH:-}" ]; then
    SOURCE_DATE_EPOCH=$(git -C "$root" log -1 --format=%ct 2>/dev/null || stat -c %Y "$root/CHANGELOG.md")
    export SOURCE_DATE_EPOCH
fi

deb() {
    "$root/scripts/deps.sh" install build deb
    rm -rf "$build/debian"
    cmake -S "$root" --preset debian -B "$build/debian" >/dev/null
    cmake --build "$build/debian"
    (cd "$build/debian" && cpack >cpack.log 2>&1) || die "cpack failed: $build/debian/cpack.log"
    cp "$build"/debian/*.deb "$build/"
    package=$(basename "$build"/debian/*.deb)
    say "$build/$package is made; install it with: apt install $build/$package"
}

case ${1:-} in
deb) deb ;;
*) die "usage: package.sh deb" ;;
esac
