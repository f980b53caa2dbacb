"""What libraries know as `get_ipython().kernel`."""

import json
import logging

from petri_worker import hello


_OUTSIDE = (
    "petri's kernel has no {!r} in a cell: its sockets, threads and event loop are outside of the sandbox. What is there: "
    "send_response() and session.send() publish, comm_manager has comms, asyncio.get_running_loop() is the cell's loop"
)


class KernelFace:
    """
    The few attributes that libraries use: ipywidgets' Output asks for the
    request's header, others look for `shell`, `comm_manager` or `session`.
    What else ipykernel has is not there, and an AttributeError says so.
    """

    implementation = "petri"
    language = "python"
    eventloop = None  # of a graphical toolkit

    def __init__(self, shell, comm_manager):
        self.shell = shell
        self.comm_manager = comm_manager
        self.session = shell.display_pub.session
        self.iopub_socket = self.session.iopub_socket
        self.begin({})

    def begin(self, header):
        """header: the Jupyter header of the request that is being served, as far as it is known."""
        self._parent_header = self.shell.origin.parent(header)

    def get_parent(self, channel=None):
        """The request that is being served, as ipykernel has it: {"header": …}."""
        return self._parent_header

    def set_parent(self, ident=None, parent=None, channel=None):
        """Nothing to do: the kernel process knows which request is running."""

    def send_response(
        self,
        stream,
        msg_or_type,
        content=None,
        ident=None,
        buffers=None,
        track=False,
        header=None,
        metadata=None,
        channel=None,
    ):
        """Publishes a message of the request that is being served, as ipykernel's. TypeError where stream is another."""
        parent = self.get_parent(channel)
        parts = {"header": header, "metadata": metadata}
        return self.session.send(stream, msg_or_type, content, parent, ident, buffers, track, **parts)

    def raw_input(self, prompt=""):
        """input()."""
        return self.shell.raw_input(prompt)

    def getpass(self, prompt="", stream=None):
        """getpass.getpass()."""
        return self.shell.getpass(prompt, stream)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(_OUTSIDE.format(name))

    @property
    def language_info(self):
        """As in the kernel_info_reply."""
        return json.loads(hello.text())["language_info"]

    @property
    def banner(self):
        """As in the kernel_info_reply."""
        return json.loads(hello.text())["banner"]

    @property
    def execution_count(self):
        """The number of the running cell, as the shell has it."""
        return self.shell.execution_count

    @property
    def user_ns(self):
        """The names that cells see."""
        return self.shell.user_ns

    @property
    def log(self):
        """A logger; what it says goes where Python's logging is told to."""
        return logging.getLogger("petri")
