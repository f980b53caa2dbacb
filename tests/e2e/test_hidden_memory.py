"""Memory that a page mapped of it would hold is freed with its cell, and what is mapped of it goes on as it was."""

import contextlib
import os
import random

import pytest

from kernels import ROOT, wait_for
from processes import family

CELLS = 12
MIB = 40  # that each cell hides
HISTORY_MIB = 100

LIBRARY = """
import ctypes, mmap, os, time
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = libc.mremap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.mremap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
READ, WRITE, EXEC, SHARED, PRIVATE, ANONYMOUS, PAGE = 1, 2, 4, 1, 2, 0x20, 4096
def memory(bytes):
    fd = os.memfd_create("hidden", os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, bytes)
    for at in range(0, bytes, 1 << 20):
        os.pwrite(fd, b"x" * min(1 << 20, bytes - at), at)
    return fd
def map_of(fd, bytes=PAGE, protection=READ | WRITE, flags=SHARED, offset=0):
    at = libc.mmap(None, bytes, protection, flags, fd, offset)
    assert at and at != ctypes.c_void_p(-1).value, os.strerror(ctypes.get_errno())
    return at
def fill(at, bytes, what=120):
    ctypes.memset(at, what, bytes)
def modes(at):
    for line in open("/proc/self/maps"):
        span, told = line.split()[:2]
        start, end = (int(word, 16) for word in span.split("-"))
        if start <= at < end: return told[:3]
held = []
"""

# Each hides BYTES behind what it leaves mapped, and names an address whose byte is an x.
KINDS = {
    "a page for all": "fd = memory(BYTES); at = map_of(fd); os.close(fd)",
    "a page for itself": "fd = memory(BYTES); at = map_of(fd, flags=PRIVATE); os.close(fd)",
    "a page for itself, written": "fd = memory(BYTES); at = map_of(fd, flags=PRIVATE); fill(at, 1); os.close(fd)",
    "a page that can't be written": "fd = memory(BYTES); at = map_of(fd, protection=READ, flags=PRIVATE); os.close(fd)",
    "code": "fd = memory(BYTES); at = map_of(fd, protection=READ | EXEC, flags=PRIVATE); os.close(fd)",
    "nothing that can be read": """
fd = memory(BYTES); map_of(fd, protection=0, flags=PRIVATE); map_of(fd, protection=0); at = map_of(fd); os.close(fd)""",
    "several pages": "fd = memory(BYTES); at, more = map_of(fd), map_of(fd, offset=PAGE); os.close(fd)",
    "what is sealed": """
import fcntl
fd = memory(BYTES); fcntl.fcntl(fd, 1033, 0x10); at = map_of(fd, protection=READ); os.close(fd)""",
    "what is left of much": "at = map_of(-1, BYTES, flags=SHARED | ANONYMOUS); fill(at, BYTES); libc.munmap(at + PAGE, BYTES - PAGE)",
    "what was moved": """
fd = memory(BYTES); first = map_of(fd); os.close(fd)
at = libc.mremap(first, PAGE, PAGE, 3, ctypes.c_void_p(map_of(-1, flags=PRIVATE | ANONYMOUS)))""",
    "what is left of a cell's own copy": """
fd = memory(BYTES); at = map_of(fd, BYTES); os.close(fd)
---
libc.munmap(at + PAGE, BYTES - PAGE)""",
    "what has grown in a later cell": """
fd = memory(PAGE); at = map_of(fd)
---
os.ftruncate(fd, BYTES)
for to in range(0, BYTES, 1 << 20): os.pwrite(fd, b"x" * (1 << 20), to)
os.close(fd)""",
    "a descriptor's copy for itself": """
fd = memory(BYTES); at = map_of(fd, flags=PRIVATE)
---
os.ftruncate(fd, 0)
---
os.close(fd)""",
}


def shared_memory(kernel):
    """What the kernel's processes hold of shared memory, mapped or open, in MiB; each piece counts once."""
    fd = os.memfd_create("device")
    device = os.fstat(fd).st_dev
    os.close(fd)
    bytes_of = {}
    for pid in family(kernel.pid):
        for folder in ("map_files", "fd"):
            with contextlib.suppress(OSError):
                for entry in os.scandir(f"/proc/{pid}/{folder}"):
                    with contextlib.suppress(OSError):
                        st = os.stat(entry.path)
                        if st.st_dev == device:
                            bytes_of[st.st_ino] = st.st_blocks * 512
    return sum(bytes_of.values()) / (1 << 20)


def anonymous_memory(kernel):
    """Anonymous memory of all processes of the kernel, in MiB; what several have counts in parts."""
    kib = 0
    for pid in family(kernel.pid):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/smaps_rollup", encoding="utf-8") as file:
            kib += sum(int(line.split()[1]) for line in file if line.startswith("Pss_Anon:"))
    return kib / 1024


@pytest.mark.skipif(not ROOT, reason="only root can look at what is mapped")
@pytest.mark.parametrize(
    "kind",
    [kind if n % 4 == 0 else pytest.param(kind, marks=pytest.mark.thorough) for n, kind in enumerate(KINDS)],
)
def test_hidden_memory_is_freed_with_its_cell(patient, start, kind):
    kernel = start()
    kernel.good(f"%limits history=200 history_memory={HISTORY_MIB}M")
    kernel.good(f"{LIBRARY}\nBYTES = {MIB} << 20")
    before = anonymous_memory(kernel)
    for _ in range(CELLS):
        for code in KINDS[kind].split("---"):
            kernel.good(code)
        kernel.good("held.append(at)")
    assert kernel.value("all(ctypes.string_at(at, 1) == b'x' for at in held)") == "True"
    wait_for(lambda: shared_memory(kernel) <= HISTORY_MIB)
    wait_for(lambda: anonymous_memory(kernel) - before <= HISTORY_MIB + MIB)


class Mappings:
    """What a session has mapped of memory, and what each page has to hold: objects of pages, and mappings of a part."""

    def __init__(self, kernel, numbers):
        self.kernel, self.numbers = kernel, numbers
        self.shared, self.mapped, self.names = {}, {}, 0
        self.lines = []

    def make(self):
        """Memory with some mappings, all of one kind: Linux leaves open what a private one sees of later changes."""
        self.names += 1
        name, pages = f"m{self.names}", self.numbers.randrange(1, 9)
        is_open, is_shared = self.numbers.random() < 0.4, self.numbers.random() < 0.6
        self.shared[name] = bytes(self.numbers.randrange(1, 256) for _ in range(pages))
        self.lines.append(f"{name} = memory({pages} * PAGE)")
        self.lines += [f"os.pwrite({name}, bytes([{byte}]) * PAGE, {n} * PAGE)" for n, byte in enumerate(self.shared[name])]
        for _ in range(self.numbers.randrange(1, 4)):
            self.names += 1
            first = self.numbers.randrange(pages)
            n = self.numbers.randrange(1, pages - first + 1)
            at, flags = f"a{self.names}", "SHARED" if is_shared else "PRIVATE"
            self.lines.append(f"{at} = map_of({name}, {n} * PAGE, flags={flags}, offset={first} * PAGE)")
            own = None if is_shared else bytearray(self.shared[name][first : first + n])
            self.mapped[at] = (name, first, set(range(n)), own)
        if not is_open:
            self.lines.append(f"os.close({name})")

    def pick(self):
        """A page that is mapped: its mapping, and which of it."""
        at = self.numbers.choice(list(self.mapped))
        return at, self.numbers.choice(sorted(self.mapped[at][2]))

    def write(self):
        if self.mapped:
            at, page = self.pick()
            name, first, _, own = self.mapped[at]
            byte = self.numbers.randrange(1, 256)
            self.lines.append(f"fill({at} + {page} * PAGE, PAGE, {byte})")
            if own is None:
                of = bytearray(self.shared[name])
                of[first + page] = byte
                self.shared[name] = bytes(of)
            else:
                own[page] = byte

    def unmap(self):
        if self.mapped:
            at, page = self.pick()
            self.lines.append(f"libc.munmap({at} + {page} * PAGE, PAGE)")
            self.mapped[at][2].remove(page)
            if not self.mapped[at][2]:
                del self.mapped[at]

    def protect(self):
        """A page of the newest mapping, for the next cell, which has to find it so and takes it back."""
        if self.mapped:
            at = list(self.mapped)[-1]
            page = self.numbers.choice(sorted(self.mapped[at][2]))
            self.lines.append(f"libc.mprotect({at} + {page} * PAGE, PAGE, READ)")
            self.lines.append(f"again.append({at} + {page} * PAGE)")

    def copy(self):
        return dict(self.shared), {
            at: (name, first, set(pages), None if own is None else bytearray(own))
            for at, (name, first, pages, own) in self.mapped.items()
        }

    def cell(self):
        """Runs what was chosen, and keeps it or not."""
        before = self.copy()
        self.lines = [
            "assert all(modes(at) == 'r--' for at in again)",
            "for at in again: assert libc.mprotect(at, PAGE, READ | WRITE) == 0",
            "again.clear()",
        ]
        for _ in range(self.numbers.randrange(1, 5)):
            getattr(self, self.numbers.choice(["make", "make", "write", "write", "unmap", "protect"]))()
            if self.lines[-1].startswith("again"):
                break  # no write follows
        code = "\n".join(self.lines)
        if self.numbers.random() < 0.25:
            cell = self.kernel.run(f"{code}\nos._exit(1)")
            assert cell.ename == "CellCrashed", cell
            self.shared, self.mapped = before
        else:
            self.kernel.good(code)
        self.check()

    def check(self):
        """Reads one byte of each page, in a cell that counts as none of the session's steps."""
        expected = {
            (at, page): (self.shared[name][first + page] if own is None else own[page])
            for at, (name, first, pages, own) in self.mapped.items()
            for page in sorted(pages)
        }
        reads = ", ".join(f"{at} + {page} * PAGE + {(page * 997) % 4096}" for at, page in expected)
        answer = self.kernel.good(f"print(*[ctypes.string_at(at, 1)[0] for at in [{reads}]])", store_history=False)
        assert [int(byte) for byte in answer.stdout.split()] == list(expected.values())


@pytest.mark.parametrize("cells", [25, pytest.param(300, marks=pytest.mark.thorough)])
def test_mapped_memory_is_as_a_model_has_it(patient, start, cells):
    kernel = start()
    kernel.good(f"{LIBRARY}\nagain = []")
    mappings = Mappings(kernel, random.Random(cells))
    for _ in range(cells):
        mappings.cell()
