"""kernel_info, connect, interrupt, shutdown, usage, subshells, debugger."""

import time

from probes import probe


@probe("kernel_info_request", "`protocol_version`, `implementation`, `banner`, `help_links`")
def info_fields(kernel):
    content = kernel.ask("kernel_info_request").content
    assert content["status"] == "ok"
    assert content["protocol_version"].startswith("5.")
    assert content["implementation"] and content["implementation_version"] and content["banner"]
    assert all(set(link) == {"text", "url"} for link in content["help_links"])


@probe("kernel_info_reply", "`language_info`")
def info_language(kernel):
    info = kernel.ask("kernel_info_request").content["language_info"]
    assert (info["name"], info["mimetype"], info["file_extension"]) == ("python", "text/x-python", ".py")
    assert info["version"] and info["pygments_lexer"] and info["codemirror_mode"] and info["nbconvert_exporter"]


@probe("kernel_info_request", "on control, while a cell runs")
def info_on_control(kernel):
    assert kernel.beside("kernel_info_request", channel="control")["content"]["status"] == "ok"


@probe("connect_request", "the ports")
def connect_ports(kernel):
    content, info = kernel.ask("connect_request").content, kernel.client.get_connection_info()
    assert all(content[name] == info[name] for name in ("shell_port", "iopub_port", "stdin_port", "hb_port"))


@probe("interrupt_request", "ends a loop of Python", fresh=True)
def interrupt_python(kernel):
    request = kernel.start_busy("while True: pass")
    kernel.manager.interrupt_kernel()
    assert kernel.reply(request)["content"]["ename"] == "KeyboardInterrupt"
    assert kernel.value("1 + 1") == "2"


@probe("interrupt_request", "ends native code that does not listen", fresh=True)
def interrupt_native(kernel):
    request = kernel.start_busy("sum(range(10 ** 12))")
    time.sleep(0.5)  # nothing tells when the native code has begun; an interrupt before it proves nothing
    kernel.manager.interrupt_kernel()
    assert kernel.reply(request)["content"]["status"] == "error"
    assert kernel.value("1 + 1") == "2"


@probe("interrupt_request", "as a message on control", fresh=True)
def interrupt_message(kernel):
    request = kernel.start_busy("while True: pass")
    control = kernel.send("interrupt_request", channel="control")
    assert kernel.reply(control, "control")["content"]["status"] == "ok"
    assert kernel.reply(request)["content"]["ename"] == "KeyboardInterrupt"


@probe("shutdown_request", "`restart`; the reply on control", fresh=True)
def shutdown_reply(kernel):
    request = kernel.send("shutdown_request", {"restart": True}, channel="control")
    content = kernel.reply(request, "control")["content"]
    assert (content["status"], content["restart"]) == ("ok", True)


@probe("shutdown_request", "`shutdown_reply` on iopub, for every client", fresh=True)
def shutdown_published(kernel):
    request = kernel.send("shutdown_request", {"restart": False}, channel="control")
    kernel.reply(request, "control")
    while kernel.client.get_iopub_msg(timeout=kernel.wait_s)["msg_type"] != "shutdown_reply":
        pass


@probe("shutdown_request", "while a cell runs", fresh=True)
def shutdown_beside(kernel):
    kernel.start_waiting()
    request = kernel.send("shutdown_request", {"restart": False}, channel="control")
    assert kernel.reply(request, "control")["content"]["status"] == "ok"


@probe("usage_request", "`kernel_cpu`, `kernel_memory`, `pid`")
def usage_fields(kernel):
    content = kernel.reply(kernel.send("usage_request", channel="control"), "control")["content"]
    assert content["kernel_memory"] > 0 and "kernel_cpu" in content and content["pid"] > 0


@probe("create_subshell_request", "a subshell")
def subshell_create(kernel):
    content = kernel.reply(kernel.send("create_subshell_request", channel="control"), "control")["content"]
    assert content["status"] == "ok" and content["subshell_id"]


def debug_info(kernel):
    request = {"type": "request", "seq": 1, "command": "debugInfo", "arguments": {}}
    return kernel.reply(kernel.send("debug_request", request, channel="control"), "control")["content"]


@probe("debug_request", "answered")
def debug_answered(kernel):
    content = debug_info(kernel)
    assert (content["type"], content["command"]) == ("response", "debugInfo")


@probe("debug_request", "a debugger")
def debug_works(kernel):
    assert debug_info(kernel)["success"] is True
