"""What notebooks expect of IPython and its kernel, in cells."""

import queue

import pytest

from conftest import INTERPRETERS
from kernels import STUCK_S, Kernel, is_idle


@pytest.fixture(scope="module")
def kernel(kernel_dirs, tmp_path_factory):
    """One kernel for the tests' own environment, which has all the packages: most of what is here leaves no trace."""
    interpreter = INTERPRETERS[0]
    kernel = Kernel(kernel_dirs[interpreter.label], tmp_path_factory.mktemp("notebook"), interpreter=interpreter)
    yield kernel.wait_until_up()
    kernel.close()


def payloads(cell, source):
    return [payload for payload in cell.reply["payload"] if payload["source"] == source]


def good(kernel, code, **options):
    cell = kernel.run(code, **options)
    assert cell.ok, str(cell)
    return cell


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
        ("%%writefile written.txt\nhello", "written.txt"),
        ("%%file other.txt\nhello", "other.txt"),
        ("%pwd\nprint('in', get_ipython().run_line_magic('pwd', ''))", "in /"),
        ("%lsmagic\nprint('lsmagic', len(get_ipython().magics_manager.magics['line']) > 80)", "lsmagic True"),
        ("%env WRITTEN=1", "env: WRITTEN=1"),
        ("%set_env WRITTEN=2", "env: WRITTEN=2"),
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
        ("%ls", "written.txt"),
        ("%cat written.txt", "hello"),
        ("%system echo 1\nprint('ran')", "ran"),
        ("%sx echo 1\nprint('ran')", "ran"),
        ("%reset_selective -f nosuch\nprint('reset')", "reset"),
        ("%dirs\nprint('dirs')", "dirs"),
        ("%logstate", "Logging has not been activated."),
        ("%colors nocolor\n%colors linux\nprint('coloured')", "coloured"),
        ("%automagic 0\n%automagic 1", "Automagic is ON"),
        ("%quickref", ""),
        ("%config InlineBackend.figure_format = 'png'\nprint('set')", "set"),
        ("%gui asyncio\nprint('set')", "set"),
        ("%alias hi echo hi\n%hi", "hi"),
        ("%%html\n<b>x</b>", ""),
        ("%%javascript\n1", ""),
        ("%%latex\n$x$", ""),
        ("%%markdown\n*x*", ""),
        ("%%svg\n<svg/>", ""),
    ],
)
def test_a_magic_runs(kernel, code, printed):
    cell = good(kernel, code)
    results = [content["data"].get("text/plain", "") for content in cell.of("execute_result")]
    assert printed in "".join([cell.stdout, *results])


@pytest.mark.parametrize("magic", ["%pip install numpy", "%conda install numpy", "%uv pip install numpy"])
def test_installers_say_why_not(kernel, magic):
    cell = kernel.run(magic)
    assert cell.ename == "UsageError"
    assert "no network" in cell.reply["evalue"] and "restart the kernel" in cell.reply["evalue"]


def test_run_executes_a_file_in_the_session(kernel):
    good(kernel, "%%writefile script.py\nfrom_script = __name__, 6 * 7")
    good(kernel, "%run script.py")
    assert kernel.value("from_script") == "('__main__', 42)"
    good(kernel, "given = 1")
    good(kernel, "%%writefile script.py\nfrom_script = given")
    good(kernel, "%run -i script.py")
    assert kernel.value("from_script") == "1"


def test_load_puts_a_file_into_the_next_input(kernel):
    good(kernel, "%%writefile loaded.py\nx = 1")
    [payload] = payloads(good(kernel, "%load loaded.py"), "set_next_input")
    assert "x = 1" in payload["text"]
    assert payload["replace"] is True


def test_cd_lasts_and_comes_back(kernel):
    before = kernel.value("import os; os.getcwd()")
    good(kernel, "import os; os.makedirs('below', exist_ok=True)\n%cd below")
    assert kernel.value("os.path.basename(os.getcwd())") == "'below'"
    good(kernel, "%cd -q ..")
    assert kernel.value("os.getcwd()") == before


def test_load_ext_and_autoreload(kernel):
    good(kernel, "%load_ext autoreload\n%autoreload 2")
    good(kernel, "%%writefile reloaded.py\nvalue = 'first'")
    good(kernel, "import reloaded")
    good(kernel, "%%writefile reloaded.py\nvalue = 'second, and longer'")
    assert kernel.value("reloaded.value") == "'second, and longer'"
    good(kernel, "%autoreload 0")


def test_capture(kernel):
    cell = good(kernel, "%%capture caught\nimport sys\nprint('out')\nprint('err', file=sys.stderr)\ndisplay(1)")
    assert (cell.stdout, cell.stderr, cell.of("display_data")) == ("", "", [])
    assert kernel.value("caught.stdout, caught.stderr, len(caught.outputs)") == "('out\\n', 'err\\n', 1)"


def test_redirected_output(kernel):
    redirect = "with contextlib.redirect_stdout(io.StringIO()) as text:\n    print('caught')"
    code = f"import contextlib, io\n{redirect}\ntext.getvalue()"
    cell = good(kernel, code)
    assert (cell.stdout, cell.result) == ("", "'caught\\n'")


# Help


@pytest.mark.parametrize("code", ["len?", "?len"])
def test_a_question_mark_opens_the_pager(kernel, code):
    [payload] = payloads(good(kernel, code), "page")
    assert "Return the number of items" in payload["data"]["text/plain"]
    assert payload["start"] == 0


def test_two_question_marks_show_the_source(kernel):
    good(kernel, "def documented(a):\n    'What it does.'\n    return a + 12345")
    [payload] = payloads(good(kernel, "documented??"), "page")
    assert "12345" in payload["data"]["text/plain"]


def test_a_pattern_lists_names(kernel):
    good(kernel, "pattern_one = pattern_two = 1")
    cell = good(kernel, "pattern_*?")
    text = cell.stdout + "".join(payload["data"]["text/plain"] for payload in payloads(cell, "page"))
    assert "pattern_one" in text and "pattern_two" in text


# History in the namespace


def test_results_and_inputs_are_kept(kernel):
    cell = good(kernel, "'first'")
    number = cell.reply["execution_count"]
    assert kernel.value("_") == "'first'"
    good(kernel, "'second'")
    assert kernel.value("_, __") == "('second', 'first')"
    kept = kernel.value(f"Out[{number}], _{number}, In[{number}], _i{number}")
    assert kept == """('first', 'first', "'first'", "'first'")"""


def test_history_of_the_session(kernel):
    good(kernel, "'unmistakable one'")
    good(kernel, "'unmistakable two'")
    assert "'unmistakable one'\n'unmistakable two'\n" in good(kernel, "%history -l 2").stdout
    found = good(kernel, "%history -g unmistakable o").stdout
    assert "'unmistakable one'" in found and "'unmistakable two'" not in found


def test_a_semicolon_hides_the_result(kernel):
    assert good(kernel, "1 + 1;").of("execute_result") == []


# Rich output


@pytest.mark.parametrize(
    "shown, mime, part",
    [
        ("HTML('<b>x</b>')", "text/html", "<b>x</b>"),
        ("SVG('<svg xmlns=\"http://www.w3.org/2000/svg\"></svg>')", "image/svg+xml", "<svg"),
        ("Image(data=PNG)", "image/png", "iVBOR"),
        ("Image(url='http://example.org/x.png')", "text/html", "<img"),
        ("Audio([0.0, 0.5, -0.5], rate=8000)", "text/html", "<audio"),
        ("Markdown('*x*')", "text/markdown", "*x*"),
        ("Latex('$x$')", "text/latex", "$x$"),
        ("Math('x')", "text/latex", "x"),
        ("Javascript('1')", "application/javascript", "1"),
        ("Pretty('x')", "text/plain", "x"),
        ("IFrame('http://example.org', 10, 10)", "text/html", "<iframe"),
        ("Code('x = 1', language='python')", "text/html", "x"),
        ("ProgressBar(5)", "text/html", "<progress"),
    ],
)
def test_a_display_object_arrives(kernel, shown, mime, part):
    png = "PNG = bytes.fromhex('89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489')"
    imports = "from IPython.display import *\nfrom IPython.display import ProgressBar"
    cell = good(kernel, f"{imports}\n{png}\ndisplay({shown})")
    [content] = cell.of("display_data")
    assert part in content["data"][mime]


def test_json_arrives_as_json(kernel):
    [content] = good(kernel, "from IPython.display import JSON\ndisplay(JSON({'a': [1]}))").of("display_data")
    assert content["data"]["application/json"] == {"a": [1]}


def test_a_custom_bundle_arrives_as_it_is(kernel):
    code = "display({'application/x-own+json': {'a': [1, None]}, 'text/plain': 'x'}, metadata={'k': 1}, raw=True)"
    [content] = good(kernel, code).of("display_data")
    assert content["data"] == {"application/x-own+json": {"a": [1, None]}, "text/plain": "x"}
    assert content["metadata"] == {"k": 1}


def test_representations_of_a_class_of_one_s_own(kernel):
    code = (
        "class Own:\n"
        "    def _repr_html_(self): return '<i>own</i>'\n"
        "    def _repr_mimebundle_(self, include=None, exclude=None):\n"
        "        return {'text/x-own': 'own'}, {'text/x-own': {'m': 1}}\n"
        "Own()"
    )
    [content] = good(kernel, code).of("execute_result")
    assert content["data"]["text/html"] == "<i>own</i>"
    assert content["data"]["text/x-own"] == "own"
    assert content["metadata"]["text/x-own"] == {"m": 1}


def test_ipython_display_takes_over(kernel):
    cell = good(kernel, "class Own:\n    def _ipython_display_(self): print('shown by itself')\nOwn()")
    assert (cell.stdout, cell.of("execute_result")) == ("shown by itself\n", [])


def test_update_and_clear(kernel):
    cell = good(
        kernel,
        "from IPython.display import clear_output, update_display\n"
        "display(1, display_id='one')\nupdate_display(2, display_id='one')\nclear_output()",
    )
    assert [content["data"]["text/plain"] for content in cell.of("update_display_data")] == ["2"]
    assert cell.of("clear_output") == [{"wait": False}]


def test_a_hook_of_the_publisher_sees_and_may_keep_messages(kernel):
    code = (
        "seen = []\n"
        "def hook(message):\n"
        "    seen.append((message['header']['msg_type'], message['content']['data']))\n"
        "    return None if 'text/x-kept' in message['content']['data'] else message\n"
        "publisher = get_ipython().display_pub\n"
        "publisher.register_hook(hook)\n"
        "display({'text/x-kept': '1'}, raw=True)\n"
        "display({'text/x-shown': '2'}, raw=True)\n"
        "print(publisher.unregister_hook(hook), publisher.unregister_hook(hook))\n"
        "display({'text/x-after': '3'}, raw=True)"
    )
    cell = good(kernel, code)
    assert [list(content["data"]) for content in cell.of("display_data")] == [["text/x-shown"], ["text/x-after"]]
    assert cell.stdout == "True False\n"
    assert good(kernel, "print([kind for kind, data in seen])").stdout == "['display_data', 'display_data']\n"
    assert kernel.value("[list(data) for kind, data in seen]") == "[['text/x-kept'], ['text/x-shown']]"


def test_matplotlib_inline(kernel):
    code = "%matplotlib inline\nimport matplotlib.pyplot as plt\nfigure = plt.figure()\nplt.plot([1, 2])"
    assert any("image/png" in content["data"] for content in good(kernel, code).of("display_data"))


def test_a_pandas_table_is_html(kernel):
    [content] = good(kernel, "import pandas as pd\npd.DataFrame({'a': [1, 2]})").of("execute_result")
    assert "<table" in content["data"]["text/html"]
    assert "a" in content["data"]["text/plain"]


@pytest.fixture
def needs(kernel, skip_or_fail):
    """What a test calls with the packages that it can't do without."""

    def look(*modules):
        missing = [module for module in modules if not kernel.interpreter.has(module)]
        if missing:
            skip_or_fail(f"the tests' environment has no {', '.join(missing)}")

    return look


def test_tqdm_in_text_and_as_a_widget(kernel, needs):
    needs("tqdm", "ipywidgets")
    cell = good(kernel, "from tqdm import tqdm\nfor n in tqdm(range(3)): pass")
    assert "3/3" in cell.stderr and "\r" in cell.stderr
    cell = good(kernel, "from tqdm.auto import tqdm\nfor n in tqdm(range(3)): pass")
    assert any("application/vnd.jupyter.widget-view+json" in content["data"] for content in cell.of("display_data"))
    assert any(content["data"].get("state", {}).get("value") == 3 for content in cell.of("comm_msg"))


@pytest.mark.parametrize(
    "module, code, mime",
    [
        (
            "plotly",
            "import plotly.graph_objects as go\ngo.Figure(go.Scatter(y=[1, 2]))",
            "application/vnd.plotly.v1+json",
        ),
        (
            "altair",
            "import altair as alt\nalt.renderers.enable('mimetype')\n"
            "alt.Chart(alt.Data(values=[{'a': 1}])).mark_bar().encode(x='a:Q')",
            "application/vnd.vegalite.v",
        ),
    ],
)
def test_a_chart_arrives_as_its_own_type(kernel, needs, module, code, mime):
    needs(module)
    cell = good(kernel, code)
    shown = cell.of("execute_result") + cell.of("display_data")
    assert any(name.startswith(mime) for content in shown for name in content["data"]), [list(c["data"]) for c in shown]


def test_a_progress_bar_in_text(kernel):
    code = "import sys\nfor n in range(3):\n    sys.stderr.write(f'\\r{n}/2')\n    sys.stderr.flush()"
    assert good(kernel, code).stderr == "\r0/2\r1/2\r2/2"


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


def test_notes_and_groups_are_shown(kernel):
    cell = kernel.run("error = ValueError('x')\nerror.add_note('a note of its own')\nraise error")
    assert "a note of its own" in "\n".join(cell.reply["traceback"])
    cell = kernel.run("raise ExceptionGroup('both', [ValueError('one'), TypeError('two')])")
    assert cell.ename == "ExceptionGroup"
    assert "two" in "\n".join(cell.reply["traceback"])


@pytest.mark.parametrize("code", ["exit()", "quit()", "exit"])
def test_exit_asks_the_front_end(kernel, code):
    [payload] = payloads(good(kernel, code), "ask_exit")
    assert payload["keepkernel"] in (False, None)
    assert kernel.run("1").ok


def test_system_exit_ends_the_cell_only(kernel):
    cell = kernel.run("import sys\nsys.exit(3)")
    assert cell.ename == "SystemExit"
    assert kernel.value("'goes on'") == "'goes on'"


def test_warnings_arrive_on_stderr(kernel):
    assert "mind this" in good(kernel, "import warnings\nwarnings.warn('mind this')").stderr


def test_a_custom_handler_of_errors(kernel):
    code = (
        "def handler(shell, kind, value, tb, tb_offset=None): print('handled', kind.__name__)\n"
        "get_ipython().set_custom_exc((ZeroDivisionError,), handler)"
    )
    good(kernel, code)
    assert "handled ZeroDivisionError" in kernel.run("1 / 0").stdout
    good(kernel, "get_ipython().set_custom_exc((), None)")


# What goes on after its cell


def messages_until_idle(kernel, request):
    """Messages of all requests until this one is over."""
    messages = []
    while True:
        message = kernel.client.get_iopub_msg(timeout=STUCK_S)
        messages.append(message)
        ours = message["parent_header"].get("msg_id") == request
        if ours and message["content"].get("execution_state") == "idle":
            kernel.shell_reply(request)
            return messages


def printed_by(messages, request):
    return "".join(
        message["content"]["text"]
        for message in messages
        if message["msg_type"] == "stream" and message["parent_header"]["msg_id"] == request
    )


def test_a_thread_s_output_belongs_to_its_own_cell(kernel):
    code = (
        "import threading\ngo, gone = threading.Event(), threading.Event()\n"
        "def late():\n    go.wait()\n    print('from the thread')\n    display('shown by the thread')\n    gone.set()\n"
        "threading.Thread(target=late).start()"
    )
    first = kernel.send(code)
    kernel.finish(first)
    second = kernel.send("print('before')\ngo.set()\ngone.wait()\nprint('after')")
    messages = messages_until_idle(kernel, second)
    assert printed_by(messages, first) == "from the thread\n"
    assert printed_by(messages, second) == "before\nafter\n"
    shown = [message["parent_header"]["msg_id"] for message in messages if message["msg_type"] == "display_data"]
    assert shown == [first]


def test_a_task_goes_on_and_its_output_belongs_to_its_own_cell(kernel):
    code = (
        "import asyncio\nevent = asyncio.Event()\n"
        "async def late():\n    await event.wait()\n    print('from the task')\n    return 'done'\n"
        "task = asyncio.create_task(late())"
    )
    first = kernel.send(code)
    kernel.finish(first)
    second = kernel.send("event.set()\nprint(await task)")
    messages = messages_until_idle(kernel, second)
    assert printed_by(messages, first) == "from the task\n"
    assert printed_by(messages, second) == "done\n"


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
def test_await_at_the_top(kernel, code, result):
    assert good(kernel, "import asyncio\n" + code).result == result


# Questions


def converse(kernel, code, answers):
    """Runs code that asks; returns the Cell and the prompts."""
    request = kernel.send(code, allow_stdin=True)
    prompts = []
    for answer in answers:
        prompts.append(kernel.client.get_stdin_msg(timeout=STUCK_S)["content"])
        kernel.client.input(answer)
    return kernel.finish(request), prompts


def test_a_password_is_asked_as_one(kernel):
    cell, [asked] = converse(kernel, "import getpass\ngetpass.getpass('secret: ')", ["s3"])
    assert (asked["prompt"], asked["password"], cell.result) == ("secret: ", True, "'s3'")


def test_debug_after_an_error(kernel):
    kernel.run("def broken(inner):\n    return 1 / 0\nbroken('the inner value')")
    cell, prompts = converse(kernel, "%debug", ["p inner", "q"])
    assert cell.ok, str(cell)
    assert all("ipdb" in asked["prompt"] for asked in prompts)
    assert "the inner value" in cell.stdout


def test_a_breakpoint_steps(kernel):
    body = "    a = 'before'\n    import pdb; pdb.set_trace()\n    b = 'after'\n    return a, b\n"
    code = f"def stepped():\n{body}stepped()"
    cell, prompts = converse(kernel, code, ["p a", "c"])
    assert cell.ok, str(cell)
    assert "before" in cell.stdout
    assert len(prompts) == 2


def test_breakpoint_of_python(kernel):
    code = "def stepped():\n    a = 'seen'\n    breakpoint()\n    return a\nstepped()"
    cell, _ = converse(kernel, code, ["p a", "c"])
    assert cell.ok, str(cell)
    assert "seen" in cell.stdout


def test_input_can_be_interrupted(kernel):
    request = kernel.send("input('waits')", allow_stdin=True)
    kernel.client.get_stdin_msg(timeout=STUCK_S)
    kernel.control("interrupt_request")
    assert kernel.finish(request).ename == "KeyboardInterrupt"
    assert kernel.value("'goes on'") == "'goes on'"


# What libraries look for


@pytest.mark.parametrize(
    "code, result",
    [
        ("type(get_ipython()).__name__", "'ZMQInteractiveShell'"),
        ("get_ipython().has_trait('kernel') or hasattr(get_ipython(), 'kernel')", "True"),
        ("'IPKernelApp' in get_ipython().config", "True"),
        ("get_ipython().kernel.comm_manager is __import__('comm').get_comm_manager()", "True"),
        ("get_ipython().kernel.shell is get_ipython()", "True"),
        ("get_ipython().get_parent()['header']['msg_type']", "'execute_request'"),
        ("get_ipython().kernel.get_parent()['header']['msg_type']", "'execute_request'"),
        ("get_ipython().kernel._parent_header['header']['msg_type']", "'execute_request'"),
        ("get_ipython().kernel.implementation", "'petri'"),
        ("get_ipython().kernel.banner.startswith('Python')", "True"),
        ("get_ipython().kernel.language_info['name']", "'python'"),
        ("get_ipython().kernel.execution_count == get_ipython().execution_count", "True"),
        ("get_ipython().kernel.user_ns is get_ipython().user_ns", "True"),
        ("__import__('sys').stdout.encoding.lower(), __import__('sys').stdout.isatty()", "('utf-8', False)"),
        ("__import__('sys').stdout.fileno()", "1"),
        ("__name__, __import__('__main__').__dict__ is globals()", "('__main__', True)"),
        ("exit.__class__.__name__", "'ZMQExitAutocall'"),
        ("isinstance(get_ipython(), __import__('IPython').core.interactiveshell.InteractiveShell)", "True"),
        ("__import__('IPython').get_ipython() is get_ipython()", "True"),
    ],
)
def test_a_library_finds_a_notebook(kernel, code, result):
    assert good(kernel, code).result == result


def send_comm(kernel, msg_type, **content):
    message = kernel.client.session.msg(msg_type, content)
    kernel.client.shell_channel.send(message)
    return kernel.iopub_until(message["header"]["msg_id"], is_idle)


@pytest.mark.parametrize("module", ["comm", "ipykernel.comm"])
def test_a_comm_goes_both_ways(kernel, module):
    name = "create_comm" if module == "comm" else "Comm"
    code = (
        f"from {module} import {name}\n"
        f"channel = {name}(target_name='there', data={{'n': 1}})\n"
        "channel.on_msg(lambda message: channel.send({'got': message['content']['data']}))"
    )
    [opened] = good(kernel, code).of("comm_open")
    assert (opened["target_name"], opened["data"]) == ("there", {"n": 1})
    messages = send_comm(kernel, "comm_msg", comm_id=opened["comm_id"], data={"hello": 1})
    [answer] = [message["content"] for message in messages if message["msg_type"] == "comm_msg"]
    assert answer["data"] == {"got": {"hello": 1}}
    assert good(kernel, "channel.close()").of("comm_close")[0]["comm_id"] == opened["comm_id"]


def test_a_target_is_opened_by_the_front_end(kernel):
    code = (
        "def opened(channel, message):\n"
        "    @channel.on_msg\n"
        "    def got(message): channel.send({'bytes': len(message['buffers'])}, buffers=[b'back'])\n"
        "get_ipython().kernel.comm_manager.register_target('own', opened)"
    )
    good(kernel, code)
    send_comm(kernel, "comm_open", comm_id="from-outside", target_name="own", data={})
    session = kernel.client.session
    message = session.msg("comm_msg", {"comm_id": "from-outside", "data": {}})
    session.send(kernel.client.shell_channel.socket, message, buffers=[b"one", b"two"])
    messages = kernel.iopub_until(message["header"]["msg_id"], is_idle)
    [answer] = [one for one in messages if one["msg_type"] == "comm_msg"]
    assert answer["content"]["data"] == {"bytes": 2}
    assert [bytes(buffer) for buffer in answer["buffers"]] == [b"back"]


def test_a_slider_shows_itself_and_follows(kernel):
    code = (
        "import ipywidgets\nslider = ipywidgets.IntSlider(value=3)\nseen = []\n"
        "slider.observe(lambda change: seen.append(change['new']), 'value')\nslider"
    )
    cell = good(kernel, code)
    [content] = cell.of("execute_result") + cell.of("display_data")
    model = content["data"]["application/vnd.jupyter.widget-view+json"]["model_id"]
    send_comm(kernel, "comm_msg", comm_id=model, data={"method": "update", "state": {"value": 8}, "buffer_paths": []})
    assert kernel.value("slider.value, seen") == "(8, [8])"


def test_output_widget_catches_prints(kernel):
    cell = good(kernel, "import ipywidgets\nout = ipywidgets.Output()\nwith out:\n    print('inside')")
    states = [content["data"].get("state", {}) for content in cell.of("comm_msg")]
    assert any("msg_id" in state for state in states)


# The kernel that others build upon


IPYKERNEL = {
    "a notebook is told by the module's name": "import sys\nassert 'ipykernel.zmqshell' in sys.modules",
    "its class is that of the shell": (
        "from ipykernel.zmqshell import ZMQInteractiveShell\nassert isinstance(get_ipython(), ZMQInteractiveShell)"
    ),
    "everything else is ipykernel's own": "from ipykernel.zmqshell import KernelMagics\nassert KernelMagics.__mro__",
    "the package can be imported": "import ipykernel\nassert ipykernel.__version__",
    "and then the module": (
        "import ipykernel.zmqshell as found\nassert found.__file__\n"
        "assert isinstance(get_ipython(), found.ZMQInteractiveShell)"
    ),
    "and others of it": "from ipykernel.comm import Comm, CommManager\nfrom ipykernel.kernelbase import Kernel",
    "its kernel has not been started": (
        "from ipykernel.kernelapp import IPKernelApp\nassert not IPKernelApp.initialized()"
    ),
}


def test_ipykernel_is_found_and_not_in_the_way(start):
    kernel = start()
    for what, code in IPYKERNEL.items():
        cell = kernel.run(code)
        assert cell.ok, f"{what}: {cell}"


def test_without_ipykernel_the_rest_of_it_is_missing(start, skip_or_fail):
    lacking = [python for python in INTERPRETERS if not python.has("ipykernel")]
    if not lacking:
        skip_or_fail("every Python of this machine has ipykernel")
    kernel = start(lacking[0])
    assert kernel.run("from ipykernel.zmqshell import ZMQInteractiveShell").ok
    assert kernel.run("from ipykernel.zmqshell import KernelMagics").ename == "ImportError"
    assert kernel.run("import ipykernel").ename == "ModuleNotFoundError"


def test_no_message_is_left_over(kernel):
    good(kernel, "1")
    with pytest.raises(queue.Empty):
        kernel.client.get_stdin_msg(timeout=0)
