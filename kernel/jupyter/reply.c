/* reply.c - replies and status messages, each under the request's own header. */

#include "reply.h"

#include "kernel/jupyter/iopub.h"
#include "kernel/jupyter/jupyter.h"
#include "protocol/text.h"

#include <stdio.h>
#include <string.h>
#include <zmq.h>

void reply_busy(struct jupyter *jupyter, const struct request *request) {
    iopub_status(jupyter, request->message.header, "busy");
}

void reply_send(struct jupyter *jupyter, const struct request *request, const char *msg_type, json_t *metadata,
                json_t *content) {
    struct message_parts parts = {.identities = request->message.identities,
                                  .n_identities = request->message.n_identities,
                                  .msg_type = msg_type,
                                  .parent = request->message.header,
                                  .metadata = metadata,
                                  .content = content};
    int r = channels_send(&jupyter->channels, request->channel, &parts);
    if (r < 0)
        log_write(jupyter->log, LOG_LEVEL_ERROR, "a %s is lost: %s", msg_type, zmq_strerror(-r));
    json_decref(metadata);
    json_decref(content);
}

void reply_error(struct jupyter *jupyter, const struct request *request, const char *ename, const char *evalue) {
    static const char ending[] = "_request";
    char msg_type[MESSAGE_MAX_TYPE_BYTES + 1];
    size_t n = strlen(request->message.msg_type);
    size_t stem = n < strlen(ending) ? 0 : n - strlen(ending);
    if (stem == 0 || strcmp(request->message.msg_type + stem, ending) != 0)
        return;
    snprintf(msg_type, sizeof msg_type, "%.*s_reply", (int)stem, request->message.msg_type);
    reply_send(jupyter, request, msg_type, NULL,
               json_pack("{s:s, s:s, s:o, s:[]}", "status", "error", "ename", ename, "evalue",
                         text_format("%s", evalue), "traceback"));
}

void reply_idle(struct jupyter *jupyter, struct request *request) {
    const struct request *running = jupyter->running;
    iopub_status(jupyter, request->message.header, "idle");
    /*
     * Front ends show the last status, whichever request it is for, so a
     * cell that still runs is reported busy again.
     */
    if (running && running != request)
        iopub_status(jupyter, running->message.header, "busy");
    request_destroy(request);
}

void reply_aborted(struct jupyter *jupyter, struct request_queue *requests) {
    struct request *request;
    while ((request = request_queue_pop(requests))) {
        reply_busy(jupyter, request);
        reply_send(jupyter, request, "execute_reply", NULL, json_pack("{s:s}", "status", "aborted"));
        reply_idle(jupyter, request);
    }
}
