"""
Rich output: what display(), the last expression of a cell and clear_output() publish.

See: Jupyter messaging, "display_data", "update_display_data", "execute_result", "clear_output".
"""

from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher


class PetriDisplayPublisher(DisplayPublisher):
    """display_pub of the shell; `shell.send(msg_type, content)` publishes."""

    def publish(self, data, metadata=None, source=None, *, transient=None, update=False, **kwargs):
        """Publishes a MIME bundle. TypeError where data is no dict, or has something that JSON has not."""
        self._validate_data(data, metadata)
        content = {"data": data, "metadata": metadata or {}, "transient": transient or {}}
        self.shell.send("update_display_data" if update else "display_data", content)

    def clear_output(self, wait=False):
        """Clears the cell's output, at once or (wait) when the next output comes."""
        self.shell.send("clear_output", {"wait": bool(wait)})


class PetriDisplayHook(DisplayHook):
    """sys.displayhook while a cell runs: one execute_result for each displayed expression."""

    _content = None

    @property
    def is_at_work(self):
        """True while an expression's value is being formatted: what fails then fails the cell."""
        return self._content is not None

    @property
    def prompt_count(self):
        """The number in Out[n]: that of the request, which IPython's own counter follows late or never."""
        return self.shell.request_count

    def forget(self):
        """A new cell: whatever has interrupted the formatting of the last one's value, it is over."""
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
