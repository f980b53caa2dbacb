"""Kernels as other people's clients see them: started, spoken to and measured through jupyter_client."""

import dataclasses
import os
import pathlib
import queue
import shutil
import subprocess
import sys
import time

from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import KernelManager

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("PETRI_BUILD", ROOT / "build"))
PETRI = BUILD / "petri"

# Where cells see the notebook's folder beside its own path: a name of the contract's, in the sandbox.
WORK = "/work"

# Not a measure of anything: how long to wait before a kernel counts as stuck.
STUCK_S = float(os.environ.get("PETRI_STUCK_S", 120))


def wait_for(condition):
    """What condition() is once it is true: what a kernel does beside its answers it does in its own time."""
    deadline = time.monotonic() + STUCK_S
    while not (found := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return found


@dataclasses.dataclass(frozen=True)
class Interpreter:
    """A Python that petri is installed for: by the name its user would type."""

    label: str
    path: str

    def has(self, module):
        code = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({module!r}) is None)"
        return subprocess.run([self.path, "-c", code], check=False).returncode == 0


def real_executable(path):
    """The interpreter behind a name, which may be a link or a script that starts another one."""
    code = "import sys; print(sys.executable)"
    return subprocess.run([path, "-c", code], check=True, capture_output=True, text=True).stdout.strip()


def first_on_path():
    """The first python3 on the path that is not the environment of these tests."""
    here = os.path.dirname(sys.executable)
    path = os.pathsep.join(folder for folder in os.get_exec_path() if folder != here)
    return shutil.which("python3", path=path)


def interpreters():
    """The environment of these tests, the system's python3 and the first on the path, each once."""
    found = [Interpreter("venv", sys.executable)]
    seen = {sys.executable}
    for label, path in [("system", "/usr/bin/python3"), ("path", first_on_path())]:
        if path and os.path.exists(path) and real_executable(path) not in seen:
            seen.add(real_executable(path))
            found.append(Interpreter(label, path))
    return found


def install(prefix, python, program=PETRI):
    """Installs petri's kernelspecs below prefix; returns the folder that holds them."""
    subprocess.run([program, "install", "--prefix", prefix, "--python", python], check=True)
    return pathlib.Path(prefix) / "share" / "jupyter" / "kernels"


@dataclasses.dataclass
class Cell:
    """What came back for one request."""

    reply: dict  # content of the reply
    messages: list  # every iopub message with the request as its parent, in order
    report: dict | None = None  # the run report

    def of(self, msg_type):
        return [message["content"] for message in self.messages if message["msg_type"] == msg_type]

    def stream(self, name):
        return "".join(content["text"] for content in self.of("stream") if content["name"] == name)

    @property
    def stdout(self):
        return self.stream("stdout")

    @property
    def stderr(self):
        return self.stream("stderr")

    @property
    def result(self):
        """The text of the cell's value, or None."""
        results = self.of("execute_result")
        return results[0]["data"]["text/plain"] if results else None

    @property
    def ok(self):
        return self.reply["status"] == "ok"

    @property
    def ename(self):
        return self.reply.get("ename")

    def __str__(self):
        lines = [str(self.reply.get("evalue", "")), *self.reply.get("traceback", [])]
        return "\n".join([*lines, self.stdout, self.stderr])


class Kernel:
    """A running kernel and one client of it."""

    def __init__(self, kernel_dir, folder, name="petri", interpreter=None, stderr=None, **manager):
        specs = KernelSpecManager(kernel_dirs=[str(kernel_dir)], ensure_native_kernel=False)
        self.interpreter = interpreter
        self.folder = pathlib.Path(folder)
        self.replies = {}
        self.manager = KernelManager(kernel_name=name, kernel_spec_manager=specs, **manager)
        self.manager.start_kernel(cwd=str(folder), **({} if stderr is None else {"stderr": stderr}))
        self.client = self.manager.blocking_client()
        self.client.start_channels()

    @property
    def pid(self):
        """The process that Jupyter knows."""
        return self.manager.provisioner.process.pid

    def wait_until_up(self):
        self.client.wait_for_ready(timeout=STUCK_S)
        return self

    def close(self):
        self.client.stop_channels()
        if self.manager.is_alive():
            self.manager.shutdown_kernel(now=True)
        self.manager.cleanup_resources()

    def send(self, code, **options):
        """Sends code and does not wait; returns the request's id."""
        options.setdefault("allow_stdin", False)
        return self.client.execute(code, **options)

    def iopub_until(self, request, last):
        """Messages of one request up to the first for which last(message) holds."""
        messages = []
        while not messages or not last(messages[-1]):
            message = self.client.get_iopub_msg(timeout=STUCK_S)
            if message["parent_header"].get("msg_id") == request:
                messages.append(message)
        return messages

    def all_until_idle(self, request):
        """Messages of all requests up to the idle status of this one, whose reply is taken too."""
        messages = []
        while not messages or not (is_idle(messages[-1]) and messages[-1]["parent_header"].get("msg_id") == request):
            messages.append(self.client.get_iopub_msg(timeout=STUCK_S))
        self.shell_reply(request)
        return messages

    def shell_reply(self, request):
        """The reply to a request; replies to others that come first are kept for their turn."""
        while request not in self.replies:
            message = self.client.get_shell_msg(timeout=STUCK_S)
            self.replies[message["parent_header"].get("msg_id")] = message
        return self.replies.pop(request)

    def finish(self, request, earlier=()):
        """Waits for the idle status and the reply of a request; earlier: messages already taken."""
        messages = self.iopub_until(request, is_idle)
        reply = self.shell_reply(request)
        return Cell(reply["content"], [*earlier, *messages], reply["metadata"].get("petri"))

    def run(self, code, **options):
        """Runs code; returns its Cell."""
        return self.finish(self.send(code, **options))

    def send_asking(self, code, petri, **content):
        """Sends code with `petri` as the request's metadata.petri and does not wait; returns the request's id."""
        content = {"code": code, "silent": False, "store_history": True, "allow_stdin": False, **content}
        message = self.client.session.msg("execute_request", content, metadata={"petri": petri})
        self.client.shell_channel.send(message)
        return message["header"]["msg_id"]

    def ask(self, code, petri, **content):
        """The same, to its end; returns its Cell."""
        return self.finish(self.send_asking(code, petri, **content))

    def good(self, code, **options):
        """Runs code that has to go well; returns its Cell."""
        cell = self.run(code, **options)
        assert cell.ok, f"{code}\n{cell}"
        return cell

    def value(self, code):
        """Runs code that has to go well; returns the text of its value."""
        return self.good(code).result

    def known(self, ask, **nothing):
        """The reply to what ask() sends, again as long as it is what a kernel says that had no time to look."""
        deadline = time.monotonic() + STUCK_S
        while True:
            content = self.shell_reply(ask())["content"]
            if {**content, **nothing} != content or time.monotonic() > deadline:
                return content

    def is_complete(self, code):
        return self.known(lambda: self.client.is_complete(code), status="unknown")["status"]

    def matches(self, code, cursor=None):
        """The completions of code that has some."""
        return self.known(lambda: self.client.complete(code, cursor), matches=[])["matches"]

    def inspected(self, code, cursor=None):
        """What the kernel says of code about which there is something to say."""
        return self.known(lambda: self.client.inspect(code, cursor), found=False)

    def start_busy(self, code, before=""):
        """Starts a cell; returns its request and messages when all of before has run and code is about to."""
        request = self.send(f"{before}\nprint('started', flush=True)\n{code}")
        messages = self.iopub_until(request, lambda message: message["msg_type"] == "stream")
        return request, messages

    def interrupted_at(self, path, request, messages=()):
        """
        The Cell of a request that is interrupted as soon as a path is there. On a busy machine that may be too late: then
        its report has no trace of it, and the caller has to begin again.
        """
        while not path.exists() and not self.has_reply(request):
            time.sleep(0.001)
        assert self.control("interrupt_request")["status"] == "ok"
        return self.finish(request, messages)

    def control(self, msg_type, content=None):
        """A request on the control channel; returns the reply's content."""
        message = self.client.session.msg(msg_type, content or {})
        self.client.control_channel.send(message)
        while True:
            reply = self.client.get_control_msg(timeout=STUCK_S)
            if reply["parent_header"].get("msg_id") == message["header"]["msg_id"]:
                return reply["content"]

    def has_reply(self, request):
        """Whether the reply to a request has arrived on the shell channel."""
        while True:
            try:
                message = self.client.get_shell_msg(timeout=0)
            except queue.Empty:
                return request in self.replies
            self.replies[message["parent_header"].get("msg_id")] = message


def with_its_stack(run, lacks):
    """What run() returns; run five times at most while lacks(it): a cell over a limit that doesn't say where it was.

    petri waits for the stack only so long that its reply is in time, which on a busy machine is not enough every time.
    """
    for _ in range(4):
        found = run()
        if not lacks(found):
            return found
    return run()


def lacks_its_line(cell):
    """Whether a cell over a limit doesn't say where it was. One that has crashed tells that itself, every time."""
    return cell.report["outcome"] in ("timeout", "cpu", "memory") and "line" not in cell.report["error"]


def is_idle(message):
    return message["msg_type"] == "status" and message["content"]["execution_state"] == "idle"


def printed_by(messages, request):
    """What a request has printed, by messages of several."""
    streams = [message for message in messages if message["msg_type"] == "stream"]
    return "".join(one["content"]["text"] for one in streams if one["parent_header"]["msg_id"] == request)
