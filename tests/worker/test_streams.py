"""sys.stdout and sys.stderr: complete, at once, and in order."""

import os
import signal

import pytest


def test_both_streams_and_displays_arrive_in_order(worker):
    code = (
        "import sys\n"
        "for i in range(5):\n"
        "    print('out', i)\n"
        "    print('err', i, file=sys.stderr)\n"
        "    display(i)\n"
        "print('end')\n"
        "'result'"
    )
    expected = []
    for i in range(5):
        expected += [("stdout", f"out {i}\n"), ("stderr", f"err {i}\n"), ("display_data", str(i))]
    assert worker.execute(code).order == [*expected, ("stdout", "end\n"), ("execute_result", "'result'")]


def test_output_of_children_and_python_arrives_in_order(worker):
    code = (
        "import os, subprocess, sys\n"
        "print('1', end=' ')\n"
        "os.system('echo 2')\n"
        "print('3')\n"
        "subprocess.run('echo 4; echo 5 >&2', shell=True)\n"
        "print('6')\n"
        "pid = os.posix_spawn('/bin/sh', ['sh', '-c', 'echo 7'], os.environ); os.waitpid(pid, 0)\n"
        "!echo 8\n"
        "print('9', file=sys.stderr)\n"
    )
    answer = worker.execute(code)
    assert answer.stdout == "1 2\n3\n4\n6\n7\n8\n"
    order = answer.order
    assert order.index(("stderr", "5\n")) < [i for i, (_, text) in enumerate(order) if text.startswith("6")][0]
    assert order[-1] == ("stderr", "9\n")


def test_output_of_c_code_and_children_arrives_in_order(worker):
    code = (
        "import ctypes, os\n"
        "libc = ctypes.CDLL(None)\n"
        "libc.printf(b'from C\\n')\n"
        "os.system('echo from a child')\n"
        "libc.printf(b'last\\n')"
    )
    assert worker.execute(code).stdout == "from C\nfrom a child\nlast\n"


def test_forked_child_prints_once_and_stays_off_the_socket(worker):
    code = (
        "import os\n"
        "print('unfinished ', end='')\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    print('child'); display('never shown'); print('child again')\n"
        "    os._exit(0)\n"
        "os.waitpid(pid, 0)\n"
        "print('parent')\n"
    )
    answer = worker.execute(code)
    assert answer.stdout == "unfinished child\nchild again\nparent\n"
    assert answer.of("display_data") == []
    assert worker.execute("1 + 1").result == "2"


def test_multiprocessing_children_print(worker):
    code = (
        "import multiprocessing\n"
        "context = multiprocessing.get_context('fork')\n"
        "children = [context.Process(target=print, args=(f'child {i}',)) for i in range(3)]\n"
        "for child in children: child.start(); child.join()\n"
    )
    assert worker.execute(code).stdout == "child 0\nchild 1\nchild 2\n"


@pytest.mark.parametrize(
    "end",
    [
        *("os.kill(os.getpid(), 9)", "os._exit(1)", "ctypes.string_at(0)"),
        *("sum(range(10**12))", "os.execv('/bin/true', ['true'])"),
    ],
)
def test_output_before_the_worker_dies_or_hangs_arrives(new_worker, label, end):
    worker = new_worker(label)
    code = (
        "import ctypes, os\n"
        "print('line 1')\n"
        "for i in range(20): print('step', i)\n"
        f"print('no newline', end='')\n{end}"
    )
    worker.wire.send({"type": "execute", "cell": 1, "code": code, "silent": False, "execution_count": 1})
    expected = "line 1\n" + "".join(f"step {i}\n" for i in range(20)) + "no newline"
    os.set_blocking(worker.stdout_fd, True)
    text = ""
    while len(text) < len(expected):
        text += os.read(worker.stdout_fd, 1 << 16).decode()
    assert text == expected
    # The worker is dead or busy: neither has to do with what has arrived.
    os.killpg(worker.pid, signal.SIGKILL)


def test_flood_arrives_complete_and_in_order(worker):
    answer = worker.execute("for i in range(100_000): print(i)")
    assert answer.stdout == "".join(f"{i}\n" for i in range(100_000))


def test_floods_of_both_streams_arrive_complete(worker):
    code = "import sys\nfor i in range(3000):\n    print(i)\n    if i % 100 == 0: print(i, file=sys.stderr)"
    answer = worker.execute(code)
    assert answer.stdout == "".join(f"{i}\n" for i in range(3000))
    before = 0
    for kind, text in answer.order:
        numbers = [int(line) for line in text.split()]
        assert numbers == sorted(numbers) and numbers[0] >= before
        before = numbers[-1]


def test_flood_of_a_cell_that_may_have_no_more_threads_arrives_complete(worker):
    code = (
        "import _thread\n"
        "def no_more(*args): raise RuntimeError(\"can't start new thread\")\n"
        "start = _thread.start_new_thread\n"
        "for i in range(200_000): print(i)\n"
        "_thread.start_new_thread = no_more\n"
        "for i in range(200_000): print(i)\n"
        "_thread.start_new_thread = start\n"
    )
    assert worker.execute(code).stdout == 2 * "".join(f"{i}\n" for i in range(200_000))
    assert worker.execute("1 + 1").result == "2"


def test_end_of_a_flood_is_seen_while_the_cell_goes_on(worker):
    # The cell only ends when the last line has been seen.
    code = (
        "import time\n"
        "for i in range(5000): print(i)\n"
        "print('the last one')\n"
        "while True: time.sleep(60)"
    )
    answer = worker.execute(code, on={"the last one": worker.interrupt})
    assert answer.reply["ename"] == "KeyboardInterrupt"


def test_unfinished_line_is_seen_while_the_cell_goes_on(worker):
    answer = worker.execute("print('.', end='')\nwhile True: pass", on={".": worker.interrupt})
    assert answer.reply["ename"] == "KeyboardInterrupt"


def test_flood_of_threads_keeps_each_threads_order(worker):
    code = (
        "import threading\n"
        "def count(name):\n"
        "    for i in range(5000): print(f'{name} {i}\\n', end='')\n"
        "threads = [threading.Thread(target=count, args=(n,)) for n in 'abc']\n"
        "for t in threads: t.start()\n"
        "for t in threads: t.join()\n"
    )
    lines = worker.execute(code).stdout.splitlines()
    for name in "abc":
        assert [line for line in lines if line[0] == name] == [f"{name} {i}" for i in range(5000)]


def test_large_text_arrives(worker):
    answer = worker.execute("print('x' * 20_000_000)")
    assert answer.stdout == "x" * 20_000_000 + "\n"


def test_stream_is_a_text_stream(worker):
    code = (
        "import sys\n"
        "s = sys.stdout\n"
        "print(s.fileno() > 2, s.encoding, s.isatty(), s.writable(), s.name, sys.stderr.fileno() > 2)\n"
        "s.buffer.write(b'bytes\\n'); s.flush()\n"
        "s.writelines(['a', 'b\\n'])\n"
        "s.reconfigure(line_buffering=True)\n"
        "s.close()\n"
        "print('still open')\n"
        "sys.__stdout__.write('original\\n')\n"
        "print('\\ud800 \\x00 \\U0001f600')"
    )
    assert worker.execute(code).stdout == (
        "True UTF-8 False True <stdout> True\nbytes\nab\nstill open\noriginal\n\\ud800 \x00 \U0001f600\n"
    )


def test_print_of_no_text_is_a_type_error(worker):
    assert worker.execute("import sys; sys.stdout.write(5)").reply["ename"] == "TypeError"


def test_redirected_output_is_not_published(worker):
    code = (
        "import contextlib, io\n"
        "with contextlib.redirect_stdout(io.StringIO()) as caught: print('hidden')\n"
        "print('shown', repr(caught.getvalue()))"
    )
    assert worker.execute(code).stdout == "shown 'hidden\\n'\n"


def test_capture_magic_collects_output(worker):
    answer = worker.execute("%%capture caught\nprint('hidden')\ndisplay(1)\n2")
    assert answer.events == []
    assert worker.execute("caught.stdout, len(caught.outputs)").result == "('hidden\\n', 2)"


def test_output_of_a_thread_of_this_cell_is_plain_output(worker):
    answer = worker.execute("import threading\nt = threading.Thread(target=print, args=('hi',)); t.start(); t.join()")
    assert answer.stdout == "hi\n"
    assert answer.frames("stream") == []


def test_stream_that_a_cell_has_replaced_is_back_in_the_next(new_worker, label):
    worker = new_worker(label)
    worker.execute("import os; r, w = os.pipe(); os.dup2(w, 1)")
    assert worker.execute("print('back')").stdout == "back\n"


def test_stream_with_another_pipe_under_all_its_numbers_writes_there(new_worker, label):
    worker = new_worker(label)
    worker.execute("import os; r, w = os.pipe(); os.dup2(w, 1); os.dup2(w, 200)")
    assert worker.execute("print('elsewhere')").stdout == ""
    assert worker.execute("os.read(r, 100)").result == "b'elsewhere\\n'"
