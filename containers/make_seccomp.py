#!/usr/bin/env python3
"""Makes seccomp.json: the default profile of container runtimes, and what petri needs besides.

usage: make_seccomp.py [DEFAULT] >seccomp.json

DEFAULT is the profile that Podman comes with (/usr/share/containers/seccomp.json,
Debian's golang-github-containers-common). It says which calls are allowed with which
capabilities; runtimes that read the plain format of the OCI (containerd, and with it
Kubernetes) ignore such conditions. So they are resolved here, for a container with
CAPABILITIES on x86-64, and the result has none: it means the same to Docker, Podman,
containerd and CRI-O.

Of a call that stands in NEEDED or LIKE_DOCKER nothing is taken from DEFAULT.

See: OCI runtime specification, "Linux", seccomp; seccomp_rule_add(3).
"""

import json
import pathlib
import sys

DEFAULT = pathlib.Path("/usr/share/containers/seccomp.json")

# What Podman gives a container; Docker gives it these and three more.
CAPABILITIES = {
    "CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID", "CAP_KILL", "CAP_NET_BIND_SERVICE", "CAP_SETFCAP",
    "CAP_SETGID", "CAP_SETPCAP", "CAP_SETUID", "CAP_SYS_CHROOT",
}  # fmt: skip
ARCHITECTURES = ["SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32"]

# Flags of clone(2), of mounts and of the like, as Linux's headers have them.
NEWNS, NEWCGROUP, NEWUTS, NEWIPC = 0x20000, 0x2000000, 0x4000000, 0x8000000
NEWUSER, NEWPID, NEWNET = 0x10000000, 0x20000000, 0x40000000
ALL_BUT_TIME = NEWNS | NEWCGROUP | NEWUTS | NEWIPC | NEWUSER | NEWPID | NEWNET
OF_A_WORKER = NEWNS | NEWCGROUP | NEWUTS | NEWIPC | NEWNET
MNT_DETACH = 2
MOVE_MOUNT_F_EMPTY_PATH = 4
OPEN_TREE_CLONE_CLOEXEC, AT_RECURSIVE, AT_EMPTY_PATH = 0x80001, 0x8000, 0x1000
KCMP_FILE, KCMP_VM, KCMP_EPOLL_TFD = 0, 1, 7


def equal(index, *values):
    """One condition for each value that an argument may have."""
    return [{"index": index, "value": value, "op": "SCMP_CMP_EQ"} for value in values]


def masked(index, mask, *values):
    """The same for what is left of an argument below a mask."""
    return [{"index": index, "value": mask, "valueTwo": value, "op": "SCMP_CMP_MASKED_EQ"} for value in values]


# What petri needs: the call, what it may be called with ([] where that is in memory, which seccomp can't see), and why.
NEEDED = [
    (
        "clone",
        masked(0, ALL_BUT_TIME, 0, OF_A_WORKER, ALL_BUT_TIME),
        "processes and threads; the worker's namespaces; a sandbox's and the cage's",
    ),
    ("clone3", [], "a cell's task is born with the thread id that it has always had (set_tid)"),
    (
        "unshare",
        equal(0, NEWUSER, NEWPID, NEWNS),
        "the kernel's own user, pid and mount namespace",
    ),
    ("setns", equal(1, NEWUSER | NEWPID, ALL_BUT_TIME), "a task enters the cage, and a cell's its sandbox"),
    ("mount", [], "a sandbox's root: tmpfs, overlays, binds and a fresh /proc"),
    ("umount2", equal(1, MNT_DETACH), "a sandbox leaves the container's root behind"),
    ("pivot_root", [], "a sandbox gets a root of its own"),
    ("chroot", [], "a sandbox's paths are its own while its root is built"),
    (
        "open_tree",
        equal(2, OPEN_TREE_CLONE_CLOEXEC | AT_RECURSIVE),
        "the notebook's folder is shown by its descriptor, whatever its name leads to",
    ),
    (
        "open_tree",
        equal(2, OPEN_TREE_CLONE_CLOEXEC | AT_RECURSIVE | AT_EMPTY_PATH),
        "a volume in the notebook's folder is shown by its descriptor",
    ),
    ("open_tree", equal(2, OPEN_TREE_CLONE_CLOEXEC), "a file is shown without the folder that it is in"),
    ("move_mount", equal(4, MOVE_MOUNT_F_EMPTY_PATH), "what open_tree opened is put in its place"),
    ("mount_setattr", [], "what cells see of the container is read-only, with all that is mounted in it"),
    ("ptrace", [], "a session's tasks are stopped, recorded and made anew"),
    ("pidfd_getfd", [], "what a cell has open is recorded, and its end of the control socket taken"),
    (
        "kcmp",
        equal(2, KCMP_FILE, KCMP_VM, KCMP_EPOLL_TFD),
        "which descriptors share an open file, which processes their memory, and what an epoll watches",
    ),
]

# What petri can do without, and Docker's default profile allows less of than Podman's: the call, and what Docker's allows.
# So with either runtime the result allows no more than its default but what is NEEDED. (Without fspick and fsconfig an
# overlay is reconfigured by mount(2), in the zygote.)
AF_ALG, AF_VSOCK = 38, 40
LIKE_DOCKER = [
    (
        "socket",
        [
            {"index": 0, "value": AF_ALG, "op": "SCMP_CMP_LT"},
            {"index": 0, "value": AF_ALG + 1, "op": "SCMP_CMP_EQ"},
            {"index": 0, "value": AF_VSOCK, "op": "SCMP_CMP_GT"},
        ],
    ),
    *(
        (name, [])
        for name in (
            "fsconfig", "fsmount", "fsopen", "fspick", "get_mempolicy", "keyctl", "mbind", "readdir", "reboot",
            "set_mempolicy", "sigaction", "signal", "sigpending", "sigsuspend", "syscall", "syslog", "timerfd", "umount",
        )
    ),
]  # fmt: skip


def holds(rule):
    """Whether a rule of the default profile is one for such a container."""
    includes, excludes = rule.get("includes") or {}, rule.get("excludes") or {}
    if includes.get("arches") and "amd64" not in includes["arches"]:
        return False
    if set(includes.get("caps") or []) - CAPABILITIES:
        return False
    return "amd64" not in (excludes.get("arches") or []) and not CAPABILITIES & set(excludes.get("caps") or [])


def resolve(default):
    """The rules of a default profile that hold, without conditions: pairs of a call and the rest of its rule."""
    for rule in filter(holds, default["syscalls"]):
        rest = {"action": rule["action"]}
        if "errnoRet" in rule:
            rest["errnoRet"] = rule["errnoRet"]
        if rule.get("args"):
            rest["args"] = [{key: value for key, value in arg.items() if key != "comment"} for arg in rule["args"]]
        yield from ((name, rest) for name in rule["names"])


def additions():
    """The rules of NEEDED, one for each condition: a call is allowed where one of its rules holds."""
    for name, conditions, why in NEEDED:
        for condition in conditions or [None]:
            rule = {"names": [name], "action": "SCMP_ACT_ALLOW", "comment": "petri: " + why}
            yield rule | ({"args": [condition]} if condition else {})


def reductions():
    """The rules that are left of LIKE_DOCKER."""
    for name, conditions in LIKE_DOCKER:
        for condition in conditions:
            yield {"names": [name], "action": "SCMP_ACT_ALLOW", "args": [condition]}


def base(default):
    """The rules that are taken from a default profile; calls with the same rule are listed together."""
    own = {row[0] for row in [*NEEDED, *LIKE_DOCKER]}
    grouped = {}
    for name, rest in resolve(default):
        if name not in own:
            grouped.setdefault(json.dumps(rest, sort_keys=True), set()).add(name)
    for rest, names in grouped.items():
        yield {"names": sorted(names)} | json.loads(rest)


def make(default):
    return {
        "defaultAction": default["defaultAction"],
        "defaultErrnoRet": default["defaultErrnoRet"],
        "architectures": ARCHITECTURES,
        "syscalls": [*additions(), *reductions(), *base(default)],
    }


if __name__ == "__main__":
    source = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT
    print(json.dumps(make(json.loads(source.read_text())), indent=2))
