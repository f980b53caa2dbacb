#!/bin/sh
# small.sh FOLDER make|fill PREFIX, as root: what the small machines of test-doctor.sh are made of.
#
#   make         FOLDER/tree, a Debian 13 of what petri needs and no more, and the kernels of three releases of Debian,
#                of whose modules it has the one that petri asks for. Does nothing where it was made by this recipe.
#   fill PREFIX  puts petri, installed in PREFIX, and tests/doctor into it, and all of it into FOLDER/initrd
#
# The newest release has libraries with which a petri runs that was built for an older one. The whole tree is the
# machines' initial RAM disk: it needs no driver, and each machine has its own.
set -eu
folder=${1:?}
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
tree=$folder/tree
mirror=http://deb.debian.org/debian

packages="
    mount procps kmod cpio apparmor
    python3 libzmq5 libjansson4 libsodium23 libseccomp2 libsqlite3-0 libpcre2-8-0"

# The three releases have one package of this name, and each depends on the newest kernel of its release.
# shellcheck disable=SC2016  # for mmdebstrap's shell
fetch_kernels='
    mkdir "$1/kernels"
    cd "$1/kernels"
    export APT_CONFIG="$MMDEBSTRAP_APT_CONFIG"
    apt-get download $(apt-cache show linux-image-cloud-amd64 | sed -n "s/^Depends: \(linux-image-[^ ,]*\).*/\1/p")'

# shellcheck disable=SC2086  # a list of words
make_tree() {
    mmdebstrap --mode=root --variant=essential --format=directory \
        --include="$(echo $packages | tr ' ' ,)" --aptopt='APT::Install-Recommends "false"' \
        --dpkgopt=force-unsafe-io \
        --dpkgopt='path-exclude=/usr/share/doc/*' \
        --dpkgopt='path-exclude=/usr/share/locale/*' \
        --dpkgopt='path-exclude=/usr/share/man/*' \
        --customize-hook="$fetch_kernels" \
        trixie "$tree" "deb $mirror trixie main" "deb $mirror bookworm main" "deb $mirror bullseye main"
}

unpack_kernels() {
    mkdir -p "$folder/boot"
    for package in "$tree"/kernels/*.deb; do
        dpkg-deb --fsys-tarfile "$package" |
            tar -C "$tree" -xf - --wildcards './boot/vmlinuz-*' '*/overlay.ko*' '*/modules.order' '*/modules.builtin*'
    done
    mv "$tree"/boot/vmlinuz-* "$folder/boot"
    rm -rf "$tree/kernels"
    for modules in "$tree"/lib/modules/*; do
        chroot "$tree" depmod "$(basename "$modules")"
    done
}

make() {
    recipe=$(sha256sum <"$0")
    [ "$(cat "$folder/recipe" 2>/dev/null || true)" = "$recipe" ] && return
    echo "petri: making the small virtual machines' Debian in $tree; this happens once and takes half a minute"
    rm -rf "${tree:?}" "${folder:?}/boot" "$folder/recipe"
    if ! make_tree >"$folder/tree.log" 2>&1 || ! unpack_kernels >>"$folder/tree.log" 2>&1; then
        tail -n 5 "$folder/tree.log" >&2
        return 1
    fi
    echo "$recipe" >"$folder/recipe"
}

# As Python compiles its own: nothing is compiled where each instruction is emulated.
fill() {
    rm -rf "${tree:?}/usr/local" "$tree/doctor"
    cp -a "$1" "$tree/usr/local"
    chown -R root:root "$tree/usr/local"
    cp -R "$here/../../tests/doctor" "$tree/doctor"
    ln -sf doctor/guest.sh "$tree/init"
    chroot "$tree" python3 -m compileall -q /usr/local/share/petri >"$folder/fill.log" 2>&1 || true
    chroot "$tree" sh -c 'find . -xdev ! -path "./var/lib/apt/*" | cpio --quiet -o -H newc' >"$folder/initrd"
}

mkdir -p "$folder"
exec 9>"$folder/lock"
flock 9
shift
"$@"
