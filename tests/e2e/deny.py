"""Starts a program for which some system calls fail with EPERM, as a container's policy would make them.

usage: deny.py SYSCALL[,SYSCALL...] PROGRAM [ARGUMENT...]
"""

import ctypes
import ctypes.util
import errno
import os
import sys

SCMP_ACT_ALLOW = 0x7FFF0000
SCMP_ACT_ERRNO = 0x00050000


def deny(names):
    library = ctypes.CDLL(ctypes.util.find_library("seccomp") or "libseccomp.so.2")
    library.seccomp_init.restype = ctypes.c_void_p
    context = ctypes.c_void_p(library.seccomp_init(ctypes.c_uint32(SCMP_ACT_ALLOW)))
    for name in names:
        number = library.seccomp_syscall_resolve_name(name.encode())
        action = ctypes.c_uint32(SCMP_ACT_ERRNO | errno.EPERM)
        if number < 0 or library.seccomp_rule_add(context, action, ctypes.c_int(number), ctypes.c_uint(0)) != 0:
            sys.exit(f"deny.py: no rule for {name}")
    if library.seccomp_load(context) != 0:
        sys.exit("deny.py: the filter was refused")


if __name__ == "__main__":
    deny(sys.argv[1].split(","))
    os.execvp(sys.argv[2], sys.argv[2:])
