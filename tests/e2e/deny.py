"""Starts a program for which some system calls fail with EPERM, as a container's policy would make them.

usage: deny.py SYSCALL[:ARGUMENT=VALUE][,...] PROGRAM [ARGUMENT...]
       deny.py SYSCALL:listen PROGRAM [ARGUMENT...]

ARGUMENT counts from 0; with it, the call fails only where that argument has VALUE. With listen, nothing fails, but the filter
has a listener, which waits for such calls and answers none.
"""

import ctypes
import ctypes.util
import errno
import os
import sys

SCMP_ACT_ALLOW = 0x7FFF0000
SCMP_ACT_ERRNO = 0x00050000
SCMP_ACT_NOTIFY = 0x7FC00000
SCMP_CMP_EQ = 4
LISTEN = "listen"


class Comparison(ctypes.Structure):
    """struct scmp_arg_cmp of seccomp_rule_add_array(3)."""

    _fields_ = [
        ("argument", ctypes.c_uint),
        ("op", ctypes.c_int),
        ("value", ctypes.c_uint64),
        ("unused", ctypes.c_uint64),
    ]


def parse(rule):
    """The name of a call, and what is compared."""
    name, _, comparison = rule.partition(":")
    if comparison in ("", LISTEN):
        return name, []
    argument, _, value = comparison.partition("=")
    return name, [Comparison(int(argument), SCMP_CMP_EQ, int(value, 0), 0)]


def deny(rules):
    library = ctypes.CDLL(ctypes.util.find_library("seccomp") or "libseccomp.so.2")
    library.seccomp_init.restype = ctypes.c_void_p
    library.seccomp_notify_fd.argtypes = [ctypes.c_void_p]
    context = ctypes.c_void_p(library.seccomp_init(ctypes.c_uint32(SCMP_ACT_ALLOW)))
    listens = any(rule.endswith(":" + LISTEN) for rule in rules)
    for name, compared in map(parse, rules):
        number = library.seccomp_syscall_resolve_name(name.encode())
        action = ctypes.c_uint32(SCMP_ACT_NOTIFY if listens else SCMP_ACT_ERRNO | errno.EPERM)
        array = (Comparison * len(compared))(*compared)
        if number < 0 or library.seccomp_rule_add_array(context, action, number, len(compared), array) != 0:
            sys.exit(f"deny.py: no rule for {name}")
    if library.seccomp_load(context) != 0:
        sys.exit("deny.py: the filter was refused")
    if listens:
        os.set_inheritable(library.seccomp_notify_fd(context), True)


if __name__ == "__main__":
    deny(sys.argv[1].split(","))
    os.execvp(sys.argv[2], sys.argv[2:])
