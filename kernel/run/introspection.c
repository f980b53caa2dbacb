/*
 * introspection.c - four slots, each with a cell of its own, and a queue.
 *
 * A request's time counts from its arrival, so it includes the wait in the queue.
 * Each request is answered: by the worker, or with the kind's empty reply. A tick
 * looks first at the slots, then at requests that are overtaken or have waited too
 * long, then at the cell that has run longest and has to make room; last it puts
 * cells into the free slots, and makes a spare one. A slot's cell is always discarded, even if it has succeeded,
 * because its changes must not reach the session.
 */

#include "introspection.h"

#include "kernel/base/clock.h"
#include "kernel/base/sandbox_error.h"
#include "kernel/jupyter/jupyter.h"
#include "kernel/jupyter/reply.h"
#include "kernel/jupyter/route.h"
#include "kernel/run/runner.h"

#include <stdio.h>
#include <string.h>

enum {
    MAX_FRAME_BYTES = 8 << 20,
    LIMIT_MS = 2000,    /* jedi may take more than one second on a busy machine */
    COLD_MS = 10000,    /* loading jedi takes as long as a start */
    GIVE_WAY_MS = 500,  /* by then a user who types has sent the next request */
    TOKENIZE_MS = 1000, /* a console that waits longer for is_complete never asks again */
};

static json_t *field(const json_t *content, const char *key, json_t *fallback) {
    json_t *value = json_object_get(content, key);
    if (!value || json_typeof(value) != json_typeof(fallback))
        return fallback;
    json_decref(fallback);
    return json_incref(value);
}

static json_t *code_of(const json_t *content) {
    return field(content, "code", json_string(""));
}

static json_t *cursor_of(const json_t *content) {
    return field(content, "cursor_pos", json_integer(0));
}

static json_t *complete_frame(const json_t *content) {
    return json_pack("{s:s, s:o, s:o}", "type", "complete", "code", code_of(content), "cursor_pos", cursor_of(content));
}

static json_t *complete_empty(const json_t *content) {
    return json_pack("{s:s, s:[], s:o, s:o, s:{}}", "status", "ok", "matches", "cursor_start", cursor_of(content),
                     "cursor_end", cursor_of(content), "metadata");
}

static json_t *inspect_frame(const json_t *content) {
    return json_pack("{s:s, s:o, s:o, s:o, s:o}", "type", "inspect", "code", code_of(content), "cursor_pos",
                     cursor_of(content), "detail_level", field(content, "detail_level", json_integer(0)),
                     "omit_sections", field(content, "omit_sections", json_array()));
}

static json_t *inspect_empty(const json_t *content) {
    (void)content;
    return json_pack("{s:s, s:b, s:{}, s:{}}", "status", "ok", "found", 0, "data", "metadata");
}

static json_t *is_complete_frame(const json_t *content) {
    return json_pack("{s:s, s:o}", "type", "is_complete", "code", code_of(content));
}

static json_t *is_complete_empty(const json_t *content) {
    (void)content;
    return json_pack("{s:s}", "status", "unknown");
}

const struct introspection_kind introspect_complete = {.reply_type = "complete_reply",
                                                       .answer = ANSWER_COMPLETE,
                                                       .frame = complete_frame,
                                                       .empty_reply = complete_empty,
                                                       .is_overtaken = true,
                                                       .limit_ms = LIMIT_MS,
                                                       .cold_ms = COLD_MS};
const struct introspection_kind introspect_inspect = {.reply_type = "inspect_reply",
                                                      .answer = ANSWER_INSPECT,
                                                      .frame = inspect_frame,
                                                      .empty_reply = inspect_empty,
                                                      .limit_ms = LIMIT_MS,
                                                      .cold_ms = COLD_MS};
const struct introspection_kind introspect_is_complete = {.reply_type = "is_complete_reply",
                                                          .answer = ANSWER_IS_COMPLETE,
                                                          .frame = is_complete_frame,
                                                          .empty_reply = is_complete_empty,
                                                          .limit_ms = TOKENIZE_MS,
                                                          .cold_ms = TOKENIZE_MS};

void introspections_init(struct introspections *all) {
    *all = (struct introspections){0};
    for (int i = 0; i < INTROSPECTIONS_AT_ONCE; i++)
        exchange_init(&all->slots[i].exchange);
    spare_init(&all->spare);
}

static void clear_slot(struct introspection *slot) {
    exchange_close(&slot->exchange);
    cell_discard(steal_pointer(slot->cell));
}

void introspections_fini(struct introspections *all) {
    for (int i = 0; i < INTROSPECTIONS_AT_ONCE; i++) {
        clear_slot(&all->slots[i]);
        request_destroy(steal_pointer(all->slots[i].request));
    }
    request_queue_clear(&all->waiting);
    spare_fini(&all->spare);
}

/* When its time is over. It never has more than the session's own limit of time. */
static int64_t due_us(const struct runner *runner, const struct request *request) {
    const struct introspection_kind *kind = request->route->introspection;
    struct limits limits;
    limits_beside(&runner->limits, INTROSPECTIONS_AT_ONCE, &limits);
    int64_t own_ms = runner->preloaded ? kind->limit_ms : kind->cold_ms;
    return request->arrived_us + clock_sooner(own_ms, limits.values[LIMIT_TIMEOUT]) * CLOCK_MS;
}

/*
 * Answers with the worker's reply, completed from the empty one; or, where
 * content is NULL, with the empty one. content is borrowed.
 */
static void answer_introspection(struct runner *runner, struct request *request, const json_t *content) {
    const struct introspection_kind *kind = request->route->introspection;
    json_t *reply = content ? answer_fields(kind->answer, content) : json_object();
    json_auto_t *empty = kind->empty_reply(request->message.content);
    const char *status = json_string_value(json_object_get(reply, "status"));
    if (!status || strcmp(status, "error") != 0)
        json_object_update_missing(reply, empty);
    reply_send(runner->jupyter, request, kind->reply_type, NULL, reply);
    reply_idle(runner->jupyter, request);
}

/* Answers with the exchange's reply, if there is one, and ends the exchange. */
static void finish_introspection(struct runner *runner, struct introspection *slot) {
    answer_introspection(runner, steal_pointer(slot->request), slot->exchange.reply);
    clear_slot(slot);
}

/* Gives the slot a cell: the spare one, or a new one. 0 or -errno. */
static int take_cell(struct runner *runner, struct spare *spare, struct introspection *slot, struct error *ret_cause) {
    const struct cell_options options = {.source = CELL_FROM_CURRENT, .role = CELL_EPHEMERAL};
    slot->cell = spare_take(spare, runner);
    return slot->cell ? 0 : cell_create(runner->session, &options, &slot->cell, ret_cause);
}

/* Sends the request to a cell. 0, or -errno with a sentence in ret_error. */
static int start_introspection(struct runner *runner, struct spare *spare, struct introspection *slot,
                               struct error *ret_error) {
    struct error cause = {0};
    struct limits limits;
    json_auto_t *frame = slot->request->route->introspection->frame(slot->request->message.content);
    limits_beside(&runner->limits, INTROSPECTIONS_AT_ONCE, &limits);
    const struct exchange_options options = {.max_frame_bytes = MAX_FRAME_BYTES,
                                             .due_us = due_us(runner, slot->request),
                                             .limits = &limits,
                                             .is_watched = session_is_watched(runner->session)};
    slot->has_begun = false;
    slot->names = (struct names){0};
    int r = take_cell(runner, spare, slot, &cause);
    if (r < 0)
        error_set_sandbox(ret_error, r, &cause);
    else if ((r = exchange_start(&slot->exchange, slot->cell, frame, &options)) < 0)
        error_set(ret_error, -r, "starting the cell failed: %s", strerror(-r));
    slot->started_us = clock_us();
    return r;
}

/* NULL where no more may run. */
static struct introspection *free_slot(struct introspections *all, const struct runner *runner) {
    struct introspection *found = NULL;
    struct limits limits;
    int left = limits_beside(&runner->limits, INTROSPECTIONS_AT_ONCE, &limits);
    for (int i = 0; i < INTROSPECTIONS_AT_ONCE; i++)
        if (all->slots[i].request)
            left--;
        else
            found = &all->slots[i];
    return left > 0 ? found : NULL;
}

static void start_waiting(struct introspections *all, struct runner *runner) {
    struct introspection *slot;
    while (all->waiting.first && (slot = free_slot(all, runner))) {
        struct error error;
        slot->request = request_queue_pop(&all->waiting);
        if (start_introspection(runner, &all->spare, slot, &error) < 0) {
            log_write(runner->log, LOG_LEVEL_WARNING, "a %s is answered without a cell: %s",
                      slot->request->message.msg_type, error.text);
            finish_introspection(runner, slot);
        }
    }
}

void introspections_submit(struct introspections *all, struct jupyter *jupyter, struct request *request) {
    reply_busy(jupyter, request);
    request_queue_push(&all->waiting, request);
}

static const char *client_of(const struct request *request) {
    const char *session = json_string_value(json_object_get(request->message.header, "session"));
    return session ? session : "";
}

/* Whether a later request overtakes this one. later: the first of those that came after it, and wait. */
static bool is_overtaken(const struct request *request, const struct request *later) {
    if (!request->route->introspection->is_overtaken)
        return false;
    while (later && (later->route != request->route || strcmp(client_of(later), client_of(request)) != 0))
        later = later->next;
    return later != NULL;
}

/* Answers those that are overtaken, and ends their cells. What waits came after all that runs. */
static void answer_overtaken(struct introspections *all, struct runner *runner) {
    struct request_queue waiting = all->waiting;
    struct request *request;
    for (int i = 0; i < INTROSPECTIONS_AT_ONCE; i++)
        if (all->slots[i].request && is_overtaken(all->slots[i].request, waiting.first))
            finish_introspection(runner, &all->slots[i]);
    all->waiting = (struct request_queue){0};
    while ((request = request_queue_pop(&waiting)))
        if (is_overtaken(request, waiting.first))
            answer_introspection(runner, request, NULL);
        else
            request_queue_push(&all->waiting, request);
}

/*
 * The slot to end for the sake of a waiting request: the one that has run
 * longest. NULL where no request waits, or a slot is free.
 */
static struct introspection *longest_running(struct introspections *all, const struct runner *runner) {
    struct introspection *found = NULL;
    if (!all->waiting.first || free_slot(all, runner))
        return NULL;
    for (int i = 0; i < INTROSPECTIONS_AT_ONCE; i++) {
        struct introspection *slot = &all->slots[i];
        if (slot->request && (!found || slot->started_us < found->started_us))
            found = slot;
    }
    return found;
}

static int64_t gives_way_us(const struct introspection *slot) {
    return slot->started_us + GIVE_WAY_MS * CLOCK_MS;
}

/* The worker's first frame has come: what it needs is loaded. The rest of limit_ms is left, or half of it if that is
 * more. */
static void note_begun(struct introspection *slot, int64_t now_us) {
    struct exchange *exchange = &slot->exchange;
    if (slot->has_begun || !exchange->has_frame)
        return;
    const int64_t limit_us = slot->request->route->introspection->limit_ms * CLOCK_MS;
    const int64_t whole_us = slot->request->arrived_us + limit_us, half_us = now_us + limit_us / 2;
    exchange->due_us = clock_sooner(exchange->due_us, whole_us < half_us ? half_us : whole_us);
    slot->has_begun = true;
}

void introspections_watch(struct introspections *all, const struct runner *runner, struct poll_set *set) {
    for (int i = 0; i < INTROSPECTIONS_AT_ONCE; i++) {
        struct introspection *slot = &all->slots[i];
        exchange_watch(&slot->exchange, set);
        if (slot->exchange.state == EXCHANGE_OPEN)
            names_watch(&slot->names, slot->cell, set);
    }
    if (all->waiting.first)
        poll_set_deadline(set, due_us(runner, all->waiting.first));
    const struct introspection *first = longest_running(all, runner);
    if (first)
        poll_set_deadline(set, gives_way_us(first));
    spare_watch(&all->spare, set);
}

bool introspections_are_idle(const struct introspections *all) {
    bool idle = !all->waiting.first;
    for (int i = 0; i < INTROSPECTIONS_AT_ONCE; i++)
        idle &= !all->slots[i].request;
    return idle;
}

void introspections_tick(struct introspections *all, struct runner *runner, int64_t now_us) {
    bool hopeless = runner->state == RUNNER_UNAVAILABLE;
    for (int i = 0; i < INTROSPECTIONS_AT_ONCE; i++) {
        struct introspection *slot = &all->slots[i];
        exchange_tick(&slot->exchange, now_us);
        if (exchange_has_ended(&slot->exchange))
            finish_introspection(runner, slot);
        else
            note_begun(slot, now_us);
    }
    answer_overtaken(all, runner);
    while (all->waiting.first && (hopeless || due_us(runner, all->waiting.first) <= now_us))
        answer_introspection(runner, request_queue_pop(&all->waiting), NULL);
    struct introspection *first = longest_running(all, runner);
    if (first && gives_way_us(first) <= now_us)
        finish_introspection(runner, first);
    if (runner_has_image(runner))
        start_waiting(all, runner);
    spare_tick(&all->spare, runner, introspections_are_idle(all), now_us);
}
