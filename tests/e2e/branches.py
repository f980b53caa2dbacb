"""Requests that are under way at once: their messages told apart by the parent header, and questions answered by it."""

from kernels import STUCK_S, Cell, is_idle


def begin(kernel, code, **petri):
    """Sends code that may ask; returns its request. With "from" and "commit" it is a branch, without them the session's."""
    return kernel.send_asking(code, petri, allow_stdin=True)


def parent(message):
    return message["parent_header"].get("msg_id")


def wait_for_prints(kernel, *requests):
    """All messages until each of the requests has printed something."""
    messages, silent = [], set(requests)
    while silent:
        messages.append(kernel.client.get_iopub_msg(timeout=STUCK_S))
        if messages[-1]["msg_type"] == "stream":
            silent.discard(parent(messages[-1]))
    return messages


def answer_next(kernel, value, meanwhile=lambda: None):
    """Answers the next question, and that one alone, after meanwhile(); returns the request that has asked it."""
    asked = kernel.client.get_stdin_msg(timeout=STUCK_S)
    meanwhile()
    reply = kernel.client.session.msg("input_reply", {"value": value}, parent=asked)
    kernel.client.stdin_channel.send(reply)
    return parent(asked)


def finish(kernel, messages, *requests):
    """The cells of requests that end in any order; messages: what has come of them so far."""
    ended = {parent(message) for message in messages if is_idle(message)}
    while not ended.issuperset(requests):
        messages.append(kernel.client.get_iopub_msg(timeout=STUCK_S))
        if is_idle(messages[-1]):
            ended.add(parent(messages[-1]))
    cells = []
    for request in requests:
        reply = kernel.shell_reply(request)
        own = [message for message in messages if parent(message) == request]
        cells.append(Cell(reply["content"], own, reply["metadata"].get("petri")))
    return cells


def timeline(kernel):
    return kernel.control("petri_timeline_request")


def state_of(kernel, image):
    """Its row of the timeline; None where it is in none."""
    return next((one for one in timeline(kernel)["images"] if one["image"] == image), None)
