/*
 * places.c - two queues, of which the first requests are compared.
 *
 * Only the first of each can be the next, so a turn of the loop looks at two
 * requests, however many wait.
 */

#include "places.h"

#include "kernel/run/runner.h"
#include "kernel/run/travel.h"

#include <string.h>

void waiting_push(struct waiting *waiting, struct request *request) {
    request_queue_push(run_goes_beside(request) ? &waiting->beside : &waiting->own, request);
}

static void take_from(struct request_queue *queue, const char *msg_id, struct request_queue *ret_taken) {
    struct request_queue all = *queue;
    struct request *request;
    *queue = (struct request_queue){0};
    while ((request = request_queue_pop(&all)))
        request_queue_push(strcmp(request->message.msg_id, msg_id) == 0 ? ret_taken : queue, request);
}

void waiting_take(struct waiting *waiting, const char *msg_id, struct request_queue *ret_taken) {
    take_from(&waiting->own, msg_id, ret_taken);
    take_from(&waiting->beside, msg_id, ret_taken);
}

bool waiting_is_empty(const struct waiting *waiting) {
    return !waiting->own.first && !waiting->beside.first;
}

void waiting_clear(struct waiting *waiting) {
    request_queue_clear(&waiting->own);
    request_queue_clear(&waiting->beside);
}

static size_t most_runs(const struct runner *runner) {
    struct limits limits = runner->limits;
    limits_resolve(&limits);
    return (size_t)limits.values[LIMIT_CPUS];
}

/* The runs whose requests came before this one. */
static size_t runs_before(const struct runner *runner, const struct request *request) {
    size_t n = 0;
    for (size_t i = 0; i < runner->n_runs; i++)
        n += runner->runs[i]->request->arrived_us <= request->arrived_us;
    return n;
}

static bool own_can_begin(const struct runner *runner) {
    const struct request *first = runner->waiting.own.first;
    return first && !runner->own && runs_before(runner, first) < most_runs(runner);
}

/* Without an image each request is refused at once. */
static bool beside_can_begin(const struct runner *runner) {
    const size_t n_beside = runner->n_runs - (runner->own != NULL);
    const bool has_image = runner->state == RUNNER_IDLE || runner->state == RUNNER_RUNNING;
    const bool has_place = !has_image || session_has_place(runner->session);
    const struct request *first = runner->waiting.beside.first;
    return first && runner->n_runs < most_runs(runner) && n_beside < PLACES_BESIDE && has_place &&
           travel_can_begin(runner, first);
}

/* Which queue's first request is the next; NULL for none. */
static const struct request_queue *next_queue(const struct runner *runner) {
    const struct waiting *waiting = &runner->waiting;
    const bool own = own_can_begin(runner), beside = beside_can_begin(runner);
    if (runner->state == RUNNER_WARMING || (!own && !beside))
        return NULL;
    if (own && beside)
        return waiting->own.first->arrived_us <= waiting->beside.first->arrived_us ? &waiting->own : &waiting->beside;
    return own ? &waiting->own : &waiting->beside;
}

bool places_have_next(const struct runner *runner) {
    return next_queue(runner) != NULL;
}

struct request *places_take_next(struct runner *runner) {
    const struct request_queue *queue = next_queue(runner);
    struct waiting *waiting = &runner->waiting;
    return queue ? request_queue_pop(queue == &waiting->own ? &waiting->own : &waiting->beside) : NULL;
}
