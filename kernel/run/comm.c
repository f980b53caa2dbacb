/*
 * comm.c - makes the worker's frame of a comm message, and publishes an error where the message's cell fails.
 *
 * A message to a comm that is not open is ignored, as ipykernel does: a page whose cell
 * was undone goes on to send them. Only when its turn has come is it known which comms
 * are open. In another state, or beside the session, they are others: such a message runs.
 *
 * The map of comms is changed before the cell runs, because the front end has
 * already opened or closed its side. A rollback undoes that too.
 *
 * See: Jupyter messaging, "Custom messages".
 */

#include "comm.h"

#include "kernel/jupyter/comms.h"
#include "kernel/jupyter/iopub.h"
#include "kernel/jupyter/jupyter.h"
#include "kernel/run/account.h"
#include "kernel/run/accounts.h"
#include "kernel/run/runner.h"
#include "kernel/run/travel.h"

#include <string.h>

static bool is_ignored(const struct runner *runner, const struct request *request) {
    const json_t *petri = json_object_get(request->message.metadata, "petri");
    return strcmp(request->message.msg_type, "comm_open") != 0 && !run_goes_beside(request) &&
           !json_object_get(petri, "from") && !comms_has(runner->comms, request->message.content);
}

static void begin_comm(struct run *run, json_t **ret_frame) {
    struct runner *runner = run->runner;
    const struct message *message = &run->request->message;
    (void)travel_start(run); /* it takes no number */
    if (run->result.outcome == OUTCOME_OK)
        account_begin(runner->accounts, run);
    if (run->result.outcome != OUTCOME_OK)
        return;
    comms_note(run->comms, message->msg_type, message->content);
    run->asked.buffers = message->buffers;
    run->asked.n_buffers = message->n_buffers;
    *ret_frame = json_pack("{s:s, s:O, s:s, s:O, s:O, s:O*, s:O*}", "type", "comm", "header", message->header,
                           "msg_type", message->msg_type, "content", message->content, "metadata", message->metadata,
                           "stdin", run->asked.spec.stdin_text, "env", run->asked.spec.env);
}

/* A comm message has no reply: an error is published on iopub, and the report is in the record. */
static void end_comm(struct run *run) {
    struct runner *runner = run->runner;
    if (run->result.rolled_back) {
        run->result.error = outcome_error(run->result.outcome, &run->result.facts);
        iopub_publish(runner->jupyter, run->request->message.header, "error", json_copy(run->result.error));
    } else if (run->result.outcome != OUTCOME_OK) {
        run->result.error = json_incref(run->result.reply);
    }
    json_decref(account_end(runner->accounts, runner->session, run));
}

static void after_comm(struct run *run) {
    account_tidy(run->runner->accounts);
}

const struct cell_kind comm_cell = {
    .is_ignored = is_ignored, .begin = begin_comm, .end = end_comm, .after = after_comm};
