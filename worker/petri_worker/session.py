"""
What libraries know as the kernel's session, by which they send messages of
their own: jupyter_client shows the output of a kernel that a cell has started
so. There is one socket to send to, iopub, and its messages count as the cell's
own.
"""

import uuid


class KernelSession:
    """The part of jupyter_client's Session that sends; shell: its send() publishes."""

    def __init__(self, shell):
        self._shell = shell
        self.session = uuid.uuid4().hex
        self.iopub_socket = object()

    def msg(self, msg_type, content=None, parent=None, header=None, metadata=None):
        """A message as a dict, not sent."""
        own = {"msg_type": msg_type, "msg_id": uuid.uuid4().hex, "username": "kernel", "session": self.session}
        header = own if header is None else header
        parts = {"metadata": dict(metadata or {}), "content": {} if content is None else content}
        parent_header = (parent or {}).get("header", parent or {})
        return {
            "header": header,
            "msg_id": header["msg_id"],
            "msg_type": header["msg_type"],
            "parent_header": parent_header,
            **parts,
        }

    def send(self, stream, msg_or_type, content=None, parent=None, ident=None, buffers=None, track=False, **parts):
        """Publishes a message, made before by msg() or now. TypeError where the stream is not iopub_socket."""
        if stream is not self.iopub_socket:
            raise TypeError("a cell can only send to the kernel's iopub_socket")
        message = msg_or_type if isinstance(msg_or_type, dict) else self.msg(msg_or_type, content, parent, **parts)
        self._shell.send(message["header"]["msg_type"], message["content"], message["metadata"], buffers or ())
        return message
