#include "comm.h"

#include "kernel/account.h"
#include "kernel/iopub.h"
#include "kernel/kernel.h"
#include "kernel/reply.h"

#include <errno.h>
#include <string.h>

enum { MAX_ID_BYTES = 256 }; /* as a worker's: wire_check.c */

int comms_init(struct comms *comms) {
    *comms = (struct comms){.open = json_object()};
    return comms->open ? 0 : -ENOMEM;
}

void comms_fini(struct comms *comms) {
    json_decref(comms->open);
    json_decref(comms->before);
    *comms = (struct comms){0};
}

void comms_begin(struct comms *comms) {
    json_decref(comms->before);
    comms->before = json_incref(comms->open);
    comms->told = false;
}

void comms_end(struct comms *comms, bool rolled_back) {
    if (rolled_back && comms->before) {
        json_decref(comms->open);
        comms->open = comms->before;
    } else {
        json_decref(comms->before);
    }
    comms->before = NULL;
}

/* Copied when a cell first changes it: most don't, and there may be thousands. */
static json_t *to_change(struct comms *comms) {
    json_t *copy = comms->open == comms->before ? json_copy(comms->open) : NULL;
    if (copy) {
        json_decref(comms->open);
        comms->open = copy;
    }
    return comms->open;
}

static bool note_open(struct comms *comms, const char *id, json_t *target) {
    if (!json_object_get(comms->open, id) && json_object_size(comms->open) >= COMMS_MAX)
        return false;
    json_object_set_new(to_change(comms), id, json_is_string(target) ? json_incref(target) : json_string(""));
    return true;
}

bool comms_note(struct comms *comms, const char *msg_type, const json_t *content) {
    const json_t *id = json_object_get(content, "comm_id");
    if (!json_is_string(id) || json_string_length(id) > MAX_ID_BYTES)
        return true;
    if (strcmp(msg_type, "comm_open") == 0)
        return note_open(comms, json_string_value(id), json_object_get(content, "target_name"));
    if (strcmp(msg_type, "comm_close") == 0 && json_object_get(comms->open, json_string_value(id)))
        json_object_del(to_change(comms), json_string_value(id));
    return true;
}

static void begin(struct kernel *kernel, struct run *run, json_t **ret_frame) {
    const struct message *message = &run->request->message;
    account_begin(kernel, run);
    if (run->outcome != OUTCOME_OK)
        return;
    comms_note(&kernel->comms, message->msg_type, message->content);
    run->buffers = message->buffers;
    run->n_buffers = message->n_buffers;
    *ret_frame = json_pack("{s:s, s:O, s:s, s:O, s:O, s:O*, s:O*}", "type", "comm", "header", message->header,
                           "msg_type", message->msg_type, "content", message->content, "metadata", message->metadata,
                           "stdin", run->ask.stdin_text, "env", run->ask.env);
}

/* There is no reply to a comm message: what went wrong is told to everybody, and the report is in the record. */
static void end(struct kernel *kernel, struct run *run) {
    if (run->rolled_back) {
        run->error = outcome_error(run->outcome, &run->facts);
        iopub_publish(kernel, run->request->message.header, "error", json_copy(run->error));
    } else if (run->outcome != OUTCOME_OK) {
        run->error = json_incref(run->reply);
    }
    json_decref(account_end(kernel, run));
}

static void after(struct kernel *kernel, struct run *run) {
    (void)run;
    records_tidy(&kernel->records);
}

const struct cell_kind comm_cell = {.begin = begin, .end = end, .after = after};

void comm_info(struct kernel *kernel, const struct request *request) {
    const char *wanted = request_string(request, "target_name", NULL);
    json_t *comms = json_object();
    const char *id;
    json_t *comm;
    json_object_foreach(kernel->comms.open, id, comm) {
        if (!wanted || strcmp(wanted, json_string_value(comm)) == 0)
            json_object_set_new(comms, id, json_pack("{s:O}", "target_name", comm));
    }
    reply_send(kernel, request, "comm_info_reply", NULL, json_pack("{s:s, s:o}", "status", "ok", "comms", comms));
}
