#!/bin/sh
# deb.sh: builds the Debian package of this checkout, for the release of Debian that it runs on, into build/.
set -eu
. "$(dirname -- "$0")/common.sh"

"$root/scripts/deps.sh" install build deb docs
use_date_of_commit
umask 022 # the folders of the package are for all users
rm -rf "$build/debian"
cmake -S "$root" --preset debian -B "$build/debian" >/dev/null
cmake --build "$build/debian"
"$root/scripts/docs.sh" "$build/debian" "$build/debian/html"
(cd "$build/debian" && cpack >cpack.log 2>&1) || die "cpack failed: $build/debian/cpack.log"
cp "$build"/debian/*.deb "$build/"
package=$(basename "$build"/debian/*.deb)
say "$build/$package is made; install it with: apt install $build/$package"
