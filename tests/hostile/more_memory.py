"""Cells that want all of the memory, by each way there is to hold some; and all descriptors, mappings and disk."""

from corpus import case

HOLD = """
def hold():
    import mmap, time
    block = mmap.mmap(-1, 600 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for at in range(0, len(block), 4096):
        block[at] = 1
    time.sleep(1000)
"""

# What is held must pass the limit of 400 MB, and stays below what would trouble the machine.
CASES = [
    case(
        "memory_of_children",
        """
import os, time
for _ in range(8):
    if os.fork() == 0:
        block = bytearray(os.urandom(1 << 20)) * 100
        time.sleep(60)
time.sleep(60)
""",
        "memory",
    ),
    case(
        "memory_of_a_grandchild",
        """
import subprocess, sys
code = "import subprocess, sys, time; block = bytearray(b'x') * (300 << 20); len(sys.argv) > 1 or subprocess.run([sys.executable, '-c', sys.orig_argv[2], 'x']); time.sleep(60)"
subprocess.run([sys.executable, "-c", code])
""",
        "memory",
    ),
    # What /proc tells of a process it tells of its first thread.
    case(
        "memory_without_a_first_thread",
        f"""
import ctypes, threading
{HOLD}
threading.Thread(target=hold).start()
ctypes.CDLL(None).syscall(60, 0)
""",
        "memory",
    ),
    case(
        "child_without_a_first_thread",
        f"""
import ctypes, os, threading, time
{HOLD}
if os.fork() == 0:
    threading.Thread(target=hold).start()
    ctypes.CDLL(None).syscall(60, 0)
time.sleep(1000)
""",
        "memory",
    ),
    case(
        "memory_far_down_a_chain",
        f"""
import os, time
{HOLD}
for _ in range(100):
    if os.fork():
        time.sleep(1000)
hold()
""",
        "memory",
        limits={"processes": 128, "timeout": "10m"},
    ),
    case(
        "page_tables",
        """
import ctypes
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
size, read, private_anonymous_unreserved = 300 << 30, 1, 0x4022
address = libc.mmap(None, ctypes.c_size_t(size), read, private_anonymous_unreserved, -1, ctypes.c_long(0))
for at in range(0, size, 2 << 20):
    ctypes.c_char.from_address(address + at).value
""",
        "memory",
    ),
    case(
        "memfd",
        """
import os
fd = os.memfd_create("hold")
for _ in range(1500):
    os.write(fd, bytes(1 << 20))
""",
        "memory",
    ),
    # The image still has it: nothing becomes free.
    case(
        "memfd_after_an_earlier_one",
        """
import os
os.close(fd)
fd = os.memfd_create("hold")
for _ in range(600):
    os.write(fd, bytes(1 << 20))
""",
        "memory",
        setup="import os\nfd = os.memfd_create('earlier')\nfor _ in range(200): os.write(fd, bytes(1 << 20))",
        then="os.close(fd)",
    ),
    case(
        "memfd_mapped",
        """
import mmap, os
fd = os.memfd_create("hold")
os.ftruncate(fd, 1500 << 20)
block = mmap.mmap(fd, 1500 << 20)
for at in range(0, len(block), 4096):
    block[at] = 1
""",
        "memory",
    ),
    case(
        "shared_anonymous",
        """
import mmap
block = mmap.mmap(-1, 1500 << 20)
for at in range(0, len(block), 4096):
    block[at] = 1
""",
        "memory",
    ),
    case(
        "private_anonymous",
        """
import mmap
block = mmap.mmap(-1, 1000 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for at in range(0, len(block), 4096):
    block[at] = 1
""",
        "memory",
    ),
    # Counted in no process where nobody has attached it; and a namespace allows gigabytes of semaphores.
    *(
        case(
            name,
            f"""
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
assert libc.{name}({arguments}) == -1
print(errno.errorcode[ctypes.get_errno()])
""",
            "ok",
            stdout="ENOSYS",
            denied=name,
        )
        for name, arguments in (
            ("shmget", "0, 64 << 20, 0o1600"),
            ("semget", "0, 32000, 0o1600"),
            ("msgget", "0, 0o1600"),
        )
    ),
    case(
        "shm_file",
        """
with open("/dev/shm/block", "wb") as block:
    for _ in range(480):
        block.write(bytes(1 << 20))
""",
        "memory",
    ),
    case(
        "pipes_full",
        """
import fcntl, os
pipes = []
try:
    for _ in range(400):
        pipes.append(os.pipe())
        os.set_blocking(pipes[-1][1], False)
        try:
            fcntl.fcntl(pipes[-1][1], 1031, 1 << 20)
        except OSError:
            pass
        try:
            while True:
                os.write(pipes[-1][1], bytes(65536))
        except BlockingIOError:
            pass
finally:  # there are fewer descriptors than that
    for pair in pipes:
        for fd in pair:
            os.close(fd)
""",
        "ok memory error",
    ),
    case(
        "sockets_full",
        """
import socket
pairs = []
try:
    while True:
        pairs.append(socket.socketpair())
        pairs[-1][0].setblocking(False)
        try:
            while True:
                pairs[-1][0].send(bytes(65536))
        except BlockingIOError:
            pass
except OSError as error:
    print(error.errno)
finally:
    for pair in pairs:
        for end in pair:
            end.close()
""",
        "ok memory timeout",
    ),
    case(
        "doubling",
        """
text = "x"
while True:
    text += text
""",
        "error memory",
        "MemoryError",
    ),
    case("malloc_refused_is_no_end", "bytearray(1 << 44)", "error", "MemoryError"),
    case("huge_numpy", "import numpy; numpy.ones((1 << 20, 1 << 20))", "error", "MemoryError _ArrayMemoryError", needs="numpy"),
    case(
        "fragments",
        """
kept = []
while True:
    kept.append({n: str(n) for n in range(100)})
""",
        "error memory timeout",
        "MemoryError",
        limits={"timeout": "10s"},
    ),
    case(
        "many_mappings",
        """
import mmap
kept = []
try:
    while True:
        kept.append(mmap.mmap(-1, 4096, prot=mmap.PROT_READ | (len(kept) & 1) * mmap.PROT_WRITE))
except (OSError, MemoryError) as error:
    print("refused")
""",
        "ok error crash memory timeout",
        owns=True,
        limits={"timeout": "10s"},
    ),
    # Files that have lost the name that they were mapped by may have another, and are looked for.
    case(
        "many_mappings_without_a_name",
        """
import ctypes, os
libc, at = ctypes.CDLL(None), "/dev/shm/many"
readable_and_writable, shared = 3, 1
os.mkdir(at)
for n in range(5000):
    open(f"{at}/{n}", "w").close()
for n in range(1000):
    fd = os.open(f"{at}/mapped", os.O_RDWR | os.O_CREAT)
    os.truncate(fd, 4096)
    libc.mmap(None, ctypes.c_size_t(4096), readable_and_writable, shared, fd, ctypes.c_long(0))
    os.close(fd)
    if n % 2:
        os.link(f"{at}/mapped", f"{at}/other_{n}")
    os.unlink(f"{at}/mapped")
""",
        "ok error",
        owns=True,
    ),
    # Each with a buffer: where very many are allowed, memory comes first.
    case(
        "all_descriptors",
        """
kept = []
while True:
    kept.append(open("/dev/null"))
""",
        "error memory",
        "OSError",
        restore="for file in kept: file.close()",
    ),
    case(
        "huge_environment",
        """
import os, subprocess
for n in range(200):
    os.environ[f"HUGE_{n}"] = "x" * (1 << 16)
try:
    subprocess.run(["true"])
finally:
    for n in range(200):
        del os.environ[f"HUGE_{n}"]
""",
        "error",
        "OSError",
    ),
    case(
        "disk_full_stays_full",
        """
with open("full", "wb", buffering=0) as file:
    while True:
        file.write(bytes(1 << 20))
""",
        "error memory",
        "OSError",
    ),
    case(
        "disk_full_and_rewritten",
        """
import os
try:
    with open("full", "wb", buffering=0) as file:
        while True:
            file.write(bytes(1 << 20))
except OSError:
    os.rename("full", "fuller")
    os.mkdir("aside")
    os.rename("fuller", "aside/full")
""",
        "ok error memory",
        "OSError",
        limits={"memory": "1G"},
    ),
    case("mlockall", "import ctypes; print(ctypes.CDLL(None).mlockall(3))", "ok"),
    case(
        "stack_overflow_in_c",
        "import ctypes, sys\nsys.setrecursionlimit(10**9)\nf = ctypes.PYFUNCTYPE(ctypes.c_int)(lambda: f())\nf()",
        "crash error memory",
    ),
    case(
        "image_offered_to_the_oom_killer",
        """
try:
    with open("/proc/self/oom_score_adj", "wb", 0) as file:
        file.write(b"0")
except OSError:
    pass
del block
kept = []
while True: kept.append(bytearray(b"x") * (16 << 20))
""",
        "memory error",
        "OSError",
        setup="block = bytearray(b'x') * (700 << 20)",
        
        then="assert len(block) == 700 << 20; del block",
        limits={"memory": "300M"},
    ),
    case(
        "children_of_a_large_state_are_no_hogs",
        """
import os, time
hold, release = os.pipe()
for _ in range(4):
    if os.fork() == 0:
        os.close(release)
        os.read(hold, 1)
        os._exit(0)
end = time.monotonic() + 0.5
while time.monotonic() < end:
    pass
""",
        "ok",
        setup="block = bytearray(b'x') * (700 << 20)",
        then="del block",
        limits={"memory": "300M"},
    ),
    case("recursion", "def f(): f()\nf()", "error", "RecursionError"),
    case(
        "recursion_unlimited",
        "import sys\nold = sys.getrecursionlimit()\nsys.setrecursionlimit(10**9)\ndef f(): f()\ntry: f()\nfinally: sys.setrecursionlimit(old)",
        "crash error memory timeout",
        "RecursionError MemoryError",
    ),
]
