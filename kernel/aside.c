#include "aside.h"

#include "kernel/clock.h"
#include "kernel/dispatch.h"
#include "kernel/kernel.h"
#include "kernel/reply.h"
#include "kernel/talk.h"

#include <stdio.h>
#include <string.h>

enum {
    MAX_FRAME_BYTES = 8 << 20,
    FRAMES_PER_TURN = 16,
    LIMIT_MS = 2000,       /* jedi may take more than one, on a busy machine */
    COLD_MS = 10000,       /* to load it takes as long as a start */
    GIVE_WAY_MS = 500,     /* whoever types has typed on by then, and asks for something else */
    TOKENIZE_MS = 1000,    /* a console that waits longer for is_complete never asks again */
    MEASURE_MS = 100,      /* where control groups keep the limit of memory */
    MEASURE_CLOSE_MS = 10, /* where this measuring keeps it: sandbox.h */
};

static json_t *field(const json_t *content, const char *key, json_t *otherwise) {
    json_t *value = json_object_get(content, key);
    if (!value || json_typeof(value) != json_typeof(otherwise))
        return otherwise;
    json_decref(otherwise);
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

static json_t *complete_otherwise(const json_t *content) {
    return json_pack("{s:s, s:[], s:o, s:o, s:{}}", "status", "ok", "matches", "cursor_start", cursor_of(content),
                     "cursor_end", cursor_of(content), "metadata");
}

static json_t *inspect_frame(const json_t *content) {
    return json_pack("{s:s, s:o, s:o, s:o, s:o}", "type", "inspect", "code", code_of(content), "cursor_pos",
                     cursor_of(content), "detail_level", field(content, "detail_level", json_integer(0)),
                     "omit_sections", field(content, "omit_sections", json_array()));
}

static json_t *inspect_otherwise(const json_t *content) {
    (void)content;
    return json_pack("{s:s, s:b, s:{}, s:{}}", "status", "ok", "found", 0, "data", "metadata");
}

static json_t *is_complete_frame(const json_t *content) {
    return json_pack("{s:s, s:o}", "type", "is_complete", "code", code_of(content));
}

static json_t *is_complete_otherwise(const json_t *content) {
    (void)content;
    return json_pack("{s:s}", "status", "unknown");
}

const struct aside_kind aside_complete = {"complete_reply",   ANSWER_COMPLETE, complete_frame,
                                          complete_otherwise, LIMIT_MS,        COLD_MS};
const struct aside_kind aside_inspect = {"inspect_reply",   ANSWER_INSPECT, inspect_frame,
                                         inspect_otherwise, LIMIT_MS,       COLD_MS};
const struct aside_kind aside_is_complete = {"is_complete_reply",   ANSWER_IS_COMPLETE, is_complete_frame,
                                             is_complete_otherwise, TOKENIZE_MS,        TOKENIZE_MS};

void asides_init(struct asides *asides) {
    *asides = (struct asides){0};
    for (int i = 0; i < ASIDES_AT_ONCE; i++)
        worker_link_init(&asides->slots[i].link);
}

static void clear_slot(struct aside *aside) {
    worker_link_detach(&aside->link);
    cell_discard(steal_pointer(aside->cell));
}

void asides_fini(struct asides *asides) {
    for (int i = 0; i < ASIDES_AT_ONCE; i++) {
        clear_slot(&asides->slots[i]);
        request_destroy(steal_pointer(asides->slots[i].request));
    }
    request_queue_clear(&asides->waiting);
}

/* An aside is a cell: it has no more than the session's limits give one. */
static int64_t due_us(const struct kernel *kernel, const struct request *request) {
    const struct aside_kind *kind = request->row->aside;
    struct limits limits;
    limits_beside(&kernel->limits, ASIDES_AT_ONCE, &limits);
    int64_t own_ms = kernel->rehearsal.committed ? kind->limit_ms : kind->cold_ms;
    return request->arrived_us + clock_sooner(own_ms, limits.values[LIMIT_TIMEOUT]) * CLOCK_MS;
}

/* Answers with what the worker said, or, content being NULL, with what is said otherwise. content is borrowed. */
static void answer(struct kernel *kernel, struct request *request, json_t *content) {
    const struct aside_kind *kind = request->row->aside;
    json_t *reply = content ? answer_fields(kind->answer, content) : json_object();
    json_auto_t *otherwise = kind->otherwise(request->message.content);
    const char *status = json_string_value(json_object_get(reply, "status"));
    if (!status || strcmp(status, "error") != 0)
        json_object_update_missing(reply, otherwise);
    reply_send(kernel, request, kind->reply_type, NULL, reply);
    reply_idle(kernel, request);
}

static void finish(struct kernel *kernel, struct aside *aside, json_t *content) {
    answer(kernel, steal_pointer(aside->request), content);
    clear_slot(aside);
}

/* When an aside is measured next. */
static int64_t measure_after_us(const struct kernel *kernel, int64_t now_us) {
    bool watched = session_is_watched(kernel->runner.session);
    return now_us + (watched ? MEASURE_CLOSE_MS : MEASURE_MS) * CLOCK_MS;
}

/* 0 or -errno: the cell is made, runs and has its request. */
static int start(struct kernel *kernel, struct aside *aside, struct sandbox_error *ret_error) {
    const struct cell_options options = {.source = CELL_FROM_CURRENT, .aside = true};
    struct limits most;
    limits_beside(&kernel->limits, ASIDES_AT_ONCE, &most);
    const struct cell_limits limits = {.memory_bytes = (uint64_t)most.values[LIMIT_MEMORY],
                                       .processes = (unsigned)most.values[LIMIT_PROCESSES],
                                       .cpus = (unsigned)most.values[LIMIT_CPUS]};
    json_auto_t *frame = aside->request->row->aside->frame(aside->request->message.content);
    int r = cell_create(kernel->runner.session, &options, &aside->cell, ret_error);
    if (r == 0)
        r = worker_link_attach(&aside->link, cell_control_fd(aside->cell), MAX_FRAME_BYTES);
    if (r == 0)
        r = talk_send(&aside->link, frame, NULL, 0);
    if (r == 0)
        r = cell_start(aside->cell, &limits);
    aside->cpu_ms = most.values[LIMIT_CPU];
    aside->has_begun = false;
    aside->started_us = clock_us();
    aside->measure_us = measure_after_us(kernel, aside->started_us);
    return r;
}

/* NULL where as many run as may. */
static struct aside *free_slot(struct kernel *kernel) {
    struct asides *asides = &kernel->asides;
    struct aside *found = NULL;
    struct limits limits;
    int left = limits_beside(&kernel->limits, ASIDES_AT_ONCE, &limits);
    for (int i = 0; i < ASIDES_AT_ONCE; i++) {
        if (asides->slots[i].request)
            left--;
        else
            found = &asides->slots[i];
    }
    return left > 0 ? found : NULL;
}

static void start_waiting(struct kernel *kernel) {
    struct asides *asides = &kernel->asides;
    struct aside *aside;
    while (asides->waiting.first && (aside = free_slot(kernel))) {
        struct sandbox_error error = {0};
        char text[512];
        aside->request = request_queue_pop(&asides->waiting);
        aside->due_us = due_us(kernel, aside->request);
        if (start(kernel, aside, &error) < 0) {
            log_write(&kernel->log, LOG_LEVEL_WARNING, "a request was not looked at: %s",
                      sandbox_error_text(&error, text, sizeof text));
            finish(kernel, aside, NULL);
        }
    }
}

void asides_submit(struct kernel *kernel, struct request *request) {
    reply_busy(kernel, request);
    request_queue_push(&kernel->asides.waiting, request);
}

/* The one that gives way to a request that waits; NULL where none waits, or there is room. */
static struct aside *longest(struct kernel *kernel) {
    struct asides *asides = &kernel->asides;
    struct aside *found = NULL;
    if (!asides->waiting.first || free_slot(kernel))
        return NULL;
    for (int i = 0; i < ASIDES_AT_ONCE; i++) {
        struct aside *aside = &asides->slots[i];
        if (aside->request && (!found || aside->started_us < found->started_us))
            found = aside;
    }
    return found;
}

static int64_t gives_way_us(const struct aside *aside) {
    return aside->started_us + GIVE_WAY_MS * CLOCK_MS;
}

/* The worker has said something: what it needs is loaded, and the user's code may run from now on. */
static void note_begun(struct aside *aside) {
    if (!aside->has_begun)
        aside->due_us = clock_sooner(aside->due_us, clock_us() + aside->request->row->aside->limit_ms * CLOCK_MS);
    aside->has_begun = true;
}

/* Handles one frame: an aside publishes nothing and asks nothing. Whether there may be another. */
static bool take_frame(struct kernel *kernel, struct aside *aside) {
    struct wire_frame frame;
    enum wire_type type;
    const char *why;
    int r = worker_link_next(&aside->link, &frame, &type, &why);
    if (r == 0)
        return false;
    if (r < 0) {
        finish(kernel, aside, NULL);
        return false;
    }
    note_begun(aside);
    if (type == WIRE_DONE)
        finish(kernel, aside, json_object_get(frame.json, "reply"));
    else if ((type != WIRE_PUBLISH && type != WIRE_SYNC) || talk_ack(&aside->link, frame.json) < 0)
        finish(kernel, aside, NULL);
    wire_frame_fini(&frame);
    return aside->request != NULL;
}

static void take_frames(struct kernel *kernel, struct aside *aside) {
    for (int i = 0; i < FRAMES_PER_TURN; i++)
        if (!aside->request || !worker_link_has_more(&aside->link) || !take_frame(kernel, aside))
            break;
}

static void link_ready(struct kernel *kernel, void *arg, short events) {
    struct aside *aside = arg;
    if (aside->request && worker_link_serve(&aside->link, events) < 0)
        finish(kernel, aside, NULL);
}

static void exit_ready(struct kernel *kernel, void *arg, short events) {
    struct aside *aside = arg;
    (void)events;
    if (!aside->request)
        return;
    if (worker_link_serve(&aside->link, ZMQ_POLLIN) == 0)
        take_frames(kernel, aside);
    if (aside->request)
        finish(kernel, aside, NULL);
}

/* Ends what has used more than it may, in the ways in which a cell is ended for it. */
static void measure(struct kernel *kernel, struct aside *aside, int64_t now_us) {
    struct cell_usage usage = {0};
    if (now_us < aside->measure_us)
        return;
    aside->measure_us = measure_after_us(kernel, now_us);
    cell_measure(aside->cell, &usage);
    if (usage.over_memory || usage.over_in_flight || usage.replaced || (int64_t)usage.cpu_us / CLOCK_MS > aside->cpu_ms)
        finish(kernel, aside, NULL);
}

void asides_watch(struct kernel *kernel, struct poll_set *set) {
    struct asides *asides = &kernel->asides;
    for (int i = 0; i < ASIDES_AT_ONCE; i++) {
        struct aside *aside = &asides->slots[i];
        if (!aside->request)
            continue;
        if (worker_link_events(&aside->link))
            poll_set_add_fd(set, aside->link.fd, worker_link_events(&aside->link), link_ready, aside);
        poll_set_add_fd(set, cell_exit_fd(aside->cell), ZMQ_POLLIN, exit_ready, aside);
        poll_set_deadline(set, worker_link_has_more(&aside->link) ? 0 : clock_sooner(aside->due_us, aside->measure_us));
    }
    if (asides->waiting.first)
        poll_set_deadline(set, due_us(kernel, asides->waiting.first));
    const struct aside *first = longest(kernel);
    if (first)
        poll_set_deadline(set, gives_way_us(first));
}

void asides_tick(struct kernel *kernel, int64_t now_us) {
    struct asides *asides = &kernel->asides;
    bool hopeless = kernel->runner.state == RUNNER_UNAVAILABLE;
    for (int i = 0; i < ASIDES_AT_ONCE; i++) {
        struct aside *aside = &asides->slots[i];
        take_frames(kernel, aside);
        if (aside->request)
            measure(kernel, aside, now_us);
        if (aside->request && aside->due_us <= now_us)
            finish(kernel, aside, NULL);
    }
    while (asides->waiting.first && (hopeless || due_us(kernel, asides->waiting.first) <= now_us))
        answer(kernel, request_queue_pop(&asides->waiting), NULL);
    struct aside *first = longest(kernel);
    if (first && gives_way_us(first) <= now_us)
        finish(kernel, first, NULL);
    if (runner_has_image(&kernel->runner))
        start_waiting(kernel);
}
