"""
Rich output: what display(), the last expression of a cell and clear_output()
publish.

See: Jupyter messaging, "display_data", "update_display_data", "execute_result",
"clear_output".
"""

import threading

from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher

from petri_worker.session import KernelSession


class PetriDisplayPublisher(DisplayPublisher):
    """
    display_pub of the shell; `shell.send(msg_type, content)` publishes.

    Libraries that catch output register hooks, each for the thread that it is
    in: a hook is given the message as a dict and returns it, changed or not, or
    None where it keeps it.
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self._of_thread = threading.local()
        self.session = KernelSession(self.shell)
        self.pub_socket = self.session.iopub_socket

    @property
    def parent_header(self):
        """The header of the request that is being served."""
        return self.shell.get_parent()["header"]

    def register_hook(self, hook):
        """From now on this thread's messages go through the hook, behind those that are there."""
        self._hooks().append(hook)

    def unregister_hook(self, hook):
        """Takes this thread's hook away again; False where there is none such."""
        try:
            self._hooks().remove(hook)
        except ValueError:
            return False
        return True

    def _hooks(self):
        return self._of_thread.__dict__.setdefault("hooks", [])

    def _send(self, msg_type, content):
        message = None
        for hook in list(self._hooks()):
            if message is None:
                message = {**self.session.msg(msg_type, content, self.shell.get_parent()), "buffers": []}
            message = hook(message)
            if message is None:
                return
        if message is None:
            self.shell.send(msg_type, content)
        else:
            header, metadata = message.get("header") or {}, message.get("metadata")
            self.shell.send(header.get("msg_type", msg_type), message["content"], metadata)

    def publish(self, data, metadata=None, source=None, *, transient=None, update=False, **kwargs):
        """Publishes a MIME bundle. TypeError where data is no dict, or has something that JSON has not."""
        self._validate_data(data, metadata)
        content = {"data": data, "metadata": metadata or {}, "transient": transient or {}}
        self._send("update_display_data" if update else "display_data", content)

    def clear_output(self, wait=False):
        """Clears the cell's output, at once or (wait) when the next output comes."""
        self._send("clear_output", {"wait": bool(wait)})


class PetriDisplayHook(DisplayHook):
    """sys.displayhook while a cell runs: one execute_result for each displayed expression."""

    _content = None

    @property
    def is_at_work(self):
        """True while an expression's value is being formatted: what fails then fails the cell."""
        return self._content is not None

    @property
    def prompt_count(self):
        """The number in Out[n]: that of the request, for IPython's own counter may be behind."""
        return self.shell.request_count

    def forget(self):
        """A new cell: formatting the last one's value is over, even if it was interrupted."""
        self._content = None

    def start_displayhook(self):
        self._is_active = True

    def write_output_prompt(self):
        self._content = {"execution_count": self.prompt_count, "data": {}, "metadata": {}}

    def write_format_data(self, format_dict, md_dict=None):
        self._content["data"] = format_dict
        self._content["metadata"] = md_dict or {}

    def finish_displayhook(self):
        self._is_active = False
        content, self._content = self._content, None
        if content is not None and content["data"]:
            self.shell.send("execute_result", content)
