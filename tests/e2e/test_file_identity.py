"""
A file stays the same one from cell to cell, through every door: its path, a
descriptor, a mapping, a connection. The cells are as in beside.py.
"""

import pytest

from beside import run_good
from conftest import shared_kernel as kernel  # noqa: F401

pytestmark = pytest.mark.xdist_group("file-identity")  # one process: both kernels are there once

BEGIN = """import mmap, os, pathlib, shutil, struct, sys, tempfile
base = pathlib.Path({base!r}) if {base!r} else pathlib.Path(tempfile.mkdtemp(dir='.')).resolve()
shutil.rmtree(base, ignore_errors=True); base.mkdir(exist_ok=True)
p = base / 'f'
def number(path): return os.stat(path).st_ino
"""

DOORS = {
    # Mappings
    "memmap": "import numpy as np; f = np.memmap(p, 'f4', 'w+', shape=(10,))‖f[:] = 1; f.flush()‖"
    "float(np.fromfile(p, 'f4').sum())",
    "memmap, lost": "import numpy as np; f = np.memmap(p, 'f4', 'w+', shape=(10,))‖f[:] = 1✗f[:] = 2‖"
    "(float(np.fromfile(p, 'f4').sum()), float(f.sum()))",
    "memmap, read before it is written, lost": "import numpy as np; f = np.memmap(p, 'f4', 'w+', shape=(10,)); f[:] = 1‖"
    "f.sum(), f.sum()✗s = f.sum(); f[:] = 2‖(float(np.fromfile(p, 'f4').sum()), float(f.sum()))",
    "memmap made and dropped, lost": "import numpy as np; np.ones(2000, 'f4').tofile(p)‖1"
    "✗f = np.memmap(p, 'f4', 'r+'); s = f.sum(); f[:] = 2; del f‖float(np.fromfile(p, 'f4').sum())",
    "memmap made and dropped, kept, lost": "import numpy as np; np.ones(2000, 'f4').tofile(p)‖"
    "f = np.memmap(p, 'f4', 'r+'); s = f.sum(); f[:] = 2; del f✗np.zeros(2000, 'f4').tofile(p)‖"
    "float(np.fromfile(p, 'f4').sum())",
    "mmap, seen by a read": "p.write_bytes(bytes(8192)); o = open(p, 'r+b'); m = mmap.mmap(o.fileno(), 0)‖"
    "m[5000:5003] = b'abc'‖p.read_bytes()[4999:5004]",
    "mmap, seen by what is written": "p.write_bytes(bytes(8192)); o = open(p, 'r+b'); m = mmap.mmap(o.fileno(), 0)‖"
    "o.seek(10); o.write(b'hi'); o.flush()‖m[9:13]",
    "mmap, written by a child": "p.write_bytes(bytes(8192)); o = open(p, 'r+b'); m = mmap.mmap(o.fileno(), 0)‖m[0]‖"
    "pid = os.fork()\nif pid == 0:\n    m[0]; m[1:4] = b'abc'; os._exit(0)\nos.waitpid(pid, 0)[1]‖m[:5]✗m[1:4] = b'xyz'‖"
    "(m[:5], p.read_bytes()[:5])",
    "mmap of a file that a rolled-back cell removes":
    "p.write_bytes(b'a' * 8192); o = open(p, 'r+b'); m = mmap.mmap(o.fileno(), 0)"
    "‖1✗p.unlink(); p.write_bytes(b'other')‖m[1] = 66‖(p.read_bytes()[:3], m[:3], p.stat().st_size)",
    "mmap of a file that a rolled-back cell truncates": "p.write_bytes(b'a' * 8192); o = open(p, 'r+b'); "
    "m = mmap.mmap(o.fileno(), 0)‖1✗o.truncate(10)‖m[8000:8003] = b'xyz'‖(p.read_bytes()[7999:8004], p.stat().st_size)",
    "mapping without its descriptor": "p.write_bytes(b'a' * 4096)\nwith open(p, 'r+b') as o: m = mmap.mmap(o.fileno(), 0)‖"
    "m[:3] = b'new'‖p.read_bytes()[:4]✗m[:3] = b'off'; p.rename(base / 'g')‖(m[:4], p.read_bytes()[:4])",
    # Numbers
    "number of a file": "p.write_text('a'); n = number(p)‖n == number(p)‖p.write_text('b'); n == number(p)",
    "number of an open file": "o = open(p, 'w+'); n = number(p)‖o.write('x'); o.flush()‖"
    "(os.fstat(o.fileno()).st_ino == n == number(p), p.read_text())",
    "device": "p.write_text('a'); n = os.stat(p).st_dev‖n == os.stat(p).st_dev✗p.write_text('b')‖n == os.stat(p).st_dev",
    "number, lost": "p.write_text('a'); n = number(p)‖1✗p.write_text('b' * 9000); os.chmod(p, 0)‖"
    "(n == number(p), p.read_text(), oct(p.stat().st_mode))",
    "number of an open file, removed by a rolled-back cell":
    "o = open(p, 'w+'); o.write('a'); o.flush(); n = number(p)‖1"
    "✗p.unlink(); p.write_text('other')‖o.write('b'); o.flush()‖(n == number(p), p.read_text())",
    "number, moved by a rolled-back cell":
    "p.write_text('a'); n = number(p); (base / 'd').mkdir()‖1✗p.rename(base / 'd' / 'g')‖"
    "(n == number(p), sorted(os.listdir(base)), os.listdir(base / 'd'))",
    "two names": "p.write_text('a'); os.link(p, base / 'g'); n = number(p)‖(base / 'g').write_text('b')‖"
    "(p.read_text(), number(base / 'g') == n)✗p.unlink(); (base / 'g').write_text('c')‖"
    "(p.read_text(), number(base / 'g') == n, p.stat().st_nlink)",
    "times": "p.write_text('a'); os.utime(p, (1, 2)); before = p.stat()‖1✗p.write_text('b')‖"
    "(p.stat().st_mtime_ns == before.st_mtime_ns, p.read_text())",
    # Folders
    "a folder is renamed": "(base / 'd').mkdir(); (base / 'd' / 'x').write_text('in')‖os.rename(base / 'd', base / 'e')‖"
    "((base / 'e' / 'x').read_text(), os.listdir(base))",
    "a folder is renamed, lost": "(base / 'd').mkdir(); (base / 'd' / 'x').write_text('in'); n = number(base / 'd')‖1"
    "✗os.rename(base / 'd', base / 'e'); (base / 'e' / 'y').write_text('new')‖"
    "((base / 'd' / 'x').read_text(), os.listdir(base), os.listdir(base / 'd'), n == number(base / 'd'))",
    "a folder is replaced": "(base / 'd').mkdir(); (base / 'd' / 'x').write_text('in')‖shutil.rmtree(base / 'd')‖"
    "(base / 'd').mkdir(); os.listdir(base / 'd')",
    "a folder is removed, lost": "(base / 'd' / 'e').mkdir(parents=True); (base / 'd' / 'e' / 'x').write_text('in')‖1"
    "✗shutil.rmtree(base / 'd')‖(base / 'd' / 'e' / 'x').read_text()",
    "a folder that is stood in": "(base / 'd').mkdir(); os.chdir(base / 'd')‖open('x', 'w').write('here')"
    "✗os.unlink('x'); os.chdir('..'); os.rmdir('d')‖pathlib.Path('x').read_text()‖os.chdir(base.parent)‖1",
    # Descriptors
    "a file that is written on": "o = open(p, 'a')‖o.write('one\\n'); o.flush()✗o.write('no\\n'); o.flush()‖"
    "o.write('two\\n'); o.flush()‖p.read_text()",
    "an exchange": "p.write_text('a'); o = open(p)‖(base / 'g').write_text('b'); os.replace(base / 'g', p)‖"
    "(o.read(), p.read_text())",
    "a link": "p.symlink_to('nowhere')‖os.readlink(p)✗p.unlink(); p.write_text('file')‖os.readlink(p)",
    "a FIFO": "os.mkfifo(p); o = os.open(p, os.O_RDWR | os.O_NONBLOCK)‖os.write(o, b'abc')✗os.read(o, 3); os.write(o, b'no')‖"
    "w = os.open(p, os.O_WRONLY); os.write(w, b'def')‖os.read(o, 10)",
    "a lock": "import fcntl; o = open(p, 'w'); fcntl.lockf(o, fcntl.LOCK_EX)‖"
    "q = open(p, 'w'); fcntl.lockf(q, fcntl.LOCK_EX | fcntl.LOCK_NB)‖1",
    "a lock of an open file, given back": "import fcntl; o = open(p, 'w'); fcntl.flock(o, fcntl.LOCK_EX)‖"
    "fcntl.flock(o, fcntl.LOCK_UN)‖q = open(p, 'w'); fcntl.flock(q, fcntl.LOCK_EX | fcntl.LOCK_NB)‖1",
    # Memory with a name
    "a semaphore": "import multiprocessing, subprocess; lock = multiprocessing.get_context('spawn').Lock()\n"
    "look = f'import _multiprocessing as m; print(m.SemLock._rebuild(0, 1, 1, {lock._semlock.name!r})._get_value())'\n"
    "def value(): return subprocess.run([sys.executable, '-c', look], capture_output=True, text=True).stdout\n"
    "‖lock.acquire()‖value()✗lock.release()‖value(), lock.acquire(block=False)‖lock.release()‖value()",
    "shared memory": "from multiprocessing import shared_memory as sm\ns = sm.SharedMemory(create=True, size=100); s.buf[0] = 1"
    "‖t = sm.SharedMemory(s.name); t.buf[1] = 2; list(t.buf[:2])‖s.buf[2] = 3✗t.buf[0] = 9; s.unlink()‖"
    "(list(s.buf[:3]), list(t.buf[:3]))‖s.unlink(); s.close(); t.close()",
}

PLACES = {"the notebook's folder": "", "tmp": "/tmp/of-a-test"}


@pytest.mark.in_turn("place")
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("cells", DOORS.values(), ids=DOORS)
def test_file_is_the_same_one(kernel, ipykernel, place, cells):
    kernel.good(BEGIN.format(base=PLACES[place]))
    ipykernel.good(BEGIN.format(base=""))
    mine, other = run_good(kernel, cells), run_good(ipykernel, cells, lost=False)
    assert mine.result == other.result


def test_what_the_host_changes_is_seen_by_the_next_cell(venv_kernel, tmp_path):
    """Files that come, go, are replaced and written to, in a folder whose names an earlier cell has looked up."""
    (tmp_path / "old.txt").write_text("1")
    (tmp_path / "gone.txt").write_text("1")
    (tmp_path / "sub").mkdir()
    look = "import os\n[(n, open(n).read() if os.path.exists(n) else None) for n in ('old.txt', 'gone.txt', 'new.txt', 'sub/x')]"
    assert venv_kernel.value(look) == "[('old.txt', '1'), ('gone.txt', '1'), ('new.txt', None), ('sub/x', None)]"
    (tmp_path / "other").write_text("2")
    (tmp_path / "other").rename(tmp_path / "old.txt")
    (tmp_path / "gone.txt").unlink()
    (tmp_path / "new.txt").write_text("2")
    (tmp_path / "sub" / "x").write_text("2")
    assert venv_kernel.value(look) == "[('old.txt', '2'), ('gone.txt', None), ('new.txt', '2'), ('sub/x', '2')]"


OPEN = {
    "open": ("o = open('host.bin', 'rb'); o.read(1)", "o.read(2)", "b'aa'"),
    "mapped": ("import mmap\nwith open('host.bin', 'rb') as o: m = mmap.mmap(o.fileno(), 0, prot=mmap.PROT_READ)", "m[1:3]", "b'aa'"),
    "mapped privately": (
        "import mmap\nwith open('host.bin', 'rb') as o: m = mmap.mmap(o.fileno(), 0, flags=mmap.MAP_PRIVATE)",
        "m[1:3]",
        "b'aa'",
    ),
}
CHANGES = {
    "written to": "open('host.bin', 'r+b').write(b'zzzz')",
    "truncated": "os.truncate('host.bin', 0)",
    "removed": "os.remove('host.bin')",
    "moved": "open('host.bin', 'ab').close(); os.rename('host.bin', 'moved.bin')",
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("held", OPEN.values(), ids=OPEN)
def test_file_of_the_host_that_is_held_and_that_a_rolled_back_cell_changes(venv_kernel, tmp_path, held, change):
    """Linux remembers what is held: by each name there has to be what was there before the cell."""
    hold, look, expected = held
    (tmp_path / "host.bin").write_bytes(b"a" * 100)
    venv_kernel.good(hold)
    assert venv_kernel.run(f"import os\n{change}\nos._exit(1)").ename == "CellCrashed"
    after = "import os; (open('host.bin', 'rb').read(3), os.stat('host.bin').st_size, os.path.exists('moved.bin'))"
    assert venv_kernel.value(after) == "(b'aaa', 100, False)"
    assert venv_kernel.value(look) == expected
    venv_kernel.good("with open('host.bin', 'ab') as f: f.write(b'end')")
    assert venv_kernel.value("open('host.bin', 'rb').read()[-5:]") == "b'aaend'"
    assert (tmp_path / "host.bin").read_bytes() == b"a" * 100
