#!/bin/sh
# tree.sh FOLDER, as root: FOLDER/tree, a Debian 12 with its own kernel and systemd, and FOLDER/tree.ext4, its disk.
# Does nothing where they are there and made by this same recipe; one at a time makes them.
set -eu
folder=$1
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
tree=$folder/tree
disk_size=4G

# What every machine has; what petri's build needs; what the tests need.
packages="
    systemd systemd-sysv udev dbus dbus-user-session libpam-systemd linux-image-amd64 initramfs-tools zstd procps
    gcc libc6-dev cmake ninja-build pkg-config libzmq3-dev libjansson-dev libsodium-dev libseccomp-dev libsqlite3-dev libpcre2-dev libcmocka-dev
    python3 python3-numpy python3-pytest python3-jupyter-client"

# What would take its time while the machine starts, or begin beside a test.
unneeded="
    getty@tty1.service serial-getty@ttyS0.service systemd-journal-flush.service systemd-pstore.service e2scrub_reap.service
    apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer fstrim.timer systemd-tmpfiles-clean.timer"

mkdir -p "$folder"
exec 9>"$folder/lock"
flock 9
recipe=$(cat "$here/tree.sh" "$here/petri-vm.service" | sha256sum | cut -d' ' -f1)
[ "$(cat "$folder/recipe" 2>/dev/null || true)" = "$recipe" ] && exit 0

# Before its kernel is there: an initial RAM disk with what finds the disks, and not with every driver there is.
# shellcheck disable=SC2016  # for mmdebstrap's shell
small_initrd='mkdir -p "$1/etc/initramfs-tools/conf.d"
    printf "MODULES=list\nCOMPRESS=zstd\nCOMPRESSLEVEL=1\n" >"$1/etc/initramfs-tools/conf.d/petri-vm"
    printf "virtio_pci\nvirtio_blk\next4\n" >"$1/etc/initramfs-tools/modules"'

# Nothing is synced, and nothing unpacked that the machine has no use for.
# shellcheck disable=SC2086  # a list of words
make_tree() {
    mmdebstrap --mode=root --variant=minbase --format=directory \
        --include="$(echo $packages | tr ' ' ,)" --aptopt='APT::Install-Recommends "false"' \
        --dpkgopt=force-unsafe-io \
        --dpkgopt='path-exclude=/usr/share/doc/*' \
        --dpkgopt='path-exclude=/usr/share/locale/*' \
        --dpkgopt='path-exclude=/usr/share/man/*' \
        --dpkgopt='path-exclude=/lib/modules/*/kernel/sound/*' \
        --dpkgopt='path-exclude=/lib/modules/*/kernel/drivers/*' \
        --dpkgopt='path-include=/lib/modules/*/kernel/drivers/virtio/*' \
        --dpkgopt='path-include=/lib/modules/*/kernel/drivers/block/virtio_blk.ko' \
        --essential-hook="$small_initrd" \
        bookworm "$tree" 'deb http://deb.debian.org/debian bookworm main'
}

echo "petri: making Debian 12 for the virtual machine in $tree; this happens once and takes a minute or two"
rm -rf "$tree" "$tree.ext4" "$folder/recipe"
log=$folder/tree.log
if ! make_tree >"$log" 2>&1; then
    tail -n 5 "$log" >&2
    exit 1
fi

mkdir "$tree/petri"
echo petri-vm >"$tree/etc/hostname"
echo '/dev/vdb /petri ext4 defaults 0 0' >"$tree/etc/fstab"
cp "$here/petri-vm.service" "$tree/etc/systemd/system/"
chroot "$tree" systemctl -q enable petri-vm.service
# shellcheck disable=SC2086  # a list of words
chroot "$tree" systemctl -q mask $unneeded
mkfs.ext4 -q -F -O ^has_journal -d "$tree" "$tree.ext4" "$disk_size"
chmod -R go+rX "$tree/boot" # qemu needn't be root
echo "$recipe" >"$folder/recipe"
