"""
What a message may weigh.

The kernel process refuses a frame over its cap and ends the cell that sent it.
What a cell sends in good faith is measured here first: a rich output that is
too large becomes a text that says so, and the cell goes on.

See: docs/worker-wire.md, "caps".
"""

_DISPLAYS = ("display_data", "update_display_data", "execute_result")
_TYPES_NAMED = 3


class TooLarge(ValueError):
    """A message is over its cap; `size` is its bytes."""

    def __init__(self, what, size, limit):
        super().__init__(f"petri: {what} of {size} bytes is over the limit of {limit} (display)")
        self.size = size


class Caps:
    """
    Of one request. frame: bytes of any frame; message: bytes of one that can't
    be replaced, such as a comm's; text: the limit of displays as people write it.
    """

    def __init__(self, given):
        self.frame = given.get("frame", float("inf"))
        self.message = given.get("message", float("inf"))
        self.text = given.get("text", "")

    def check(self, message, size):
        """TooLarge where a frame of so many bytes may not be sent."""
        is_comm = str(message.get("msg_type")).startswith("comm_")
        if size > (min(self.frame, self.message) if is_comm else self.frame):
            kind = message.get("msg_type") or message["type"]
            raise TooLarge(f"a {kind} message", size, self.text)

    def replacement(self, message, error):
        """What to send in the place of a message that is TooLarge; raises error where nothing can be."""
        if message.get("msg_type") not in _DISPLAYS:
            raise error
        types = list(message["content"].get("data") or {})
        named = [str(name)[:40] for name in types[:_TYPES_NAMED]] + ["..."] * (len(types) > _TYPES_NAMED)
        text = (
            f"petri: an output of {error.size} bytes ({', '.join(named)}) is not shown: "
            f"it is over the limit of {self.text} (display)."
        )
        return {**message, "content": {**message["content"], "data": {"text/plain": text}, "metadata": {}}}
