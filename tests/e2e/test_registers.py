"""Registers of threads go on from cell to cell, whatever the session does: those that every processor has, and tiles.

Tiles (AMX) must be asked for, and Linux has no room for a thread's before it has used them. Threads hold registers in loops of
machine code and in a system call, and so are frozen anywhere; the main thread holds its tiles between its cells.
"""

import pathlib
import random
import re
import struct

import pytest

# What a kind of registers is loaded from (%rsi and %rdx, with the configuration of tiles at %rdi) and used for (to %rdi).
CODE = {
    # load:    movdqu (%rsi), %xmm14; movdqu (%rdx), %xmm15; ret
    # use:     movdqu %xmm14, (%rdi); movdqu %xmm15, 16(%rdi); ret
    # release: ret
    "xmm": ("f3440f6f36 f3440f6f3a c3", "f3440f7f37 f3440f7f7f10 c3", "c3"),
    # load:    ldtilecfg (%rdi); movl $64, %eax; tileloadd (%rsi,%rax), %tmm1; tileloadd (%rdx,%rax), %tmm2; ret
    # use:     movl $64, %eax; tilezero %tmm0; tdpbssd %tmm2, %tmm1, %tmm0; tilestored %tmm0, (%rdi,%rax); ret
    # release: tilerelease; ret
    "tiles": (
        "c4e2784907 b840000000 c4e27b4b0c06 c4e27b4b1402 c3",
        "b840000000 c4e27b49c0 c4e26b5ec1 c4e27a4b0407 c3",
        "c4e27849c0 c3",
    ),
}
# Loads, waits for a byte from the descriptor %r8, uses to %rcx, releases.
#   wait:  push %rbx; push %r12; push %r13; mov %r8, %rbx; mov %rcx, %r12; call load; push $0
#   1:     xorl %eax, %eax; mov %rbx, %rdi; mov %rsp, %rsi; movl $1, %edx; syscall; test %rax, %rax; jle 1b
#          pop %rax; mov %r12, %rdi; call use; call release; jmp 3f
# Loads, and uses again and again, counts that at (%r8), and yields, until there is something at 8(%r8); releases.
#   spin:  push %rbx; push %r12; push %r13; mov %r8, %rbx; mov %rcx, %r12; call load
#   2:     mov %r12, %rdi; call use; lock incq (%rbx); movl $24, %eax; syscall; cmpq $0, 8(%rbx); je 2b; call release
#   3:     pop %r13; pop %r12; pop %rbx; ret
WAIT = (
    "53 4154 4155 4c89c3 4989cc e8{load} 6a00 31c0 4889df 4889e6 ba01000000 0f05 4885c0 7eec",
    "58 4c89e7 e8{use} e8{release} eb2f",
)
SPIN = (
    "53 4154 4155 4c89c3 4989cc e8{load} 4c89e7 e8{use} f048ff03 b818000000 0f05 48837b0800 74e6",
    "e8{release} 415d 415c 5b c3",
)

HELD = """
import ctypes, mmap, os, random, struct, threading, time
ASK_FOR_TILES = (158, 0x1023, 18)  # arch_prctl(ARCH_REQ_XCOMP_PERM)
code = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=7)
code.write(CODE)
base = ctypes.addressof(ctypes.c_char.from_buffer(code))
def entry(name, n):
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * n)(base + AT[name])
load, use, wait, spin = entry("load", 3), entry("use", 1), entry("wait", 5), entry("spin", 5)
rows = bytes([1]) + bytes(15) + struct.pack("<3H", 64, 64, 64) + bytes(26) + bytes([16] * 3) + bytes(13)
config = ctypes.create_string_buffer(rows, 64)

def products(a, b):
    a, b = struct.unpack("1024b", a), struct.unpack("1024b", b)
    for m in range(16):
        for n in range(16):
            yield sum(a[64 * m + 4 * k + i] * b[64 * k + 4 * n + i] for k in range(16) for i in range(4))

class Operands:
    def __init__(self, seed):
        numbers = random.Random(seed)
        self.a, self.b, self.c = (ctypes.create_string_buffer(numbers.randbytes(1024), 1024) for _ in range(3))
    def check(self):
        if KIND == "tiles":
            assert self.c.raw == struct.pack("<256i", *products(self.a.raw, self.b.raw))
        else:
            assert self.c.raw[:32] == self.a.raw[:16] + self.b.raw[:16]

class Held(Operands):
    '''A thread that has them in its registers.'''
    def __init__(self, seed, how):
        super().__init__(seed)
        self.state, self.pipe = (ctypes.c_int64 * 2)(), os.pipe()
        last = ctypes.c_void_p(self.pipe[0]) if how == "wait" else self.state
        target = {"wait": wait, "spin": spin}[how]
        self.thread = threading.Thread(target=target, args=(config, self.a, self.b, self.c, last), daemon=True)
        self.thread.start()
    def look(self):
        '''Where it spins it goes on.'''
        before = self.state[0]
        while self.state[0] == before:
            time.sleep(0)
    def end(self):
        self.state[1] = 1
        os.write(self.pipe[1], b"x")
        self.thread.join()
        self.check()
        for fd in self.pipe:
            os.close(fd)
held, own = {}, None
"""


def program(kind):
    """The machine code of a kind, and where its parts begin."""
    parts = [bytes.fromhex(part) for part in CODE[kind]]
    at = dict(zip(("load", "use", "release"), (0, len(parts[0]), len(parts[0]) + len(parts[1])), strict=True))
    code = b"".join(parts)
    for name, text in (("wait", " ".join(WAIT)), ("spin", " ".join(SPIN))):
        at[name] = len(code)
        for token in re.findall(r"e8\{\w+\}|[0-9a-f]+", text):
            callee = re.match(r"e8\{(\w+)\}", token)
            code += b"\xe8" + struct.pack("<i", at[callee[1]] - len(code) - 5) if callee else bytes.fromhex(token)
    return code, at


class Session:
    """A kernel, and what is held in each of its states."""

    MOST = 4  # threads

    def __init__(self, kernel, kind, numbers):
        code, at = program(kind)
        self.kernel, self.kind, self.numbers = kernel, kind, numbers
        self.held, self.own = {}, None
        self.states = {}
        self.good(f"KIND, CODE, AT = {kind!r}, {code!r}, {at!r}\n{HELD}")
        if kind == "tiles":  # used by a later cell for the first time, and in no state before this one
            self.states.clear()
            self.good("assert ctypes.CDLL(None).syscall(*ASK_FOR_TILES) == 0")

    def note(self, cell):
        self.states[cell.report["run_id"]] = (dict(self.held), self.own)

    def good(self, code):
        self.note(self.kernel.good(code))

    def some_state(self):
        """One of the last, for others may be gone."""
        return self.numbers.choice(list(self.states)[-8:])

    def start(self):
        if len(self.held) == self.MOST:
            self.end()
            return
        seed, how = self.numbers.randrange(1 << 30), self.numbers.choice(["wait", "spin"])
        self.held[seed] = how
        self.good(f"held[{seed}] = Held({seed}, {how!r})")

    def look(self):
        seeds = [seed for seed, how in self.held.items() if how == "spin"]
        self.good("\n".join(f"held[{seed}].look()" for seed in seeds) or "None")

    def end(self):
        if self.held:
            seed = self.numbers.choice(list(self.held))
            del self.held[seed]
            self.good(f"held.pop({seed}).end()")

    def load(self):
        if self.kind == "tiles":
            self.own = self.numbers.randrange(1 << 30)
            self.good(f"own = Operands({self.own}); load(config, own.a, own.b)")

    def use(self):
        if self.own is not None:
            self.good("use(own.c); own.check()")

    def fail(self):
        """Is rolled back with all that it has ended and begun."""
        cell = self.kernel.run("for one in held.values(): one.end()\nheld[0] = Held(0, 'spin')\nos._exit(1)")
        assert cell.ename == "CellCrashed"

    def branch(self):
        cell = self.kernel.ask("for one in held.values(): one.end()", {"from": self.some_state(), "commit": False})
        assert cell.ok, cell

    def restore(self):
        state = self.some_state()
        assert self.kernel.run(f"%restore {state}").ok
        held, self.own = self.states[state]
        self.held = dict(held)

    def complete(self):
        assert "held" in self.kernel.matches("hel")


def has_tiles():
    return " amx_tile" in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")


KINDS = [
    "xmm",
    pytest.param("tiles", marks=pytest.mark.skipif(not has_tiles(), reason="this processor has no amx_tile")),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("cells", [40, pytest.param(200, marks=pytest.mark.thorough)])
def test_registers_go_on_whatever_the_session_does(patient, start, kind, cells):
    numbers = random.Random(f"{kind} {cells}")
    session = Session(start(), kind, numbers)
    acts = [*["start", "look", "end", "load", "use"] * 2, "fail", "branch", "restore", "complete"]
    for _ in range(cells):
        getattr(session, numbers.choice(acts))()
    while session.held:
        session.end()
