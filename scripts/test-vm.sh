#!/bin/sh
# make test-vm: the live tests on what users have, in a virtual machine: Debian 12's own kernel, systemd, cgroup v2.
#
#   PETRI_REQUIRE_LIVE=1  where there can be no virtual machine, fail instead of skipping
#   PETRI_VM_TIMEOUT      seconds until the machine counts as stuck: 2400
#   PETRI_VM_ACCEL        qemu's accelerator: kvm where that works, and else tcg, which emulates every instruction
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

# machine SECONDS OPTION...: tables of pages with a fifth level would only make emulation slower.
machine() {
    seconds=$1
    shift
    timeout -k 10 "$seconds" qemu-system-x86_64 -cpu max,la57=off -nodefaults -display none -no-reboot -nic none \
        -kernel "$(find "$vm/tree/boot" -name 'vmlinuz-*')" "$@" </dev/null
}

# There may be a /dev/kvm on which nothing runs, from which qemu can't fall back: so Linux has to say something there.
kvm_works() {
    [ -w /dev/kvm ] && grep -qw 'vmx\|svm' /proc/cpuinfo || return 1
    said=$(machine 20 -accel kvm -m 256M -append "console=ttyS0 panic=-1" -serial stdio 2>/dev/null | head -c 1)
    [ -n "$said" ]
}

accelerator() {
    if [ -n "${PETRI_VM_ACCEL:-}" ]; then
        echo "$PETRI_VM_ACCEL"
    elif kvm_works; then
        echo kvm
    else
        echo tcg
    fi
}

# Beside what the disks are: nothing in Linux that takes its time to be safe, and is no matter to any test.
boot() {
    machine "${PETRI_VM_TIMEOUT:-2400}" -accel "$accel" -m 3G -smp 2 \
        -initrd "$(find "$vm/tree/boot" -name 'initrd.img-*')" \
        -append "console=ttyS0 root=/dev/vda rw panic=-1 quiet mitigations=off init_on_alloc=0 rcupdate.rcu_expedited=1" \
        -drive "file=$vm/tree.ext4,format=raw,if=virtio,snapshot=on" \
        -drive "file=$vm/payload.ext4,format=raw,if=virtio,snapshot=on" \
        -serial "file:$console" -serial stdio
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

start=$(date +%s)
[ "$(uname -m)" = x86_64 ] || skip "it is made for x86_64, and this is $(uname -m)"
can_be_root || skip "making the machine's disk needs root, and there is no sudo"
"$root/scripts/deps.sh" install vm || skip "qemu, mmdebstrap and mkfs.ext4 can't be had here"
mkdir -p "$vm"
as_root "$root/scripts/vm/tree.sh" "$vm" || skip "Debian's packages can't be had here"
"$root/scripts/venv.sh" site
as_root "$root/scripts/vm/payload.sh" "$vm" "$build/site"
prepared=$(date +%s)
accel=$(accelerator)
say "booting with $accel, after $((prepared - start)) s for the disks"
boot | show
say "test-vm: $(($(date +%s) - prepared)) s in the machine, $(($(date +%s) - start)) s in all"
judge
