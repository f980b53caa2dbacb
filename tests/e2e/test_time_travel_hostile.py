"""Cells that would have going back fail, or leave something: each state is there again, and the session goes on."""

import os
import textwrap

import pytest

from conftest import shared_kernel  # noqa: F401
from travels import branch, restore

pytestmark = pytest.mark.xdist_group("time-travel-hostile")  # one process: the kernel is there once

BEGIN = """
import builtins, ctypes, errno, fcntl, mmap, os, pathlib, shutil, signal, socket, struct, subprocess, sys, tempfile, threading, time
os.mkdir('rows'); os.chdir('rows')
base = pathlib.Path.cwd()
def fill(name, step=1 << 20):
    '''Takes the disk to the last byte.'''
    fd = os.open(name, os.O_WRONLY | os.O_CREAT)
    while step:
        try: os.write(fd, b'x' * step)
        except OSError: step //= 2
    os.close(fd)
kept = ['kept']
pathlib.Path('kept.txt').write_text('kept')
held = open('held.txt', 'w+'); held.write('held'); held.flush()
mapped = mmap.mmap(-1, 4096); mapped[:4] = b'kept'
"""
LOOK = "kept, open('kept.txt').read(), held.seek(0), held.read(), mapped[:4], sorted(os.listdir()), len(os.listdir('../many'))"
THERE = "(['kept'], 'kept', 0, 'held', b'kept', ['held.txt', 'kept.txt'], 100)"

# MiB of the session's files; it leaves a file open.
USED = "fd = os.open('room', os.O_RDWR | os.O_CREAT); s = os.statvfs('/tmp'); os.posix_fallocate(fd, 0, 9 << 20); (s.f_blocks - s.f_bfree) * s.f_frsize >> 20"

# A cell, whatever comes of it, and what a look says of the state that it leaves, where it leaves one.
HOSTILE = {
    "large files that are open and unlinked": ("""
        many = []
        for n in range(3):
            f = open(f'{n}', 'w+b'); f.write(bytes([n]) * (64 << 20)); f.flush(); os.unlink(f'{n}'); many.append(f)
        """, "[os.pread(f.fileno(), 1, 64 << 19)[0] for f in many]", "[0, 1, 2]"),
    "a large file that is held and removed": ("""
        held.write('x' * (200 << 20)); held.flush(); os.unlink('held.txt')
        """, "held.tell(), os.path.exists('held.txt')", "(209715204, False)"),
    "thousands of files": ("""
        for n in range(3000): open(f'n{n}', 'w').close()
        """, "len(os.listdir())", "3002"),
    "files that are open by the thousand": ("""
        many = [open(f'n{n}', 'w+') for n in range(400)]
        for n in range(0, 400, 2): os.unlink(f'n{n}')
        """, "len(many), len(os.listdir()), os.fstat(many[0].fileno()).st_nlink > 1", "(400, 202, False)"),
    "files that are mapped by the hundred": ("""
        many = []
        for n in range(400):
            with open(f'n{n}', 'w+b') as f: f.truncate(4096); many.append(mmap.mmap(f.fileno(), 4096))
            many[-1][0] = n % 251
            os.unlink(f'n{n}')
        """, "[m[0] for m in many] == [n % 251 for n in range(400)]", "True"),
    "a name by the thousand": ("""
        for n in range(2000): os.link('kept.txt', f'l{n}')
        open('l7', 'w').write('lost'); os.unlink('kept.txt')
        """, "os.stat('l0').st_nlink, open('l1999').read()", "(2000, 'lost')"),
    "names that are no text": ("""
        for name in (b'\\n', b'\\xff\\xfe', b'x' * 255, b'-rf', b' ', b'"', b'\\\\', '\\U0001f600'.encode()):
            os.mkdir(name); open(name + b'/' + name, 'w').close()
        """, "len(os.listdir(b'.'))", "10"),
    "a path deeper than one can say": ("""
        for _ in range(1500): os.mkdir('d'); os.chdir('d')
        open('f', 'w').close(); os.chdir(base)
        """, "os.path.isdir('d/d/d/d')", "True"),
    "files of the host that are removed": ("""
        shutil.rmtree('../many'); os.mkdir('../many'); open('../many/mine', 'w').close()
        """, "os.listdir('../many')", "['mine']"),
    "all that there is, removed": ("""
        for place in ('/tmp', '/dev/shm', str(pathlib.Path.home())):
            for entry in os.scandir(place):
                try: shutil.rmtree(entry.path) if entry.is_dir(follow_symlinks=False) else os.unlink(entry.path)
                except OSError: pass
        """, "os.path.exists(base)", "False"),
    "folders that nobody may enter": ("""
        os.makedirs('d/e'); open('d/e/f', 'w').close(); os.chmod('d/e', 0); os.chmod('d', 0); os.chmod('kept.txt', 0)
        os.mkdir('/tmp/d'); os.chmod('/tmp/d', 0)
        """, "oct(os.stat('d').st_mode), os.access('kept.txt', os.R_OK)", "('0o40000', False)"),
    "the current folder, moved into another": ("""
        os.makedirs('../rows2/a'); os.chdir('..'); os.rename('rows', 'rows2/a/rows'); os.chdir('rows2/a/rows')
        """, "os.path.relpath(os.getcwd(), base), open('kept.txt').read()", "('../rows2/a/rows', 'kept')"),
    "links in the place of folders": ("""
        os.chdir('..'); shutil.rmtree('rows'); os.symlink('/etc', 'rows'); os.symlink('.', 'loop')
        """, "os.path.islink(base), os.path.islink('loop')", "(True, True)"),
    "the disk, full to the last name": ("""
        os.mkdir('d'); n = 0
        try:
            while True: open(f'd/{n}', 'w').close(); n += 1
        except OSError: pass
        """, "len(os.listdir('d')) == n, n > 3000", "(True, True)"),
    # FS_IOC_SETFLAGS with FS_NOATIME_FL, which the filter answers as if the file had no such request: it has the times.
    "a file that would have no times of reading": ("""
        f = open('kept.txt', 'r+b'); answer = None
        try: fcntl.ioctl(f, 0x40086602, struct.pack('l', 0x80))
        except OSError as error: answer = error.errno
        m = mmap.mmap(f.fileno(), 4); m[:]; m[0] = 75; m.close(); f.close()
        """, "open('kept.txt').read(), errno.errorcode[answer]", "('Kept', 'ENOTTY')"),
    # mseal: there is no such call.
    "mappings that are sealed": ("""
        libc = ctypes.CDLL(None, use_errno=True); libc.mmap.restype = ctypes.c_void_p
        at = libc.mmap(None, ctypes.c_size_t(1 << 20), 3, 0x22, -1, ctypes.c_long(0))
        answer = 0 if libc.syscall(462, ctypes.c_void_p(at), ctypes.c_size_t(1 << 20), 0) == 0 else ctypes.get_errno()
        is_sealed = libc.mprotect(ctypes.c_void_p(at), ctypes.c_size_t(4096), 3) == -1
        ctypes.memset(at, 65, 4)
        """, "ctypes.string_at(at, 4), (answer, is_sealed) == (errno.ENOSYS, False)", "(b'AAAA', True)"),
    "many mappings": ("""
        many = [mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=1 + n % 2 * 2) for n in range(20000)]
        """, "len(many)", "20000"),
    "much memory": ("""
        many = bytearray(b'x') * (600 << 20)
        """, "len(many) >> 20, many[-1]", "(600, 120)"),
    "more processes than there may be": ("""
        %%limits processes=60 timeout=3s
        while True:
            try: os.fork()
            except OSError: pass
        """, None, None),
    "a child that holds files": ("""
        if not os.fork():
            f = open('kept.txt', 'r+'); m = mmap.mmap(f.fileno(), 4); os.setsid()
            signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
            while True: m[0] = 76
        """, "kept", "['kept']"),
    "a stopped child and zombies": ("""
        _ = [os.fork() or os._exit(0) for _ in range(20)]
        child = os.fork() or time.sleep(3600)
        os.kill(child, signal.SIGSTOP)
        """, "kept", "['kept']"),
    "a signal that ends it": ("os.kill(os.getpid(), 9)", None, None),
    "too much time": ("""
        %%limits timeout=1s
        signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65)); fill('full')
        while True: pass
        """, None, None),
    # The session's Python
    "builtins that are gone": ("""
        for name in list(vars(builtins)):
            if name not in ('list', 'vars'): delattr(builtins, name)
        """, None, None),
    "no modules": ("sys.modules.clear()", None, None),
    "functions of the worker that do nothing": ("""
        import gc, types
        functions = [f for f in gc.get_objects() if isinstance(f, types.FunctionType) and 'petri' in f.__code__.co_filename]
        code = (lambda *a, **k: None).__code__
        for f in functions:
            try: f.__code__ = code
            except ValueError: pass
        """, None, None),
    "no descriptors": ("os.closerange(0, 1000)", None, None),
    "garbage for the kernel": ("""
        for fd in range(3, 30):
            try: os.set_blocking(fd, False); os.write(fd, b'\\xff' * 4096)
            except OSError: pass
        """, None, None),
    "no memory for it": ("import resource; resource.setrlimit(resource.RLIMIT_AS, (1, 1))", None, None),
    "a loop that never ends in a hook": ("""
        %%limits timeout=2s
        def hook(*_):
            while True: pass
        get_ipython().events.register('post_execute', hook)
        """, None, None),
}  # fmt: skip

# Files without a name take room on the disk as long as a kept image has them open or mapped.
TAKES_ROOM = {"large files that are open and unlinked", "files that are mapped by the hundred"}
# To fill the disk takes seconds.
LONG = {"the disk, full to the last name"}
# It renames a folder that was there before, which a branch can't (test_branches.py).
NOT_IN_BRANCHES = "the current folder, moved into another"


@pytest.fixture(scope="module")
def kernel(shared_kernel):
    os.mkdir(shared_kernel.folder / "many")
    for n in range(100):
        (shared_kernel.folder / "many" / str(n)).write_text("host")
    shared_kernel.good(BEGIN)
    shared_kernel.good("%checkpoint rows")
    return shared_kernel


def is_shown(kernel, look, expected, where):
    cell = kernel.ask(look, {"commit": False})
    assert cell.ok and cell.result == expected, f"{where}: {cell.result} {cell.reply.get('evalue')}"


def is_there(kernel, where):
    is_shown(kernel, LOOK, THERE, where)


def attack_in_the_session(kernel, what):
    code, look, expected = HOSTILE[what]
    kernel.good("%restore rows")
    kernel.good("before = 1")
    used = kernel.ask(USED, {"commit": False}).result
    hostile = kernel.ask(textwrap.dedent(code).strip(), {})
    committed = hostile.report["committed"]
    if look:
        assert hostile.ok, hostile.reply.get("evalue")
        is_shown(kernel, look, expected, "at first")
    if committed:
        kernel.good("%undo")
    is_there(kernel, "undone")
    if what not in TAKES_ROOM:
        now = kernel.ask(USED, {"commit": False}).result
        assert int(now) - int(used) <= 1, "what was undone takes room"
    if committed:
        restore(kernel, to=hostile.report["image"])
        if look:
            is_shown(kernel, look, expected, "restored")
        kernel.good("%undo")
        is_there(kernel, "undone once more")
    restore(kernel, to="rows")
    is_there(kernel, "restored")


def is_shown_beside(kernel, image, look, expected, where):
    cell = kernel.ask(look, {"from": image, "commit": False})
    assert cell.ok and cell.result == expected, f"{where}: {cell.result} {cell.reply.get('evalue')}"


def attack_in_branches(kernel, what):
    code, look, expected = HOSTILE[what]
    kernel.good("%restore rows")
    used = kernel.ask(USED, {"commit": False}).result
    hostile = kernel.ask(textwrap.dedent(code).strip(), {"from": "rows", "commit": "branch"})
    kept = hostile.report["image"]
    is_there(kernel, "beside a branch that is kept")
    is_shown_beside(kernel, "rows", LOOK, THERE, "another branch of the same state")
    if look:
        assert hostile.ok, hostile.reply.get("evalue")
        is_shown_beside(kernel, kept, look, expected, "a branch of the branch")
        further = branch(kernel, "further = 1", kept)
        for image in (kept, further, kept):
            restore(kernel, to=image)
            is_shown(kernel, look, expected, "gone to")
        kernel.good("%restore rows")
    elif kept:
        kernel.ask("1", {"from": kept, "commit": False, "limits": {"timeout": "3s"}})
    is_there(kernel, "gone back")
    if not look and what not in TAKES_ROOM:
        now = kernel.ask(USED, {"commit": False}).result
        assert int(now) - int(used) <= 1, "what was not kept takes room"


WAYS = {"in the session": attack_in_the_session, "in branches": attack_in_branches}
TRIED = [
    pytest.param(what, way, id=f"{what}-{way}", marks=[pytest.mark.thorough] if what in LONG else [])
    for what in HOSTILE
    for way in WAYS
    if (what, way) != (NOT_IN_BRANCHES, "in branches")
]


@pytest.mark.in_turn("way")
@pytest.mark.parametrize(("what", "way"), TRIED)
def test_state_before_a_hostile_cell_is_there_again_and_the_one_after_it_too(kernel, what, way):
    WAYS[way](kernel, what)


@pytest.mark.thorough
def test_disk_that_is_full_to_the_last_byte_has_room_again(kernel):
    """What filled it is more than the limit of history_memory: the state after it may be gone."""
    kernel.good("%restore rows")
    kernel.good("open('before', 'wb').write(bytes(50 << 20))")
    kernel.good("os.unlink('before'); fill('full')")
    kernel.good("%undo")
    is_shown(kernel, "os.path.getsize('before') >> 20, os.path.exists('full')", "(50, False)", "undone")
    lost = kernel.run("os.unlink('before'); fill('full'); os._exit(1)")
    assert lost.ename == "CellCrashed"
    is_shown(kernel, "os.path.getsize('before') >> 20, os.path.exists('full')", "(50, False)", "rolled back")
    restore(kernel, to="rows")
    is_there(kernel, "restored")
