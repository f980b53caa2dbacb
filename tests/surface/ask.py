"""A kernel under test: any that has a kernelspec, spoken to through jupyter_client."""

import dataclasses
import os
import queue
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "e2e"))

import zmq  # noqa: E402
from jupyter_client.kernelspec import KernelSpecManager  # noqa: E402
from jupyter_client.manager import KernelManager  # noqa: E402

# Of a kernel that may have no answer at all. docs/protocol.md says so.
WAIT_S = 10
# What is answered where the time to find an answer was not enough, as on a busy machine.
NOTHING = {
    "complete_request": {"matches": []},
    "inspect_request": {"found": False},
    "is_complete_request": {"status": "unknown"},
}
# Not a measure of anything: how long a start may take before a kernel counts as stuck.
START_S = 120


@dataclasses.dataclass
class Answer:
    """What came back for one request."""

    reply: dict  # the whole message; {} where there was none
    messages: list  # on iopub, with the request as their parent

    @property
    def content(self):
        return self.reply.get("content", {})

    def of(self, msg_type):
        return [message["content"] for message in self.messages if message["msg_type"] == msg_type]

    def stream(self, name):
        return "".join(content["text"] for content in self.of("stream") if content["name"] == name)

    @property
    def states(self):
        return [content["execution_state"] for content in self.of("status")]


class Asked:
    """
    A kernel and one client of it. wait_s: how long an answer may take.

    kernel_dirs: where kernelspecs are looked for; None for Jupyter's own folders.
    """

    def __init__(self, name, wait_s=WAIT_S, kernel_dirs=None):
        self.name, self.wait_s, self.kernel_dirs = name, wait_s, kernel_dirs
        self.folder = tempfile.TemporaryDirectory()
        self.data = tempfile.TemporaryDirectory()
        self.manager = self.client = None
        self.replies, self.published = {}, {}
        self.start()

    def new_manager(self, **options):
        specs = {} if self.kernel_dirs is None else {"kernel_dirs": self.kernel_dirs, "ensure_native_kernel": False}
        return KernelManager(kernel_name=self.name, kernel_spec_manager=KernelSpecManager(**specs), **options)

    def start(self, **options):
        """Starts the kernel; what it keeps between sessions it keeps where nothing of the user's is."""
        self.manager = self.new_manager(**options)
        home = self.data.name
        places = {"XDG_DATA_HOME": home, "IPYTHONDIR": home, "JUPYTER_RUNTIME_DIR": home}
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.manager.start_kernel(cwd=self.folder.name, env={**os.environ, **places}, **quiet)
        self.client = self.manager.blocking_client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=START_S)
        # The first completion loads jedi: that is its own matter, and no reason for a "no".
        self.reply(self.send("complete_request", {"code": "impor", "cursor_pos": 5}), wait_s=START_S)

    def stop(self):
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)
        self.manager.cleanup_resources()
        self.replies, self.published = {}, {}

    def renew(self, **options):
        """The same kernel, started anew."""
        self.stop()
        self.start(**options)

    def close(self):
        self.stop()
        self.folder.cleanup()
        self.data.cleanup()

    # Asking

    def send(self, msg_type, content=None, channel="shell", buffers=None):
        """Sends a request; returns its id."""
        message = self.client.session.msg(msg_type, content or {})
        self.client.session.send(self.channel(channel).socket, message, buffers=buffers)
        return message["header"]["msg_id"]

    def channel(self, name):
        return getattr(self.client, f"{name}_channel")

    def reply(self, request, channel="shell", wait_s=None):
        """The reply to a request; queue.Empty where none comes in time."""
        end = time.monotonic() + (self.wait_s if wait_s is None else wait_s)
        while request not in self.replies:
            left = end - time.monotonic()
            if left <= 0:
                raise queue.Empty
            message = self.channel(channel).get_msg(timeout=left)
            self.replies[message["parent_header"].get("msg_id")] = message
        return self.replies.pop(request)

    def until_idle(self, request):
        """The iopub messages of a request up to its idle status; those of others are kept for their turn."""
        end = time.monotonic() + self.wait_s
        messages = self.published.setdefault(request, [])
        while not messages or messages[-1]["content"].get("execution_state") != "idle":
            message = self.client.get_iopub_msg(timeout=max(0, end - time.monotonic()))
            self.published.setdefault(message["parent_header"].get("msg_id"), []).append(message)
        return self.published.pop(request)

    def ask(self, msg_type, content=None, channel="shell", replied=True):
        """A request, its reply and its messages."""
        request = self.send(msg_type, content, channel)
        reply = self.reply(request, channel) if replied else {}
        return Answer(reply, self.until_idle(request))

    def known(self, msg_type, content=None, channel="shell"):
        """The reply to a request; where that is NOTHING, to the same once more, as long as an answer may take."""
        nothing = NOTHING.get(msg_type)
        end = time.monotonic() + self.wait_s
        while True:
            reply = self.reply(self.send(msg_type, content, channel), channel)
            if nothing is None or reply["content"] != {**reply["content"], **nothing} or time.monotonic() >= end:
                return reply

    def run(self, code, **fields):
        """Runs code; returns its Answer."""
        fields = {"silent": False, "store_history": True, "user_expressions": {}, "allow_stdin": False, **fields}
        return self.ask("execute_request", {"code": code, **fields})

    def value(self, code):
        """The text of the code's value."""
        [content] = self.run(code).of("execute_result")
        return content["data"]["text/plain"]

    def start_busy(self, code):
        """Starts a cell; returns its request when it has printed a line and its code is about to run."""
        code = f"print('started', flush=True)\n{code}"
        request = self.send("execute_request", {"code": code, "silent": False})
        while self.client.get_iopub_msg(timeout=self.wait_s)["msg_type"] != "stream":
            pass
        return request

    def start_waiting(self):
        """Starts a cell that runs until finish_waiting(); returns its request."""
        content = {"code": "input('')", "silent": False, "allow_stdin": True}
        request = self.send("execute_request", content)
        self.client.get_stdin_msg(timeout=self.wait_s)
        return request

    def finish_waiting(self, request):
        self.client.input("")
        self.reply(request)
        self.until_idle(request)

    def beside(self, msg_type, content=None, channel="shell"):
        """The reply to a request that is sent while a cell runs; AssertionError where the cell's own comes first."""
        waiting = self.start_waiting()
        try:
            # A kernel that does one thing after the other has no answer before the cell's end.
            return self.known(msg_type, content, channel)
        except queue.Empty:
            raise AssertionError("no reply while a cell runs") from None
        finally:
            self.finish_waiting(waiting)

    def raw_socket(self, channel, kind=zmq.DEALER):
        """A socket of our own beside the client's."""
        info = self.client.get_connection_info()
        socket = self.client.context.socket(kind)
        socket.linger = 0
        socket.connect(f"tcp://{info['ip']}:{info[channel + '_port']}")
        return socket
