/*
 * input.c - one question at a time over all runs, and how long it waits.
 *
 * While a question waits, the run has no wall-clock deadline; left_us keeps the
 * time that was left. Each measurement subtracts from it the CPU time that the
 * cell has used since the last one, but not more than the time that has passed.
 * since_us is where the last measurement ended, so no time is counted twice.
 *
 * Not every answer says which question it is for. So one question is out at a time:
 * that of another run is held until the first is answered or forgotten, or its run is
 * over. A question whose client isn't there yet is not out, and holds no other one.
 *
 * Only the client that asked for the run may answer: the answer's identity has to
 * be the same as the request's. Messages that were sent before the question are
 * discarded first.
 *
 * See: Jupyter messaging, "Messages on the stdin (ROUTER/DEALER) channel".
 */

#include "input.h"

#include "kernel/base/clock.h"
#include "kernel/base/filename.h"
#include "kernel/jupyter/identities.h"
#include "kernel/jupyter/jupyter.h"
#include "kernel/run/runner.h"
#include "protocol/text.h"

#include <errno.h>
#include <string.h>
#include <zmq.h>

enum { ANSWERS_PER_TURN = 16, STALE_MAX = 1000, PASSWORD_PROMPT_BYTES = 200, MEASURE_LEAST_MS = 10 };

/* Steals prompt. */
static json_t *mark(json_t *prompt) {
    char line[PASSWORD_PROMPT_BYTES];
    json_t *marked = text_format("%s%s", INPUT_MARK, filename_line(json_string_value(prompt), line, sizeof line));
    json_decref(prompt);
    return marked;
}

/* The prompt as it is shown. It counts as output of the cell, and is cut where the limit of output cuts it. */
static json_t *shown_prompt(struct outputs *outputs, const json_t *prompt, bool password) {
    size_t bytes = outputs_admit(outputs, json_string_length(prompt));
    json_t *shown = text_to_json(json_string_value(prompt), text_whole_utf8(json_string_value(prompt), bytes));
    return password && shown ? mark(shown) : shown;
}

/* The content of the input_request. The caller's; NULL on ENOMEM. */
static json_t *make_input_request(struct run *run, const json_t *frame) {
    bool password = json_is_true(json_object_get(frame, "password"));
    json_t *prompt = shown_prompt(&run->now.outputs, json_object_get(frame, "prompt"), password);
    return json_pack("{s:o, s:b}", "prompt", prompt, "password", password);
}

/*
 * Discards messages that were sent before the question: they don't answer it.
 * Bounded, because a client may go on sending.
 */
static void drop_stale(struct runner *runner) {
    struct message message = {0};
    enum message_problem problem;
    for (int i = 0;
         i < STALE_MAX && channels_receive(&runner->jupyter->channels, CHANNEL_STDIN, &message, &problem) > 0; i++)
        message_fini(&message);
}

/* The run whose question is out; NULL for none. */
static struct run *asking(const struct runner *runner) {
    for (size_t i = 0; i < runner->n_runs; i++) {
        struct run *run = runner->runs[i];
        if (run->now.phase == RUN_WORKS && run->now.question.waits && run->now.question.out)
            return run;
    }
    return NULL;
}

/* The run that has been held longest; NULL for none. */
static struct run *first_held(const struct runner *runner) {
    struct run *first = NULL;
    for (size_t i = 0; i < runner->n_runs; i++) {
        struct run *run = runner->runs[i];
        const struct question *question = &run->now.question;
        if (run->now.phase == RUN_WORKS && question->waits && question->held &&
            (!first || question->order < first->now.question.order))
            first = run;
    }
    return first;
}

/*
 * Sends the question, if no other one is out or was held before. A client may
 * connect to stdin later than to shell. Until it does, the question is kept and sent
 * again later.
 */
static void send_request(struct run *run) {
    struct runner *runner = run->runner;
    struct question *question = &run->now.question;
    const struct run *first = first_held(runner);
    question->held = asking(runner) || (first && first != run);
    if (question->held)
        return;
    drop_stale(runner);
    message_new_id(question->msg_id);
    int r = channels_send(&runner->jupyter->channels, CHANNEL_STDIN,
                          &(struct message_parts){.msg_id = question->msg_id,
                                                  .identities = run->request->message.identities,
                                                  .n_identities = run->request->message.n_identities,
                                                  .msg_type = "input_request",
                                                  .parent = run->request->message.header,
                                                  .content = question->unsent});
    if (r == -EHOSTUNREACH)
        return;
    question->out = r >= 0;
    if (r < 0)
        log_write(runner->log, LOG_LEVEL_ERROR, "an input_request is lost: %s", zmq_strerror(-r));
    json_decref(question->unsent);
    question->unsent = NULL;
}

/* The CPU time that the cell has used until now. */
static uint64_t cpu_us(struct run *run) {
    cell_measure(run->now.cell, &run->now.exchange.usage);
    return run->now.exchange.usage.cpu_us;
}

/* Stops the wall clock. */
static void begin_waiting(struct run *run, json_int_t seq) {
    struct question *question = &run->now.question;
    int64_t now_us = clock_us();
    if (!run->now.has_asked)
        question->wait_left_us = run->asked.limits.values[LIMIT_INPUT_WAIT] * CLOCK_MS;
    question->waits = run->now.has_asked = true;
    question->out = question->held = false;
    question->order = ++run->runner->n_questions;
    question->seq = seq;
    question->left_us = run->now.deadline_us - now_us;
    question->since_us = now_us;
    question->since_cpu_us = cpu_us(run);
    run->now.deadline_us = CLOCK_NEVER;
}

const char *input_ask(struct run *run, const json_t *frame) {
    if (run->now.grace_us != CLOCK_NEVER)
        input_forget(run); /* the interrupt came after the last question was sent: the code may ask again */
    if (!run->asked.allow_stdin || run->now.question.waits)
        return "it asked for input when it may not";
    begin_waiting(run, json_integer_value(json_object_get(frame, "seq")));
    json_decref(run->now.question.unsent);
    run->now.question.unsent = make_input_request(run, frame);
    send_request(run);
    return NULL;
}

void input_ask_again(struct run *run) {
    if (run->now.question.unsent && !run->now.question.held)
        send_request(run);
}

void input_tick(struct runner *runner) {
    struct run *run;
    while (!asking(runner) && (run = first_held(runner)))
        send_request(run);
}

static void account(struct run *run, uint64_t cpu_us, int64_t now_us) {
    struct question *question = &run->now.question;
    int64_t passed_us = now_us - question->since_us;
    /*
     * CPU time can be less than at the last measurement: that of a process
     * that has ended may not be counted any more.
     */
    int64_t used_us = cpu_us > question->since_cpu_us ? (int64_t)(cpu_us - question->since_cpu_us) : 0;
    question->left_us -= clock_sooner(used_us, passed_us);
    question->wait_left_us -= question->held ? 0 : passed_us;
    question->since_us = now_us;
    question->since_cpu_us = cpu_us;
}

void input_account(struct run *run, int64_t now_us) {
    account(run, run->now.exchange.usage.cpu_us, now_us);
}

int64_t input_measure_after_us(const struct run *run) {
    const int64_t least_us = MEASURE_LEAST_MS * CLOCK_MS, left_us = run->now.question.left_us;
    return left_us < least_us ? least_us : left_us;
}

int64_t input_due_us(const struct run *run) {
    const struct question *question = &run->now.question;
    return question->waits && !question->held ? question->since_us + question->wait_left_us : CLOCK_NEVER;
}

void input_forget(struct run *run) {
    int64_t now_us = clock_us();
    if (!run->now.question.waits)
        return;
    account(run, cpu_us(run), now_us);
    run->now.question.waits = false;
    run->now.deadline_us = now_us + run->now.question.left_us;
}

/*
 * Whether a message on stdin comes from the client that sent the request: a
 * different connection with the same identity. See: Jupyter messaging,
 * "Messages on the stdin (ROUTER/DEALER) channel".
 */
static bool was_asked(const struct run *run, const struct message *message) {
    const struct message *asker = &run->request->message;
    bool same = message->n_identities == asker->n_identities && message->n_identities > 0 &&
                identities_are_one(&message->identities[0], &asker->identities[0]);
    for (size_t i = 1; same && i < message->n_identities; i++)
        same = message->identities[i].bytes == asker->identities[i].bytes &&
               memcmp(message->identities[i].data, asker->identities[i].data, asker->identities[i].bytes) == 0;
    return same;
}

/* Clients that name no parent answer whatever is out. */
static bool answers(const struct run *run, const struct message *message) {
    const char *parent = json_string_value(json_object_get(message->parent, "msg_id"));
    return !parent || strcmp(parent, run->now.question.msg_id) == 0;
}

static void take_answer(const struct runner *runner, const struct message *message) {
    struct run *run = asking(runner);
    json_t *value = json_object_get(message->content, "value");
    if (strcmp(message->msg_type, "input_reply") != 0 || !run || !was_asked(run, message) || !answers(run, message))
        return;
    json_auto_t *frame = json_pack("{s:s, s:I, s:o}", "type", "input_reply", "seq", run->now.question.seq, "value",
                                   json_is_string(value) ? json_incref(value) : json_string(""));
    input_forget(run);
    exchange_send(&run->now.exchange, frame);
}

void input_serve(void *arg, short events) {
    struct runner *runner = arg;
    (void)events;
    for (int i = 0; i < ANSWERS_PER_TURN; i++) {
        struct message message = {0};
        enum message_problem problem;
        int r = channels_receive(&runner->jupyter->channels, CHANNEL_STDIN, &message, &problem);
        if (r < 0)
            log_write(runner->log, LOG_LEVEL_ERROR, "receiving failed: %s", zmq_strerror(-r));
        if (r <= 0)
            break;
        if (problem == MESSAGE_OK)
            take_answer(runner, &message);
        message_fini(&message);
    }
}
