"""Stands between a kernel and Linux: the kernel can't give a cell registers that have a mark, although it can read them.

usage: refusing.py PID ERRNO MARK

As Linux does where a task may use registers that a tracer can't set. MARK is what an xmm register holds, 16 bytes in
hexadecimal. Says "ready" once it traces the process, and "refused" each time; ends with the process, or when it is killed.
"""

import ctypes
import errno
import os
import signal
import sys

SYSCALL, POKEUSER, GETREGS = 24, 6, 12
SEIZE, INTERRUPT = 0x4206, 0x4207
SYSGOOD = 1
GETREGSET, SETREGSET = 0x4204, 0x4205  # what the kernel asks of ptrace(2)
PTRACE = 101  # x86-64 as the kernel itself. See: struct user_regs_struct, <sys/user.h>
R10, R8, RAX, RDX, RSI, RDI, ORIG_RAX = 7, 9, 10, 12, 13, 14, 15

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.restype = ctypes.c_long
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


def ptrace(request, pid, address=0, data=0):
    if libc.ptrace(request, pid, address, data) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def registers(pid):
    found = (ctypes.c_uint64 * 27)()
    ptrace(GETREGS, pid, 0, ctypes.addressof(found))
    return found


class Refusing:
    def __init__(self, pid, error, mark):
        self.pid, self.error, self.mark = pid, error, mark
        self.memory = os.open(f"/proc/{pid}/mem", os.O_RDONLY)
        self.read_of = set()  # tasks whose registers have been read: what those have can be set again
        ptrace(SEIZE, pid, 0, SYSGOOD)
        ptrace(INTERRUPT, pid)

    def next_call(self):
        """Goes on to the next end of a system call's half."""
        passed_on = 0
        while True:
            ptrace(SYSCALL, self.pid, 0, passed_on)
            _, status = os.waitpid(self.pid, 0x40000000)  # __WALL
            if not os.WIFSTOPPED(status):
                sys.exit()
            if os.WSTOPSIG(status) == signal.SIGTRAP | 0x80:
                return registers(self.pid)
            passed_on = os.WSTOPSIG(status) if status >> 16 == 0 else 0

    def has_mark(self, iov):
        base, size = (int.from_bytes(os.pread(self.memory, 8, iov + at), "little") for at in (0, 8))
        return self.mark in os.pread(self.memory, size, base)

    def run(self):
        os.waitpid(self.pid, 0x40000000)
        print("ready", flush=True)
        while True:
            entry = self.next_call()
            is_marked = entry[ORIG_RAX] == PTRACE and entry[RDI] == SETREGSET and self.has_mark(entry[R10])
            refused = is_marked and entry[RSI] not in self.read_of
            if refused:
                ptrace(POKEUSER, self.pid, ORIG_RAX * 8, ctypes.c_uint64(-1).value)
            self.next_call()
            if refused:
                ptrace(POKEUSER, self.pid, RAX * 8, ctypes.c_uint64(-self.error).value)
                print("refused", flush=True)
            elif entry[ORIG_RAX] == PTRACE and entry[RDI] == GETREGSET:
                self.read_of.add(entry[RSI])


if __name__ == "__main__":
    Refusing(int(sys.argv[1]), getattr(errno, sys.argv[2]), bytes.fromhex(sys.argv[3])).run()
