#!/bin/sh
# What a small machine runs as its first process, and all that it does: the situations of one kernel, one after the
# other, and what petri doctor says in each. It prints that to the second serial port, and switches the machine off.
#
# The variable "machine", which Linux has from the loader, says which of the functions below it is.
set -u
: "${machine:?}"
export PATH=/usr/local/bin:/usr/sbin:/usr/bin LC_ALL=C.UTF-8
# shellcheck source=tests/doctor/show.sh
. /doctor/show.sh

ordinary="setpriv --reuid=ada --regid=ada --clear-groups env -i HOME=/home/ada PATH=$PATH"

# user NAME [COMMAND...]: how the user starts petri, where that is not as it is.
user() {
    situation=$1
    shift
    # shellcheck disable=SC2086  # a list of words
    show "$situation" /home/ada $ordinary "$@" petri
}

root() {
    show "$1" /root env -i HOME=/root PATH="$PATH" petri
}

# What doctor tells the user in such a situation an administrator does; and what doctor says then.
mended() {
    situation=$1
    shift
    # shellcheck disable=SC2086  # a list of words
    (cd /home/ada && $ordinary "$@" petri doctor --json --python /usr/bin/python3) | python3 /doctor/carry_out.py
    user "$situation-mended" "$@"
}

# Linux 5.10: before overlays in a user namespace, and so before petri.
debian_11() {
    user old-kernel
}

# Linux 6.1, with Debian's switch for user namespaces. Yama's level 3 comes last: only a restart ends it.
debian_12() {
    echo "blacklist overlay" >/etc/modprobe.d/no-overlay.conf
    user no-overlay
    mended no-overlay
    root root
    user user
    sysctl -qw kernel.unprivileged_userns_clone=0
    user userns-clone-0
    mended userns-clone-0
    sysctl -qw user.max_user_namespaces=0
    user max-user-namespaces-0
    mended max-user-namespaces-0
    sysctl -qw kernel.unprivileged_userns_clone=0 user.max_user_namespaces=0
    sysctl -q --system # as the next start does: what was written for both is still there
    for level in 1 2 3; do
        sysctl -qw kernel.yama.ptrace_scope=$level
        user yama-$level
    done
}

# Linux 6.12, whose AppArmor mediates user namespaces, as Ubuntu's does.
debian_13() {
    show_ubuntus_switch
    apparmor_parser --replace /doctor/sessions.apparmor
    user ubuntu-without-its-profile aa-exec -p session_without_namespaces -- env
    user ubuntu aa-exec -p session_without_capabilities -- env
    mended ubuntu aa-exec -p session_without_capabilities -- env
}

# Only Ubuntu's kernels have kernel.apparmor_restrict_unprivileged_userns: here it is a file among the others. A second
# /proc has nothing mounted in it, without which Linux would refuse a new one in a user namespace.
show_ubuntus_switch() {
    mkdir /run/proc
    mount -t proc proc /run/proc
    mount -t tmpfs tmpfs /proc/sys/kernel
    for path in /run/proc/sys/kernel/*; do
        if [ -d "$path" ]; then mkdir "/proc/sys/kernel/${path##*/}"; else : >"/proc/sys/kernel/${path##*/}"; fi
    done
    for name in seccomp yama cap_last_cap overflowuid overflowgid pid_max ngroups_max random; do
        mount --bind "/run/proc/sys/kernel/$name" "/proc/sys/kernel/$name"
    done
    echo 1 >/proc/sys/kernel/apparmor_restrict_unprivileged_userns
}

# pivot_root(2) refuses the first root of all, so all goes on in one that is mounted on it.
begin() {
    mount --bind / /mnt
    cd /mnt || exit
    mount --move . /
    exec chroot . /doctor/guest.sh go_on
}

mount_all() {
    mount -t proc proc /proc
    mount -t sysfs sysfs /sys
    mount -t devtmpfs devtmpfs /dev
    mount -t tmpfs -o mode=1777 tmpfs /tmp
    mount -t securityfs securityfs /sys/kernel/security
    mount -t cgroup2 cgroup2 /sys/fs/cgroup
}

add_user() {
    echo "ada:x:1000:1000::/home/ada:/bin/sh" >>/etc/passwd
    echo "ada:x:1000:" >>/etc/group
    mkdir -p /home/ada
    chown ada:ada /home/ada
}

go_on() {
    mount_all
    add_user
    exec >/dev/ttyS1
    echo "petri-doctor: machine $machine, $(uname -r), after $(cut -d. -f1 /proc/uptime) s"
    "$machine"
    echo "petri-doctor: end, after $(cut -d. -f1 /proc/uptime) s"
    echo o >/proc/sysrq-trigger
    sleep infinity
}

"${1:-begin}"
