/*
 * control.c - handlers that reply from the kernel's own state, without a cell.
 *
 * The loop calls them, so none may block.
 */

#include "control.h"

#include "kernel/jupyter/iopub.h"
#include "kernel/jupyter/reply.h"
#include "kernel/kernel.h"
#include "kernel/run/travel.h"
#include "kernel/timeline/timeline_show.h"

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

static void send_unknown(struct kernel *kernel, const struct request *request, const struct error *error) {
    reply_error(&kernel->jupyter, request, "UnknownImage", error->text);
}

void control_timeline(struct kernel *kernel, const struct request *request) {
    const struct timeline *timeline = &kernel->runner.timeline;
    json_t *images = timeline_json(timeline);
    if (!images)
        return;
    reply_send(&kernel->jupyter, request, "petri_timeline_reply", NULL,
               json_pack("{s:s, s:o, s:s?, s:I}", "status", "ok", "images", images, "current",
                         timeline->current ? timeline->current->id : NULL, "bytes_kept",
                         timeline->current ? (json_int_t)session_kept_bytes(kernel->runner.session) : 0));
}

void control_checkpoint(struct kernel *kernel, const struct request *request) {
    const char *name = request_string(request, "name", "");
    struct error error;
    if (travel_name(&kernel->runner, name, &error) < 0)
        reply_error(&kernel->jupyter, request, "BadName", error.text);
    else
        reply_send(
            &kernel->jupyter, request, "petri_checkpoint_reply", NULL,
            json_pack("{s:s, s:s, s:s}", "status", "ok", "name", name, "image", kernel->runner.timeline.current->id));
}

void control_forget(struct kernel *kernel, const struct request *request) {
    const char *name = request_string(request, "name", "");
    struct error error;
    if (timeline_unname(&kernel->runner.timeline, name) == 0) {
        reply_send(&kernel->jupyter, request, "petri_forget_reply", NULL, json_pack("{s:s}", "status", "ok"));
        return;
    }
    (void)error_set(&error, ENOENT, "no checkpoint is called \"%.64s\"", name);
    send_unknown(kernel, request, &error);
}

/* Steals the request. */
static void restore(struct kernel *kernel, struct request *request) {
    struct runner *runner = &kernel->runner;
    struct error error;
    struct timeline_node *node = travel_find_asked(runner, request->message.content, &error);
    char way[TIMELINE_WAY_BYTES];
    preload_cancel(&kernel->preload);
    if (node)
        timeline_tell_way(&runner->timeline, node, way, sizeof way);
    if (!node)
        send_unknown(kernel, request, &error);
    else if (travel_go(runner, node, &error) < 0)
        reply_error(&kernel->jupyter, request, "SandboxError", error.text);
    else
        reply_send(&kernel->jupyter, request, "petri_restore_reply", NULL,
                   json_pack("{s:s, s:s, s:i, s:s}", "status", "ok", "image", node->id, "execution_count",
                             node->state.execution_count, "detail", way));
    reply_idle(&kernel->jupyter, request);
}

void control_restore(struct kernel *kernel, struct request *request) {
    struct runner *runner = &kernel->runner;
    reply_busy(&kernel->jupyter, request);
    if (runner->own)
        request_queue_push(&runner->restores, request);
    else
        restore(kernel, request);
}

void control_restore_waiting(struct kernel *kernel) {
    struct request *request;
    while (!kernel->runner.own && (request = request_queue_pop(&kernel->runner.restores)))
        restore(kernel, request);
}
