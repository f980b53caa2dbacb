/*
 * exchange.c - see exchange.h.
 *
 * Of several ends that a tick finds, the first in this order counts: frames, so
 * that a frame (also `done`) that was sent before the process died or went over a
 * limit counts; then the end of the process, which says more than a closed
 * socket; then the use of resources; the deadline last.
 */
#include "exchange.h"

#include "kernel/base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
    FRAMES_PER_TURN = 64,
    CLOSED_GRACE_MS = 200,         /* when a process ends, its socket is seen closed a moment before its end is known */
    FILLED_BYTES_PER_MS = 4 << 20, /* as fast as a program can fill memory */
    MEASURE_MS = 100,              /* where control groups enforce the limits */
    FINISH_MS = 1,                 /* how often one looks whether the cell is measured that is at its end */
    MEASURE_CLOSE_MS = 10, /* where measuring enforces them (sandbox.h, session_is_watched()), or a limit is near */
};

static const struct exchange_calls no_calls = {0};

void exchange_init(struct exchange *exchange) {
    *exchange = (struct exchange){.state = EXCHANGE_CLOSED,
                                  .calls = &no_calls,
                                  .exit_fd = -1,
                                  .due_us = CLOCK_NEVER,
                                  .closed_us = CLOCK_NEVER,
                                  .measure_us = CLOCK_NEVER};
    worker_link_init(&exchange->link);
}

void exchange_close(struct exchange *exchange) {
    worker_link_detach(&exchange->link);
    json_decref(exchange->reply);
    exchange_init(exchange);
}

bool exchange_has_ended(const struct exchange *exchange) {
    return exchange->state != EXCHANGE_CLOSED && exchange->state != EXCHANGE_OPEN;
}

bool exchange_is_over_limit(const struct exchange *exchange) {
    return exchange->state >= EXCHANGE_LATE;
}

void exchange_end(struct exchange *exchange, enum exchange_state end) {
    if (exchange->state == EXCHANGE_OPEN)
        exchange->state = end;
}

static void break_wire(struct exchange *exchange, const char *why) {
    if (exchange->state == EXCHANGE_OPEN)
        snprintf(exchange->why, sizeof exchange->why, "%s", why);
    exchange_end(exchange, EXCHANGE_BROKEN);
}

static int64_t used_ms(const struct exchange *exchange) {
    return (int64_t)exchange->usage.cpu_us / CLOCK_MS;
}

/*
 * The time until the cell has to be measured: when it can reach its limit of
 * CPU time on all its processors, at the latest; or half of what it may still take
 * of memory, so that it is seen on the way.
 */
static int64_t measure_after_us(const struct exchange *exchange) {
    int64_t left_ms = (exchange->cpu_ms - used_ms(exchange)) / exchange->cpus;
    int64_t half_ms = (exchange->memory_bytes - (int64_t)exchange->usage.memory_bytes) / 2 / FILLED_BYTES_PER_MS;
    left_ms = clock_sooner(left_ms, half_ms);
    bool is_close = exchange->is_watched || left_ms <= MEASURE_CLOSE_MS;
    return (is_close ? MEASURE_CLOSE_MS : clock_sooner(left_ms, MEASURE_MS)) * CLOCK_MS;
}

int exchange_open(struct exchange *exchange, int control_fd, int exit_fd, const struct exchange_options *options) {
    exchange_init(exchange);
    int r = worker_link_attach(&exchange->link, control_fd, options->max_frame_bytes);
    if (r < 0)
        return r;
    exchange->state = EXCHANGE_OPEN;
    exchange->calls = options->calls ? options->calls : &no_calls;
    exchange->arg = options->arg;
    exchange->exit_fd = exit_fd;
    exchange->due_us = options->due_us;
    return 0;
}

static int send_frame(struct worker_link *link, const json_t *frame, const struct frame *buffers, size_t n_buffers) {
    struct wire_buffer wire_buffers[WIRE_MAX_BUFFERS];
    if (!frame)
        return -ENOMEM;
    if (n_buffers > WIRE_MAX_BUFFERS)
        return -EINVAL;
    for (size_t i = 0; i < n_buffers; i++)
        wire_buffers[i] = (struct wire_buffer){buffers[i].data, buffers[i].bytes};
    return worker_link_send(link, frame, wire_buffers, n_buffers);
}

int exchange_start(struct exchange *exchange, struct cell *cell, const json_t *frame,
                   const struct exchange_options *options) {
    const int64_t *limits = options->limits->values;
    int r = exchange_open(exchange, cell_control_fd(cell), cell_exit_fd(cell), options);
    if (r == 0)
        r = send_frame(&exchange->link, frame, options->buffers, options->n_buffers);
    if (r == 0)
        r = cell_start(cell, &(struct cell_limits){.memory_bytes = (uint64_t)limits[LIMIT_MEMORY],
                                                   .processes = (unsigned)limits[LIMIT_PROCESSES],
                                                   .cpus = (unsigned)limits[LIMIT_CPUS]});
    if (r < 0) {
        exchange_close(exchange);
        return r;
    }
    exchange->cell = cell;
    exchange->is_watched = options->is_watched;
    exchange->cpu_ms = limits[LIMIT_CPU];
    exchange->memory_bytes = limits[LIMIT_MEMORY];
    exchange->cpus = limits[LIMIT_CPUS];
    exchange->measure_us = clock_us() + measure_after_us(exchange);
    return 0;
}

void exchange_send(struct exchange *exchange, const json_t *frame) {
    int r = send_frame(&exchange->link, frame, NULL, 0);
    if (r < 0)
        break_wire(exchange, strerror(-r));
}

void exchange_acknowledge(struct exchange *exchange, const json_t *frame) {
    json_auto_t *ack = json_pack("{s:s, s:O}", "type", "ack", "seq", json_object_get(frame, "seq"));
    exchange_send(exchange, ack);
}

/* Acknowledges a message without publishing it. */
static const char *drop_message(struct exchange *exchange, enum wire_type type, const struct wire_frame *frame) {
    if (type == WIRE_VARIABLE)
        return NULL;
    if (type != WIRE_PUBLISH && type != WIRE_SYNC)
        return "a frame of this type may not come now";
    exchange_acknowledge(exchange, frame->json);
    return NULL;
}

/* It is done once the cell is measured, however long that takes: its deadlines hold till then. */
static void finish(struct exchange *exchange, int64_t now_us) {
    if (cell_measure_last(exchange->cell, &exchange->usage))
        exchange_end(exchange, EXCHANGE_DONE);
    exchange->measure_us = now_us + FINISH_MS * CLOCK_MS;
}

static void take_done(struct exchange *exchange, const struct wire_frame *frame) {
    exchange->reply = json_incref(json_object_get(frame->json, "reply"));
    exchange->is_finishing = true;
    finish(exchange, clock_us());
}

static void handle_frame(struct exchange *exchange, enum wire_type type, const struct wire_frame *frame) {
    exchange->has_frame = true;
    if (type == WIRE_DONE && exchange->cell) {
        take_done(exchange, frame);
        return;
    }
    const char *why = (exchange->calls->frame ? exchange->calls->frame : drop_message)(exchange, type, frame);
    if (why)
        break_wire(exchange, why);
}

/* Takes one frame. False where there was none. */
static bool take_frame(struct exchange *exchange) {
    struct wire_frame frame;
    enum wire_type type;
    const char *why;
    int r = worker_link_next(&exchange->link, &frame, &type, &why);
    if (r < 0)
        break_wire(exchange, why);
    if (r <= 0)
        return false;
    handle_frame(exchange, type, &frame);
    wire_frame_fini(&frame);
    return true;
}

static bool is_held(const struct exchange *exchange) {
    return exchange->calls->holds && exchange->calls->holds(exchange);
}

static void take_frames(struct exchange *exchange) {
    for (int i = 0; i < FRAMES_PER_TURN && exchange->state == EXCHANGE_OPEN && !exchange->is_finishing; i++)
        if (!worker_link_has_more(&exchange->link) || is_held(exchange) || !take_frame(exchange))
            break;
}

/* A cell that has executed another program can't be kept, whatever it has used, so that is checked first. */
static enum exchange_state judge_usage(const struct exchange *exchange) {
    const struct cell_usage *usage = &exchange->usage;
    if (usage->replaced)
        return EXCHANGE_REPLACED;
    if (usage->over_memory)
        return EXCHANGE_OVER_MEMORY;
    if (usage->over_in_flight)
        return EXCHANGE_OVER_IN_FLIGHT;
    return used_ms(exchange) > exchange->cpu_ms ? EXCHANGE_OVER_CPU : EXCHANGE_OPEN;
}

static void measure(struct exchange *exchange, int64_t now_us) {
    cell_measure(exchange->cell, &exchange->usage);
    exchange->measure_us = now_us + measure_after_us(exchange);
    exchange_end(exchange, judge_usage(exchange));
    if (exchange->state == EXCHANGE_OPEN && exchange->calls->measured)
        exchange->calls->measured(exchange, now_us);
}

void exchange_tick(struct exchange *exchange, int64_t now_us) {
    take_frames(exchange);
    if (exchange->exited)
        exchange_end(exchange, EXCHANGE_DIED);
    if (exchange->closed_us <= now_us)
        break_wire(exchange, "it was closed");
    if (exchange->state == EXCHANGE_OPEN && exchange->measure_us <= now_us)
        (exchange->is_finishing ? finish : measure)(exchange, now_us);
    if (exchange->due_us <= now_us)
        exchange_end(exchange, EXCHANGE_LATE);
}

void exchange_meanwhile(struct exchange *exchange, int64_t now_us) {
    const bool was_open = exchange->state == EXCHANGE_OPEN;
    exchange_tick(exchange, now_us);
    if (was_open && exchange_is_over_limit(exchange) && exchange->cell)
        cell_kill(exchange->cell);
}

static void serve_link(struct exchange *exchange, short events) {
    int r = worker_link_serve(&exchange->link, events);
    if (r < 0)
        break_wire(exchange, strerror(-r));
    else if (exchange->link.ended && exchange->closed_us == CLOCK_NEVER)
        exchange->closed_us = clock_us() + CLOSED_GRACE_MS * CLOCK_MS;
}

static void link_ready(void *arg, short events) {
    serve_link(arg, events);
}

/* Reads once more, because frames that were sent before the process ended still count. */
static void exit_ready(void *arg, short events) {
    struct exchange *exchange = arg;
    (void)events;
    exchange->exited = true;
    serve_link(exchange, ZMQ_POLLIN);
}

void exchange_watch(struct exchange *exchange, struct poll_set *set) {
    if (exchange->state != EXCHANGE_OPEN)
        return;
    const bool held = is_held(exchange) || exchange->is_finishing;
    short events = (short)(worker_link_events(&exchange->link) & (held ? ZMQ_POLLOUT : ZMQ_POLLIN | ZMQ_POLLOUT));
    if (events)
        poll_set_add_fd(set, exchange->link.fd, events, link_ready, exchange);
    poll_set_add_fd(set, exchange->exit_fd, ZMQ_POLLIN, exit_ready, exchange);
    poll_set_deadline(set, exchange->due_us);
    poll_set_deadline(set, exchange->closed_us);
    poll_set_deadline(set, exchange->measure_us);
    if (worker_link_has_more(&exchange->link) && !held)
        poll_set_deadline(set, 0);
}
