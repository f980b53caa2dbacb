#!/bin/sh
# payload.sh FOLDER SITE, as root: builds the checkout inside FOLDER/tree, for what that Debian has, and puts the
# result, the tests and SITE (petri's own Python packages) on the machine's second disk, FOLDER/payload.ext4.
set -eu
folder=$1
site=$2
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
payload=$folder/payload

# Files keep their times, so that only what has changed is built again, and Python takes what it has compiled.
copy_sources() {
    rm -rf "$payload/src"
    mkdir -p "$payload/src" "$payload/build"
    tar -C "$root" --exclude=./build --exclude=./.git --exclude=__pycache__ -cf - . | tar -C "$payload/src" -xf -
    rm -rf "$payload/build/site"
    cp -a "$site" "$payload/build/site"
}

build_inside() {
    # shellcheck disable=SC2016  # for the shell inside
    unshare --mount --pid --fork --mount-proc="$folder/tree/proc" sh -eu -c '
        mount --bind "$2" "$1/petri"
        exec chroot "$1" /bin/sh -eu -c "
            export PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8
            cmake -S /petri/src -B /petri/build -G Ninja -DCMAKE_BUILD_TYPE=Release -DPETRI_TESTS=ON
            cmake --build /petri/build --target petri $3
            python3 -m compileall -q /petri/build/site /petri/src/worker /petri/src/tests || true"' sh "$folder/tree" "$payload" \
        "$(echo "$targets" | tr "\n" " ")"
}

copy_sources
targets=$(sh "$root/tests/vm/guest.sh" --targets)
if ! build_inside >"$folder/payload.log" 2>&1; then
    tail -n 40 "$folder/payload.log" >&2
    exit 1
fi
rm -f "$payload.ext4"
mkfs.ext4 -q -F -O ^has_journal -d "$payload" "$payload.ext4" 1G
chmod a+rw "$payload.ext4"
