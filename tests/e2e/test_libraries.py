"""What libraries look for in a notebook, and what they find of ipykernel."""

import textwrap

import pytest

from conftest import INTERPRETERS
from conftest import shared_kernel as kernel  # noqa: F401
from kernels import STUCK_S, is_idle

pytestmark = pytest.mark.xdist_group("libraries")  # one process: the kernel is there once


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
        ("get_ipython().display_pub.parent_header['msg_type']", "'execute_request'"),
        ("get_ipython().kernel.session is get_ipython().display_pub.session", "True"),
        ("get_ipython().kernel.banner.startswith('Python')", "True"),
        ("get_ipython().kernel.language_info['name']", "'python'"),
        ("get_ipython().kernel.execution_count == get_ipython().execution_count", "True"),
        ("get_ipython().kernel.user_ns is get_ipython().user_ns", "True"),
        ("__import__('sys').stdout.encoding.lower(), __import__('sys').stdout.isatty()", "('utf-8', False)"),
        ("__import__('sys').stdout.fileno() > 2, __import__('sys').__stdout__.fileno()", "(True, 1)"),
        ("__name__, __import__('__main__').__dict__ is globals()", "('__main__', True)"),
        ("exit.__class__.__name__", "'ZMQExitAutocall'"),
        ("isinstance(get_ipython(), __import__('IPython').core.interactiveshell.InteractiveShell)", "True"),
        ("__import__('IPython').get_ipython() is get_ipython()", "True"),
    ],
)
def test_library_detects_a_notebook(kernel, code, result):
    assert kernel.good(code).result == result


def test_library_publishes_by_the_kernels_session(kernel):
    cell = kernel.good(
        "kernel = get_ipython().kernel\n"
        "content = {'data': {'text/plain': 'shown'}, 'metadata': {}}\n"
        "sent = kernel.session.send(kernel.iopub_socket, 'display_data', content, parent=kernel.get_parent())\n"
        "kernel.session.send(kernel.iopub_socket, kernel.session.msg('clear_output', {'wait': True}))\n"
        "sent['parent_header']['msg_type']"
    )
    assert [content["data"] for content in cell.of("display_data")] == [{"text/plain": "shown"}]
    assert cell.of("clear_output") == [{"wait": True}]
    assert cell.result == "'execute_request'"
    named = kernel.good(
        "content = {**content, 'execution_count': 1, 'transient': {'display_id': 'named'}}\n"
        "kernel.session.send(kernel.iopub_socket, 'execute_result', content, parent=kernel.get_parent());"
    )
    assert named.of("execute_result")[0]["transient"] == {"display_id": "named"}
    refused = kernel.run("get_ipython().kernel.session.send(None, 'display_data', {})")
    assert refused.ename == "TypeError"


def test_library_publishes_by_send_response(kernel):
    cell = kernel.good(
        "kernel = get_ipython().kernel\n"
        "content = {'data': {'text/plain': 'shown'}, 'metadata': {}}\n"
        "kernel.send_response(kernel.iopub_socket, 'display_data', content, metadata={'n': 1})\n"
        "kernel.send_response(kernel.iopub_socket, 'stream', {'name': 'stdout', 'text': 'said'})['parent_header']['msg_type']"
    )
    [shown] = [message for message in cell.messages if message["msg_type"] == "display_data"]
    assert (shown["content"]["data"], shown["metadata"]) == ({"text/plain": "shown"}, {"n": 1})
    assert (cell.stdout, cell.result) == ("said", "'execute_request'")
    assert kernel.run("kernel.send_response(None, 'stream', {'name': 'stdout', 'text': 'x'})").ename == "TypeError"


def test_library_that_shows_what_c_code_prints_is_loaded_and_used(kernel):
    kernel.good("import ctypes, os, sys\nlibc = ctypes.CDLL(None)\n%load_ext wurlitzer")
    cell = kernel.good("print('a')\nlibc.puts(b'from C')\nos.system('echo from a child')\nprint('b')\n1")
    assert (cell.stdout, cell.stderr, cell.result) == ("a\nfrom C\nfrom a child\nb\n", "", "1")
    kernel.good("%unload_ext wurlitzer")
    cell = kernel.good("from wurlitzer import pipes, sys_pipes\nwith sys_pipes(): libc.puts(b'forwarded')")
    assert cell.stdout == "forwarded\n"
    cell = kernel.good("with pipes() as (out, err): libc.puts(b'caught')\nout.read()")
    assert (cell.stdout, cell.result) == ("", "'caught\\n'")


OUTSIDE = [
    "shell_stream", "shell_streams", "control_stream", "stdin_socket", "io_loop", "do_one_iteration", "_publish_status",
    "control_thread", "iopub_thread", "shell_handlers", "msg_queue", "dispatch_shell", "app", "debugger",
]  # fmt: skip


@pytest.mark.parametrize("name", OUTSIDE)
def test_what_the_kernel_has_outside_of_the_sandbox_is_not_there_and_says_so(kernel, name):
    cell = kernel.run(f"get_ipython().kernel.{name}")
    assert cell.ename == "AttributeError"
    assert f"petri's kernel has no '{name}' in a cell" in cell.reply["evalue"]
    assert kernel.value(f"hasattr(get_ipython().kernel, {name!r}), getattr(get_ipython().kernel, {name!r}, None)") == "(False, None)"


def test_kernel_of_a_cell_can_be_copied_inspected_and_asks(kernel):
    kernel.good("import inspect; inspect.getmembers(get_ipython().kernel); kernel = get_ipython().kernel; repr(kernel)")
    assert kernel.value("kernel.eventloop, kernel.set_parent(None, {}), kernel.log.name") == "(None, None, 'petri')"
    request = kernel.send("get_ipython().kernel.raw_input('say: ')", allow_stdin=True)
    assert kernel.client.get_stdin_msg(timeout=STUCK_S)["content"]["prompt"] == "say: "
    kernel.client.input("yes")
    assert kernel.finish(request).result == "'yes'"


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
    [opened] = kernel.good(code).of("comm_open")
    assert (opened["target_name"], opened["data"]) == ("there", {"n": 1})
    messages = send_comm(kernel, "comm_msg", comm_id=opened["comm_id"], data={"hello": 1})
    [answer] = [message["content"] for message in messages if message["msg_type"] == "comm_msg"]
    assert answer["data"] == {"got": {"hello": 1}}
    assert kernel.good("channel.close()").of("comm_close")[0]["comm_id"] == opened["comm_id"]


def test_comm_opened_by_the_front_end_reaches_its_target(kernel):
    code = (
        "def opened(channel, message):\n"
        "    @channel.on_msg\n"
        "    def got(message): channel.send({'bytes': len(message['buffers'])}, buffers=[b'back'])\n"
        "get_ipython().kernel.comm_manager.register_target('own', opened)"
    )
    kernel.good(code)
    send_comm(kernel, "comm_open", comm_id="from-outside", target_name="own", data={})
    session = kernel.client.session
    message = session.msg("comm_msg", {"comm_id": "from-outside", "data": {}})
    session.send(kernel.client.shell_channel.socket, message, buffers=[b"one", b"two"])
    messages = kernel.iopub_until(message["header"]["msg_id"], is_idle)
    [answer] = [one for one in messages if one["msg_type"] == "comm_msg"]
    assert answer["content"]["data"] == {"bytes": 2}
    assert [bytes(buffer) for buffer in answer["buffers"]] == [b"back"]


def test_slider_is_shown_and_follows_the_front_end(kernel):
    code = (
        "import ipywidgets\nslider = ipywidgets.IntSlider(value=3)\nseen = []\n"
        "slider.observe(lambda change: seen.append(change['new']), 'value')\nslider"
    )
    cell = kernel.good(code)
    [content] = cell.of("execute_result") + cell.of("display_data")
    model = content["data"]["application/vnd.jupyter.widget-view+json"]["model_id"]
    send_comm(kernel, "comm_msg", comm_id=model, data={"method": "update", "state": {"value": 8}, "buffer_paths": []})
    assert kernel.value("slider.value, seen") == "(8, [8])"


def test_output_widget_catches_prints(kernel):
    cell = kernel.good("import ipywidgets\nout = ipywidgets.Output()\nwith out:\n    print('inside')")
    states = [content["data"].get("state", {}) for content in cell.of("comm_msg")]
    # The front end does it, with what this request prints as long as its id stands there.
    request = cell.messages[0]["parent_header"]["msg_id"]
    assert [state["msg_id"] for state in states if "msg_id" in state] == [request, ""]


# The kernel that others build upon


IPYKERNEL = {
    "a notebook is told by the package's name, which loads nothing": (
        "import inspect, pickle, sys\nassert 'ipykernel' in sys.modules\n"
        "class Own: pass\ninspect.getmodule(Own)\nimport ipykernel\n"
        "assert not hasattr(ipykernel, '__file__') and 'ipykernel._version' not in sys.modules"
    ),
    "and by the environment and the command line": (
        "import os\nassert os.environ['JPY_PARENT_PID'] == '1'\nassert sys.argv == ['ipykernel_launcher.py']"
    ),
    "a notebook is told by the module's name": "import sys\nassert 'ipykernel.zmqshell' in sys.modules",
    "its class is that of the shell": (
        "from ipykernel.zmqshell import ZMQInteractiveShell\nassert isinstance(get_ipython(), ZMQInteractiveShell)"
    ),
    "the class of the streams is that of sys.stdout": (
        "from ipykernel.iostream import OutStream\nimport sys\n"
        "assert isinstance(sys.stdout, OutStream) and isinstance(sys.stderr, OutStream)\n"
        "assert 'ipykernel.iostream.OutStream' in str(sys.stdout)"
    ),
    "everything else is ipykernel's own": "from ipykernel.zmqshell import KernelMagics\nassert KernelMagics.__mro__",
    "the package can be imported": (
        "import ipykernel\nbefore = ipykernel\n"
        "assert ipykernel.__version__ and ipykernel.__file__ and ipykernel is before is sys.modules['ipykernel']\n"
        "import ipykernel.jsonutil\nassert ipykernel.jsonutil.json_clean"
    ),
    "its module zmqshell can be imported after it": (
        "import ipykernel.zmqshell as found\nassert found.ZMQDisplayPublisher and found.__file__\n"
        "assert ipykernel.zmqshell is found is sys.modules['ipykernel.zmqshell']\n"
        "assert isinstance(get_ipython(), found.ZMQInteractiveShell)"
    ),
    "its module iostream can be imported after it": (
        "from ipykernel import iostream\nassert iostream.IOPubThread and iostream.__file__\n"
        "assert isinstance(sys.stdout, iostream.OutStream)"
    ),
    "comm and kernelbase": "from ipykernel.comm import Comm, CommManager\nfrom ipykernel.kernelbase import Kernel",
    "its kernel has not been started": (
        "from ipykernel.kernelapp import IPKernelApp\nassert not IPKernelApp.initialized()"
    ),
}


def test_modules_of_ipykernel_can_be_imported_and_start_no_kernel(start):
    kernel = start()
    for what, code in IPYKERNEL.items():
        cell = kernel.run(code)
        assert cell.ok, f"{what}: {cell}"


def test_without_ipykernel_only_the_classes_in_use_can_be_imported(start, skip_or_fail, tmp_path):
    lacking = [python for python in INTERPRETERS if not python.has("ipykernel")]
    if not lacking:
        skip_or_fail("every Python of this machine has ipykernel")
    kernel = start(lacking[0])
    assert kernel.run("from ipykernel.zmqshell import ZMQInteractiveShell").ok
    assert kernel.run("from ipykernel.iostream import OutStream").ok
    assert kernel.run("from ipykernel.zmqshell import KernelMagics").ename == "ImportError"
    assert kernel.run("import ipykernel\nipykernel.__version__").ename == "AttributeError"
    assert kernel.run("import ipykernel.kernelbase").ename == "ModuleNotFoundError"
    assert kernel.run("from ipykernel import kernelbase").ename == "ImportError"
    # One that is broken says so as often as it is asked for.
    (tmp_path / "ipykernel").mkdir()
    (tmp_path / "ipykernel" / "__init__.py").write_text("raise RuntimeError('broken')\n")
    for _ in range(2):
        assert kernel.run("import ipykernel\nipykernel.__version__").ename == "RuntimeError"
    assert kernel.good("import sys\nsorted(name for name in sys.modules if name.startswith('ipykernel'))").result == (
        "['ipykernel', 'ipykernel.iostream', 'ipykernel.zmqshell']"
    )


# Within the limits of a cell, which are below those of other programs


MANY = {
    "a pool of processes": "with context.Pool(20) as pool: found = sum(pool.map(abs, range(-100, 0)))\nassert found == 5050",
    "a queue through which descriptors go": """
        def child(queue):
            connection = queue.get()
            connection.send("there")
            connection.close()
        queue, (ours, theirs) = context.Queue(), context.Pipe()
        process = context.Process(target=child, args=(queue,))
        process.start()
        queue.put(theirs)
        assert ours.recv() == "there"
        process.join()
    """,
    "a hundred descriptors in one message": """
        pair, numbers = socket.socketpair(), [os.open("/dev/null", os.O_RDONLY) for _ in range(100)]
        socket.send_fds(pair[0], [b"x"], numbers)
        received = socket.recv_fds(pair[1], 1, 200)[1]
        assert len(received) == 100
        for number in numbers + received: os.close(number)
    """,
    "an asyncio server with connections": """
        async def answer(reader, writer):
            writer.write(await reader.readline())
            writer.close()
        async def ask(port):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"hello\\n")
            line = await reader.readline()
            writer.close()
            return line
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        lines = await asyncio.gather(*[ask(server.sockets[0].getsockname()[1]) for _ in range(150)])
        server.close()
        assert lines == [b"hello\\n"] * 150
    """,
    "asyncio with child processes": """
        async def echo(n):
            process = await asyncio.create_subprocess_exec("echo", str(n), stdout=asyncio.subprocess.PIPE)
            return int((await process.communicate())[0])
        assert sum(await asyncio.gather(*[echo(n) for n in range(20)])) == 190
    """,
    "a file mapped and flushed": """
        mapped = numpy.memmap("/tmp/mapped", "float64", "w+", shape=1000)
        mapped[:] = 1
        mapped.flush()
        os.sync()
        assert numpy.fromfile("/tmp/mapped").sum() == 1000
    """,
    "joblib": "assert joblib.Parallel(n_jobs=2)(joblib.delayed(abs)(-n) for n in range(4)) == [0, 1, 2, 3]",
}


def test_honest_code_with_many_processes_and_descriptors_goes_well(start):
    kernel = start()
    kernel.good("import asyncio, joblib, multiprocessing, numpy, os, socket\ncontext = multiprocessing.get_context('fork')")
    for what, code in MANY.items():
        cell = kernel.run(textwrap.dedent(code))
        assert cell.ok, f"{what}: {cell}"
        assert cell.report["denied"] == [], what


# The cell's own namespace, by all its names: gRPC and the JVM write an IPv4 address as one of IPv6

REACH = """
import socket
servers = {}
for family, host in ((socket.AF_INET, '127.0.0.1'), (socket.AF_INET6, '::')):
    servers[family] = socket.create_server((host, 0), family=family, dualstack_ipv6=family == socket.AF_INET6)
def reach(call, host, to=socket.AF_INET6):
    address = host, servers[to].getsockname()[1]
    kind = socket.AF_INET6 if ':' in host else socket.AF_INET
    with socket.socket(kind, socket.SOCK_STREAM if call == 'connect' else socket.SOCK_DGRAM) as client:
        try:
            client.connect(address) if call == 'connect' else client.sendto(b'', address)
        except OSError as error:
            return error.strerror
"""
HERE = ("127.0.0.1", "127.8.9.1", "0.0.0.0", "::1", "::", "::ffff:127.0.0.1", "::ffff:127.8.9.1", "::ffff:0.0.0.0")
OUTSIDE = ("192.0.2.1", "::ffff:192.0.2.1", "2001:db8::1", "::192.0.2.1", "::ffff:128.0.0.1", "fe80::1")


@pytest.mark.parametrize("call", ["connect", "sendto"])
def test_all_names_of_the_loopback_are_reached_and_others_refused(start, call):
    kernel = start()
    kernel.good(REACH)
    here = kernel.run(f"{{reach({call!r}, host) for host in {HERE}}}, reach({call!r}, '::ffff:127.0.0.1', socket.AF_INET)")
    assert (here.result, here.report["denied"]) == ("({None}, None)", [])
    outside = kernel.run(f"{{reach({call!r}, host) for host in {OUTSIDE}}}")
    assert outside.result == "{'Network is unreachable'}"
    told = [(denied["syscall"], denied["detail"].split()[0]) for denied in outside.report["denied"]]
    assert sorted(told) == sorted((call, host) for host in OUTSIDE)
