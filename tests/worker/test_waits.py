"""An interrupt takes no child's status away, whoever waits for it and however the two meet."""

import pytest

# Ways to start a child and to wait for it: (starts `child`, a statement that waits, the status afterwards). What is
# started writes nothing, and goes on until it is killed, or ends with status 3.
POPEN = "child = subprocess.Popen(['sh', '-c', {end!r}], stdout=subprocess.PIPE)"
SPAWN = "child = os.spawnlp(os.P_NOWAIT, 'sh', 'sh', '-c', {end!r})"
FORK = "child = multiprocessing.get_context('fork').Process(target=os.execlp, args=('sh', 'sh', '-c', {end!r})); child.start()"
WAYS = {
    "Popen.wait": (POPEN, "child.wait()", "child.wait()"),
    "Popen.wait with a time-out": (POPEN, "child.wait(1000)", "child.wait()"),
    "Popen.communicate": (POPEN, "child.communicate()", "child.wait()"),
    "os.waitpid": (SPAWN, "os.waitpid(child, 0)", "code(os.waitpid(child, 0))"),
    "os.waitpid, not waiting": (SPAWN, "next(found for found in iter(lambda: os.waitpid(child, os.WNOHANG), 0) if found[0])", "code(os.waitpid(child, 0))"),
    "os.waitpid for any child": (SPAWN, "os.waitpid(-1, 0)", "code(os.waitpid(-1, 0))"),
    "os.waitpid for the group": (SPAWN, "os.waitpid(0, 0)", "code(os.waitpid(child, 0))"),
    "os.wait": (SPAWN, "os.wait()", "code(os.wait())"),
    "os.wait3": (SPAWN, "os.wait3(0)", "code(os.wait3(os.WNOHANG))"),
    "os.wait4": (SPAWN, "os.wait4(child, 0)", "code(os.wait4(child, 0))"),
    "Process.join": (FORK, "child.join()", "child.join() or child.exitcode"),
}

# Waits once, and for the interrupt too; `result` is the status that it got, if it got any.
SETUP = """
import multiprocessing, os, signal, subprocess, threading
def code(found): return os.waitstatus_to_exitcode(found[1])
def wait(begin):
    global result
    result = None
    try:
        begin()
        result = {wait}
        while True: pass
    except KeyboardInterrupt: pass
"""

# The interrupt is seen by another thread while the main one waits. Then the child dies, so that the wait ends, and only
# after it Python handles the interrupt.
MEET = """
main = threading.get_native_id()
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
def interrupt():
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    while open(f'/proc/self/task/{main}/stat').read().rpartition(')')[2].split()[0] != 'S': pass
    signal.pthread_kill(threading.get_ident(), signal.SIGINT)
    os.kill(getattr(child, 'pid', child), signal.SIGKILL)
thread = threading.Thread(target=interrupt)
thread.start()
wait(int)
thread.join()
signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
"""

BLOCKING = {way: row for way, row in WAYS.items() if "iter" not in row[1]}


@pytest.mark.parametrize("way", BLOCKING)
def test_status_of_a_child_that_died_of_an_interrupt_is_kept(worker, way):
    start, wait, status = BLOCKING[way]
    worker.execute(SETUP.format(wait=wait))
    worker.execute(start.format(end="exec sleep 1000"))
    answer = worker.execute(MEET)
    assert answer.reply["status"] == "ok", answer.reply
    assert worker.execute(status).result == "-9"


# The child ends by itself, and the parent is interrupted a while later that differs each time.
RANDOM = """
reader, writer = os.pipe()
parent, rounds, found = os.getpid(), 20, []
helper = os.fork()
if helper == 0:
    for i in range(rounds):
        os.read(reader, 1)
        for _ in range(i * 7919 % 60_000): pass
        os.kill(parent, signal.SIGINT)
    os._exit(0)
for i in range(rounds):
    {start}
    wait(lambda: os.write(writer, b'x'))
    found.append({status})
os.waitpid(helper, 0)
"""


def statuses(worker, rounds, way):
    """What one after the other got that ended with status 3, each waited for in this way."""
    start, wait, status = WAYS[way]
    if way.startswith("os."):
        status = "code(result or os.waitpid(child, 0))"
    worker.execute(SETUP.format(wait=wait))
    answer = worker.execute(rounds.format(start=start.format(end="exit 3"), wait=wait, status=status))
    assert answer.reply["status"] == "ok", answer.reply
    return worker.execute("set(found)").result


# Not Popen.poll(): an interrupt just after it has taken its lock leaves that locked, in every Python.
@pytest.mark.parametrize("way", ["Popen.wait", "os.waitpid", "os.waitpid, not waiting"])
def test_status_of_a_child_is_kept_at_random_moments_of_an_interrupt(worker, way):
    assert statuses(worker, RANDOM, way) == "{3}"


# The interrupt comes when the wait enters its nth function: there Python looks for signals, also between os.waitpid()
# and where its caller puts what it has got.
EACH = """
import sys
def interrupt_at(nth):
    def trace(frame, event, arg):
        nonlocal nth
        nth -= 1
        if nth == 0:
            sys.settrace(None)
            signal.raise_signal(signal.SIGINT)
    return trace
n, found, is_interrupted = 0, [], True
while is_interrupted:
    {start}
    n, is_interrupted, result = n + 1, False, None
    try:
        sys.settrace(interrupt_at(n))
        result = {wait}
    except KeyboardInterrupt:
        is_interrupted = True
    finally:
        sys.settrace(None)
    found.append({status})
"""


@pytest.mark.parametrize("way", ["Popen.wait", "os.waitpid", "Process.join"])
def test_status_of_a_child_is_kept_whichever_function_an_interrupt_comes_in(worker, way):
    assert statuses(worker, EACH, way) == "{3}"
    assert worker.execute("n > 5").result == "True"


def test_wait_functions_show_themselves_as_those_of_os(worker):
    code = (
        "import os, pickle, threading\n"
        "all(pickle.loads(pickle.dumps(one)) is one and one.__doc__ for one in (os.wait, os.wait3, os.wait4, os.waitpid))"
    )
    assert worker.execute(code).result == "True"
    assert worker.execute("os.waitpid(2**22, 0)").reply["ename"] == "ChildProcessError"
