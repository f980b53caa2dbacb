"""Messages that are too large: what a cell sends in good faith is replaced or refused, and the cell goes on."""

import pytest

from kernels import printed_by

# Of the profile; one rich output. A frame on the worker's wire may have twice as much, and 64 MiB at least.
DISPLAY = 16 << 20
OVER_FRAME = 80 << 20

# What a cell needs to speak on the worker's wire itself.
RAW = """
import json, os, struct
def send(message):
    text = json.dumps(message).encode()
    data = struct.pack("<II", len(text), 0) + text
    while data:
        data = data[os.write(3, data):]
def publish(msg_type, **content):
    send({"type": "publish", "seq": 1 << 40, "msg_type": msg_type, "metadata": {}, "content": content})
"""


@pytest.fixture
def kernel(venv_kernel):
    assert venv_kernel.run("kept = ['as it was']").ok
    return venv_kernel


@pytest.mark.parametrize("size", [DISPLAY + 1, OVER_FRAME])
def test_display_over_the_limit_is_replaced_and_the_cell_goes_on(kernel, size):
    cell = kernel.run(f"display({{'text/x-large': 'x' * {size}}}, raw=True)\nprint('went on')")
    assert cell.ok, str(cell)
    [shown] = cell.of("display_data")
    assert "is not shown: it is over the limit of 16 MiB (display)" in shown["data"]["text/plain"]
    assert "text/x-large" in shown["data"]["text/plain"]
    assert list(shown["data"]) == ["text/plain"]
    assert cell.stdout == "went on\n"


@pytest.mark.check
@pytest.mark.parametrize("size", [DISPLAY + 1, OVER_FRAME])
def test_result_over_the_limit_is_replaced_and_still_in_out(kernel, size):
    cell = kernel.run(f"class Large:\n    def __repr__(self): return 'x' * {size}\nlarge = Large()\nlarge")
    assert cell.ok, str(cell)
    assert "over the limit of 16 MiB (display)" in cell.result
    assert kernel.value("Out[max(Out)] is large, kept") == "(True, ['as it was'])"


def test_display_update_over_the_limit_is_replaced(kernel):
    update = f"handle.update({{'text/x-large': 'x' * {OVER_FRAME}}}, raw=True)"
    cell = kernel.run(f"handle = display(1, display_id='shown')\n{update}")
    [update] = cell.of("update_display_data")
    assert "over the limit" in update["data"]["text/plain"]
    assert update["transient"] == {"display_id": "shown"}


def test_error_over_the_limit_is_cut(kernel):
    cell = kernel.run(f"kept.append('added')\nraise ValueError('x' * {OVER_FRAME})")
    assert (cell.ename, len(cell.of("error"))) == ("ValueError", 1)
    assert "more characters" in cell.reply["evalue"]
    assert len(cell.reply["evalue"]) + sum(map(len, cell.reply["traceback"])) < DISPLAY
    assert kernel.value("kept") == "['as it was', 'added']"


def test_comm_message_over_the_limit_raises_where_it_is_sent(kernel):
    code = (
        "from comm import create_comm\nc = create_comm(target_name='t')\n"
        f"try:\n    c.send({{}}, buffers=[bytes({OVER_FRAME})])\nexcept ValueError as error:\n    print(error)\n"
        "c.send({'small': 1})"
    )
    cell = kernel.run(code)
    assert cell.ok, str(cell)
    assert "a comm_msg message of" in cell.stdout and "over the limit of 16 MiB (display)" in cell.stdout
    assert [content["data"] for content in cell.of("comm_msg")] == [{"small": 1}]


def test_reply_over_the_limit_becomes_an_error(kernel):
    write = f"get_ipython().payload_manager.write_payload(dict(source='page', x='x' * {OVER_FRAME}))"
    cell = kernel.run(f"kept.append('added')\n{write}")
    assert cell.ename == "TooLarge"
    assert "a done message of" in cell.reply["evalue"]
    assert kernel.value("kept") == "['as it was', 'added']"


def test_large_line_of_an_earlier_task_arrives_whole(kernel):
    assert kernel.run("%%limits output=100M\n1").ok
    started = kernel.send(
        "import asyncio\ngo = asyncio.Event()\n"
        "async def late():\n    await go.wait()\n    print('x' * (3 << 20))\ntask = asyncio.ensure_future(late())"
    )
    assert kernel.finish(started).ok
    messages = kernel.all_until_idle(kernel.send("go.set()\nawait task"))
    assert printed_by(messages, started) == "x" * (3 << 20) + "\n"


def test_a_forged_frame_over_the_cap_ends_the_cell(kernel):
    large = f"publish('display_data', data={{'text/plain': 'x' * {OVER_FRAME}}})"
    cell = kernel.run(f"{RAW}\nkept.append('added')\n{large}")
    assert cell.ename == "CellCrashed"
    assert kernel.value("kept") == "['as it was']"


def test_forged_error_and_comm_message_over_the_limit_are_held_back(kernel):
    large = f"'x' * {DISPLAY + 1}"
    error = f"publish('error', ename='E', evalue={large}, traceback=[])"
    cell = kernel.run(f"{RAW}\n{error}\npublish('comm_msg', comm_id='c', data={large})")
    [error] = cell.of("error")
    assert error["ename"] == "E" and "an error of" in error["evalue"] and "is not shown" in error["evalue"]
    assert cell.of("comm_msg") == []
    assert "petri: a comm_msg was dropped: it was over the limit of 16 MiB (display)." in cell.stderr
