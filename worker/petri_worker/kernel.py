"""What libraries know as `get_ipython().kernel`."""

import json
import logging

from petri_worker import hello


class KernelFace:
    """
    The few attributes that libraries use: ipywidgets' Output asks for the
    request's header, others look for `shell`, `comm_manager` or `session`.
    """

    implementation = "petri"
    language = "python"

    def __init__(self, shell, comm_manager):
        self.shell = shell
        self.comm_manager = comm_manager
        self.session = shell.display_pub.session
        self.iopub_socket = self.session.iopub_socket
        self._parent_header = {"header": {}}

    def begin(self, header):
        """header: the Jupyter header of the request that is being served, as far as it is known."""
        self._parent_header = {"header": header}

    def get_parent(self, channel=None):
        """The request that is being served, as ipykernel has it: {"header": …}."""
        return self._parent_header

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
