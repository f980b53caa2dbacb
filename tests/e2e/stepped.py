"""Starts a program, and kills a process of it as soon as they have made so many system calls together.

usage: stepped.py STOPS VICTIM PROGRAM [ARGUMENT...]

Each call counts twice: before Linux makes it and after it. Only calls count by which processes begin, end, wait for each
other or have what others have; what is between two of them makes no difference to who outlives whom. VICTIM is "first",
the process that was started, or "last", the one that has come last. Those that live on are let go. It prints how many stops
there were, and all processes: fewer than STOPS where another process has executed a program, which ends the start of the
kernel; then the first one is killed.
"""

import ctypes
import os
import signal
import sys

SYSCALL, PEEKUSER = 24, 3
SEIZE, INTERRUPT = 0x4206, 0x4207
SYSGOOD, FORK, VFORK, CLONE, EXEC = 1, 1 << 1, 1 << 2, 1 << 3, 1 << 4
EVENT_EXEC = 4
ORIG_RAX = 15 * 8  # See: struct user_regs_struct, <sys/user.h>; x86-64 as the kernel itself

# read, write, close, poll, pause, clone, fork, vfork, exit, wait4, kill, fcntl, setsid, prctl, exit_group, unshare, dup3,
# pipe2, pidfd_open, clone3
COUNTED = {0, 1, 3, 7, 34, 56, 57, 58, 60, 61, 62, 72, 112, 157, 231, 272, 292, 293, 434, 435}

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.restype = ctypes.c_long
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


def ptrace(request, pid, data=0, address=0):
    """ESRCH where it has been killed meanwhile: the wait that comes says so."""
    return libc.ptrace(request, pid, address, data)


def start(arguments):
    """The program, stopped in front of its exec."""
    go = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.read(go[0], 1)
        os.dup2(2, 1)  # who reads what this program prints waits for no other
        os.execvp(arguments[0], arguments)
    if ptrace(SEIZE, pid, SYSGOOD | FORK | VFORK | CLONE | EXEC) < 0:
        sys.exit(os.strerror(ctypes.get_errno()))
    ptrace(INTERRUPT, pid)
    os.waitpid(pid, 0)
    os.write(go[1], b"x")
    return pid


class Stepped:
    def __init__(self, arguments):
        self.first = start(arguments)
        self.order = [self.first]
        ptrace(SYSCALL, self.first)

    def next_stop(self):
        """Goes on to a stop that counts, whose process it returns; None where the start is over."""
        while True:
            try:
                pid, status = os.waitpid(-1, 0x40000000)  # __WALL: threads, too
            except ChildProcessError:
                return None
            if not os.WIFSTOPPED(status):
                self.order = [other for other in self.order if other != pid]
                continue
            if pid not in self.order:
                self.order.append(pid)
            if status >> 16 == EVENT_EXEC and pid != self.first:
                return None
            if os.WSTOPSIG(status) == signal.SIGTRAP | 0x80 and ptrace(PEEKUSER, pid, 0, ORIG_RAX) in COUNTED:
                return pid
            forwarded = os.WSTOPSIG(status) if status >> 16 == 0 and not os.WSTOPSIG(status) & 0x80 else 0
            ptrace(SYSCALL, pid, forwarded)


def main(stops, victim, arguments):
    stepped = Stepped(arguments)
    made = 0
    while (pid := stepped.next_stop()) is not None:
        made += 1
        if made == stops:
            break
        ptrace(SYSCALL, pid)
    os.kill(stepped.order[-1] if victim == "last" and made == stops else stepped.first, signal.SIGKILL)
    print(made, *stepped.order, flush=True)
    os._exit(0)  # lets all others go on


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3:])
