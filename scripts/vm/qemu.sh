# shellcheck shell=sh disable=SC2034,SC2154
# Sourced after common.sh by the scripts that start virtual machines.

# With PETRI_REQUIRE_LIVE=1, as in CI, what is skipped has failed.
skip() {
    say "$(basename "$0" .sh): skipped: $*"
    [ "${PETRI_REQUIRE_LIVE:-}" != 1 ] || die "PETRI_REQUIRE_LIVE=1: what is skipped has failed"
    exit 0
}

can_be_root() {
    [ "$(id -u)" -eq 0 ] || have sudo
}

need_machines() {
    [ "$(uname -m)" = x86_64 ] || skip "it is made for x86_64, and this is $(uname -m)"
    can_be_root || skip "making the machine's files needs root, and there is no sudo"
    "$root/scripts/deps.sh" install python vm || skip "qemu, mmdebstrap and mkfs.ext4 can't be had here"
}

# machine SECONDS KERNEL OPTION...: tables of pages with a fifth level would only make emulation slower.
machine() {
    seconds=$1
    kernel=$2
    shift 2
    timeout -k 10 "$seconds" qemu-system-x86_64 -cpu max,la57=off -nodefaults -display none -no-reboot -nic none \
        -kernel "$kernel" "$@" </dev/null
}

# What a kernel is told beside what its disks are: nothing that takes its time to be safe, and is no matter to any test.
kernel_options="console=ttyS0 panic=-1 quiet mitigations=off init_on_alloc=0 rcupdate.rcu_expedited=1"

# There may be a /dev/kvm on which nothing runs, from which qemu can't fall back: so Linux has to say something there.
kvm_works() {
    [ -w /dev/kvm ] && grep -qw 'vmx\|svm' /proc/cpuinfo || return 1
    said=$(machine 20 "$1" -accel kvm -m 256M -append "console=ttyS0 panic=-1" -serial stdio 2>/dev/null | head -c 1)
    [ -n "$said" ]
}

# accelerator KERNEL: qemu's, tried with this kernel.
accelerator() {
    if [ -n "${PETRI_VM_ACCEL:-}" ]; then
        echo "$PETRI_VM_ACCEL"
    elif kvm_works "$1"; then
        echo kvm
    else
        echo tcg
    fi
}
