"""The worker's life: start, warm up, `ready`, then one request after the other."""

import gc
import os
import sys

from petri_worker.packages import add_folder, find_packages, import_ipython, look_anew
from petri_worker.signals import Signals, install_trace
from petri_worker.waits import Waits

find_packages()
_signals = Signals()
Waits(_signals).install()
import_ipython()

from petri_worker import checks, comms, debugger, forked, introspect, leftovers, names, stand_in, warm  # noqa: E402
from petri_worker.errors import describe  # noqa: E402
from petri_worker.execute import Executor  # noqa: E402
from petri_worker.given import given  # noqa: E402
from petri_worker.kernel import KernelFace  # noqa: E402
from petri_worker.loop import CellLoop  # noqa: E402
from petri_worker.origin import Origin  # noqa: E402
from petri_worker.shell import ZMQInteractiveShell  # noqa: E402
from petri_worker.streams import OutStream, Streams  # noqa: E402
from petri_worker.wire import Channel, WireClosed  # noqa: E402


_VALUE_CHARACTERS = 1 << 17  # of a variable: Linux gives programs no longer one


class Worker:
    """Everything, wired together."""

    def __init__(self):
        self.signals = _signals
        self.signals.install()
        self.channel = Channel(self.signals)
        self.origin = Origin()
        self.streams = Streams(self.channel, self.origin, self.publish, self.signals.held)
        self.shell = ZMQInteractiveShell.instance()
        self.shell.send = self.publish
        self.shell.ask = self.ask
        self.shell.tell_variable = self.tell_variable
        self.shell.end_child = self.end_child
        self.shell.code_begins = self.signals.code_begins
        self.comm_manager = comms.install(self.publish)
        self.shell.origin = self.origin
        self.shell.kernel = KernelFace(self.shell, self.comm_manager)
        stand_in.install(ZMQInteractiveShell, OutStream)
        self.loop = CellLoop(self.shell)
        self.executor = Executor(self.shell, self.loop)
        self.handlers = {
            "execute": self._execute,
            "is_complete": lambda request, buffers: self._introspect(introspect.is_complete, request),
            "complete": lambda request, buffers: self._look(introspect.complete, request),
            "inspect": lambda request, buffers: self._look(introspect.inspect, request),
            "names": lambda request, buffers: self._introspect(names.list_names, request),
            "check": lambda request, buffers: checks.check(request),
            "comm": self._comm,
            "warm": lambda request, buffers: warm.idle(self.shell, request),
        }

    def publish(self, msg_type, content, metadata=None, buffers=(), parent=None):
        """
        Sends a message for iopub, in order with what was printed; `parent` is its cell where not the running one.
        In a forked child an error is written as a script writes it, and nothing else is sent.
        """
        self.streams.flush()
        if self.channel.in_child():
            if msg_type == "error":
                print("\n".join(content["traceback"]), file=sys.stderr)
            return
        message = {"type": "publish", "msg_type": msg_type, "content": content, "metadata": metadata or {}}
        cell = self.origin.earlier() if parent is None else parent
        if cell is not None:
            message["parent"] = cell
        self.channel.exchange(message, buffers)
        self.streams.last = None

    def ask(self, prompt, password):
        """Asks the front end and returns the answer."""
        self.streams.flush()
        return self.channel.ask(prompt, password)

    def tell_variable(self, name, value):
        """Says which value an environment variable is about to get: the kernel process stores it nowhere."""
        if not self.channel.in_child():
            self.channel.send({"type": "variable", "name": name, "value": value[:_VALUE_CHARACTERS]})

    def end_child(self, error=None):
        """Where this is a child of a cell that has forked, ends it: only the parent serves the notebook."""
        if not self.channel.in_child():
            return
        if not (error is None or isinstance(error, SystemExit) or self.shell.has_shown(error)):
            self.publish("error", describe(error))  # what shows it in its place may have displayed it, which no child does
        forked.end(error, self.streams.flush_all)

    def serve(self):
        """Serves requests until the kernel process closes the socket."""
        try:
            while True:
                self._serve(*self.channel.next_request())
        except WireClosed:
            return

    def _serve(self, request, buffers):
        # The user's code may raise anything, and its reply may be too large for the wire: one `done` is sent in any
        # case.
        reply = None
        while self.channel.busy:
            try:
                if reply is None:
                    self._begin(request)
                    kind = request["type"]
                    reply = self.signals.call(self.handlers[kind], request, buffers, has_code=kind == "execute")
                with self.signals.held:
                    self._end(reply)
            except WireClosed:
                raise
            except BaseException as error:
                self.end_child(error)
                reply = {"status": "error", **describe(error)}

    def _begin(self, request):
        # In the context of our own code, and in that of the user's.
        self.origin.begin(request.get("cell"))
        self.loop.call(self.origin.begin, request.get("cell"))
        self.streams.begin()
        look_anew()
        self.shell.kernel.begin(request.get("header") or {})

    def _end(self, reply):
        self.end_child()
        self.streams.end()
        self.channel.done(reply)

    def _execute(self, request, buffers):
        try:
            return self.executor.execute(request)
        finally:
            self.loop.call(leftovers.end)

    def _introspect(self, function, request):
        return self.loop.call(function, self.shell, request)

    def _look(self, function, request):
        gc.disable()  # a collection writes to each object: each look would copy the whole session's anew
        # Objects of the user's may never answer: after this frame the time counts as theirs.
        self.loop.call(introspect.prepare, self.shell)
        self.channel.exchange({"type": "sync"})
        return self._introspect(function, request)

    def _comm(self, request, buffers):
        self.shell.allow_stdin = False  # the message of a widget: there is no request whose client could be asked
        self.shell.has_stdin = request.get("stdin") is not None
        with given(request.get("stdin"), request.get("env")):
            reply = self.loop.run(self._handle_comm(request, buffers))
        self.loop.call(leftovers.end)
        return reply

    async def _handle_comm(self, request, buffers):
        message = {
            "header": {**(request.get("header") or {}), "msg_type": request["msg_type"]},
            "content": request["content"],
            "metadata": request.get("metadata") or {},
            "buffers": buffers,
        }
        getattr(self.comm_manager, request["msg_type"])(None, None, message)
        return {"status": "ok"}


def main():
    """Runs the worker until its socket is closed."""
    # By this name libraries tell a notebook from a script, and argparse shows it in its usage. There are no options.
    sys.argv = ["ipykernel_launcher.py"]
    os.environ.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    if "PETRI_TRACE_FD" in os.environ:
        install_trace(int(os.environ["PETRI_TRACE_FD"]))
    worker = Worker()
    warm.start(worker.shell, worker.executor)
    debugger.install()
    leftovers.install()
    worker.streams.install()
    add_folder()
    gc.collect()
    gc.freeze()
    worker.channel.send({"type": "ready"})
    worker.serve()
