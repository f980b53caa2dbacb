"""What a rolled-back cell did with open files of earlier cells never happened, and what a good cell left goes on."""

import pytest

from kernels import lacks_its_line, with_its_stack

LOST = "\nimport os; os._exit(1)"


def lose(kernel, code):
    """Runs a cell that is rolled back after it has done its work."""
    cell = kernel.run(code + LOST)
    assert cell.ename == "CellCrashed", str(cell)


def run(kernel, code):
    cell = kernel.run(code)
    assert cell.ok, str(cell)
    return cell


@pytest.mark.check
def test_nonblocking_stdout_of_a_rolled_back_cell_is_blocking_again(venv_kernel):
    lose(venv_kernel, "import os; os.set_blocking(1, False); os.set_blocking(2, False)")
    assert venv_kernel.value("__import__('os').get_blocking(1), __import__('os').get_blocking(2)") == "(True, True)"
    # More than the pipe holds, at once.
    cell = run(venv_kernel, "import os; _ = [os.write(1, b'x' * 65536) for _ in range(64)]")
    assert len(cell.stdout) == 64 * 65536


def test_multiprocessing_queue_has_what_a_rolled_back_cell_took(venv_kernel):
    run(venv_kernel, "import multiprocessing as mp; q = mp.Queue(); q.put('one'); q.put('two')")
    run(venv_kernel, "import time\nwhile q.qsize() < 2 or q.empty(): time.sleep(0.01)")
    lose(venv_kernel, "assert q.get(timeout=10) == 'one'")
    assert venv_kernel.value("q.get(timeout=10), q.get(timeout=10)") == "('one', 'two')"
    run(venv_kernel, "q.put('three')")
    assert venv_kernel.value("q.get(timeout=10)") == "'three'"


def test_asyncio_server_and_tasks_go_on_after_a_rolled_back_cell(venv_kernel):
    run(venv_kernel, """
import asyncio
async def answer(reader, writer):
    writer.write(b'hello ' + await reader.readline()); await writer.drain(); writer.close()
server = await asyncio.start_server(answer, '127.0.0.1', 0)
port = server.sockets[0].getsockname()[1]
ticks = []
async def tick():
    while True:
        ticks.append(1); await asyncio.sleep(0.01)
task = asyncio.ensure_future(tick())
async def ask(what):
    reader, writer = await asyncio.open_connection('127.0.0.1', port)
    writer.write(what + b'\\n')
    said = await reader.read()
    writer.close()
    return said
""")
    ask = "await asyncio.wait_for(ask(b'{}'), 20)"
    assert venv_kernel.value(ask.format("one")) == "b'hello one\\n'"
    lose(venv_kernel, ask.format("lost") + "; server.close(); task.cancel(); await asyncio.sleep(0)")
    assert venv_kernel.value(ask.format("two")) == "b'hello two\\n'"
    run(venv_kernel, "before = len(ticks); await asyncio.sleep(0.05); assert len(ticks) > before")
    run(venv_kernel, "loop = asyncio.get_running_loop()\nassert await loop.run_in_executor(None, lambda: 6 * 7) == 42")


def test_server_in_a_thread_answers_in_the_next_cell(venv_kernel):
    run(venv_kernel, """
import http.server, threading, urllib.request
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(self.path.encode())
    def log_message(self, *_): pass
server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
def ask(path):
    return urllib.request.urlopen(f'http://127.0.0.1:{server.server_port}{path}', timeout=20).read()
""")
    assert venv_kernel.value("ask('/one')") == "b'/one'"
    lose(venv_kernel, "ask('/lost'); server.server_close()")
    assert venv_kernel.value("ask('/two')") == "b'/two'"


def test_temporary_files_and_memory_are_as_before_a_rolled_back_cell(venv_kernel):
    run(venv_kernel, """
import mmap, os, tempfile
file = tempfile.TemporaryFile(); file.write(b'kept'); file.flush(); file.seek(1)
named = tempfile.NamedTemporaryFile(); named.write(b'kept'); named.flush(); os.fchmod(named.fileno(), 0o444)
memory = os.memfd_create('memory', os.MFD_ALLOW_SEALING); os.write(memory, b'kept')
shared = mmap.mmap(-1, 4096); shared[:4] = b'kept'
""")
    lose(venv_kernel, """
file.write(b'lost'); file.flush()
named.seek(0); named.write(b'lost'); named.flush()
os.pwrite(memory, b'lost', 0); import fcntl; fcntl.fcntl(memory, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE)
shared[:4] = b'lost'
""")
    assert venv_kernel.value("file.read(), open(named.name, 'rb').read(), os.pread(memory, 9, 0), shared[:4]") == repr(
        (b"ept", b"kept", b"kept", b"kept")
    )
    run(venv_kernel, "os.pwrite(memory, b'more', 4); named.write(b'!'); named.flush()")
    assert venv_kernel.value("open(named.name, 'rb').read(), os.pread(memory, 9, 0)") == repr((b"kept!", b"keptmore"))


def test_cell_that_leaves_what_cannot_be_carried_on_says_so(venv_kernel):
    run(venv_kernel, "kept = 1")
    cell = venv_kernel.run("""
kept = 2
import array, os, socket
a, b = socket.socketpair()
a.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [0]))])
""")
    assert cell.ename == "CellCrashed"
    assert "left something open that can't be copied to the next cell" in cell.of("error")[0]["evalue"]
    assert "open files are on their way through" in cell.of("error")[0]["evalue"]
    assert venv_kernel.value("kept") == "1"


# How a cell ends, with the line of its code that did it, and the outcome.
LAST_LINES = {
    "segmentation fault": ("def f():\n    import ctypes\n    ctypes.string_at(0)\nf()", 3, "crash"),
    "abort": ("import os\n\nos.abort()", 3, "crash"),
    "stack overflow": (
        "import sys\nsys.setrecursionlimit(10**7)\nx = []\nfor n in range(10**6): x = [x]\nrepr(x)", 5, "crash"
    ),
    "in a thread": (
        "import ctypes, threading\ndef f():\n    ctypes.string_at(0)\nt = threading.Thread(target=f)\nt.start()\nt.join()",
        3,
        "crash",
    ),
    "memory": (
        "%%limits memory=300M\ndef f():\n    x = []\n    while True: x.append(list(range(1000)))\nf()", 4, "memory"
    ),
    "cpu": ("%%limits cpu=300ms timeout=1m\ndef f():\n    while True: pass\nf()", 3, "cpu"),
}  # fmt: skip


@pytest.mark.parametrize("kind", LAST_LINES)
def test_cell_that_is_ended_names_the_line_that_it_was_at(shared_kernel, kind):
    code, line, outcome = LAST_LINES[kind]
    cell = with_its_stack(lambda: shared_kernel.run(code), lacks_its_line)
    assert (cell.report["outcome"], cell.report["error"].get("line")) == (outcome, line), str(cell)
    heading = cell.reply["traceback"][0]
    assert heading.startswith("The code was last seen here" if outcome == "memory" else "The code was here")


def test_crash_with_a_full_pipe_for_stacks_does_not_wait_for_the_time_limit(shared_kernel):
    fill = "import ctypes, os\ntry:\n    while True: os.write(4, b'x' * 4096)\nexcept BlockingIOError: pass"
    cell = shared_kernel.run(f"%%limits timeout=1m\n{fill}\nctypes.string_at(0)")
    assert cell.report["outcome"] == "crash", str(cell)


# On the way to its limit of memory a cell is asked where it is, with a signal: it must not be woken by it.
def test_cell_that_waits_while_its_child_takes_memory_is_not_woken(shared_kernel):
    child = "if os.fork() == 0:\n    held = []\n    while True: held.append(bytearray(b'x') * (1 << 20))"
    cell = shared_kernel.run(f"%%limits memory=200M\nimport os, signal\n{child}\nsignal.pause()")
    assert (cell.report["outcome"], cell.ename) == ("memory", "CellMemoryLimit"), str(cell)


def test_crash_shows_no_stack_of_an_earlier_cell(shared_kernel):
    forged = 'File \\"<ipython-input-9-0123456789ab>\\", line 77 in forged'
    shared_kernel.good(f"import os\nos.write(4, b'Stack (most recent call first):\\n  {forged}\\n')")
    cell = shared_kernel.run("os.kill(os.getpid(), 9)")
    assert cell.report["outcome"] == "crash" and "forged" not in str(cell)
