"""Cells that try to outlive, outrun, outnumber or leave their sandbox."""

from corpus import BRIEF, case

# A child on the cell's own memory, which counts in it for ever.
COUNTER = """
import ctypes, mmap
libc = ctypes.CDLL(None, use_errno=True)
code = mmap.mmap(-1, 4096, prot=7)
code.write(b"\\x48\\xff\\x07\\xeb\\xfb")  # again: incq (%rdi); jmp again
start = ctypes.addressof(ctypes.c_char.from_buffer(code))
stack = ctypes.create_string_buffer(65536)
count = ctypes.c_ulonglong(0)
child = libc.clone(ctypes.c_void_p(start), ctypes.c_void_p(ctypes.addressof(stack) + 65000), {flags}, ctypes.byref(count))
while count.value == 0:
    pass
"""
STANDS_STILL = "seen = [count.value for _ in range(1000)]\nassert min(seen) == max(seen) > 0, seen[::999]"

CASES = [
    case("clone_vm_child_writes_on", COUNTER.format(flags="0x100 | 17"), "ok", then=STANDS_STILL),
    case("clone_vm_child_without_signal", COUNTER.format(flags="0x100"), "ok", then=STANDS_STILL),
    case("clone_vm_files_sighand", COUNTER.format(flags="0xf00 | 17"), "ok", then=STANDS_STILL),
    case("clone_parent", "import ctypes; print(ctypes.CDLL(None).syscall(56, 0x8000 | 17, 0, 0, 0, 0))", "ok", stdout="-1"),
    case("clone3", "import ctypes; print(ctypes.CDLL(None).syscall(435, ctypes.create_string_buffer(88), 88))", "ok", stdout="-1"),
    case("clone_ptrace", "import ctypes; print(ctypes.CDLL(None).syscall(56, 0x2000 | 17, 0, 0, 0, 0))", "ok", stdout="-1"),
    case(
        "vfork_holds_parent",
        """
import os
os.mkfifo("/tmp/never")
os.posix_spawn("/bin/true", ["true"], {}, file_actions=[(os.POSIX_SPAWN_OPEN, 0, "/tmp/never", os.O_RDONLY, 0)])
""",
        "timeout",
        limits=BRIEF,
    ),
    case(
        "vfork_holds_a_thread",
        """
import ctypes, os, threading
os.mkfifo("/tmp/never")
libc, actions, pid = ctypes.CDLL(None), ctypes.create_string_buffer(256), ctypes.c_int()
libc.posix_spawn_file_actions_init(actions)
libc.posix_spawn_file_actions_addopen(actions, 0, b"/tmp/never", os.O_RDONLY, 0)
arguments = (ctypes.c_char_p * 2)(b"true", None)
spawn = (ctypes.byref(pid), b"/bin/true", actions, None, arguments, arguments)
thread = threading.Thread(target=libc.posix_spawn, args=spawn, daemon=True)
thread.start()
while open(f"/proc/self/task/{thread.native_id}/stat").read().split()[2] != "D":
    pass
""",
        "ok crash",
        owns=True,
    ),
    case(
        "grandchildren",
        'import subprocess; subprocess.Popen(["sh", "-c", "sleep 1000 & (sleep 1000 & sleep 1000) & setsid sleep 1000 & wait"])',
        "ok",
    ),
    case("shell_fork_bomb", "import os; os.system('b() { b | b & }; b')", "ok error timeout cpu crash memory"),
    case("threads_without_end", """
import threading
go, kept = threading.Event(), []
try:
    while True:
        kept.append(threading.Thread(target=go.wait))
        kept[-1].start()
finally:
    go.set()
    for thread in kept[:-1]:
        thread.join()
""", "error", "RuntimeError"),
    case("twin", "import os; os.fork()", "ok"),
    case("twin_speaks", "import os, sys\nif os.fork() == 0:\n    os.write(3, b'x' * 100)\n    os._exit(0)\nos.wait()", "ok crash"),
    case("twin_kills_its_parent", "import os, time\nif os.fork() == 0: os.kill(os.getppid(), 9)\ntime.sleep(60)", "crash"),
    case("child_keeps_the_pipes", "import os, time\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(1000)", "ok"),
    case("children_stopped", "import os\nfor _ in range(10):\n    if os.fork() == 0:\n        os.kill(os.getpid(), 19)", "ok"),
    case("stop_the_group", "import os; os.killpg(0, 19)", "timeout", limits=BRIEF),
    case("all_signals_blocked", "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\nwhile True: pass", "timeout", limits=BRIEF),
    case("all_signals_caught", """
import signal
for n in set(range(1, 65)) - {9, 19, 32, 33}:
    signal.signal(n, lambda *_: None)
while True:
    try:
        while True: pass
    except BaseException: pass
""", "timeout", limits=BRIEF),
    case("trace_signal_kills", """
import signal
signal.signal(signal.SIGRTMAX - 1, signal.SIG_DFL)
while True: pass
""", "timeout crash", limits=BRIEF),
    case("trace_pipe_flooded", "import os\nos.set_blocking(4, False)\nwhile True:\n    try: os.write(4, b'x' * 65536)\n    except OSError: pass", "timeout", limits=BRIEF),
    case("power", "10 ** 10 ** 9", "timeout", limits=BRIEF),
    case("sum_in_c", "sum(range(10 ** 12))", "timeout", limits=BRIEF),
    case("busy_threads", """
import threading
stop = False
def spin():
    while not stop: pass
for _ in range(8): threading.Thread(target=spin, daemon=True).start()
spin()
""", "timeout", limits=BRIEF),
    case("cpu_of_children", """
import os
for _ in range(3):
    if os.fork() == 0:
        while True: pass
while True: pass
""", "cpu", limits={"timeout": "20s", "cpu": "1s"}),
    case("sleep", "import time; time.sleep(1000)", "timeout", limits=BRIEF),
    case("await_for_ever", "import asyncio; await asyncio.Event().wait()", "timeout", limits=BRIEF),
    case("lock_for_ever", "import threading; lock = threading.Lock(); lock.acquire(); lock.acquire()", "timeout", limits=BRIEF),
    case("interrupt_is_ignored", "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nprint('started', flush=True)\nwhile True: pass", "interrupted", interrupt=True, limits={"timeout": "60s"}),
    case("interrupt_is_swallowed", """
while True:
    try:
        print('started', flush=True)
        while True: pass
    except BaseException: pass
""", "interrupted", interrupt=True, limits={"timeout": "60s"}),
    case("interrupt_in_c", "print('started', flush=True)\nsum(range(10 ** 12))", "interrupted", interrupt=True, limits={"timeout": "60s"}),
    case("interrupt_in_another_session", "import os, time\ntry: os.setsid()\nexcept OSError: os.setpgid(0, 0)\nprint('started', flush=True)\ntime.sleep(1000)", "interrupted", interrupt=True, limits={"timeout": "60s"}),
    case("input_while_interrupted", "while True:\n    try:\n        print('started', flush=True)\n        input()\n    except BaseException: pass", "interrupted", interrupt=True, content={"allow_stdin": True}, limits={"timeout": "60s"}),
    case("execv", "import os; os.execv('/bin/true', ['true'])", "crash"),
    case("execv_stays", "import os; os.execv('/bin/sleep', ['sleep', '1000'])", "crash timeout", limits=BRIEF),
    case("exit_in_a_thread", "import os, threading, time; threading.Thread(target=os._exit, args=(7,)).start(); time.sleep(60)", "crash"),
    case("first_thread_ends", "import ctypes; ctypes.CDLL(None).syscall(60, 0)", "crash timeout", limits=BRIEF),
    case("pthread_exit", "import ctypes; ctypes.CDLL(None).pthread_exit(None)", "crash timeout", limits=BRIEF),
    case("seccomp_kill", "import ctypes; ctypes.CDLL(None).syscall(0x40000000 | 39)", "crash ok"),
    case("rlimits_to_nothing", """
import resource
for name in dir(resource):
    if name.startswith("RLIMIT_") and name not in ("RLIMIT_CPU", "RLIMIT_STACK"):
        resource.setrlimit(getattr(resource, name), (0, 0))
""", "ok error crash", "MemoryError OSError BlockingIOError"),
    case("rlimit_cpu", "import resource\nresource.setrlimit(resource.RLIMIT_CPU, (1, 1))\nwhile True: pass", "crash"),
    case("rlimit_descriptors", "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))", "ok error crash"),
    case("rlimit_file_size", "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)); open('x', 'wb', 0).write(b'x')", "error crash", "OSError"),
    case("nice", "import os; os.nice(19)", "ok"),
    case(
        "other_processors",
        "import os; os.sched_setaffinity(0, range(os.cpu_count()))",
        "error",
        "PermissionError",
        denied="sched_setaffinity",
        limits={"cpus": 1},
    ),
    case(
        "processors_of_the_limit",
        "import os; print(len(os.sched_getaffinity(0)))",
        "ok",
        limits={"cpus": 1},
        stdout="1\n",
        then="import os; assert len(os.sched_getaffinity(0)) == min(2, os.cpu_count())",
    ),
    case("nicer", "import os; os.setpriority(0, 0, -20)", "error", "PermissionError"),
    case("realtime", "import os; os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(99))", "error", "PermissionError"),
    case("undumpable", "import ctypes; print(ctypes.CDLL(None).prctl(4, 0, 0, 0, 0))", "ok", stdout="0"),
    case("prctl_strict_seccomp", "import ctypes; print(ctypes.CDLL(None).prctl(22, 1, 0, 0, 0))", "ok", stdout="-1"),
    case("prctl_subreaper", "import ctypes; print(ctypes.CDLL(None).prctl(36, 1, 0, 0, 0))", "ok", stdout="-1"),
    case("prctl_death_signal", "import ctypes; print(ctypes.CDLL(None).prctl(1, 9, 0, 0, 0))", "ok", stdout="0"),
    case("personality", "import ctypes; print(ctypes.CDLL(None).personality(0x40000))", "ok", stdout="-1", denied="personality"),
    case("ptrace_a_child", """
import ctypes, os, time
child = os.fork()
if child == 0:
    time.sleep(1000)
print(ctypes.CDLL(None).ptrace(16, child, 0, 0))
""", "ok", stdout="-1", denied="ptrace"),
    case("setns_of_pid_1", "import os\nos.open('/proc/1/ns/mnt', os.O_RDONLY)", "error", "PermissionError FileNotFoundError"),
    case("root_of_pid_1", "import os\nos.listdir('/proc/1/root/')", "error", "PermissionError FileNotFoundError"),
    case("environment_of_pid_1", "open('/proc/1/environ').read()", "error", "PermissionError FileNotFoundError"),
    case("memory_of_petris_descriptors", "import os\nfor name in [*os.listdir('/proc/1/fd'), '0', '1']: os.stat(f'/proc/1/fd/{name}')", "error", "PermissionError FileNotFoundError"),
    case("proc_sys", "open('/proc/sys/kernel/core_pattern', 'wb', 0).write(b'|/tmp/x')", "error", "PermissionError OSError FileNotFoundError"),
    case("proc_sys_own_namespace", "open('/proc/sys/kernel/hostname', 'wb', 0).write(b'x')", "error", "PermissionError OSError FileNotFoundError"),
    case("oom_score", "open('/proc/self/oom_score_adj', 'wb', 0).write(b'-1000')", "error", "PermissionError OSError"),
    case("uid_map", "open('/proc/self/uid_map', 'wb', 0).write(b'0 0 1')", "error", "PermissionError OSError"),
    case("sys", "open('/sys/kernel/uevent_helper', 'wb', 0).write(b'x')", "error", "PermissionError OSError FileNotFoundError"),
    case("setuid", "import os; os.setuid(0)", "error ok", "PermissionError OSError", silent_about=("uid=0(",)),
    case("release_agent", "open('/sys/fs/cgroup/memory/release_agent', 'wb', 0).write(b'/tmp/x')", "error", "FileNotFoundError PermissionError OSError"),
    case("abstract_socket", "import socket; socket.socket(socket.AF_UNIX).connect('\\0ABSTRACT')", "error", "ConnectionRefusedError"),
    case("folder_socket", "import socket; socket.socket(socket.AF_UNIX).connect('host.sock')", "error", "ConnectionRefusedError PermissionError"),
    case("folder_fifo", "import os; os.write(os.open('host.fifo', os.O_RDWR | os.O_NONBLOCK), b'out')", "ok error", "PermissionError OSError"),
    case("netlink", "import socket; socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)", "error", "OSError"),
    case("packet_socket", "import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)", "error", "OSError", denied="socket"),
    case("raw_socket", "import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)", "error", "PermissionError"),
    case("udp", "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 53))", "error", "OSError", denied="sendto"),
    case("udp_sendmsg", "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendmsg([b'x'], [], 0, ('192.0.2.1', 53))", "error", "OSError"),
    case("ipv6", "import socket; socket.create_connection(('2001:db8::1', 80), 3)", "error", "OSError", denied="connect"),
    case("connect_flood", """
import socket
while True:
    try: socket.create_connection(("192.0.2.1", 80), 1)
    except OSError: pass
""", "timeout", limits=BRIEF),
    case("denied_flood", """
import ctypes
libc = ctypes.CDLL(None)
while True: libc.unshare(0x10000000)
""", "timeout", denied="unshare"),
    case("denied_by_child_that_dies", """
import ctypes, os
for _ in range(50):
    if os.fork() == 0:
        if os.fork() == 0:
            ctypes.CDLL(None).unshare(0x10000000)
        os.kill(os.getpid(), 9)
    os.wait()
""", "ok"),
]
