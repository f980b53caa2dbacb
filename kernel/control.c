/*
 * control.c - handlers that reply from the kernel's own state, without a cell.
 *
 * The loop calls them, so none may block.
 */

#include "control.h"

#include "kernel/jupyter/iopub.h"
#include "kernel/jupyter/reply.h"
#include "kernel/kernel.h"

#include <errno.h>

/*
 * Which run metadata.petri of an interrupt_request names: NULL for all of them. 0,
 * or -EINVAL where it has anything else.
 */
static int read_whose(const struct request *request, const char **ret_msg_id) {
    const json_t *petri = json_object_get(request->message.metadata, "petri");
    const json_t *msg_id = json_object_get(petri, "request");
    if (petri && (!json_is_object(petri) || json_object_size(petri) != (msg_id != NULL)))
        return -EINVAL;
    if (msg_id && !json_is_string(msg_id))
        return -EINVAL;
    *ret_msg_id = json_string_value(msg_id);
    return 0;
}

void control_interrupt(struct kernel *kernel, const struct request *request) {
    const char *msg_id = NULL;
    if (read_whose(request, &msg_id) < 0) {
        reply_error(
            &kernel->jupyter, request, "MalformedRequest",
            "metadata.petri of an interrupt_request has \"request\", the msg_id of an execute_request, or nothing;"
            " nothing was interrupted");
        return;
    }
    if (msg_id)
        runner_interrupt_one(&kernel->runner, msg_id);
    else
        runner_interrupt(&kernel->runner);
    reply_send(&kernel->jupyter, request, "interrupt_reply", NULL, json_pack("{s:s}", "status", "ok"));
}

void control_shutdown(struct kernel *kernel, const struct request *request) {
    json_t *content = json_pack("{s:s, s:b}", "status", "ok", "restart", request_bool(request, "restart", false));
    /* So that every client gets it, not only the one that asked. */
    iopub_publish(&kernel->jupyter, request->message.header, "shutdown_reply", json_incref(content));
    reply_send(&kernel->jupyter, request, "shutdown_reply", NULL, content);
    kernel->stopping = true;
}

void control_connect(struct kernel *kernel, const struct request *request) {
    json_t *content = json_pack("{s:s}", "status", "ok");
    for (int i = 0; i < CHANNEL_N; i++)
        json_object_set_new(content, connection_port_keys[i], json_integer(kernel->jupyter.connection.port[i]));
    reply_send(&kernel->jupyter, request, "connect_reply", NULL, content);
}

void control_subshell(struct kernel *kernel, const struct request *request) {
    reply_error(&kernel->jupyter, request, "NotSupported",
                "this kernel has no subshells: completion and inspection are answered while a cell runs, and a "
                "session's state is what its last cell has left");
}

/*
 * Replies with a failed response of the Debug Adapter Protocol, for clients that
 * send a debug_request although kernel_info_reply offers no debugger.
 */
void control_debug(struct kernel *kernel, const struct request *request) {
    static const char why[] = "petri has no debugger behind this message; %debug and breakpoint() ask through input()";
    const json_t *seq = json_object_get(request->message.content, "seq");
    json_t *content = json_pack("{s:s, s:s, s:s, s:[], s:s, s:b, s:s, s:I, s:i, s:s}", "status", "error", "ename",
                                "NotSupported", "evalue", why, "traceback", "type", "response", "success", 0, "command",
                                request_string(request, "command", ""), "request_seq", json_integer_value(seq), "seq",
                                0, "message", why);
    reply_send(&kernel->jupyter, request, "debug_reply", NULL, content);
}
