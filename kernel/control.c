#include "control.h"

#include "kernel/iopub.h"
#include "kernel/kernel.h"
#include "kernel/reply.h"

void control_interrupt(struct kernel *kernel, const struct request *request) {
    runner_interrupt(kernel);
    reply_send(kernel, request, "interrupt_reply", NULL, json_pack("{s:s}", "status", "ok"));
}

void control_shutdown(struct kernel *kernel, const struct request *request) {
    json_t *content = json_pack("{s:s, s:b}", "status", "ok", "restart", request_bool(request, "restart", false));
    /* Every client is to know, not only the one that asked. */
    iopub_publish(kernel, request->message.header, "shutdown_reply", json_incref(content));
    reply_send(kernel, request, "shutdown_reply", NULL, content);
    kernel->stopping = true;
}

void control_connect(struct kernel *kernel, const struct request *request) {
    const int *port = kernel->connection.port;
    json_t *content = json_pack("{s:s, s:i, s:i, s:i, s:i, s:i}", "status", "ok", "shell_port", port[CHANNEL_SHELL],
                                "iopub_port", port[CHANNEL_IOPUB], "stdin_port", port[CHANNEL_STDIN], "control_port",
                                port[CHANNEL_CONTROL], "hb_port", port[CHANNEL_HB]);
    reply_send(kernel, request, "connect_reply", NULL, content);
}

void control_subshell(struct kernel *kernel, const struct request *request) {
    reply_error(kernel, request, "NotSupported",
                "this kernel has no subshells: completion and inspection are answered while a cell runs, and a "
                "session's state is what its last cell has left");
}
