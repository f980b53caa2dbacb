#!/bin/sh
# make test-vm: the live tests on what users have, in a virtual machine: Debian 12's own kernel, systemd, cgroup v2.
#
#   PETRI_REQUIRE_LIVE=1  where there can be no virtual machine, fail instead of skipping
#   PETRI_VM_TIMEOUT      seconds until the machine counts as stuck: 5400
#   PETRI_VM_ACCEL        qemu's accelerator: tcg, which works everywhere
#
# What lasts is made once, in build/vm; what changes is built anew for every run.
set -eu
. "$(dirname -- "$0")/common.sh"

vm=$build/vm
console=$vm/console.log
results=$vm/results.log
begin='petri-vm: begin'
end='petri-vm: end'

skip() {
    say "test-vm: skipped: $*"
    [ "${PETRI_REQUIRE_LIVE:-}" != 1 ] || die "PETRI_REQUIRE_LIVE=1: what is skipped has failed"
    exit 0
}

can_be_root() {
    [ "$(id -u)" -eq 0 ] || have sudo
}

boot() {
    kernel=$(find "$vm/tree/boot" -name 'vmlinuz-*')
    initrd=$(find "$vm/tree/boot" -name 'initrd.img-*')
    timeout -k 10 "${PETRI_VM_TIMEOUT:-5400}" qemu-system-x86_64 \
        -accel "${PETRI_VM_ACCEL:-tcg}" -cpu max -m 3G -smp 2 -nodefaults -display none -no-reboot -nic none \
        -kernel "$kernel" -initrd "$initrd" \
        -append "console=ttyS0 root=/dev/vda rw panic=-1 quiet mitigations=off" \
        -drive "file=$vm/tree.ext4,format=raw,if=virtio,snapshot=on" \
        -drive "file=$vm/payload.ext4,format=raw,if=virtio,snapshot=on" \
        -serial "file:$console" -serial stdio </dev/null
}

# Only what the guest prints between the markers, as it comes, and of a test only how it ended.
show() {
    sed -u 's/\r$//' | tee "$results" | sed -u -n "/^$begin/,/^$end/{/^\[ RUN /!p}"
}

judge() {
    grep -q "^$begin" "$results" || die "the machine never began its tests; its console: $console"
    grep -q "^$end" "$results" || die "the machine never finished its tests; its console: $console"
    grep -q "^$end: 0 failed" "$results" || die "tests failed in the virtual machine; their output: $results"
}

[ "$(uname -m)" = x86_64 ] || skip "it is made for x86_64, and this is $(uname -m)"
can_be_root || skip "making the machine's disk needs root, and there is no sudo"
"$root/scripts/deps.sh" install vm || skip "qemu, debootstrap and mkfs.ext4 can't be had here"
mkdir -p "$vm"
as_root "$root/scripts/vm/tree.sh" "$vm" || skip "Debian's packages can't be had here"
"$root/scripts/venv.sh" site
as_root "$root/scripts/vm/payload.sh" "$vm" "$build/site"
say "booting; this takes a while, as every instruction is emulated"
start=$(date +%s)
boot | show
say "test-vm: $(($(date +%s) - start)) s"
judge
