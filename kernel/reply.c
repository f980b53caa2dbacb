#include "reply.h"

#include "kernel/iopub.h"
#include "kernel/kernel.h"

#include <stdio.h>
#include <string.h>
#include <zmq.h>

void reply_busy(struct kernel *kernel, const struct request *request) {
    iopub_status(kernel, request->message.header, "busy");
}

void reply_send(struct kernel *kernel, const struct request *request, const char *msg_type, json_t *metadata,
                json_t *content) {
    struct message_parts parts = {.identities = request->message.identities,
                                  .n_identities = request->message.n_identities,
                                  .msg_type = msg_type,
                                  .parent = request->message.header,
                                  .metadata = metadata,
                                  .content = content};
    int r = channels_send(&kernel->channels, request->channel, &parts);
    if (r < 0)
        log_write(&kernel->log, LOG_LEVEL_ERROR, "a %s is lost: %s", msg_type, zmq_strerror(-r));
    json_decref(metadata);
    json_decref(content);
}

void reply_error(struct kernel *kernel, const struct request *request, const char *ename, const char *evalue) {
    static const char ending[] = "_request";
    char msg_type[MESSAGE_MAX_TYPE_BYTES + 1];
    size_t n = strlen(request->message.msg_type);
    size_t stem = n < strlen(ending) ? 0 : n - strlen(ending);
    if (stem == 0 || strcmp(request->message.msg_type + stem, ending) != 0)
        return;
    snprintf(msg_type, sizeof msg_type, "%.*s_reply", (int)stem, request->message.msg_type);
    reply_send(kernel, request, msg_type, NULL,
               json_pack("{s:s, s:s, s:s, s:[]}", "status", "error", "ename", ename, "evalue", evalue, "traceback"));
}

void reply_idle(struct kernel *kernel, struct request *request) {
    const struct run *run = kernel->runner.run;
    iopub_status(kernel, request->message.header, "idle");
    /* Front ends show the last state that they have heard, whoever it was about: a cell that still runs is busy. */
    if (run && run->request && run->request != request)
        iopub_status(kernel, run->request->message.header, "busy");
    request_destroy(request);
}
