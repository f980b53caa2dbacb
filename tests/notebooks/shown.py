"""What a user sees of a notebook that is run: cell by cell, as plain values that can be compared."""

import hashlib
import pathlib
import shutil
import subprocess
import sys
import time

import nbformat
from IPython.utils.path import compress_user

from kernels import STUCK_S, Kernel, is_idle
from rules import COLOURS, without_chance

# In the order in which they are compared; docs/fidelity.md or chance is the only excuse for one that differs.
FIELDS = ("status", "errors", "replied", "execution_count", "payload", "stdout", "stderr", "outputs", "widgets")

# Beyond it a text's hash stands for it: pictures, scripts of plotting libraries.
LONG = 20_000

OUTPUTS = ("execute_result", "display_data", "update_display_data")

# Written behind what a cell's children have printed, and taken out of what is shown.
MARK = "(all that the cell's children have printed)"

SKIPPED = "skip-execution"  # the tag by which nbclient leaves a cell out


def code_cells(path):
    """{number of the cell in the notebook, from 0: code} of those that are run."""
    cells = nbformat.read(path, as_version=4).cells
    run = (cell.cell_type == "code" and cell.source.strip() for cell in cells)
    return {
        number: cell.source
        for number, (cell, is_run) in enumerate(zip(cells, run, strict=True))
        if is_run and SKIPPED not in cell.metadata.get("tags", [])
    }


def shortened(text):
    if not isinstance(text, str) or len(text) <= LONG:
        return text
    return f"{len(text)} characters, {hashlib.sha256(text.encode()).hexdigest()[:16]}"


def output(message):
    """What one message shows, where it does."""
    content, kind = message["content"], message["msg_type"]
    if kind == "clear_output":
        return {"type": kind, "wait": content["wait"]}
    if kind not in OUTPUTS:
        return None
    shown = {"type": kind, "data": content["data"], "metadata": content["metadata"]}
    if kind == "execute_result":
        shown["execution_count"] = content["execution_count"]
    if name := content.get("transient", {}).get("display_id"):
        shown["display_id"] = name
    return shown


def widgets(messages):
    """Each comm that the cell opened or changed: its target, and its state in the end."""
    states, targets = {}, {}
    for message in messages:
        content, kind = message["content"], message["msg_type"]
        if kind not in ("comm_open", "comm_msg", "comm_close"):
            continue
        comm = content["comm_id"]
        targets.setdefault(comm, content.get("target_name", "an earlier one"))
        state = content.get("data", {}).get("state", {})
        states.setdefault(comm, {}).update(state if isinstance(state, dict) else {})
    return [{"target": targets[comm], "state": states[comm]} for comm in targets]


def stream(messages, name):
    contents = (message["content"] for message in messages if message["msg_type"] == "stream")
    return "".join(content["text"] for content in contents if content["name"] == name)


def error(content):
    """An error as it is shown, or as a reply has it; None for the reply of a cell that went well."""
    if "ename" not in content:
        return None
    traceback = COLOURS.sub("", "\n".join(content["traceback"]))
    return {"ename": content["ename"], "evalue": COLOURS.sub("", content["evalue"]), "traceback": traceback}


def cell_shows(reply, messages, places):
    """{field: value} of a cell, given its reply's content and all its messages."""
    errors = [error(message["content"]) for message in messages if message["msg_type"] == "error"]
    shown = {
        "status": reply["status"],
        "errors": errors,
        "replied": "the last one" if errors and error(reply) == errors[-1] else error(reply),
        "execution_count": reply.get("execution_count"),
        "payload": reply.get("payload", []),
        "stdout": stream(messages, "stdout").replace(MARK, ""),
        "stderr": stream(messages, "stderr").replace(MARK, ""),
        "outputs": [shown for message in messages if (shown := output(message))],
        "widgets": widgets(messages),
    }
    return shorten_all(without_chance(shown, places))


def shorten_all(value):
    if isinstance(value, list):
        return [shorten_all(item) for item in value]
    if isinstance(value, dict):
        return {key: shorten_all(item) for key, item in value.items()}
    return shortened(value)


def take(kernel, request, messages):
    """Messages until the request is done, each to those of its request, or of the last cell where that is no cell."""
    last = next(reversed(messages))
    while True:
        message = kernel.client.get_iopub_msg(timeout=STUCK_S)
        parent = message["parent_header"].get("msg_id")
        messages[parent if parent in messages else last].append(message)
        if is_idle(message) and parent == request:
            return kernel.shell_reply(request)["content"]


def take_what_children_print(kernel, messages):
    """
    Takes what the last cell's children have printed, where ipykernel has not read it when the cell is over.

    It reads that from a pipe, in a thread, and sends it as a part of whatever runs by then. A mark behind it in the
    pipe shows that it has been read. Any request makes ipykernel send what it has; this one changes nothing else.
    """
    for name, descriptor in (("stdout", "1"), ("stderr", "2")):
        pathlib.Path("/proc", str(kernel.pid), "fd", descriptor).write_text(MARK, encoding="utf-8")
        while MARK not in stream(messages[next(reversed(messages))], name):
            take(kernel, kernel.client.comm_info(), messages)


def run_cells(kernel, cells):
    """Runs the cells, whatever comes of them; {number: (reply's content, messages)}, late messages with their cell."""
    requests, messages, replies = {}, {}, {}
    for number, code in cells.items():
        requests[number] = request = kernel.send(code)
        messages[request] = []
        replies[number] = take(kernel, request, messages)
        if kernel.manager.kernel_name != "petri":
            take_what_children_print(kernel, messages)
    return {number: (replies[number], messages[request]) for number, request in requests.items()}


def places_of(folder):
    """What lies elsewhere on another machine, longest first."""
    places = {str(folder): "(folder)"}
    for path, name in ((sys.prefix, "(environment)"), (sys.base_prefix, "(Python)")):
        # IPython shortens what lies below the home, which for cells of petri is another one.
        places |= {path: name, compress_user(path): name}
    return dict(sorted(places.items(), key=lambda place: -len(place[0])))


def lay_out(folder, files):
    """Makes the folder anew, with copies of the files; files: {path in it: source}."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, source in files.items():
        target = pathlib.Path(folder, name)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)


def notebook_shows(kernel_dir, name, path, files, folder):
    """
    Runs the notebook at path with a fresh kernel of that name in the folder, which is made anew.

    Returns {cell: {field: value}} and how many seconds it took.
    """
    lay_out(folder, files)
    began = time.monotonic()
    kernel = Kernel(kernel_dir, folder, name, stderr=subprocess.DEVNULL)
    try:
        done = run_cells(kernel.wait_until_up(), code_cells(path))
    finally:
        kernel.close()
    places = places_of(folder)
    shown = {number: cell_shows(reply, messages, places) for number, (reply, messages) in done.items()}
    return shown, time.monotonic() - began
