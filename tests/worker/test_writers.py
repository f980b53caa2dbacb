"""Every way to write, by everybody who can, whatever a cell has made of descriptors 1 and 2."""

import pytest

SETUP = """
import asyncio, concurrent.futures, ctypes, os, subprocess, sys, tempfile, threading
from IPython.display import clear_output, display, update_display
libc = ctypes.CDLL(None)
"""

# By Python's stream or as a message: shown whatever is behind the descriptor.
STREAM = {
    "print": "print('W', file=sys.{name})",
    "write": "sys.{name}.write('W\\n')",
    "writelines": "sys.{name}.writelines(['W', '\\n']); sys.{name}.flush()",
}
MESSAGES = {
    "display_data": "display('W')",
    "update_display_data": "update_display('W', display_id='d')",
    "clear_output": "clear_output(wait=True)",
}
# By the descriptor: there, wherever that leads.
DESCRIPTOR = {
    "os.write": "os.write({fd}, b'W\\n')",
    "original": "sys.__{name}__.write('W\\n')",
    "puts": "libc.fputs(b'W\\n', ctypes.c_void_p.in_dll(libc, '{name}'))",
    "printf": "libc.fprintf(ctypes.c_void_p.in_dll(libc, '{name}'), b'%s\\n', b'W')",
    "child": "subprocess.run(['sh', '-c', 'echo W >&{fd}'])",
}

# Code of the cell in which it begins, and of the later one in which it writes.
WRITERS = {
    "the cell": ("", "write()"),
    "a thread": ("", "t = threading.Thread(target=write); t.start(); t.join()"),
    "an earlier thread": (
        "go = threading.Event()\nt = threading.Thread(target=lambda: (go.wait(), write())); t.start()",
        "go.set(); t.join()",
    ),
    "an earlier thread that names its cell": (
        "go = threading.Event(); shell = get_ipython(); own = shell.get_parent()\n"
        "t = threading.Thread(target=lambda: (go.wait(), shell.set_parent(own), write())); t.start()",
        "go.set(); t.join()",
    ),
    "an earlier pool": (
        "pool = concurrent.futures.ThreadPoolExecutor(1); pool.submit(int).result()",
        "pool.submit(write).result(); pool.shutdown()",
    ),
    "an earlier pool's job": (
        "go = threading.Event(); pool = concurrent.futures.ThreadPoolExecutor(1)\n"
        "job = pool.submit(lambda: (go.wait(), write()))",
        "go.set(); job.result(); pool.shutdown()",
    ),
    "an earlier task": (
        "async def later(): await go.wait(); write()\ngo = asyncio.Event(); task = asyncio.ensure_future(later())",
        "go.set(); await task",
    ),
    "an earlier task's thread": (
        "async def later():\n"
        "    await go.wait(); await asyncio.get_running_loop().run_in_executor(None, write)\n"
        "go = asyncio.Event(); task = asyncio.ensure_future(later())",
        "go.set(); await task",
    ),
}

# What these write by Python belongs to the cell in which they began, everything else to the running one: as with ipykernel.
OF_EARLIER = {"an earlier thread that names its cell", "an earlier task"}

STATES = {
    "open": "",
    "closed": "os.close({fd})",
    "both closed": "os.close(1); os.close(2)",
    "redirected": "os.dup2(file.fileno(), {fd})",
}


def run(worker, way, who, state, name):
    """Cells in which `who` writes; returns the number of that in which it began, the Answer, and the file's content."""
    begins, writes = WRITERS[who]
    fd = {"stdout": 1, "stderr": 2}[name]
    way, state = way.format(name=name, fd=fd), state.format(fd=fd)
    define = f"file = tempfile.TemporaryFile()\ndef write():\n    try: {way}\n    except OSError: pass\n"
    assert worker.execute(SETUP + define + begins).reply["status"] == "ok"
    began = worker.cell
    say = f"print('{{}}', file=sys.{name})\n"
    answer = worker.execute(f"{state}\n{say.format('before')}{writes}\n{say.format('after')}5")
    in_file = worker.execute("os.pread(file.fileno(), 100, 0)").result
    assert answer.reply["status"] == "ok" and answer.result == "5"
    following = worker.execute(say.format("next") + f"os.write({fd}, b'by number\\n');")
    assert "".join(following.of(name)) == "next\nby number\n"
    return began, answer, in_file


def shown(answer, name):
    """[(cell or None, kind or text)]: what the streams show, by lines, and messages, in order, without the result."""
    parts = []
    for event in answer.events:
        if event.kind == name:
            cell, text = None, event.content
        elif event.kind == "stream" and event.content["name"] == name:
            cell, text = event.frame.get("parent"), event.content["text"]
        elif event.kind in MESSAGES:
            cell, text = event.frame.get("parent"), f"{event.kind}\n"
        else:
            continue
        joins = parts and parts[-1][0] == cell
        parts[-1 if joins else len(parts) :] = [(cell, parts[-1][1] + text if joins else text)]
    return [(cell, line) for cell, text in parts for line in text.splitlines()]


def belongs_to(who, began):
    """The cell that what Python writes belongs to; None for the running one."""
    return began if who in OF_EARLIER else None


@pytest.mark.parametrize("name", ["stdout", "stderr"])
@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("who", WRITERS)
def test_text_is_where_its_way_leads_and_the_cell_ends_well(worker, who, state, name):
    for way, code in {**STREAM, **DESCRIPTOR}.items():
        began, answer, in_file = run(worker, code, who, STATES[state], name)
        by_stream = way in STREAM
        written = [(belongs_to(who, began) if by_stream else None, "W")] if by_stream or state == "open" else []
        assert shown(answer, name) == [(None, "before"), *written, (None, "after")], way
        assert in_file == ("b'W\\n'" if state == "redirected" and not by_stream else "b''"), way


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("who", WRITERS)
def test_message_is_published_in_order_whatever_the_descriptors_are(worker, who, state):
    for kind, code in MESSAGES.items():
        began, answer, _ = run(worker, code, who, STATES[state], "stdout")
        assert shown(answer, "stdout") == [(None, "before"), (belongs_to(who, began), kind), (None, "after")]


@pytest.mark.parametrize(
    "spoil",
    [
        "sys.stdout.close()",
        "with sys.stdout: pass",
        "sys.stdout.buffer.close()",
        "sys.stdout.buffer.raw.close()",
        "io.TextIOWrapper(sys.stdout.buffer)",  # and is collected at once, which closes what it is on
        "sys.__stdout__.close()",
        "os.close(sys.stdout.fileno())",
        "os.close(200); os.close(201)",
        "os.closerange(199, 210)",
    ],
)
def test_stream_that_a_cell_has_closed_goes_on(worker, spoil):
    answer = worker.execute(f"import io, os, sys\nstdout = sys.stdout\n{spoil}\nprint('y')\n5")
    assert (answer.reply["status"], answer.result, answer.stdout) == ("ok", "5", "y\n")
    assert worker.execute("print('z')\nsys.__stdout__.write('o\\n');").stdout == "z\no\n"


def test_cell_that_closes_every_number_of_a_pipe_ends_well(new_worker, label):
    worker = new_worker(label)
    close = "for fd in (1, *range(200, 210)):\n    try: os.close(fd)\n    except OSError: pass\n"
    answer = worker.execute(f"import os\n{close}print('y')\n5")
    assert (answer.reply["status"], answer.result) == ("ok", "5")
    assert worker.execute("6").result == "6"


def test_cell_whose_stdout_is_none_shows_its_result(worker):
    answer = worker.execute("import sys\nstdout, sys.stdout = sys.stdout, None\nprint('y')\n5")
    assert (answer.reply["status"], answer.result, answer.stdout) == ("ok", "5", "")
    assert worker.execute("sys.stdout = stdout\nprint('z')").stdout == "z\n"


@pytest.mark.parametrize("layer", ["sys.stdout", "sys.stdout.buffer", "sys.__stdout__.buffer"])
def test_stream_is_not_taken_apart(worker, layer):
    detached = f"import io, sys\ntry: {layer}.detach()\nexcept io.UnsupportedOperation: print('refused')"
    assert worker.execute(detached).stdout == "refused\n"


def test_original_streams_are_others_on_the_same_descriptors(worker):
    code = (
        "import os, sys\npairs = (sys.__stdout__, sys.stdout), (sys.__stderr__, sys.stderr)\n"
        "[(a is b, a.fileno(), a.name, b.fileno() > 2, os.fstat(a.fileno()) == os.fstat(b.fileno())) for a, b in pairs]"
    )
    assert worker.execute(code).result == "[(False, 1, '<stdout>', True, True), (False, 2, '<stderr>', True, True)]"


def test_pipes_of_the_descriptors_that_feed_the_streams_end(worker):
    # As libraries do that show what C code prints: without streams on pipes of their own this would feed itself.
    code = (
        "import ctypes, os, sys, threading\n"
        "r, w = os.pipe(); saved = os.dup(1); os.dup2(w, 1); os.close(w)\n"
        "def forward():\n"
        "    while piece := os.read(r, 1000): sys.stdout.write(f'<{piece.decode()}>')\n"
        "t = threading.Thread(target=forward); t.start()\n"
        "ctypes.CDLL(None).printf(b'from C')\n"
        "os.dup2(saved, 1); t.join(); print()"
    )
    assert worker.execute(code).stdout == "<from C>\n"


def test_output_of_c_code_is_there_when_the_cell_does_not_end(worker):
    code = "import ctypes\nctypes.CDLL(None).printf(b'from C')\nwhile True: pass"
    assert worker.execute(code, on={"from C": worker.interrupt}).reply["ename"] == "KeyboardInterrupt"


def test_unfinished_line_of_an_earlier_task_is_published_with_its_flush_and_before_its_display(worker):
    worker.execute(
        "import asyncio\ngo = asyncio.Event()\n"
        "async def later():\n"
        "    await go.wait(); print('a', end='', flush=True); print('b\\nc', end=''); display(1); print('d', end='')\n"
        "task = asyncio.ensure_future(later())"
    )
    began = worker.cell
    answer = worker.execute("go.set(); await task; print('own')")
    late = [event for event in answer.events if event.kind in ("stream", "display_data")]
    assert {event.frame["parent"] for event in late} == {began}
    assert [event.content.get("text", "display") for event in late] == ["a", "b\n", "c", "display", "d"]
    assert answer.stdout == "own\n"


def test_thread_that_no_longer_names_a_cell_writes_for_the_running_one(worker):
    worker.execute(
        "import threading\ngo = threading.Event(); shell = get_ipython(); own = shell.get_parent()\n"
        "def later():\n"
        "    go.wait(); token = shell.set_thread_parent(own); print('first')\n"
        "    shell.reset_thread_parent(token); print('then')\n"
        "    shell.set_parent({'header': {}}); print('no cell')\n"
        "t = threading.Thread(target=later); t.start()"
    )
    began = worker.cell
    answer = worker.execute("go.set(); t.join()")
    [late] = answer.frames("stream")
    assert (late.frame["parent"], late.content["text"], answer.stdout) == (began, "first\n", "then\nno cell\n")


def test_interrupt_while_text_is_written_does_not_write_it_twice(worker):
    # By a timer of the cell's own, at whatever instruction it comes: but none raises behind the loop that writes.
    code = (
        "import signal, sys\nraised = printed = 0\nwrites = False\n"
        "def alarm(*_):\n"
        "    global writes\n"
        "    if writes:\n"
        "        writes = False\n"
        "        raise TimeoutError\n"
        "signal.signal(signal.SIGVTALRM, alarm); signal.setitimer(signal.ITIMER_VIRTUAL, 0.0005, 0.0005)\n"
        "while raised < 50:\n"
        "    try:\n"
        "        writes = True\n"
        "        while True:\n"
        "            printed += 1; sys.stdout.write(f'{printed}\\n')\n"
        "    except TimeoutError: raised += 1\n"
        "signal.setitimer(signal.ITIMER_VIRTUAL, 0)"
    )
    answer = worker.execute(code)
    assert answer.reply["status"] == "ok"
    lines = answer.stdout.splitlines()
    assert len(lines) == len(set(lines))
