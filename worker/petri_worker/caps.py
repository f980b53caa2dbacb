"""
The largest sizes of messages.

The kernel process refuses a frame over its cap and ends the cell that sent it.
Messages are measured here before they are sent: a rich output that is
too large becomes a text that says so, and the cell goes on.

See: docs/worker-wire.md, "caps".
"""

import re

_DISPLAYS = ("display_data", "update_display_data", "execute_result")
_TYPES_NAMED = 3
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)


class TooLarge(ValueError):
    """A message is over a cap; `size` and `limit` are words."""

    def __init__(self, what, size, limit):
        super().__init__(f"petri: {what} of {size} is over the limit of {limit}")
        self.size = size
        self.limit = limit


def _values(text):
    """How many values JSON text has, as the kernel process counts: members twice, arrays and objects four times."""
    return 1 + text.count(b",") + text.count(b":") + 4 * (text.count(b"[") + text.count(b"{"))


class Caps:
    """
    Of one request. frame: bytes of any frame; message: bytes of one that can't
    be replaced, such as a comm's; values: of any frame's JSON; text: the limit of
    displays as people write it.
    """

    def __init__(self, given):
        self.frame = given.get("frame", float("inf"))
        self.message = given.get("message", float("inf"))
        self.values = given.get("values", float("inf"))
        self.text = given.get("text", "")

    def check(self, message, text, size):
        """TooLarge where a frame of so many bytes, with this JSON text in it, may not be sent."""
        is_comm = str(message.get("msg_type")).startswith("comm_")
        kind = message.get("msg_type") or message["type"]
        if size > (min(self.frame, self.message) if is_comm else self.frame):
            raise TooLarge(f"a {kind} message", f"{size} bytes", f"{self.text} (display)")
        # Strings hold most of the commas there are, and looking for strings takes long.
        if _values(text) > self.values:
            values = _values(_STRING.sub(b"0", text))
            if values > self.values:
                raise TooLarge(f"a {kind} message", f"{values} JSON values", str(self.values))

    def replacement(self, message, error):
        """What to send instead of a message that is TooLarge; raises error where nothing can replace it."""
        if message.get("msg_type") not in _DISPLAYS:
            raise error
        types = list(message["content"].get("data") or {})
        named = [str(name)[:40] for name in types[:_TYPES_NAMED]] + ["..."] * (len(types) > _TYPES_NAMED)
        text = (
            f"petri: an output of {error.size} ({', '.join(named)}) is not shown: "
            f"it is over the limit of {error.limit}."
        )
        return {**message, "content": {**message["content"], "data": {"text/plain": text}, "metadata": {}}}
