/*
 * comm.c - makes the worker's frame of a comm message, and publishes an error where the message's cell fails.
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
    records_tidy(&run->runner->accounts->records);
}

const struct cell_kind comm_cell = {.begin = begin_comm, .end = end_comm, .after = after_comm};
