"""What notebooks expect of IPython, in cells."""

import queue
import sys

import pytest

from conftest import shared_kernel as kernel  # noqa: F401
from kernels import STUCK_S, printed_by

pytestmark = pytest.mark.xdist_group("ipython")  # one process: the kernel is there once


def payloads(cell, source):
    return [payload for payload in cell.reply["payload"] if payload["source"] == source]


# Magics


@pytest.mark.parametrize(
    "code, printed",
    [
        ("%time sum(range(10))", "Wall time"),
        ("%%time\nsum(range(10))", "Wall time"),
        ("%timeit -n1 -r1 pass", "loop"),
        ("%%timeit -n1 -r1\npass", "loop"),
        ("!echo from a shell", "from a shell"),
        ("%%bash\necho from bash; id -u", "from bash"),
        ("%%sh\necho from sh", "from sh"),
        ("%%python3\nprint('from', 'python')", "from python"),
        ("%%writefile written.txt\nhello", "Writing written.txt"),
        ("for again in 'ab': get_ipython().run_cell_magic('writefile', 'twice.txt', 'hello')", "Overwriting twice.txt"),
        ("%%file other.txt\nhello", "other.txt"),
        ("%pwd\nprint('in', get_ipython().run_line_magic('pwd', ''))", "in /"),
        ("%lsmagic\nprint('lsmagic', len(get_ipython().magics_manager.magics['line']) > 80)", "lsmagic True"),
        ("%env WRITTEN=1", "env: WRITTEN=<hidden>"),
        ("%set_env WRITTEN=2", "env: WRITTEN=<hidden>"),
        ("unmistakable = 1\n%who", "unmistakable"),
        ("unmistakable = 1\n%whos", "unmistakable"),
        ("%who_ls\nprint('unmistakable' in get_ipython().run_line_magic('who_ls', ''))", "True"),
        ("%history -n", "%history -n"),
        ("%xmode Plain\n%xmode Context", "Exception reporting mode: Context"),
        ("%precision 3\nprint('set')", "set"),
        ("%pdef print", "print"),
        ("%alias_magic t time\n%t 1", "Created `%t`"),
        ("%macro -q one 1\nprint('kept')", "kept"),
        ("%prun -q pass\nprint('profiled')", "profiled"),
        ("stored = 5\n%store stored\n%store", "stored"),
        ("open('listed.txt', 'w').close()\n%ls", "listed.txt"),
        ("print('hello', file=open('cat.txt', 'w'), flush=True)\n%cat cat.txt", "hello"),
        ("%system echo 1\nprint('ran')", "ran"),
        ("%sx echo 1\nprint('ran')", "ran"),
        ("%reset_selective -f nosuch\nprint('reset')", "reset"),
        ("%dirs\nprint('dirs')", "dirs"),
        ("%logstate", "Logging has not been activated."),
        ("%colors nocolor\n%colors linux\nprint('coloured')", "coloured"),
        ("%automagic 0\n%automagic 1", "Automagic is ON"),
        ("%config InlineBackend.figure_format = 'png'\nprint('set')", "set"),
        ("%gui asyncio\nprint('set')", "set"),
        ("%alias hi echo hi\n%hi", "hi"),
    ],
)
def test_magic_gives_what_it_should_print_or_return(kernel, code, printed):
    cell = kernel.good(code)
    results = [content["data"].get("text/plain", "") for content in cell.of("execute_result")]
    assert printed in "".join([cell.stdout, *results])


@pytest.mark.parametrize("magic", ["%pip install numpy", "%conda install numpy", "%uv pip install numpy"])
def test_installer_magics_are_refused_with_a_reason(kernel, magic):
    cell = kernel.run(magic)
    assert cell.ename == "UsageError"
    assert "no network" in cell.reply["evalue"] and "restart the kernel" in cell.reply["evalue"]


def test_run_executes_a_file_in_the_session(kernel):
    kernel.good("%%writefile script.py\nfrom_script = __name__, 6 * 7")
    kernel.good("%run script.py")
    assert kernel.value("from_script") == "('__main__', 42)"
    kernel.good("given = 1")
    kernel.good("%%writefile script.py\nfrom_script = given")
    kernel.good("%run -i script.py")
    assert kernel.value("from_script") == "1"


def test_load_puts_a_file_into_the_next_input(kernel):
    kernel.good("%%writefile loaded.py\nx = 1")
    [payload] = payloads(kernel.good("%load loaded.py"), "set_next_input")
    assert "x = 1" in payload["text"]
    assert payload["replace"] is True


def test_cd_holds_for_later_cells_until_the_next_cd(kernel):
    before = kernel.value("import os; os.getcwd()")
    kernel.good("import os; os.makedirs('below', exist_ok=True)\n%cd below")
    assert kernel.value("os.path.basename(os.getcwd())") == "'below'"
    kernel.good("%cd -q ..")
    assert kernel.value("os.getcwd()") == before


def test_autoreload_extension_reloads_a_changed_module(kernel):
    kernel.good("%load_ext autoreload\n%autoreload 2")
    kernel.good("%%writefile reloaded.py\nvalue = 'first'")
    kernel.good("import reloaded")
    kernel.good("%%writefile reloaded.py\nvalue = 'second, and longer'")
    assert kernel.value("reloaded.value") == "'second, and longer'"
    kernel.good("%autoreload 0")


def test_capture_magic_collects_streams_and_displays(kernel):
    cell = kernel.good("%%capture caught\nimport sys\nprint('out')\nprint('err', file=sys.stderr)\ndisplay(1)")
    assert (cell.stdout, cell.stderr, cell.of("display_data")) == ("", "", [])
    assert kernel.value("caught.stdout, caught.stderr, len(caught.outputs)") == "('out\\n', 'err\\n', 1)"


def test_redirected_stdout_is_not_published(kernel):
    redirect = "with contextlib.redirect_stdout(io.StringIO()) as text:\n    print('caught')"
    code = f"import contextlib, io\n{redirect}\ntext.getvalue()"
    cell = kernel.good(code)
    assert (cell.stdout, cell.result) == ("", "'caught\\n'")


# Help


@pytest.mark.parametrize(
    "code, text",
    [
        ("len?", "Return the number of items"),
        ("?len", "Return the number of items"),
        ("%quickref", "quick reference"),
    ],
)
def test_help_opens_the_pager(kernel, code, text):
    [payload] = payloads(kernel.good(code), "page")
    assert text in payload["data"]["text/plain"]
    assert payload["start"] == 0


def test_two_question_marks_show_the_source(kernel):
    kernel.good("def documented(a):\n    'What it does.'\n    return a + 12345")
    [payload] = payloads(kernel.good("documented??"), "page")
    assert "12345" in payload["data"]["text/plain"]


def test_name_pattern_lists_the_matching_names(kernel):
    kernel.good("pattern_one = pattern_two = 1")
    cell = kernel.good("pattern_*?")
    text = cell.stdout + "".join(payload["data"]["text/plain"] for payload in payloads(cell, "page"))
    assert "pattern_one" in text and "pattern_two" in text


# History in the namespace


def test_results_and_inputs_are_kept(kernel):
    cell = kernel.good("'first'")
    number = cell.reply["execution_count"]
    assert kernel.value("_") == "'first'"
    kernel.good("'second'")
    assert kernel.value("_, __") == "('second', 'first')"
    kept = kernel.value(f"Out[{number}], _{number}, In[{number}], _i{number}")
    assert kept == """('first', 'first', "'first'", "'first'")"""


def test_history_magic_shows_and_searches_the_session(kernel):
    kernel.good("'unmistakable one'")
    kernel.good("'unmistakable two'")
    assert "'unmistakable one'\n'unmistakable two'\n" in kernel.good("%history -l 2").stdout
    found = kernel.good("%history -g unmistakable o").stdout
    assert "'unmistakable one'" in found and "'unmistakable two'" not in found


def test_a_semicolon_hides_the_result(kernel):
    assert kernel.good("1 + 1;").of("execute_result") == []


# Errors


def test_a_syntax_error_has_its_position(kernel):
    cell = kernel.run("x = 1\ny = = 2")
    assert cell.ename == "SyntaxError"
    text = "\n".join(cell.reply["traceback"])
    assert "line 2" in text or "line 2" in cell.reply["evalue"]
    assert "^" in text
    [error] = cell.of("error")
    assert error["ename"] == "SyntaxError"


def test_an_error_in_a_chain_shows_both(kernel):
    cell = kernel.run("try:\n    1 / 0\nexcept ZeroDivisionError as cause:\n    raise KeyError('after') from cause")
    text = "\n".join(cell.reply["traceback"])
    assert (cell.ename, "ZeroDivisionError" in text, "KeyError" in text) == ("KeyError", True, True)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python has them from 3.11 on")
def test_exception_notes_and_groups_are_shown(kernel):
    cell = kernel.run("error = ValueError('x')\nerror.add_note('a note of its own')\nraise error")
    assert "a note of its own" in "\n".join(cell.reply["traceback"])
    cell = kernel.run("raise ExceptionGroup('both', [ValueError('one'), TypeError('two')])")
    assert cell.ename == "ExceptionGroup"
    assert "two" in "\n".join(cell.reply["traceback"])


@pytest.mark.parametrize("code", ["exit()", "quit()", "exit"])
def test_exit_asks_the_front_end(kernel, code):
    cell = kernel.good(code)
    [payload] = payloads(cell, "ask_exit")
    assert "a cell can't end the kernel" in cell.stderr
    assert payload["keepkernel"] in (False, None)
    assert kernel.run("1").ok


def test_system_exit_ends_the_cell_only(kernel):
    cell = kernel.run("import sys\nsys.exit(3)")
    assert cell.ename == "SystemExit"
    assert kernel.value("'goes on'") == "'goes on'"


def test_warnings_arrive_on_stderr(kernel):
    assert "mind this" in kernel.good("import warnings\nwarnings.warn('mind this')").stderr


def test_custom_exception_handler_is_called(kernel):
    code = (
        "def handler(shell, kind, value, tb, tb_offset=None): print('handled', kind.__name__)\n"
        "get_ipython().set_custom_exc((ZeroDivisionError,), handler)"
    )
    kernel.good(code)
    assert "handled ZeroDivisionError" in kernel.run("1 / 0").stdout
    kernel.good("get_ipython().set_custom_exc((), None)")


# What goes on after its cell


LATE = {
    "thread": (
        "go = threading.Event()\nthread = threading.Thread(target=lambda: (go.wait(), late()))\nthread.start()",
        "go.set()\nthread.join()",
    ),
    "pool": (
        "pool = concurrent.futures.ThreadPoolExecutor(1)\ngo = threading.Event()\n"
        "job = pool.submit(lambda: (go.wait(), late()))",
        "go.set()\njob.result()",
    ),
    "task": (
        "event = asyncio.Event()\n"
        "async def wait():\n    await event.wait()\n    late()\ntask = asyncio.create_task(wait())",
        "event.set()\nawait task",
    ),
}
WRITES_LATE = """
import asyncio, concurrent.futures, threading
from IPython.display import clear_output, update_display
def late():
    print('printed late'); clear_output(wait=True)
    update_display('updated late', display_id='one'); display('shown late')
"""


@pytest.mark.parametrize("what", LATE)
def test_late_output_is_the_running_cells_and_that_of_a_task_the_cells_that_began_it(kernel, what):
    begins, goes_on = LATE[what]
    first = kernel.send(WRITES_LATE + begins)
    kernel.finish(first)
    second = kernel.send(f"print('before')\n{goes_on}\nprint('after')")
    messages = kernel.all_until_idle(second)
    owner = first if what == "task" else second
    own = "before\nafter\n" if what == "task" else "before\nprinted late\nafter\n"
    assert printed_by(messages, second) == own
    assert printed_by(messages, first) == ("printed late\n" if what == "task" else "")
    shown = [m for m in messages if m["msg_type"] in ("clear_output", "update_display_data", "display_data")]
    assert [m["msg_type"] for m in shown] == ["clear_output", "update_display_data", "display_data"]
    assert {m["parent_header"]["msg_id"] for m in shown} == {owner}


@pytest.mark.parametrize(
    "code, result",
    [
        ("import asyncio\nawait asyncio.sleep(0, 'awaited')", "'awaited'"),
        ("async def numbers():\n    yield 1\n[n async for n in numbers()]", "[1]"),
        ("loop = asyncio.get_running_loop()\nloop.is_running()", "True"),
        ("await asyncio.gather(*(asyncio.sleep(0, n) for n in range(3)))", "[0, 1, 2]"),
        ("await asyncio.to_thread(lambda: 'threaded')", "'threaded'"),
    ],
)
def test_top_level_await_gives_its_result(kernel, code, result):
    assert kernel.good("import asyncio\n" + code).result == result


# Questions


def converse(kernel, code, answers):
    """Runs code that asks; returns the Cell and the prompts."""
    request = kernel.send(code, allow_stdin=True)
    prompts = []
    for answer in answers:
        prompts.append(kernel.client.get_stdin_msg(timeout=STUCK_S)["content"])
        kernel.client.input(answer)
    return kernel.finish(request), prompts


def test_getpass_asks_for_a_password(kernel):
    cell, [asked] = converse(kernel, "import getpass\ngetpass.getpass('secret: ')", ["s3"])
    assert (asked["prompt"], asked["password"], cell.result) == ("The cell asks: secret: ", True, "'s3'")


def test_debug_magic_after_an_error_shows_its_variables(kernel):
    kernel.run("def broken(inner):\n    return 1 / 0\nbroken('the inner value')")
    cell, prompts = converse(kernel, "%debug", ["p inner", "q"])
    assert cell.ok, str(cell)
    assert all("ipdb" in asked["prompt"] for asked in prompts)
    assert "the inner value" in cell.stdout


def test_set_trace_of_pdb_stops_and_continues(kernel):
    body = "    a = 'before'\n    import pdb; pdb.set_trace()\n    b = 'after'\n    return a, b\n"
    code = f"def stepped():\n{body}stepped()"
    cell, prompts = converse(kernel, code, ["p a", "c"])
    assert cell.ok, str(cell)
    assert "before" in cell.stdout
    assert len(prompts) == 2


def test_builtin_breakpoint_stops_and_continues(kernel):
    code = "def stepped():\n    a = 'seen'\n    breakpoint()\n    return a\nstepped()"
    cell, _ = converse(kernel, code, ["p a", "c"])
    assert cell.ok, str(cell)
    assert "seen" in cell.stdout


def test_input_can_be_interrupted(patient, start):
    kernel = start()
    request = kernel.send("input('waits')", allow_stdin=True)
    kernel.client.get_stdin_msg(timeout=STUCK_S)
    kernel.control("interrupt_request")
    assert kernel.finish(request).ename == "KeyboardInterrupt"
    assert kernel.value("'goes on'") == "'goes on'"


def test_cell_without_input_leaves_no_input_request(kernel):
    kernel.good("1")
    with pytest.raises(queue.Empty):
        kernel.client.get_stdin_msg(timeout=0)
