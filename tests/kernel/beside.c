#include "beside.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { STUCK_ROUNDS = 1000 };

struct harness_worker fresh_a, fresh_b;

static int start_with(harness_change *change) {
    fresh_a = fresh_b = (struct harness_worker){0};
    harness_start_warm(&h, change);
    return 0;
}

int beside_start(void **state) {
    (void)state;
    return start_with(NULL);
}

static void one_processor(struct kernel *kernel) {
    kernel->runner.limits.values[LIMIT_CPUS] = 1;
}

int beside_start_one(void **state) {
    (void)state;
    return start_with(one_processor);
}

static void many_processors(struct kernel *kernel) {
    kernel->runner.limits.values[LIMIT_CPUS] = 64;
}

int beside_start_many(void **state) {
    (void)state;
    return start_with(many_processors);
}

int beside_stop(void **state) {
    harness_leave(&fresh_a);
    harness_leave(&fresh_b);
    return cells_stop(state);
}

/* petri is stolen. */
void send_with(const char *code, json_t *petri, char id[37]) {
    harness_send_with(&h, CHANNEL_SHELL, "execute_request", json_pack("{s:s}", "code", code),
                      json_pack("{s:o}", "petri", petri), id);
}

void send_fresh(const char *code, char id[37]) {
    send_with(code, json_pack("{s:b}", "fresh", 1), id);
}

/* The next fresh run has been started and has its request: the test plays it. */
void expect_begun(struct harness_worker *worker) {
    json_decref(harness_next_beside(&h, worker));
}

void begin_fresh(const char *code, struct harness_worker *worker, char id[37]) {
    send_fresh(code, id);
    expect_begun(worker);
}

void expect_own_begun(void) {
    json_decref(harness_next_cell(&h));
}

/* A worker ends its run. NULL: the session's own. */
void end(struct harness_worker *worker, const char *status) {
    harness_play(&h, worker);
    harness_done(&h, status);
}

void expect_outcome(const char *id, const char *outcome) {
    struct message reply;
    harness_receive(&h, CHANNEL_SHELL, &reply);
    expect_text(reply.parent, "msg_id", id);
    expect_text(report_of(&reply), "outcome", outcome);
    message_fini(&reply);
}

/* petri is stolen; NULL for none. */
static void send_interrupt(json_t *petri, char id[37]) {
    harness_send_with(&h, CHANNEL_CONTROL, "interrupt_request", json_object(),
                      petri ? json_pack("{s:o}", "petri", petri) : json_object(), id);
}

int count_told(const char *word) {
    const char *story = fake_story(h.session);
    int n = 0;
    for (const char *at = story; (at = strstr(at, word)); at += strlen(word))
        n += (at == story || at[-1] == ' ') && (at[strlen(word)] == ' ' || at[strlen(word)] == '\0');
    return n;
}

/* So often and not more, in as many turns of the loop as it may need. */
void expect_told(const char *word, int n) {
    for (int i = 0; i < STUCK_ROUNDS && count_told(word) < n; i++)
        take_a_turn();
    take_a_turn();
    assert_int_equal(count_told(word), n);
}

void interrupt(json_t *petri, const char *status) {
    char id[37];
    send_interrupt(petri, id);
    json_t *content = harness_reply(&h, CHANNEL_CONTROL, "interrupt_reply", id);
    expect_text(content, "status", status);
    json_decref(content);
}

/* The worker asks. NULL: the session's own. */
void ask(struct harness_worker *worker, const char *prompt) {
    harness_play(&h, worker);
    harness_say(&h, json_pack("{s:s, s:i, s:s, s:b}", "type", "input", "seq", 1, "prompt", prompt, "password", 0));
}
