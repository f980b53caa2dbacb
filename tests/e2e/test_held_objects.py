"""
What a cell leaves open, by the object and by how the object is held: opened, as a path only (O_PATH), mapped, on its way
through a socket, or as the folder to work in. The object decides what becomes of it, and not the way.

KINDS is the table of docs/shared-objects.md, and each square of it is tried: after a commit, a rollback and a return to an
earlier state, from a branch that runs at the same time, and from a completion.
"""

import dataclasses
import re

import pytest

from branches import answer_next, begin, finish
from kernels import ROOT
from travels import restore, run

OWN, NUMBER, SAME, REFUSED = "own", "number", "same", "refused"
WAYS = ("opened", "path only", "mapped", "mapped for itself", "in a message", "working folder")

# Each kind of object: how it is made as f, and what is done with f to read and to change what it holds, which is a text
# without an end of a line. A path is opened again for that, as any code can. Nothing waits.
AGAIN = """
import array, ctypes, mmap, os, signal, socket, tempfile
def again(flags=os.O_RDWR):
    return os.open(f"/proc/self/fd/{f}", flags | os.O_NONBLOCK)
def of_file():
    n = again(os.O_RDONLY)
    try: return os.pread(n, 100, 0).decode().strip()
    finally: os.close(n)
def to_file(text):
    n = again()
    os.pwrite(n, text.encode().ljust(8), 0)
    os.close(n)
def of_pipe():
    n = again()
    try: text = os.read(n, 100)
    except BlockingIOError: text = b""
    if text: os.write(n, text)
    os.close(n)
    return text.decode().strip()
ends = []
def to_pipe(text):
    n = again()
    ends.append(n)  # a pipe keeps what is written for as long as somebody has it open
    try: os.read(n, 100)
    except BlockingIOError: pass
    os.write(n, text.encode().ljust(8))
def of_socket():
    text = f.recv(100)
    other.send(text)
    return text.decode().strip()
def to_socket(text):
    f.recv(100)
    other.send(text.encode())
def of_eventfd():
    n = os.eventfd_read(f)
    os.eventfd_write(f, n)
    return str(n)
def to_eventfd(text):
    os.eventfd_read(f)
    os.eventfd_write(f, int(text))
def of_folder():
    return " ".join(sorted(os.listdir(f"/proc/self/fd/{f}")))
def to_folder(text):
    for name in os.listdir(f"/proc/self/fd/{f}"): os.rename(f"/proc/self/fd/{f}/{name}", f"/proc/self/fd/{f}/{text}")
def of_working_folder():
    return " ".join(sorted(os.listdir()))
def to_working_folder(text):
    for name in os.listdir(): os.rename(name, text)
def of_memory():
    return memory[:8].rstrip(b"\\0").decode().strip()
def to_memory(text):
    memory[:8] = text.encode().ljust(8)
def opens():
    try: n = again(os.O_RDONLY)
    except OSError: return ""
    device = os.fstat(n).st_rdev
    os.close(n)
    return "/dev/null" if device == os.stat("/dev/null").st_rdev else "?"
"""


@dataclasses.dataclass(frozen=True)
class Kind:
    make: str  # leaves a descriptor f
    access: str  # of_ACCESS() and to_ACCESS(text)
    squares: dict  # by the way: what a cell gets, or REFUSED
    first: str = "1"  # what it holds when it is made
    closed: str | None = None  # the same once only a path is left, where that is something else
    completed: str = "n4"  # what a completion that changes it to 4 sees then, if it is not mapped


KINDS = {
    "memory (memfd)": Kind(
        "f = os.memfd_create('m'); os.write(f, b'1       ')",
        "file",
        {"opened": OWN, "path only": OWN, "mapped": OWN, "mapped for itself": OWN, "in a message": REFUSED},
    ),
    "pipe": Kind(
        "r, f = os.pipe(); os.write(f, b'1       ')",
        "pipe",
        {"opened": OWN, "path only": OWN, "in a message": REFUSED},
        closed="",
    ),
    "FIFO": Kind(
        "os.mkfifo('/tmp/fifo'); f = os.open('/tmp/fifo', os.O_RDWR); os.write(f, b'1       ')",
        "pipe",
        {"opened": OWN, "path only": OWN, "in a message": REFUSED},
        closed="",
    ),
    "FIFO without a name": Kind(
        "os.mkfifo('/tmp/fifo'); f = os.open('/tmp/fifo', os.O_RDWR); os.write(f, b'1       '); os.unlink('/tmp/fifo')",
        "pipe",
        {"opened": OWN, "path only": OWN, "in a message": REFUSED},
        closed="",
    ),
    "socket": Kind(
        "f, other = socket.socketpair(); f.setblocking(False); other.send(b'1')",
        "socket",
        {"opened": OWN, "path only": NUMBER, "in a message": REFUSED},
    ),
    "eventfd": Kind(
        "f = os.eventfd(1, os.EFD_NONBLOCK)",
        "eventfd",
        {"opened": OWN, "path only": NUMBER, "in a message": REFUSED},
    ),
    "process (pidfd)": Kind(
        "f = os.pidfd_open(os.getpid())", "", {"opened": SAME, "path only": NUMBER, "in a message": REFUSED}
    ),
    "file": Kind(
        "f = os.open('/tmp/file', os.O_RDWR | os.O_CREAT); os.write(f, b'1       ')",
        "file",
        {"opened": OWN, "path only": OWN, "mapped": OWN, "mapped for itself": OWN, "in a message": REFUSED},
    ),
    "file without a name": Kind(
        "f = os.open('/tmp', os.O_RDWR | os.O_TMPFILE); os.write(f, b'1       ')",
        "file",
        {"opened": OWN, "path only": OWN, "mapped": OWN, "mapped for itself": OWN, "in a message": REFUSED},
        completed="n",  # it has the number only
    ),
    "folder": Kind(
        "os.mkdir('/tmp/folder'); open('/tmp/folder/1', 'w').close(); f = os.open('/tmp/folder', os.O_RDONLY)",
        "folder",
        {"opened": OWN, "path only": OWN, "in a message": REFUSED, "working folder": OWN},
    ),
    "folder without a name": Kind(
        "os.mkdir('/tmp/folder'); f = os.open('/tmp/folder', os.O_RDONLY); os.rmdir('/tmp/folder')",
        "folder",
        {"opened": REFUSED, "path only": REFUSED, "in a message": REFUSED},
    ),
    "device": Kind(
        "f = os.open('/dev/null', os.O_RDWR)",
        "",
        {"opened": SAME, "path only": SAME, "in a message": REFUSED},
    ),
    "namespace": Kind(
        "f = os.open('/proc/self/ns/net', os.O_RDONLY)",
        "",
        {"opened": REFUSED, "path only": REFUSED, "in a message": REFUSED},
    ),
}

# How f is held from then on, once it has been made in the usual way.
HOLD = {
    "opened": "",
    "path only": "n = getattr(f, 'fileno', lambda: f)(); p = os.open(f'/proc/self/fd/{n}', os.O_PATH)\n"
    "for end in (n, globals().get('r')): end is None or os.close(end)\n"
    "f = p",
    "mapped": "memory = mmap.mmap(f, 8); os.close(f)",
    "mapped for itself": "memory = mmap.mmap(f, 8, mmap.MAP_PRIVATE); os.close(f)",
    "in a message": "here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)\n"
    "n = getattr(f, 'fileno', lambda: f)(); socket.send_fds(here, [b'x'], [n]); os.close(n)",
    "working folder": "os.chdir(f'/proc/self/fd/{f}'); os.close(f)",
}

def make(kind, way):
    return f"{KINDS[kind].make}\n{HOLD[way]}\n"


# What reads and changes it where that depends on the way.
ACCESS = {"mapped": "memory", "mapped for itself": "memory", "working folder": "working_folder"}


def squares(what):
    """Those in which a cell gets that."""
    found = [(kind, way) for kind, row in KINDS.items() for way in row.squares if row.squares[way] in what]
    return pytest.mark.parametrize(("kind", "way"), found)


@pytest.fixture(scope="module")
def kernel(shared_kernel):
    run(shared_kernel, AGAIN, checkpoint="clean")
    return shared_kernel


@squares((REFUSED,))
def test_cell_that_leaves_what_can_be_neither_copied_nor_shared_is_rolled_back(kernel, kind, way):
    restore(kernel, to="clean")
    cell = kernel.run(make(kind, way))
    assert cell.ename == "CellCrashed" and "left something open that can't be copied" in cell.reply["evalue"], cell
    assert kernel.value("'f' in globals()") == "False"


def read(kernel):
    cell = kernel.ask("print(get())", {"commit": False})
    assert cell.ok, cell
    return cell.stdout.strip()


@squares((OWN,))
def test_each_cell_has_an_object_of_its_own(kernel, kind, way):
    """A branch that has it open is not reached by what the session's cell does, nor the other way round."""
    row = KINDS[kind]
    first = row.closed if way == "path only" and row.closed is not None else row.first
    how = ACCESS.get(way, row.access)
    restore(kernel, to="clean")
    base = run(kernel, f"{make(kind, way)}get, put = of_{how}, to_{how}")
    assert read(kernel) == first

    beside = "before = get(); put('9'); input(); print([before, get()])"
    request = begin(kernel, beside, **{"from": base, "commit": False})
    assert answer_next(kernel, "", meanwhile=lambda: run(kernel, "put('2')")) == request
    [branch] = finish(kernel, [], request)
    assert branch.stdout == f"{[first, '9']}\n"
    assert read(kernel) == "2"

    lost = kernel.run("put('3'); os.kill(os.getpid(), signal.SIGKILL)")
    assert lost.report["rolled_back"]
    assert read(kernel) == "2"

    run(kernel, "class C:\n    def __dir__(self):\n        put('4')\n        return ['n' + get()]\nc = C()")
    assert kernel.matches("c.") == [row.completed if way in ("opened", "path only") else "n4"]
    assert read(kernel) == "2"
    restore(kernel, to=base)
    assert read(kernel) == first


@squares((SAME, NUMBER))
def test_what_has_nothing_to_change_is_there_and_gives_nothing_away(kernel, kind, way):
    restore(kernel, to="clean")
    first = run(kernel, f"{make(kind, way)}get = opens")
    expected = "/dev/null" if kind == "device" else ""  # what can be opened through it
    assert read(kernel) == expected
    assert kernel.run("os.kill(os.getpid(), signal.SIGKILL)").report["rolled_back"]
    assert read(kernel) == expected
    # A branch has the number, of something with which nothing can be done.
    assert kernel.ask("print(get())", {"from": first, "commit": False}).stdout.strip() == "/dev/null"
    restore(kernel, to=first)
    assert read(kernel) == expected


def test_memory_behind_a_path_counts_and_goes_with_its_cell(kernel):
    restore(kernel, to="clean")
    run(kernel, make("memory (memfd)", "path only"))
    fill = "n = again()\nwhile True: os.write(n, bytes(1 << 20))"
    assert kernel.ask(fill, {"limits": {"memory": 300 << 20}}).ename == "CellMemoryLimit"
    assert kernel.value("os.stat(f'/proc/self/fd/{f}').st_size") == "8"
    cell = kernel.run("n = again()\nfor i in range(257): os.write(n, bytes(1 << 20))\nos.close(n)")
    assert "more than 256 MiB of shared memory" in cell.reply["evalue"]


def test_folder_to_work_in_that_was_deleted_is_left(kernel):
    restore(kernel, to="clean")
    run(kernel, "os.mkdir('/tmp/folder'); os.chdir('/tmp/folder'); os.rmdir('/tmp/folder')")
    assert kernel.value("os.getcwd()") == "'/'"


def test_page_has_the_table():
    page = (ROOT / "docs" / "shared-objects.md").read_text()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in re.findall(r"^\|.*\|$", page, re.M)]
    start = rows.index(["object", *WAYS])
    table = {row[0]: dict(zip(WAYS, row[1:], strict=True)) for row in rows[start + 2 :][: len(KINDS)]}
    assert table == {name: {way: kind.squares.get(way, "") for way in WAYS} for name, kind in KINDS.items()}
