"""
Processes end with their cell: what the next one finds of them. The cells are as in beside.py.

What libraries keep for their next call is ended before the cell is, and made again: so rows with them give what
ipykernel gives.
"""

import pytest

from beside import run_all, run_good
from conftest import row_kernel as kernel  # noqa: F401

pytestmark = pytest.mark.xdist_group("fidelity-processes")  # one process: both kernels are there once

BEGIN = """
import asyncio, concurrent.futures, multiprocessing, os, signal, subprocess, sys, time
from multiprocessing import shared_memory
def reap():  # os.wait() takes any child, and earlier tests have left some
    try:
        while os.waitpid(-1, os.WNOHANG)[0]: pass
    except ChildProcessError: pass
def sh(command):
    child = subprocess.Popen(['/bin/sh', '-c', command])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    return child
"""

DEAD = {
    "ended well": "c = sh('exit 0')‖c.wait()",
    "ended with a status": "c = sh('exit 3')‖c.poll()",
    "and waited for after two more cells, one of them lost": "c = sh('exit 3')‖1✗c.wait()‖1‖c.wait()",
    "several, waited for in another order": "c = [sh(f'exit {n}') for n in range(5)]‖[c[n].wait() for n in (3, 0, 4, 1, 2)]",
    "ended by a signal": "c = sh('kill -TERM $$')‖c.wait()",
    "ended by a signal that writes its memory down": "c = sh('kill -SEGV $$'), sh('kill -ABRT $$')‖[one.wait() for one in c]",
    "ended by a signal that the notebook has a handler for": "got = []\nsignal.signal(signal.SIGUSR1, lambda *_: got.append(1))\n"
    "c = sh('kill -USR1 $$')‖(c.wait(), got)",
    "ended by a signal of real time": "c = sh('kill -40 $$')‖c.wait()",
    "os.waitpid": "c = sh('exit 7')‖os.waitpid(c.pid, 0)[1]‖c.poll()",
    "nobody is there twice": "c = sh('exit 7')‖c.wait()‖try: os.waitpid(c.pid, 0)\nexcept ChildProcessError: print('none')",
    "a Process": "p = multiprocessing.get_context('fork').Process(target=os._exit, args=[4])\np.start()\n"
    "os.waitid(os.P_PID, p.pid, os.WEXITED | os.WNOWAIT)‖p.join()‖p.exitcode",
}

KEPT = {
    "Pool": "p = multiprocessing.Pool(2)\np.map(abs, [-1, -2])‖p.map(abs, [-3, -4])‖p.close(); p.join()",
    "Pool, closed in the next cell": "p = multiprocessing.Pool(2)\np.map(abs, [-1, -2])‖p.close()‖p.join()",
    "Pool, with a rolled-back cell":
    "p = multiprocessing.Pool(2)\np.map(abs, [-1])✗p.map(abs, [-2])‖p.map(abs, [-3])",
    "Pool, its initializer": "def begin(n): globals()['begun'] = n\ndef see(_): return begun\np = multiprocessing.Pool(1, begin, [7])\n"
    "p.map(see, [0])‖p.map(see, [0])‖p.terminate()",
    "Pool of a forkserver": "p = multiprocessing.get_context('forkserver').Pool(1)\np.map(abs, [-1])‖p.map(abs, [-2])",
    "Pool of new programs": "p = multiprocessing.get_context('spawn').Pool(1)\np.map(abs, [-1])‖p.map(abs, [-2])",
    "ThreadPool": "from multiprocessing.pool import ThreadPool\nt, c = ThreadPool(1), sh('exit 0')\nr = t.apply_async(abs, [-1])‖r.get()",
    "ProcessPoolExecutor": "e = concurrent.futures.ProcessPoolExecutor(2)\ne.submit(abs, -1).result()‖e.submit(abs, -2).result()‖"
    "list(e.map(abs, [-3]))",
    "ProcessPoolExecutor of new programs, used a cell later": "c = multiprocessing.get_context('spawn')\n"
    "e = concurrent.futures.ProcessPoolExecutor(1, mp_context=c)‖e.submit(abs, -1).result()‖e.submit(abs, -2).result()‖e.shutdown()",
    "ProcessPoolExecutor of a forkserver, used a cell later": "c = multiprocessing.get_context('forkserver')\n"
    "e = concurrent.futures.ProcessPoolExecutor(1, mp_context=c)‖e.submit(abs, -1).result()✗e.shutdown()‖e.submit(abs, -2).result()",
    "ProcessPoolExecutor, shut down after its cell": "e = concurrent.futures.ProcessPoolExecutor(1)\ne.submit(abs, -1).result()‖"
    "with e: print(e.submit(abs, -2).result())\n‖try: e.submit(abs, -1)\nexcept RuntimeError as error: print(error)",
    "queues and locks of new programs": "c = multiprocessing.get_context('spawn'); q, s, lock = c.Queue(), c.SimpleQueue(), c.Lock()\n"
    "from operator import methodcaller as call\n"
    "def child(*a):\n    p = c.Process(target=a[0], args=a[1:]); p.start(); p.join(); return p.exitcode\n‖"
    "child(call('put', 7), q), q.get()‖lock.acquire(), child(call('release'), lock), lock.acquire(block=False)"
    "✗lock.release(); q.put('no'); s.put('no')‖child(call('put', 8), s), s.get(), q.empty(), lock.acquire(block=False)‖del q, s, lock",
    "shared memory that a child uses": "s = shared_memory.SharedMemory(create=True, size=10)‖def use(name):\n"
    "    t = shared_memory.SharedMemory(name); t.buf[0] = 7; t.close()\n"
    "p = multiprocessing.get_context('fork').Process(target=use, args=[s.name])\np.start(); p.join(); p.exitcode‖"
    "s.buf[0], os.path.exists(f'/dev/shm/{s.name}')‖s.close(); s.unlink()",
    "ProcessPoolExecutor, shut down": "e = concurrent.futures.ProcessPoolExecutor(2)\ne.submit(abs, -1).result()‖e.shutdown()‖"
    "try: e.submit(abs, -1)\nexcept RuntimeError as error: print(error)",
    "shared memory, its account kept": "s = shared_memory.SharedMemory(create=True, size=10); s.buf[0] = 7‖"
    "t = shared_memory.SharedMemory(s.name); t.buf[0]‖t.close(); s.close(); s.unlink()‖"
    "s = shared_memory.SharedMemory(create=True, size=10)‖s.close(); s.unlink()",
    "an interrupted next": "p = multiprocessing.Pool(1)\ni = p.imap(abs, [-1, -2])\nnext(i), next(i)‖p.map(abs, [-5])",
}


def compare(kernel, ipykernel, cells):
    kernel.good(BEGIN)
    ipykernel.good(BEGIN)
    mine, other = run_good(kernel, cells), run_good(ipykernel, cells, lost=False)
    assert (mine.stdout, mine.stderr, mine.result) == (other.stdout, other.stderr, other.result)


@pytest.mark.parametrize("cells", DEAD.values(), ids=DEAD)
def test_status_of_a_child_is_there_in_later_cells(kernel, ipykernel, cells):
    compare(kernel, ipykernel, cells)


@pytest.mark.parametrize("cells", KEPT.values(), ids=KEPT)
def test_what_keeps_processes_goes_on_in_later_cells(kernel, ipykernel, cells):
    compare(kernel, ipykernel, cells)


SLOW_TO_END = """
import joblib, time
from joblib.externals.loky import reusable_executor
joblib.Parallel(2)(map(joblib.delayed(abs), [-1, -2]))
executor = reusable_executor._executor
end = executor.shutdown
executor.shutdown = lambda *arguments, **options: (end(*arguments, **options), time.sleep(5))
‖joblib.Parallel(2)(map(joblib.delayed(abs), [-3]))
"""


@pytest.mark.thorough
def test_joblib_goes_on_after_workers_that_were_slow_to_end(venv_kernel):
    cell = run_good(venv_kernel, SLOW_TO_END)
    assert "died unexpectedly" not in cell.stderr
    assert cell.result == "[3]"


SLEEP = ["/bin/sleep", "1000"]
ENDED = {
    "Popen": (f"c = subprocess.Popen({SLEEP})‖c.wait()", "-9"),
    "Process": ("p = multiprocessing.get_context('fork').Process(target=time.sleep, args=[1000]); p.start()‖p.join(); p.exitcode", "-9"),
    "Process of a forkserver": (
        "p = multiprocessing.get_context('forkserver').Process(target=time.sleep, args=[1000]); p.start()‖p.join(); p.exitcode", "255",
    ),
    "asyncio's": (f"p = await asyncio.create_subprocess_exec(*{SLEEP})‖await p.wait()", "-9"),
    "a task that waits for one": (
        f"p = await asyncio.create_subprocess_exec(*{SLEEP}); t = asyncio.create_task(p.wait())‖await t", "-9",
    ),
    "many, beside a cell that has as many as it may": (
        "%%limits processes=10\nc = [os.fork() or os._exit(0) for n in range(5)]\n‖%%limits processes=10\nsh('exit 0').wait()‖"
        "%%limits processes=10\nc += [os.fork() or os._exit(0) for n in range(5)]\n‖%%limits processes=10\nlen(c), sh('exit 0').wait()",
        "(10, 0)",
    ),
    "more than are remembered": (
        "c = [sh('exit 3') for n in range(100)]‖[one.wait() for one in c[:36]].count(3), [one.wait() for one in c[36:]].count(3)",
        "(0, 64)",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("cells", "result"), ENDED.values(), ids=ENDED)
def test_processes_of_an_earlier_cell_are_found_dead(kernel, cells, result):
    kernel.good(BEGIN)
    assert run_good(kernel, cells).result == result


@pytest.mark.parametrize("wait", ["c.wait()", "c.communicate()", "os.waitpid(c.pid, 0)", "os.wait()", "await (await sleep()).wait()"])
def test_child_that_an_interrupt_ended_says_so(kernel, wait):
    kernel.good(BEGIN)
    kernel.good(f"async def sleep():\n    global c\n    c = await asyncio.create_subprocess_exec(*{SLEEP})\n    return c")
    for _ in range(3):
        request, messages = kernel.start_busy(wait, "" if "await" in wait else f"reap(); c = subprocess.Popen({SLEEP})")
        assert kernel.control("interrupt_request")["status"] == "ok"
        assert kernel.finish(request, messages).ename == "KeyboardInterrupt"
        if "await" not in wait:
            assert kernel.value("c.wait()") == "-2"


FORKED = {
    "an error": ("raise ValueError('lost')", "1", ": lost"),
    "a status": ("sys.exit(4)", "4", ""),
    "a text": ("sys.exit('that was all')", "1", "that was all"),
}


@pytest.mark.parametrize(("end", "status", "line"), FORKED.values(), ids=FORKED)
def test_forked_child_ends_as_that_of_a_script(kernel, end, status, line):
    cell = kernel.good(f"import os, sys\npid = os.fork()\nif pid == 0:\n    {end}\nos.waitpid(pid, 0)[1] >> 8")
    assert cell.result == status
    assert line in cell.stderr


def test_pipe_that_is_to_be_larger_keeps_its_size(kernel):
    code = (
        "import fcntl, os, subprocess\n"
        "ends = os.pipe()\n"
        "before = fcntl.fcntl(ends[0], 1032)\n"
        "sizes = [fcntl.fcntl(ends[0], 1031, 1 << 20), fcntl.fcntl(ends[0], 1032) - before]\n"
        "[os.close(end) for end in ends]\n"
        "sizes, subprocess.run(['echo', 'x'], stdout=subprocess.PIPE, **{'pipesize': 1 << 20} if sys.version_info > (3, 10) else {}).stdout"
    )
    kernel.good("import sys")
    assert kernel.value(code) == r"([0, 0], b'x\n')"


REFUSED = {
    "PollingObserver": "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n"
    "if libc.inotify_init1(0) < 0: raise OSError(ctypes.get_errno(), 'x')",
    "may have 512 files": "some = [open(os.devnull) for _ in range(900)]",
}  # fmt: skip


@pytest.mark.parametrize(("line", "code"), REFUSED.items(), ids=REFUSED)
def test_error_of_what_cells_have_less_of_says_what_to_do(kernel, line, code):
    kernel.good("import os")
    found = kernel.run(code).reply["traceback"][-1]
    assert found.startswith("petri: ") and line in found


LOST = {
    "apply_async": ("p = multiprocessing.Pool(1); r = p.apply_async(time.sleep, [1000])‖r.get()", "ProcessError"),
    "map_async": ("p = multiprocessing.Pool(1); r = p.map_async(time.sleep, [1000] * 9)‖r.get()", "ProcessError"),
    "imap": ("p = multiprocessing.Pool(1); r = p.imap(time.sleep, [1000] * 9)‖next(r)", "ProcessError"),
    "imap_unordered": ("p = multiprocessing.Pool(1); r = p.imap_unordered(time.sleep, [0, 1000])\nnext(r)‖next(r)", "ProcessError"),
    "submit": ("p = concurrent.futures.ProcessPoolExecutor(1); r = p.submit(time.sleep, 1000)‖r.result()", "BrokenProcessPool"),
}


@pytest.mark.parametrize(("cells", "ename"), LOST.values(), ids=LOST)
def test_work_that_was_not_done_says_so_at_once(kernel, cells, ename):
    kernel.good(BEGIN)
    begun, asked = run_all(kernel, cells)
    assert begun.stderr == "petri: what processes had still to do is lost: they end with the cell that started them.\n"
    assert asked.ename == ename
    again = "p.map(abs, [-1])" if "Pool(" in cells and "Executor" not in cells else "list(p.map(abs, [-1]))"
    assert kernel.value(again) == "[1]"


def test_where_no_thread_can_be_had_processes_end_all_the_same(kernel):
    kernel.good(BEGIN)
    code = "pool = multiprocessing.Pool(1)\nimport resource; resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))"
    assert run_good(kernel, f"{code}‖1").result == "1"


def test_server_of_a_manager_is_gone_and_says_so(kernel):
    kernel.good(BEGIN)
    assert run_all(kernel, "m = multiprocessing.Manager(); d = m.dict(a=1)‖d['a']")[-1].ename in ("BrokenPipeError", "ConnectionRefusedError", "EOFError")
