"""
What a session has, piece by piece, across undo, redo, restore and branches: each has to be as it was, and to go on
from there. A row is what travels.py says; the files of rows have a folder of their own.
"""

import pytest

from conftest import shared_kernel  # noqa: F401
from travels import WAYS, Row

pytestmark = pytest.mark.xdist_group("time-travel")  # one process: the kernel is there once

BEGIN = """
import asyncio, collections, contextlib, contextvars, ctypes, decimal, fcntl, io, logging, mmap, multiprocessing, os, pathlib
import queue, random, resource, select, shutil, signal, socket, sqlite3, subprocess, sys, tempfile, threading, time, weakref
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import shared_memory
os.mkdir('rows'); os.chdir('rows')
base = pathlib.Path.cwd()
p = base / 'f'
def locks(path):
    '''Whether a lock of the file can be had by who opens it anew.'''
    with open(path) as file:
        try: fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError: return False
    return True
"""

OBJECTS = {
    # Python
    "generator": Row(
        "def count():\n    n = 0\n    while True:\n        yield n\n        n += 1\ng = count(); next(g)",
        "for _ in range(5): next(g)",
        "next(g)",
        "1",
        "6",
    ),
    "coroutine that waits": Row(
        "async def steps():\n    for n in range(9): await asyncio.sleep(0)\n    return 'end'\n"
        "c = steps(); first = c.send(None)",
        "c.send(None)",
        "c.cr_frame.f_locals['n'], c.send(None)",
        "(0, None)",
        "(1, None)",
    ),
    "iterators": Row(
        "i = iter(range(9)); d = collections.deque([1, 2]); z = zip(i, 'abcdefg'); next(z)",
        "next(z); next(i); d.rotate()",
        "next(z), next(i), d",
        "((1, 'b'), 2, deque([1, 2]))",
        "((3, 'c'), 4, deque([2, 1]))",
    ),
    "object that goes": Row(
        "class C: pass\nc = C(); w = weakref.ref(c); gone = []\n_f = weakref.finalize(c, gone.append, 1)",
        "del c",
        "w() is None, gone, 'c' in globals()",
        "(False, [], True)",
        "(True, [1], False)",
    ),
    "closure and its cell": Row(
        "def outer():\n    n = 1\n    def add():\n        nonlocal n\n        n += 1\n        return n\n    return add\nadd = outer()",
        "_ = [add() for _ in range(3)]",
        "add()",
        "2",
        "5",
    ),
    "class that gets a method": Row(
        "class C:\n    def f(self): return 'old'\nc = C()", "C.f = lambda self: 'new'", "c.f()", "'old'", "'new'"
    ),
    "builtin that is replaced": Row(
        "import builtins", "builtins.hex = lambda x: 'mine'", "hex(10)", "'0xa'", "'mine'"
    ),
    "module that is imported": Row(
        "open('travelled.py', 'w').write('n = [0]'); sys.path.insert(0, str(base))",
        "import travelled; travelled.n[0] = 7",
        "'travelled' in sys.modules, sys.modules['travelled'].n if 'travelled' in sys.modules else None",
        "(False, None)",
        "(True, [7])",
    ),
    "module with a library": Row(
        "import io",
        "import _lsprof",
        "'_lsprof' in sys.modules, '_lsprof' in open('/proc/self/maps').read()",
        "(False, False)",
        "(True, True)",
    ),
    "random numbers": Row(
        "random.seed(1); expected = [random.random() for _ in range(3)]; random.seed(1)",
        "random.random()",
        "expected.index(random.random())",
        "0",
        "1",
    ),
    "context of decimals": Row(
        "decimal.getcontext().prec = 4", "decimal.getcontext().prec = 6", "decimal.Decimal(1) / 3",
        "Decimal('0.3333')", "Decimal('0.333333')",
    ),
    "context variable": Row(
        "v = contextvars.ContextVar('v', default=0); v.set(1)", "token = v.set(2)", "v.get()", "1", "2"
    ),
    "handlers of signals": Row(
        "got = []; _ = signal.signal(signal.SIGUSR1, lambda *_: got.append('old'))",
        "_ = signal.signal(signal.SIGUSR1, lambda *_: got.append('new'))",
        "signal.raise_signal(signal.SIGUSR1); got",
        "['old']",
        "['new']",
    ),
    "blocked signal that waits": Row(
        "got = []; _ = signal.signal(signal.SIGUSR2, lambda *_: got.append(1))\n"
        "_ = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2})",
        "_ = signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGUSR2})",
        "signal.raise_signal(signal.SIGUSR2); got",
        "[]",
        "[1]",
    ),
    "log": Row(
        "log = logging.getLogger('t'); log.propagate = False; out = io.StringIO(); log.addHandler(logging.StreamHandler(out))",
        "log.handlers[0].setLevel(50)",
        "log.warning('x'); out.getvalue()",
        r"'x\n'",
        "''",
    ),
    # Threads
    "lock that is held": Row(
        "lock = threading.Lock(); lock.acquire()", "lock.release()", "lock.locked(), lock.acquire(False)",
        "(True, False)", "(False, True)",
    ),
    "lock that counts": Row(
        "lock = threading.RLock(); lock.acquire()", "lock.acquire()",
        "lock.release(), lock._is_owned(), lock.release() if lock._is_owned() else 0",
        "(None, False, 0)", "(None, True, None)",
    ),
    "semaphore and barrier": Row(
        "s = threading.BoundedSemaphore(2); s.acquire()", "s.acquire()", "s.acquire(False)", "True", "False"
    ),
    "thread that waits on a queue": Row(
        "asked, told, seen = queue.Queue(), queue.Queue(), [0]\n"
        "def add():\n    total = 0\n    while True:\n        total += asked.get(); seen[0] = total; told.put(total)\n"
        "thread = threading.Thread(target=add, daemon=True); thread.start()",
        "asked.put(1); told.get(timeout=20)",
        "asked.put(10); told.get(timeout=20), seen, thread.is_alive()",
        "(10, [10], True)",
        "(11, [11], True)",
    ),
    "thread that ends": Row(
        "event, done = threading.Event(), []\n"
        "thread = threading.Thread(target=lambda: (event.wait(), done.append(1)), daemon=True); thread.start()",
        "event.set(); thread.join(20)",
        "done, thread.is_alive(), event.is_set()",
        "([], True, False)",
        "([1], False, True)",
    ),
    "thread that waits on a condition": Row(
        "c, n = threading.Condition(), []\n"
        "def wait():\n    with c:\n        c.wait(); n.append(1)\n"
        "t = threading.Thread(target=wait, daemon=True); t.start()\n"
        "while not c._waiters: time.sleep(0.001)",
        "with c: c.notify()\nt.join(20)",
        "n, t.is_alive(), len(c._waiters)",
        "([], True, 1)",
        "([1], False, 0)",
    ),
    "thread that waits on a pipe": Row(
        "r, w = os.pipe(); got = []\n"
        "def read():\n    while data := os.read(r, 1): got.append(data)\n"
        "t = threading.Thread(target=read, daemon=True); t.start()",
        "os.close(w); t.join(20)",
        "t.is_alive()",
        "True",
        "False",
    ),
    "threads that begin": Row(
        "pool = ThreadPoolExecutor(4); _ = pool.submit(int).result()",
        "barrier = threading.Barrier(4); _ = list(pool.map(lambda _: barrier.wait(), range(4)))",
        "len(pool._threads), pool.submit(sum, [1, 2]).result(20), sum(t.is_alive() for t in pool._threads)",
        "(1, 3, 1)",
        "(4, 3, 4)",
    ),
    "thread pool that is shut down": Row(
        "pool = ThreadPoolExecutor(2); _ = list(pool.map(int, '12'))",
        "pool.shutdown()",
        "pool._shutdown, any(t.is_alive() for t in pool._threads)",
        "(False, True)",
        "(True, False)",
    ),
    "what is a thread's own": Row(
        "local = threading.local()\ndef bump():\n    local.n = getattr(local, 'n', 0) + 1\n    return local.n\n"
        "pool = ThreadPoolExecutor(1); _ = pool.submit(bump).result()",
        "_ = [pool.submit(bump).result() for _ in range(3)]",
        "pool.submit(bump).result(20)",
        "2",
        "5",
    ),
    "timer": Row(
        "rang = threading.Event(); timer = threading.Timer(3600, rang.set); timer.start()",
        "timer.cancel(); timer.join(20)",
        "timer.is_alive(), timer.finished.is_set()",
        "(True, False)",
        "(False, True)",
    ),
    # asyncio
    "task that waits on a queue": Row(
        "q, got = asyncio.Queue(), []\n"
        "async def take():\n    while True:\n        got.append(await q.get()); q.task_done()\n"
        "task = asyncio.create_task(take()); q.put_nowait(1); await q.join()",
        "q.put_nowait(2); await q.join()",
        "q.put_nowait(3); await asyncio.wait_for(q.join(), 20); got",
        "[1, 3]",
        "[1, 2, 3]",
    ),
    "task that is cancelled": Row(
        "task = asyncio.create_task(asyncio.sleep(3600)); await asyncio.sleep(0)",
        "task.cancel(); await asyncio.sleep(0); await asyncio.sleep(0)",
        "await asyncio.sleep(0); task.cancelled(), task.done(), task in asyncio.all_tasks()",
        "(False, False, True)",
        "(True, True, False)",
    ),
    "future and lock": Row(
        "f = asyncio.get_running_loop().create_future(); l = asyncio.Lock(); await l.acquire()",
        "f.set_result(5); l.release()",
        "f.done(), l.locked()",
        "(False, True)",
        "(True, False)",
    ),
    "loop of another thread": Row(
        "loop = asyncio.new_event_loop(); total = [0]\n"
        "threading.Thread(target=loop.run_forever, daemon=True).start()\n"
        "async def add(n):\n    total[0] += n\n    await asyncio.sleep(0)\n    return total[0]\n"
        "_ = asyncio.run_coroutine_threadsafe(add(1), loop).result(20)",
        "_ = asyncio.run_coroutine_threadsafe(add(10), loop).result(20)",
        "asyncio.run_coroutine_threadsafe(add(100), loop).result(20)",
        "101",
        "111",
    ),
    # The process
    "environment": Row(
        "os.environ['TRAVELLED'] = 'one'", "os.environ['TRAVELLED'] = 'two'; os.environ['MORE'] = 'x'",
        "os.environ['TRAVELLED'], 'MORE' in os.environ, ctypes.c_char_p(ctypes.cast(ctypes.CDLL(None).getenv, "
        "ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_char_p))(b'TRAVELLED')).value, "
        "subprocess.run('echo $TRAVELLED', shell=True, capture_output=True, text=True).stdout",
        r"('one', False, b'one', 'one\n')",
        r"('two', True, b'two', 'two\n')",
    ),
    "current folder": Row(
        "os.makedirs('a/b'); os.chdir('a')",
        "os.chdir('b'); open('x', 'w').close()",
        "os.getcwd() == str(base / 'a'), os.listdir()",
        "(True, ['b'])",
        "(False, ['x'])",
    ),
    "current folder that is removed": Row(
        "os.makedirs('a/b'); open('a/b/x', 'w').close(); os.chdir('a/b')",
        "os.chdir(base); shutil.rmtree('a')",
        "os.path.exists('x'), os.listdir(base), os.path.basename(os.getcwd())",
        "(True, ['a'], 'b')",
        "(False, [], 'rows')",
    ),
    "umask and priority": Row(
        "_ = os.umask(0o22)", "_ = os.umask(0o77)", "os.close(os.open('u', os.O_CREAT)); oct(os.stat('u').st_mode)",
        "'0o100755'", "'0o100700'",
    ),
    # Descriptors
    "file that is half read": Row(
        "fd = os.open(p, os.O_RDWR | os.O_CREAT); os.write(fd, b'abcdefgh'); os.lseek(fd, 2, 0)",
        "os.read(fd, 3); os.pwrite(fd, b'X', 6)",
        "os.read(fd, 9), os.lseek(fd, 0, 1)",
        "(b'cdefgh', 8)",
        "(b'fXh', 8)",
    ),
    "file with lines ahead": Row(
        "p.write_text('one\\ntwo\\nthree\\nfour\\n'); f = open(p); next(f)", "next(f)", "next(f), f.readline()",
        r"('two\n', 'three\n')", r"('three\n', 'four\n')",
    ),
    "file that is not flushed": Row(
        "f = open(p, 'w'); _ = f.write('a')", "_ = f.write('b'); f.flush(); f.write('c')",
        "(p.read_text(), f.flush(), p.read_text())", "('', None, 'a')", "('ab', None, 'abc')",
    ),
    "file that is appended to": Row(
        "f = open(p, 'a', buffering=1); _ = f.write('one\\n')", "_ = f.write('two\\n')",
        "f.write('three\\n') and p.read_text()", r"'one\nthree\n'", r"'one\ntwo\nthree\n'",
    ),
    "file that is closed": Row(
        "f = open(p, 'w+'); _ = f.write('x'); f.flush()", "f.close(); p.unlink()",
        "f.closed, p.exists(), f.closed or (f.seek(0), f.read())", "(False, True, (0, 'x'))", "(True, False, True)",
    ),
    "descriptors of one file": Row(
        "a = os.open(p, os.O_RDWR | os.O_CREAT); b = os.dup(a); c = os.open(p, os.O_RDONLY); os.write(a, b'abcd')",
        "os.lseek(b, 1, 0); os.dup2(c, b); os.write(a, b'X')",
        "os.lseek(a, 0, 1), os.lseek(b, 0, 1), os.pread(c, 9, 0)",
        "(4, 4, b'abcd')",
        "(2, 0, b'aXcd')",
    ),
    "flags of a descriptor": Row(
        "r, w = os.pipe()", "os.set_blocking(r, False); os.set_inheritable(r, True)",
        "os.get_blocking(r), os.get_inheritable(r)", "(True, False)", "(False, True)",
    ),
    "temporary file without a name": Row(
        "f = tempfile.TemporaryFile(); f.write(b'one'); f.flush()", "f.write(b'two'); f.flush()",
        "f.seek(0), f.read(), os.fstat(f.fileno()).st_size", "(0, b'one', 3)", "(0, b'onetwo', 6)",
    ),
    "temporary file with a name": Row(
        "f = tempfile.NamedTemporaryFile(); f.write(b'one'); f.flush()", "name = f.name; f.write(b'two'); f.close()",
        "os.path.exists(f.name), f.closed or open(f.name).read()", "(True, 'one')", "(False, True)",
    ),
    "temporary file that is made": Row(
        "n = len(os.listdir('/tmp'))", "f = tempfile.TemporaryFile(); f.write(b'x' * 99999); f.flush()",
        "os.fstat(f.fileno()).st_size if 'f' in globals() else len(os.listdir('/tmp')) - n", "0", "99999",
    ),
    "unlinked file that is large": Row(
        "f = open('large', 'w+b'); f.write(b'a' * (8 << 20)); f.flush(); os.unlink('large')",
        "f.seek(4 << 20); f.write(b'b' * 100); f.truncate(5 << 20); f.flush()",
        "os.fstat(f.fileno()).st_size >> 20, os.pread(f.fileno(), 2, 4 << 20)",
        "(8, b'aa')",
        "(5, b'bb')",
    ),
    "pipe with data in it": Row(
        "r, w = os.pipe(); os.write(w, b'abc')", "os.read(r, 1); os.write(w, b'd')", "os.read(r, 9)", "b'abc'", "b'bcd'"
    ),
    "pipe that is full": Row(
        "r, w = os.pipe(); os.set_blocking(w, False); n = os.write(w, b'x' * (1 << 20))",
        "os.read(r, 4096 * 3)",
        "os.write(w, b'y' * 4096) if select.select([], [w], [], 0)[1] else 0",
        "0",
        "4096",
    ),
    "pipe whose end is closed": Row(
        "r, w = os.pipe(); os.write(w, b'x')", "os.close(w)",
        "os.read(r, 1), select.select([r], [], [], 0)[0] == [r]",
        "(b'x', False)", "(b'x', True)",
    ),
    "FIFO": Row(
        "os.mkfifo(p); f = os.open(p, os.O_RDWR); os.write(f, b'abc')", "os.read(f, 2); os.unlink(p)",
        "os.read(f, 9), p.exists()", "(b'abc', True)", "(b'c', False)",
    ),
    "pair of sockets with data in it": Row(
        "a, b = socket.socketpair(); a.send(b'abc')", "b.recv(1); a.send(b'd'); b.send(b'back'); a.shutdown(socket.SHUT_WR)",
        "b.recv(9), bool(select.select([a], [], [], 0)[0])", "(b'abc', False)", "(b'bcd', True)",
    ),
    "pair of sockets with datagrams": Row(
        "a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM); a.send(b'one'); a.send(b'two')",
        "b.recv(9); a.send(b'three')",
        "b.recv(9), b.recv(9)",
        "(b'one', b'two')",
        "(b'two', b'three')",
    ),
    "socket that listens": Row(
        "server = socket.create_server(('127.0.0.1', 0)); port = server.getsockname()[1]", "server.close()",
        "socket.socket().connect_ex(('127.0.0.1', port)) == 0", "True", "False",
    ),
    "socket with a path": Row(
        "s = socket.socket(socket.AF_UNIX); s.bind('s'); s.listen()", "s.close(); os.unlink('s')",
        "os.path.exists('s'), socket.socket(socket.AF_UNIX).connect_ex('s')", "(True, 0)", "(False, 2)",
    ),
    "eventfd": Row(
        "e = os.eventfd(5)", "os.eventfd_write(e, 2)",
        "os.eventfd_read(e)", "5", "7",
    ),
    "epoll": Row(
        "r, w = os.pipe(); e = select.epoll(); e.register(r, select.EPOLLIN)",
        "os.write(w, b'x'); e.register(w, select.EPOLLOUT)",
        "sorted(mask for _, mask in e.poll(0))",
        "[]",
        "[1, 4]",
    ),
    "memory with a descriptor": Row(
        "m = os.memfd_create('m', os.MFD_ALLOW_SEALING); os.write(m, b'one')",
        "os.write(m, b'two'); fcntl.fcntl(m, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)",
        "os.pread(m, 9, 0), os.lseek(m, 0, 1), fcntl.fcntl(m, fcntl.F_GET_SEALS)",
        "(b'one', 3, 0)",
        "(b'onetwo', 6, 2)",
    ),
    "lock of a file": Row(
        "f = open(p, 'w'); fcntl.flock(f, fcntl.LOCK_EX)", "fcntl.flock(f, fcntl.LOCK_UN)", "locks(p)", "False", "True"
    ),
    "lock of a file that is gone and can't be read": Row(
        "f = open(p, 'w')", "fcntl.flock(f, fcntl.LOCK_EX); os.chmod(p, 0); os.unlink(p)", "os.path.exists(p) and locks(p)",
        "True", "False"
    ),
    "lock of a file that has another name and can't be read": Row(
        "f = open(p, 'w')", "fcntl.flock(f, fcntl.LOCK_EX); os.chmod(p, 0); os.rename(p, 'g')", "os.path.exists(p) and locks(p)",
        "True", "False"
    ),
    "lock of a file in a folder that is closed": Row(
        "os.mkdir('d'); f = open('d/f', 'w')", "fcntl.flock(f, fcntl.LOCK_EX); os.chmod('d', 0)",
        "os.access('d', os.X_OK) and locks('d/f')", "True", "False"
    ),
    "lock of a part of a file": Row(
        "f = open(p, 'w+'); fcntl.lockf(f, fcntl.LOCK_EX, 10)", "fcntl.lockf(f, fcntl.LOCK_UN, 10)",
        "subprocess.run([sys.executable, '-Ic', 'import fcntl; fcntl.lockf(open(\"f\", \"w\"), 6, 10)'], "
        "capture_output=True).returncode", "1", "0",
    ),
    # Memory
    "shared memory": Row(
        "s = shared_memory.SharedMemory(create=True, size=100); s.buf[0] = 1", "s.buf[0] = 2; s.buf[99] = 9",
        "t = shared_memory.SharedMemory(s.name); v = t.buf[0], t.buf[99], s.buf[0]; t.close(); v", "(1, 0, 1)", "(2, 9, 2)",
    ),
    "shared memory that is unlinked": Row(
        "s = shared_memory.SharedMemory(create=True, size=100); s.buf[0] = 1", "s.buf[0] = 5; s.unlink()",
        "s.buf[0], os.path.exists('/dev/shm/' + s.name)", "(1, True)", "(5, False)",
    ),
    "mapping without a file": Row(
        "m = mmap.mmap(-1, 1 << 16); m[:3] = b'one'", "m[:3] = b'two'; m[60000] = 7", "m[:3], m[60000]",
        "(b'one', 0)", "(b'two', 7)",
    ),
    "mapping that is made and one that is closed": Row(
        "m = mmap.mmap(-1, 1 << 16); n = None", "m.close(); n = mmap.mmap(-1, 1 << 22); n[:2] = b'ab'",
        "m.closed, n and n[:2]", "(False, None)", "(True, b'ab')",
    ),
    "mapped file": Row(
        "p.write_bytes(b'a' * 9000); f = open(p, 'r+b'); m = mmap.mmap(f.fileno(), 0)", "m[5000:5003] = b'xyz'",
        "m[4999:5004], p.read_bytes()[4999:5004]", "(b'aaaaa', b'aaaaa')", "(b'axyza', b'axyza')",
    ),
    "mapped file that is removed": Row(
        "p.write_bytes(b'a' * 9000)\nwith open(p, 'r+b') as f: m = mmap.mmap(f.fileno(), 0)", "m[0] = 98; p.unlink()",
        "m[0] = 99; m[:2], p.exists() and p.read_bytes()[:2]", "(b'ca', b'ca')", "(b'ca', False)",
    ),
    "queue between processes": Row(
        "q = multiprocessing.SimpleQueue(); q.put('one'); q.put('two')", "q.get()", "q.get()", "'one'", "'two'"
    ),
    "value between processes": Row(
        "context = multiprocessing.get_context('fork'); v = context.Value('i', 1)\n"
        "def add():\n    with v.get_lock(): v.value += 1\n"
        "def by_a_child():\n    c = context.Process(target=add); c.start(); c.join()\n    return v.value\n_ = by_a_child()",
        "_ = by_a_child()",
        "by_a_child()",
        "3",
        "4",
    ),
    # Databases
    "database in memory": Row(
        "c = sqlite3.connect(':memory:'); _ = c.execute('create table t (x)'); _ = c.execute('insert into t values (1)')",
        "_ = c.execute('insert into t values (2)')",
        "c.execute('select sum(x) from t').fetchone()",
        "(1,)",
        "(3,)",
    ),
    "database with an open transaction": Row(
        "c = sqlite3.connect('t.db', isolation_level=None); d = sqlite3.connect('t.db', timeout=0)\n"
        "_ = c.execute('create table t (x)'); _ = c.execute('begin immediate'); _ = c.execute('insert into t values (1)')",
        "_ = c.execute('commit'); _ = c.execute('begin immediate'); _ = c.execute('insert into t values (10)')",
        "c.in_transaction, d.execute('select sum(x) from t').fetchone(), c.execute('commit') and "
        "d.execute('select sum(x) from t').fetchone()",
        "(True, (None,), (1,))",
        "(True, (1,), (11,))",
    ),
    "database with a log of writes": Row(
        "c = sqlite3.connect('t.db', isolation_level=None); _ = c.execute('pragma journal_mode = wal')\n"
        "_ = c.execute('create table t (x)'); d = sqlite3.connect('t.db', timeout=0)\n"
        "_ = c.execute('insert into t values (1)'); r = d.execute('select sum(x) from t').fetchone()",
        "_ = c.execute('insert into t values (10)'); _ = c.execute('pragma wal_checkpoint(truncate)').fetchall()",
        "d.execute('select sum(x) from t').fetchone(), c.execute('insert into t values (100)').rowcount, "
        "d.execute('select sum(x) from t').fetchone(), d.execute('pragma integrity_check').fetchone()",
        "((1,), 1, (101,), ('ok',))",
        "((11,), 1, (111,), ('ok',))",
    ),
    "cursor that is half read": Row(
        "c = sqlite3.connect('t.db'); c.executescript('create table t (x)'); _ = c.executemany('insert into t values (?)', "
        "[(n,) for n in range(2000)]); c.commit(); k = c.execute('select x from t'); k.fetchone()",
        "k.fetchmany(1000)",
        "k.fetchone()",
        "(1,)",
        "(1001,)",
    ),
    # Names
    "folder that is removed and made again": Row(
        "os.makedirs('d/e/g'); (base / 'd/e/x').write_text('old')",
        "shutil.rmtree('d'); os.makedirs('d/e'); (base / 'd/e/y').write_text('new')",
        "sorted(os.path.join(at, n) for at, d, f in os.walk('d') for n in d + f)",
        "['d/e', 'd/e/g', 'd/e/x']",
        "['d/e', 'd/e/y']",
    ),
    "folders that exchange names": Row(
        "os.mkdir('a'); os.mkdir('b'); open('a/1', 'w').close(); open('b/2', 'w').close()",
        "os.rename('a', 'c'); os.rename('b', 'a'); os.rename('c', 'b')",
        "os.listdir('a'), os.listdir('b')",
        "(['1'], ['2'])",
        "(['2'], ['1'])",
    ),
    "file that becomes a folder": Row(
        "p.write_text('file'); os.mkdir('d')", "p.unlink(); p.mkdir(); (p / 'in').touch(); os.rmdir('d'); os.symlink('f', 'd')",
        "p.is_dir(), os.path.islink('d'), sorted(os.listdir())", "(False, False, ['d', 'f'])", "(True, True, ['d', 'f'])",
    ),
    "hard links": Row(
        "p.write_text('one'); os.link(p, 'g')", "os.unlink('g'); os.link(p, 'h'); (base / 'h').write_text('two')",
        "p.stat().st_nlink, sorted(os.listdir()), p.read_text(), [os.path.samefile(p, n) for n in sorted(os.listdir())]",
        "(2, ['f', 'g'], 'one', [True, True])", "(2, ['f', 'h'], 'two', [True, True])",
    ),
    "mode and times": Row(
        "p.write_text('x'); os.chmod(p, 0o640); os.utime(p, (1, 2)); os.mkdir('d', 0o700)",
        "os.chmod(p, 0o400); os.utime(p, (3, 4)); os.chmod('d', 0o755)",
        "oct(p.stat().st_mode), p.stat().st_mtime, oct(os.stat('d').st_mode)",
        "('0o100640', 2.0, '0o40700')",
        "('0o100400', 4.0, '0o40755')",
    ),
    "file of the host that is changed": Row(
        "host = base.parent / 'host.txt'; f = open(host); _ = f.read(1)",
        "host.write_text('mine'); _ = f.read(1)",
        "host.read_text(), f.read(2), host.stat().st_size",
        "('host', 'os', 4)",
        "('mine', 'st', 4)",
    ),
    "file of the host that is removed": Row(
        "folder = base.parent", "(folder / 'host.txt').unlink(); shutil.rmtree(folder / 'kept'); (folder / 'kept').mkdir()",
        "(folder / 'host.txt').exists(), os.listdir(folder / 'kept')", "(True, ['inner'])", "(False, [])",
    ),
    "file of the host that is open and removed": Row(
        "f = open(base.parent / 'host.txt'); _ = f.read(1)", "(base.parent / 'host.txt').unlink()",
        "(base.parent / 'host.txt').exists(), f.read()", "(True, 'ost')", "(False, 'ost')",
    ),
    "folder of the host that is made anew while a file in it is open": Row(
        "folder = base.parent / 'kept'; (folder / 'mine').touch(); f = open(folder / 'inner')",
        "shutil.rmtree(folder); folder.mkdir()",
        "sorted(os.listdir(folder)), (folder / 'inner').exists(), f.read()",
        "(['inner', 'mine'], True, 'inner')", "([], False, 'inner')",
    ),
    "file of the host that is moved and mapped": Row(
        "with open(base.parent / 'host.txt') as f: m = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)",
        "os.rename(base.parent / 'host.txt', 'mine'); open('mine', 'a').write('+')",
        "m[:], os.path.exists('mine'), (base.parent / 'host.txt').exists()",
        "(b'host', False, True)",
        "(b'host', True, False)",
    ),
    "files at all places": Row(
        "places = [pathlib.Path(d, 'travelled') for d in ('/tmp', '/dev/shm', pathlib.Path.home(), base)]\n"
        "for f in places: f.write_text('old')",
        "for f in places[:2]: f.write_text('new')\nfor f in places[2:]: f.unlink()",
        "[f.exists() and f.read_text() for f in places]",
        "['old', 'old', 'old', 'old']",
        "['new', 'new', False, False]",
    ),
    "many files": Row(
        "os.mkdir('many')\nfor n in range(600): open(f'many/{n}', 'w').close()",
        "for n in range(0, 600, 2): os.unlink(f'many/{n}')\nfor n in range(600, 1500): open(f'many/{n}', 'w').close()",
        "len(os.listdir('many')), os.path.exists('many/0'), os.path.exists('many/1000')",
        "(600, True, False)",
        "(1200, False, True)",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def kernel(shared_kernel):
    (shared_kernel.folder / "host.txt").write_text("host")
    (shared_kernel.folder / "kept").mkdir()
    (shared_kernel.folder / "kept" / "inner").write_text("inner")
    shared_kernel.good(BEGIN)
    shared_kernel.good("%checkpoint rows")
    return shared_kernel


# In a branch files and folders that were there before are others: a folder can't be renamed, and a file has another
# number, which SQLite compares before it writes a journal (test_branches.py).
NOT_IN_BRANCHES = {"folders that exchange names", "database with an open transaction"}
TRIED = [(row, way) for row in OBJECTS for way in WAYS if way != "in branches" or row not in NOT_IN_BRANCHES]


@pytest.mark.in_turn("way")
@pytest.mark.parametrize(("row", "way"), TRIED)
def test_object_is_as_it_was_in_each_state_that_one_goes_to(kernel, row, way):
    WAYS[way](kernel, OBJECTS[row], "rows")
