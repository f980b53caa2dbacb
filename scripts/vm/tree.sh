#!/bin/sh
# tree.sh FOLDER, as root: FOLDER/tree, a Debian 12 with its own kernel and systemd, and FOLDER/tree.ext4, its disk.
# Does nothing where they are there and made by this same recipe.
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

recipe=$(cat "$here/tree.sh" "$here/petri-vm.service" | sha256sum | cut -d' ' -f1)
[ "$(cat "$folder/recipe" 2>/dev/null || true)" = "$recipe" ] && exit 0

# In namespaces of its own, so that whatever it starts or mounts ends with it.
inside() {
    unshare --mount --pid --fork --mount-proc="$tree/proc" chroot "$tree" /usr/bin/env -i \
        PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"
}

echo "petri: making Debian 12 for the virtual machine in $tree; this happens once and takes some minutes"
rm -rf "$tree" "$tree.ext4" "$folder/recipe"
log=$folder/tree.log
if ! debootstrap --variant=minbase bookworm "$tree" >"$log" 2>&1; then
    tail -n 5 "$log" >&2
    exit 1
fi
cp /etc/resolv.conf "$tree/etc/resolv.conf"
printf '#!/bin/sh\nexit 101\n' >"$tree/usr/sbin/policy-rc.d" # nothing is started while it is made
chmod 755 "$tree/usr/sbin/policy-rc.d"
# shellcheck disable=SC2086  # a list of words
if ! { inside apt-get update -q && inside apt-get install -y -q --no-install-recommends $packages; } >>"$log" 2>&1; then
    tail -n 5 "$log" >&2
    exit 1
fi
inside apt-get clean
rm "$tree/usr/sbin/policy-rc.d"

mkdir "$tree/petri"
echo petri-vm >"$tree/etc/hostname"
echo '/dev/vdb /petri ext4 defaults 0 0' >"$tree/etc/fstab"
cp "$here/petri-vm.service" "$tree/etc/systemd/system/"
inside systemctl -q enable petri-vm.service
mkfs.ext4 -q -F -d "$tree" "$tree.ext4" "$disk_size"
chmod -R go+rX "$tree/boot" # qemu needn't be root
echo "$recipe" >"$folder/recipe"
