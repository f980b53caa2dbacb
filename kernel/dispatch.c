/*
 * dispatch.c - the table of routes; receives messages and finds the route of each.
 *
 * A message that is not signed, or was seen before, is logged, at a limited rate,
 * and not answered. A message that is signed and has a header always gets busy
 * and idle, even if the rest is malformed or the type is unknown, because its
 * client waits for them. A turn takes a bounded number of messages from a
 * channel, so that control is served while shell is flooded.
 *
 * See: Jupyter messaging, "Messages on the shell (ROUTER/DEALER) channel".
 */

#include "dispatch.h"

#include "kernel/control.h"
#include "kernel/control_travel.h"
#include "kernel/jupyter/gate.h"
#include "kernel/jupyter/reply.h"
#include "kernel/kernel.h"
#include "kernel/run/comm.h"
#include "kernel/run/execute.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <zmq.h>

enum { LINES_PER_SECOND = 1, LINES_BURST = 64 };

/* Handlers of other sources, called with what they need. */

static void answer_comm_info(struct kernel *kernel, const struct request *request) {
    comms_request(&kernel->comms, &kernel->jupyter, request);
}

static void answer_history(struct kernel *kernel, const struct request *request) {
    history_request(&kernel->history, &kernel->jupyter, request);
}

static void answer_usage(struct kernel *kernel, const struct request *request) {
    usage_request(&kernel->usage, &kernel->jupyter, request);
}

static void keep_info(struct kernel *kernel, struct request *request) {
    info_request(&kernel->info, &kernel->jupyter, request);
}

#define ON(channel) (1U << (channel))
#define SHELL ON(CHANNEL_SHELL)
#define CONTROL ON(CHANNEL_CONTROL)

const struct route dispatch_routes[] = {
    {"comm_close", SHELL, ROUTE_CELL, .cell = &comm_cell},
    {"comm_info_request", SHELL | CONTROL, ROUTE_NOW, .answer = answer_comm_info},
    {"comm_msg", SHELL, ROUTE_CELL, .cell = &comm_cell},
    {"comm_open", SHELL, ROUTE_CELL, .cell = &comm_cell},
    {"complete_request", SHELL, ROUTE_INTROSPECTION, .introspection = &introspect_complete},
    {"connect_request", SHELL | CONTROL, ROUTE_NOW, .answer = control_connect},
    {"create_subshell_request", CONTROL, ROUTE_NOW, .answer = control_subshell},
    {"debug_request", SHELL | CONTROL, ROUTE_NOW, .answer = control_debug},
    {"delete_subshell_request", CONTROL, ROUTE_NOW, .answer = control_subshell},
    {"execute_request", SHELL | CONTROL, ROUTE_CELL, .cell = &execute_cell},
    {"history_request", SHELL | CONTROL, ROUTE_NOW, .answer = answer_history},
    {"inspect_request", SHELL, ROUTE_INTROSPECTION, .introspection = &introspect_inspect},
    {"interrupt_request", SHELL | CONTROL, ROUTE_NOW, .answer = control_interrupt},
    {"is_complete_request", SHELL, ROUTE_INTROSPECTION, .introspection = &introspect_is_complete},
    {"kernel_info_request", SHELL | CONTROL, ROUTE_KEEP, .keep = keep_info},
    {"list_subshell_request", CONTROL, ROUTE_NOW, .answer = control_subshell},
    {"petri_checkpoint_request", CONTROL, ROUTE_KEEP, .keep = control_travel},
    {"petri_forget_request", CONTROL, ROUTE_KEEP, .keep = control_travel},
    {"petri_restore_request", CONTROL, ROUTE_KEEP, .keep = control_travel},
    {"petri_timeline_request", CONTROL, ROUTE_KEEP, .keep = control_travel},
    {"shutdown_request", SHELL | CONTROL, ROUTE_NOW, .answer = control_shutdown},
    {"usage_request", SHELL | CONTROL, ROUTE_NOW, .answer = answer_usage},
};
const size_t dispatch_n_routes = sizeof dispatch_routes / sizeof dispatch_routes[0];

/* The message is signed, so it comes from a client, which waits for a reply. */
static void answer_malformed(struct kernel *kernel, const struct request *request) {
    log_write(&kernel->log, LOG_LEVEL_WARNING, "a %s is not well formed", request->message.msg_type);
    reply_error(&kernel->jupyter, request, "MalformedRequest", message_problem_text(MESSAGE_BAD_JSON));
}
static const struct route malformed_route = {"", 0, ROUTE_NOW, .answer = answer_malformed};

/* A request of an unknown type gets busy and idle, but no reply. */
static void answer_unknown(struct kernel *kernel, const struct request *request) {
    log_write(&kernel->log, LOG_LEVEL_DEBUG, "no reply to a %s", request->message.msg_type);
}
static const struct route unknown_route = {"", 0, ROUTE_NOW, .answer = answer_unknown};

const struct route *dispatch_find(const char *msg_type, enum channel channel) {
    for (size_t i = 0; i < dispatch_n_routes; i++)
        if (strcmp(dispatch_routes[i].msg_type, msg_type) == 0)
            return dispatch_routes[i].channels & ON(channel) ? &dispatch_routes[i] : NULL;
    return NULL;
}

static void dispatch(struct kernel *kernel, struct request *request) {
    switch (request->route->way) {
    case ROUTE_NOW:
        reply_busy(&kernel->jupyter, request);
        request->route->answer(kernel, request);
        reply_idle(&kernel->jupyter, request);
        break;
    case ROUTE_KEEP:
        request->route->keep(kernel, request);
        break;
    case ROUTE_CELL:
        runner_submit(&kernel->runner, request);
        break;
    case ROUTE_INTROSPECTION:
        introspections_submit(&kernel->introspections, &kernel->jupyter, request);
        break;
    }
}

/* The route of a message, which may be malformed. */
static const struct route *choose_route(const struct message *message, enum channel channel,
                                        enum message_problem problem) {
    const struct route *route = dispatch_find(message->msg_type, channel);
    if (!route)
        return &unknown_route;
    return problem == MESSAGE_OK ? route : &malformed_route;
}

static void take_message(struct kernel *kernel, enum channel channel, struct message *message,
                         enum message_problem problem) {
    struct request *request = request_create(channel, choose_route(message, channel, problem), message);
    if (request)
        dispatch(kernel, request);
    else
        log_write(&kernel->log, LOG_LEVEL_ERROR, "a request is lost: no memory");
}

/* Logs dropped messages at a limited rate, because anybody who can connect can cause them. */
static void log_dropped(struct kernel *kernel, enum message_problem problem) {
    char more[48] = "";
    if (!pace_allows(&kernel->dropped, LINES_PER_SECOND, LINES_BURST)) {
        kernel->unlogged++;
        return;
    }
    if (kernel->unlogged > 0)
        snprintf(more, sizeof more, " (and %" PRIu64 " before it)", kernel->unlogged);
    kernel->unlogged = 0;
    log_write(&kernel->log, LOG_LEVEL_WARNING, "a message was dropped: %s%s", message_problem_text(problem), more);
}

void dispatch_take(struct kernel *kernel, enum channel channel, int n) {
    for (int i = 0; i < n && !kernel->stopping; i++) {
        struct message message = {0};
        enum message_problem problem;
        int r = channels_receive(&kernel->jupyter.channels, channel, &message, &problem);
        if (r < 0)
            log_write(&kernel->log, LOG_LEVEL_ERROR, "receiving failed: %s", zmq_strerror(-r));
        if (r <= 0)
            break;
        gate_check();
        if (message.header)
            take_message(kernel, channel, &message, problem);
        else
            log_dropped(kernel, problem);
    }
}

void dispatch_shell(void *arg, short events) {
    (void)events;
    dispatch_take(arg, CHANNEL_SHELL, DISPATCH_PER_TURN);
}

void dispatch_control(void *arg, short events) {
    (void)events;
    dispatch_take(arg, CHANNEL_CONTROL, DISPATCH_PER_TURN);
}
