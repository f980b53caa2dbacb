"""Comms, both ways, with buffers."""


def comm(worker, msg_type, content, buffers=(), **more):
    return worker.request(
        {"type": "comm", "msg_type": msg_type, "content": content, "metadata": {"m": 1}, **more},
        [bytes(b) for b in buffers],
    )


def test_comm_that_code_opens_is_published_with_its_messages(worker):
    answer = worker.execute(
        "import comm\n"
        "buffers = [b'\\x00\\xff', memoryview(b'two')]\n"
        "c = comm.create_comm(target_name='t', data={'a': 1}, metadata={'k': 'v'}, buffers=buffers)\n"
        "def got(msg): print('got', msg['content']['data'], msg['metadata'], [bytes(b) for b in msg['buffers']])\n"
        "c.on_msg(got)\n"
        "c.on_close(lambda msg: print('closed'))\n"
        "c.send({'b': 2})\n"
        "c.comm_id"
    )
    (opened,), (sent,) = answer.frames("comm_open"), answer.frames("comm_msg")
    comm_id = answer.result.strip("'")
    assert opened.content["comm_id"] == comm_id
    assert opened.content["target_name"] == "t"
    assert opened.content["data"] == {"a": 1}
    assert opened.frame["metadata"] == {"k": "v"}
    assert opened.buffers == (b"\x00\xff", b"two")
    assert sent.content["data"] == {"b": 2}
    answer = comm(worker, "comm_msg", {"comm_id": comm_id, "data": {"x": 1}}, [b"raw"])
    assert answer.reply["status"] == "ok"
    assert answer.stdout == "got {'x': 1} {'m': 1} [b'raw']\n"
    assert comm(worker, "comm_close", {"comm_id": comm_id, "data": {}}).stdout == "closed\n"


def test_comm_that_the_front_end_opens_reaches_its_target(worker):
    worker.execute(
        "import comm\n"
        "def opened(c, msg):\n"
        "    print('opened', msg['content']['data']); c.send({'hello': 1})\n"
        "comm.get_comm_manager().register_target('mine', opened)"
    )
    answer = comm(worker, "comm_open", {"comm_id": "1", "target_name": "mine", "data": {"d": 1}})
    assert answer.stdout == "opened {'d': 1}\n"
    assert answer.of("comm_msg") == [{"data": {"hello": 1}, "comm_id": "1"}]


def test_unknown_target_is_closed(worker):
    answer = comm(worker, "comm_open", {"comm_id": "2", "target_name": "nobody", "data": {}})
    assert answer.of("comm_close") == [{"data": {}, "comm_id": "2"}]


def test_unknown_comm_and_failing_handler_get_a_reply(worker):
    assert comm(worker, "comm_msg", {"comm_id": "none", "data": {}}).reply["status"] == "ok"
    worker.execute("import comm\nc = comm.create_comm(target_name='t', comm_id='bad')\nc.on_msg(lambda msg: 1/0)")
    answer = comm(worker, "comm_msg", {"comm_id": "bad", "data": {}})
    assert answer.reply["status"] == "ok"
    assert "ZeroDivisionError" in answer.stderr


HANDLED = (
    "import comm, os\nc = comm.create_comm(target_name='t', comm_id='asks')\n"
    "c.on_msg(lambda msg: print(input(), os.environ.get('MODE')))"
)


def test_handler_has_the_standard_input_and_variables_of_its_message(worker):
    worker.execute(HANDLED)
    answer = comm(worker, "comm_msg", {"comm_id": "asks", "data": {}}, stdin="given\n", env={"MODE": "fast"})
    assert answer.stdout == "given fast\n"
    assert worker.execute("import os; os.environ.get('MODE')").of("execute_result") == []


def test_handler_that_asks_is_told_that_nobody_answers(worker):
    worker.execute(HANDLED, allow_stdin=True)
    answer = comm(worker, "comm_msg", {"comm_id": "asks", "data": {}})
    assert answer.reply["status"] == "ok"
    assert "StdinNotImplementedError" in answer.stderr


WAITS = (
    "import asyncio, comm, contextvars\nc = comm.create_comm(target_name='t', comm_id='waited')\n"
    "came = asyncio.get_running_loop().create_future()\n"
    "seen = contextvars.ContextVar('seen')\nseen.set('by the cell')\n"
    "def got(msg):\n    print(seen.get()); seen.set('by the message'); came.set_result(msg['content']['data'])\n"
    "c.on_msg(got)\nasync def f(): c.send({'answer': await came})\ntask = asyncio.create_task(f())"
)


def test_task_that_waits_for_a_message_goes_on_with_it(worker):
    worker.execute(WAITS)
    answer = comm(worker, "comm_msg", {"comm_id": "waited", "data": {"x": 1}})
    assert [content["data"] for content in answer.of("comm_msg")] == [{"answer": {"x": 1}}]


def test_handler_sees_and_sets_the_context_variables_of_cells(worker):
    worker.execute(WAITS)
    assert comm(worker, "comm_msg", {"comm_id": "waited", "data": {}}).stdout == "by the cell\n"
    assert worker.execute("seen.get()").result == "'by the message'"


def test_handler_can_begin_a_task(worker):
    code = "c.on_msg(lambda msg: asyncio.create_task(f()))\nasync def f(): print('begun')"
    worker.execute("import asyncio, comm\nc = comm.create_comm(target_name='t', comm_id='begins')\n" + code)
    assert comm(worker, "comm_msg", {"comm_id": "begins", "data": {}}).stdout == "begun\n"


def test_widget_is_published_and_follows_the_front_end(venv_worker):
    answer = venv_worker.execute(
        "import ipywidgets\nslider = ipywidgets.IntSlider(value=3)\n"
        "slider.observe(lambda change: print('now', change['new']), 'value')\nslider"
    )
    targets = {content["target_name"] for content in answer.of("comm_open")}
    assert targets == {"jupyter.widget"}
    (shown,) = answer.of("execute_result")
    model = shown["data"]["application/vnd.jupyter.widget-view+json"]["model_id"]
    update = {"method": "update", "state": {"value": 8}, "buffer_paths": []}
    answer = comm(venv_worker, "comm_msg", {"comm_id": model, "data": update})
    assert answer.stdout == "now 8\n"


def test_output_widget_knows_the_request(venv_worker):
    header = {"msg_id": "the-request", "msg_type": "execute_request"}
    answer = venv_worker.execute("import ipywidgets\no = ipywidgets.Output()\nwith o: print(o.msg_id)", header=header)
    assert answer.stdout == "the-request\n"
