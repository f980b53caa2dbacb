"""Comms, both ways."""

from probes import probe

OPEN = "from comm import create_comm\nchannel = create_comm(target_name='there', data={'n': 1})"
TARGET = (
    "from comm import get_comm_manager\n"
    "def opened(channel, message):\n"
    "    @channel.on_msg\n"
    "    def got(message): channel.send({'bytes': len(message['buffers'])}, buffers=[b'back'])\n"
    "get_comm_manager().register_target('own', opened)"
)


@probe("comm_open", "from the kernel: `comm_id`, `target_name`, `data`")
def comm_from_kernel(kernel):
    [content] = kernel.run(OPEN).of("comm_open")
    assert (content["target_name"], content["data"]) == ("there", {"n": 1})
    assert content["comm_id"]


@probe("comm_msg", "to the kernel and back, with buffers")
def comm_both_ways(kernel):
    kernel.run(TARGET)
    kernel.until_idle(kernel.send("comm_open", {"comm_id": "a", "target_name": "own", "data": {}}))
    request = kernel.send("comm_msg", {"comm_id": "a", "data": {}}, buffers=[b"one", b"two"])
    [answer] = [message for message in kernel.until_idle(request) if message["msg_type"] == "comm_msg"]
    assert answer["content"]["data"] == {"bytes": 2}
    assert [bytes(buffer) for buffer in answer["buffers"]] == [b"back"]


@probe("comm_close", "from the kernel, and to it")
def comm_closes(kernel):
    [opened] = kernel.run(OPEN).of("comm_open")
    [closed] = kernel.run("channel.close()").of("comm_close")
    assert closed["comm_id"] == opened["comm_id"]


@probe("comm_open", "of an unknown target is answered with `comm_close`")
def comm_unknown_target(kernel):
    request = kernel.send("comm_open", {"comm_id": "b", "target_name": "nosuch", "data": {}})
    closed = [message["content"] for message in kernel.until_idle(request) if message["msg_type"] == "comm_close"]
    assert [content["comm_id"] for content in closed] == ["b"]


@probe("comm_info_request", "`comms`, `target_name`")
def comm_info(kernel):
    [opened] = kernel.run(OPEN).of("comm_open")
    comms = kernel.ask("comm_info_request").content["comms"]
    assert comms[opened["comm_id"]] == {"target_name": "there"}
    assert opened["comm_id"] in kernel.ask("comm_info_request", {"target_name": "there"}).content["comms"]
    assert kernel.ask("comm_info_request", {"target_name": "nosuch"}).content["comms"] == {}


@probe("comm_info_request", "answered while a cell runs")
def comm_info_beside(kernel):
    assert kernel.beside("comm_info_request")["content"]["status"] == "ok"


@probe("comm_msg", "a slider of ipywidgets follows its front end")
def comm_widgets(kernel):
    answer = kernel.run("import ipywidgets\nslider = ipywidgets.IntSlider(value=3)\nslider")
    [content] = answer.of("execute_result") + answer.of("display_data")
    model = content["data"]["application/vnd.jupyter.widget-view+json"]["model_id"]
    data = {"method": "update", "state": {"value": 8}, "buffer_paths": []}
    kernel.until_idle(kernel.send("comm_msg", {"comm_id": model, "data": data}))
    assert kernel.value("slider.value") == "8"
