#!/bin/sh
# make test-vm: the live tests on what users have, in a virtual machine: Debian 12's own kernel, systemd, cgroup v2.
#
#   PETRI_REQUIRE_LIVE=1  where there can be no virtual machine, fail instead of skipping
#   PETRI_VM_TIMEOUT      seconds until the machine counts as stuck: 2400
#   PETRI_VM_ACCEL        qemu's accelerator: kvm where that works, and else tcg, which emulates every instruction
#   PETRI_WRITE_PAGES=1   write what petri doctor says there to tests/doctor/said instead of comparing it
#
# What lasts is made once, in build/vm; what changes is built anew for every run.
set -eu
. "$(dirname -- "$0")/common.sh"
. "$root/scripts/vm/qemu.sh"

vm=$build/vm
console=$vm/console.log
results=$vm/results.log
begin='petri-vm: begin'
end='petri-vm: end'

boot() {
    machine "${PETRI_VM_TIMEOUT:-2400}" "$kernel" -accel "$accel" -m 3G -smp 2 \
        -initrd "$(find "$vm/tree/boot" -name 'initrd.img-*')" \
        -append "$kernel_options root=/dev/vda rw" \
        -drive "file=$vm/tree.ext4,format=raw,if=virtio,snapshot=on" \
        -drive "file=$vm/payload.ext4,format=raw,if=virtio,snapshot=on" \
        -serial "file:$console" -serial stdio
}

# Only what the guest prints between the markers, as it comes, and of a test only how it ended. What doctor says there
# is for tests/doctor.
show() {
    sed -u 's/\r$//' | tee "$results" |
        sed -u -n "/^petri-doctor: begin/,/^petri-doctor: exit/d; /^$begin/,/^$end/{/^\[ RUN \|^petri-doctor:/!p}"
}

judge() {
    grep -q "^$begin" "$results" || die "the machine never began its tests; its console: $console"
    grep -q "^$end" "$results" || die "the machine never finished its tests; its console: $console"
    grep -q "^$end: 0 failed" "$results" || die "tests failed in the virtual machine; their output: $results"
    python3 "$root/tests/doctor/golden.py" systemd "$results" || die "petri doctor says something else there"
}

start=$(date +%s)
need_machines
mkdir -p "$vm"
as_root "$root/scripts/vm/tree.sh" "$vm" || skip "Debian's packages can't be had here"
"$root/scripts/venv.sh" site
as_root "$root/scripts/vm/payload.sh" "$vm" "$build/site"
prepared=$(date +%s)
kernel=$(find "$vm/tree/boot" -name 'vmlinuz-*')
accel=$(accelerator "$kernel")
say "booting with $accel, after $((prepared - start)) s for the disks"
boot | show
say "test-vm: $(($(date +%s) - prepared)) s in the machine, $(($(date +%s) - start)) s in all"
judge
