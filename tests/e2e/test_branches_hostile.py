"""
Branches that mean harm: to the branches beside them, to the session and the state that they come from, and to who keeps
what they leave.
"""

import os

import pytest

from branches import answer_next, begin, finish, state_of, wait_for_prints
from conftest import shared_kernel  # noqa: F401
from kernels import STUCK_S
from processes import at_rest, beyond
from travels import branch, restore, run

pytestmark = pytest.mark.xdist_group("branches-hostile")  # one process: the kernel is there once

BEGIN = """
import ctypes, errno, fcntl, mmap, os, pathlib, shutil, signal, socket, stat, subprocess, sys, tempfile, threading, time
from multiprocessing import shared_memory
os.mkdir('rows'); os.chdir('rows')
base = pathlib.Path.cwd()
"""

# All that two tasks could reach each other by, made before both.
SHARED = """
shm = shared_memory.SharedMemory(create=True, size=4096); shm.buf[:4] = b'mine'
anonymous = mmap.mmap(-1, 4096); anonymous[:4] = b'mine'
pathlib.Path('mapped').write_bytes(b'mine' * 1024)
with open('mapped', 'r+b') as f: mapped = mmap.mmap(f.fileno(), 0)
memfd = os.memfd_create('m', os.MFD_ALLOW_SEALING); os.write(memfd, b'mine')
unnamed = tempfile.TemporaryFile(); unnamed.write(b'mine'); unnamed.flush()
r, w = os.pipe(); os.write(w, b'mine'); os.set_blocking(r, False)
a, b = socket.socketpair(); a.send(b'mine'); b.setblocking(False)
os.mkfifo('fifo'); fifo = os.open('fifo', os.O_RDWR | os.O_NONBLOCK); os.write(fifo, b'mine')
event = os.eventfd(5, os.EFD_NONBLOCK)
text = open('text', 'w+'); text.write('mine'); text.flush()
locked = open('locked', 'w')
server = socket.socket(socket.AF_UNIX); server.bind('socket'); server.listen(); server.setblocking(False)
abstract = socket.socket(socket.AF_UNIX); abstract.bind(b'\\0petri-branch'); abstract.listen(); abstract.setblocking(False)
tcp = socket.create_server(('127.0.0.1', 0)); port = tcp.getsockname()[1]; tcp.setblocking(False)
got = []
_ = [signal.signal(s, lambda n, _: got.append(n)) for s in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGTERM, signal.SIGHUP)]
def accepts(s):
    try: s.accept()
    except BlockingIOError: return False
    return True
def locks():
    try: fcntl.flock(locked, fcntl.LOCK_EX | fcntl.LOCK_NB); fcntl.lockf(locked, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError: return False
    return True
def look():
    seen = [bytes(shm.buf[:4]), anonymous[:4], mapped[:4], os.pread(memfd, 9, 0), fcntl.fcntl(memfd, fcntl.F_GET_SEALS)]
    seen += [os.pread(unnamed.fileno(), 9, 0), os.read(r, 99), b.recv(99), os.read(fifo, 99), os.eventfd_read(event)]
    seen += [text.seek(0), text.read(), pathlib.Path('mapped').read_bytes()[:4], pathlib.Path('text').read_text()]
    return seen + [sorted(os.listdir()), accepts(server), accepts(abstract), accepts(tcp), locks(), got]
"""
WHOLE = (
    "[b'mine', b'mine', b'mine', b'mine', 0, b'mine', b'mine', b'mine', b'mine', 5, 0, 'mine', b'mine', 'mine', "
    "['fifo', 'locked', 'mapped', 'socket', 'text'], False, False, False, True, []]"
)

# It spoils each of them, and holds what can be held, until it is answered.
ATTACK = """
def attempt(f, *args):
    try: return f(*args)
    except OSError: pass
shm.buf[:4] = anonymous[:4] = mapped[:4] = b'evil'
os.pwrite(memfd, b'evil', 0); os.ftruncate(memfd, 2); fcntl.fcntl(memfd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SEAL)
_ = unnamed.truncate(0), os.read(r, 99), os.write(w, b'evil'), b.recv(99), a.send(b'evil'), b.send(b'evil')
_ = os.read(fifo, 99), os.write(fifo, b'evil!'), os.eventfd_write(event, 99)
text.seek(0); text.write('evil'); text.flush(); os.utime('text', (0, 0))
fcntl.flock(locked, fcntl.LOCK_EX); fcntl.lockf(locked, fcntl.LOCK_EX)
for address in (str(base / 'socket'), b'\\0petri-branch'):
    c = socket.socket(socket.AF_UNIX); c.connect(address); c.send(b'evil')
c = socket.create_connection(('127.0.0.1', port)); c.send(b'evil')
attempt(a.shutdown, socket.SHUT_RDWR)
os.unlink('socket'); mine = socket.socket(socket.AF_UNIX); mine.bind('socket'); mine.listen()
shared_memory.SharedMemory(shm.name).unlink()
for s in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGTERM, signal.SIGHUP, signal.SIGSTOP, signal.SIGKILL):
    attempt(os.kill, -1, s) if s not in (signal.SIGSTOP, signal.SIGKILL) else None
    for pid in range(1, 4096):
        if pid not in (os.getpid(), os.getppid()): attempt(os.kill, pid, s)
others = [p for p in os.listdir('/proc') if p.isdigit() and int(p) != os.getpid()]
for p in others:
    for name in ('mem', 'environ', 'fd/0', 'root', 'cwd'): attempt(lambda: open(f'/proc/{p}/{name}', 'r+b').close())
for entry in list(os.scandir('.')) + list(os.scandir('/dev/shm')):
    attempt(os.chmod, entry.path, 0); attempt(os.unlink, entry.path)
open('evil', 'w').close()
print('spoilt', flush=True); input()
"""


@pytest.fixture(scope="module")
def kernel(shared_kernel):
    os.mkdir(shared_kernel.folder / "many")
    for n in range(20):
        (shared_kernel.folder / "many" / str(n)).write_text("host")
    (shared_kernel.folder / "host.txt").write_text("host")
    shared_kernel.good(BEGIN)
    shared_kernel.good("%checkpoint rows")
    return shared_kernel


def value_in(kernel, image, code):
    cell = kernel.ask(code, {"from": image, "commit": False})
    assert cell.ok, f"{code}\n{cell}"
    return cell.result


def test_branch_reaches_nothing_of_the_branch_beside_it_and_of_its_state(kernel):
    kernel.good("%restore rows")
    image = run(kernel, SHARED)
    kept = {"from": image, "commit": "branch"}
    victim = begin(kernel, "print('waits', flush=True); input(); print(look())", **kept)
    messages = wait_for_prints(kernel, victim)
    attacker = begin(kernel, ATTACK, **kept)
    messages += wait_for_prints(kernel, attacker)
    assert answer_next(kernel, "") == victim  # its question came first
    (seen,) = finish(kernel, messages, victim)
    assert seen.stdout == f"waits\n{WHOLE}\n", str(seen)
    assert answer_next(kernel, "") == attacker
    (spoilt,) = finish(kernel, messages, attacker)
    assert spoilt.ok, str(spoilt)
    assert value_in(kernel, image, "str(look())") == repr(WHOLE)
    assert kernel.ask("str(look())", {"commit": False}).result == repr(WHOLE)
    restore(kernel, to=spoilt.report["image"])
    assert kernel.value("bytes(shm.buf[:4]), anonymous[:4], os.listdir()") == "(b'evil', b'evil', ['evil'])"
    restore(kernel, to=image)
    assert kernel.ask("str(look())", {"commit": False}).result == repr(WHOLE)


def test_branch_reaches_nothing_of_the_session_s_own_cell_and_that_nothing_of_a_branch(kernel):
    kernel.good("%restore rows")
    image = run(kernel, SHARED)
    own = begin(kernel, "print('waits', flush=True); input(); print(look())")
    messages = wait_for_prints(kernel, own)
    attacker = begin(kernel, ATTACK, **{"from": image, "commit": "branch"})
    messages += wait_for_prints(kernel, attacker)
    assert answer_next(kernel, "") == own
    (seen,) = finish(kernel, messages, own)
    assert seen.stdout == f"waits\n{WHOLE}\n", str(seen)
    assert answer_next(kernel, "") == attacker
    assert finish(kernel, messages, attacker)[0].ok
    restore(kernel, to=image)
    victim = begin(kernel, "print('waits', flush=True); input(); print(look())", **{"from": image, "commit": "branch"})
    messages = wait_for_prints(kernel, victim)
    own = begin(kernel, ATTACK)
    messages += wait_for_prints(kernel, own)
    assert answer_next(kernel, "") == victim
    (seen,) = finish(kernel, messages, victim)
    assert seen.stdout == f"waits\n{WHOLE}\n", str(seen)
    answer_next(kernel, "")
    assert finish(kernel, messages, own)[0].ok
    assert value_in(kernel, image, "str(look())") == repr(WHOLE)


# What a branch does to itself. Whatever comes of it, the session is whole, and what is kept can be gone to and left.
SELF = {
    "closes all descriptors": "os.closerange(0, 1 << 16)",
    "closes all descriptors in a thread": "t = threading.Thread(target=os.closerange, args=(0, 1 << 16)); t.start(); t.join()",
    "ends its first thread": "libc = ctypes.CDLL(None); libc.syscall(60, 0)",
    "ends each other thread": "libc = ctypes.CDLL(None)\n"
    "def end(*_): libc.syscall(60, 0)\n"
    "_ = signal.signal(signal.SIGUSR1, signal.SIG_DFL)\n"
    "for t in os.listdir('/proc/self/task'):\n    if int(t) != threading.get_native_id(): libc.syscall(234, os.getpid(), int(t), 10)",
    "has a thread that never stops": "def spin():\n    while True: pass\nthreading.Thread(target=spin, daemon=True).start()",
    "unmaps its stacks": "libc = ctypes.CDLL(None)\n"
    "for l in open('/proc/self/maps').read().splitlines():\n    if '[stack]' in l:\n"
    "        s, e = (int(x, 16) for x in l.split()[0].split('-')); libc.munmap(ctypes.c_void_p(s), ctypes.c_size_t(e - s))",
    "unmaps all": "libc = ctypes.CDLL(None); libc.munmap(ctypes.c_void_p(4096), ctypes.c_size_t((1 << 47) - 8192))",
    "seals its memory": "libc = ctypes.CDLL(None)\n"
    "for l in open('/proc/self/maps').read().splitlines():\n"
    "    s, e = (int(x, 16) for x in l.split()[0].split('-')); libc.syscall(462, ctypes.c_void_p(s), ctypes.c_size_t(e - s), 0)",
    "makes its memory unreadable": "libc = ctypes.CDLL(None); m = mmap.mmap(-1, 1 << 20)\n"
    "at = ctypes.addressof(ctypes.c_char.from_buffer(m)); libc.mprotect(ctypes.c_void_p(at), ctypes.c_size_t(1 << 20), 0)",
    "has the lowest limits": "import resource\n"
    "for n in (resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE, resource.RLIMIT_STACK): resource.setrlimit(n, (1, 1))",
    "can't be read by others": "libc = ctypes.CDLL(None); libc.prctl(4, 0, 0, 0, 0)",
    "has its folder removed": "shutil.rmtree(base)",
    "leaves children": "for _ in range(20):\n    if not os.fork():\n        signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65)); time.sleep(3600)",
    "leaves a child that writes on": "if not os.fork():\n    while True: open('on', 'a').write('x')",
    "has no modules": "sys.modules.clear()",
    "replaces the worker": "import gc, types\n"
    "code = (lambda *a, **k: None).__code__\n"
    "for f in gc.get_objects():\n    if isinstance(f, types.FunctionType) and 'petri' in f.__code__.co_filename:\n"
    "        try: f.__code__ = code\n        except ValueError: pass",
    "executes another program": "os.execv('/bin/true', ['true'])",
    "stops itself": "os.kill(os.getpid(), signal.SIGSTOP)",
}  # fmt: skip


@pytest.mark.parametrize("what", SELF)
def test_branch_that_spoils_itself_leaves_the_session_whole_and_one_can_go_there_and_back(kernel, what):
    kernel.good("%restore rows")
    image = run(kernel, "kept = ['kept']; open('kept', 'w').write('kept')")
    look = "kept, open('kept').read(), sorted(os.listdir(base))"
    limits = {"timeout": "3s", "processes": 64}
    cell = kernel.ask(SELF[what], {"from": image, "commit": "branch", "limits": limits})
    there = cell.report["image"]
    assert (there is None) == cell.report["rolled_back"], str(cell)
    assert kernel.ask(look, {"commit": False}).result == "(['kept'], 'kept', ['kept'])"
    if there:
        kernel.ask("1", {"from": there, "commit": False, "limits": limits})
        reply = kernel.control("petri_restore_request", {"to": there})
        assert reply["status"] == "ok" or reply["ename"] == "SandboxError", reply
        kernel.ask("1", {"commit": False, "limits": limits})
        restore(kernel, to=image)
    assert kernel.value(look) == "(['kept'], 'kept', ['kept'])"
    assert value_in(kernel, image, look) == "(['kept'], 'kept', ['kept'])"


# Limits for all together

FILL = """
def fill(name, step=1 << 20):
    fd, n = os.open(name, os.O_WRONLY | os.O_CREAT), 0
    while step:
        try: n += os.write(fd, b'x' * step)
        except OSError as error:
            assert error.errno == errno.ENOSPC, error
            step //= 2
    os.close(fd)
    return n
"""


def test_branches_that_fill_the_disk_together_get_no_more_than_it_has_and_the_session_goes_on(start, configure):
    configure(profiles={"notebook": {"disk": "64M"}})
    small = start()
    image = run(small, "import errno, os; open('kept', 'wb').write(bytes(8 << 20))\n" + FILL)
    code = "n = fill('full'); print(n, flush=True); input(); os.path.getsize('full') == n"
    requests = [begin(small, code, **{"from": image, "commit": "branch"}) for _ in range(2)]
    messages = wait_for_prints(small, *requests)
    assert answer_next(small, "") in requests and answer_next(small, "") in requests
    cells = finish(small, messages, *requests)
    assert [cell.result for cell in cells] == ["True", "True"]
    assert sum(int(cell.stdout) for cell in cells) <= 64 << 20
    assert small.value("os.path.getsize('kept') >> 20, os.path.exists('full')") == "(8, False)"
    restore(small, to=image)
    for cell in cells:
        if (state_of(small, cell.report["image"]) or {}).get("kept"):
            restore(small, to=cell.report["image"])
            assert int(small.value("os.path.getsize('full')")) == int(cell.stdout)
    restore(small, to=image)
    assert small.value("open('more', 'wb').write(bytes(1 << 20)), os.path.getsize('kept') >> 20") == "(1048576, 8)"


def test_branches_have_the_limit_of_memory_each(kernel):
    kernel.good("%restore rows")
    image = run(kernel, "kept = 1")
    code = "big = bytearray(b'x') * (300 << 20); print('has', flush=True); input(); len(big) >> 20"
    spec = {"from": image, "commit": "branch", "limits": {"memory": "400M"}}
    requests = [begin(kernel, code, **spec) for _ in range(2)]
    messages = wait_for_prints(kernel, *requests)
    for _ in requests:
        answer_next(kernel, "")
    assert [cell.result for cell in finish(kernel, messages, *requests)] == ["300", "300"]


def test_branch_with_all_the_processes_that_it_may_have_takes_none_from_the_session(kernel):
    kernel.good("%restore rows")
    image = run(kernel, "kept = 1")
    code = """n = 0
while True:
    try: pid = os.fork()
    except OSError: break
    if not pid: signal.pause()
    n += 1
print('has', n > 20, flush=True); input()"""
    bomb = begin(kernel, code, **{"from": image, "commit": "branch", "limits": {"processes": 60}})
    messages = wait_for_prints(kernel, bomb)
    own = kernel.send_asking("sum(subprocess.call('true') for _ in range(5)), kept", {})
    assert finish(kernel, messages, own)[0].result == "(0, 1)"
    assert answer_next(kernel, "") == bomb
    (cell,) = finish(kernel, messages, bomb)
    assert cell.stdout == "has True\n"
    assert kernel.value("subprocess.call('true')") == "0"


@pytest.mark.parametrize("branches", [78, pytest.param(298, marks=pytest.mark.thorough)])
def test_branches_by_the_hundred_that_are_kept_and_gone_leave_nothing(start, configure, branches):
    """No process, descriptor, mount and file."""
    configure(profiles={"notebook": {"history": 6}})
    small = start()
    run(small, "import os, threading, mmap, tempfile; t = threading.Thread(target=threading.Event().wait, daemon=True); t.start()")
    run(small, "m = mmap.mmap(-1, 4096); f = tempfile.TemporaryFile(); r, w = os.pipe(); s = os.statvfs('/tmp')", checkpoint="base")
    used = "s = os.statvfs('/tmp'); s.f_blocks - s.f_bfree, s.f_files - s.f_ffree"
    code = "open('n', 'w').write('{n}'); m[0] = {n} % 251; f.write(b'x'); f.flush()"

    def go_to_one_of(n_branches):
        """Ends with as many states as there may be."""
        for n in range(n_branches):
            kept = branch(small, code.format(n=n), "base")
            if n % 10 == 0:
                restore(small, to=kept)
                assert small.ask("open('n').read(), m[0]", {"commit": False}).result == f"('{n}', {n % 251})"
                small.good("%restore base")

    go_to_one_of(18)
    before, room = at_rest(small, STUCK_S), small.ask(used, {"commit": False}).result
    go_to_one_of(branches)
    before["descriptors"] += 1  # of the folder's mount: it is closed and opened again when it has to be looked at
    assert beyond(small, before, STUCK_S) == {}
    assert small.ask(used, {"commit": False}).result == room
