#!/bin/sh
# make test-doctor: what petri doctor says in every situation that it knows, compared with tests/doctor/said: under other
# kernels and other settings than this machine's, in small virtual machines, and in containers.
#
#   test-doctor.sh [MACHINE:KERNEL...]: these machines alone, as debian_12:6.1.
#
#   PETRI_REQUIRE_LIVE=1  where there can be no virtual machine, fail instead of skipping
#   PETRI_VM_TIMEOUT      seconds until a machine counts as stuck: 600
#   PETRI_VM_ACCEL        as for make test-vm
#   PETRI_WRITE_PAGES=1   write what it says instead of comparing it
#
# The machines start in seconds and run beside each other: one for each kernel, and in it one situation after the other.
set -eu
. "$(dirname -- "$0")/common.sh"
. "$root/scripts/vm/qemu.sh"

small=$build/vm/small
logs=$small/logs

# boot MACHINE VERSION: what it shows is in its log.
boot() {
    : >"$logs/$1.log"
    kernel=$(find "$small/boot" -name "vmlinuz-$2*")
    machine "${PETRI_VM_TIMEOUT:-600}" "$kernel" -accel "$(accelerator "$kernel")" -m 1G -initrd "$small/initrd" \
        -append "$kernel_options machine=$1" -serial "file:$logs/$1.console" -serial "file:$logs/$1.log"
}

# boot_all MACHINE:KERNEL...
boot_all() {
    rm -rf "$logs"
    mkdir "$logs"
    for pair in "$@"; do
        boot "${pair%:*}" "${pair#*:}" &
    done
    wait
    sed -n 's/\r$//; s/^petri-doctor: \(machine\|end\)/\1/p' "$logs"/*.log
}

# compare MACHINE:KERNEL...
compare() {
    for pair in "$@"; do
        set -- "$@" "${pair%:*}" "$logs/${pair%:*}.log"
        shift
    done
    python3 "$root/tests/doctor/golden.py" "$@"
}

start=$(date +%s)
status=0
what=machines
[ $# -gt 0 ] || { what=all && set -- debian_11:5.10. debian_12:6.1. debian_13:6.12.; }
need_machines
"$root/scripts/build.sh"
"$root/scripts/venv.sh" run check
mkdir -p "$small"
as_root "$root/scripts/vm/small.sh" "$small" make || skip "Debian's packages can't be had here"
rm -rf "$small/petri"
cmake --install "$build" --prefix "$small/petri" >/dev/null
as_root "$root/scripts/vm/small.sh" "$small" fill "$small/petri"
say "booting $# small machines, after $(($(date +%s) - start)) s for their files"
boot_all "$@"
say "test-doctor: $(($(date +%s) - start)) s for the machines"
compare "$@" || status=1
[ $what = machines ] || "$root/scripts/pytest.sh" "$root/tests/doctor" || status=1
exit $status
