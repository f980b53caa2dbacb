/*
 * places.c - two queues, of which the first requests that can begin are compared.
 *
 * The session's own keep their order, so only the first of them can be the next. One
 * beside may wait for the image that it begins in, and those behind it need not: of them a
 * turn of the loop looks at some, however many wait.
 */

#include "places.h"

#include "kernel/run/origin.h"
#include "kernel/run/runner.h"

#include <string.h>

enum { LOOK_MAX = 256 };

bool waiting_has_room(const struct waiting *waiting, const struct request *request) {
    return waiting_is_empty(waiting) ||
           waiting->own.bytes + waiting->beside.bytes + request->bytes <= waiting->bytes_max;
}

void waiting_push(struct waiting *waiting, struct request *request) {
    request->order = ++waiting->n_pushed;
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
        n += runner->runs[i]->request->order < request->order;
    return n;
}

/* The next of those for the session's own run, or NULL. */
static struct request *next_own(const struct runner *runner) {
    struct request *first = runner->waiting.own.first;
    return first && !runner->own && runs_before(runner, first) < most_runs(runner) && origin_is_settled(runner, first)
               ? first
               : NULL;
}

/* The next of those beside it, or NULL. Without an image each request is refused at once. */
static struct request *next_beside(const struct runner *runner) {
    const size_t n_beside = runner->n_runs - (runner->own != NULL);
    const bool has_image = runner->state == RUNNER_IDLE || runner->state == RUNNER_RUNNING;
    struct request *request = runner->waiting.beside.first;
    if (!request || runner->n_runs >= most_runs(runner) || n_beside >= PLACES_BESIDE ||
        (has_image && !session_has_place(runner->session)))
        return NULL;
    for (int i = 0; request && i < LOOK_MAX; i++, request = request->next)
        if (origin_is_settled(runner, request))
            return request;
    return NULL;
}

/* Which request is the next, and whether it is for the session's own run; NULL for none. */
static struct request *next_request(const struct runner *runner, bool *ret_own) {
    struct request *own = NULL, *beside = NULL;
    if (runner->state != RUNNER_WARMING) {
        own = next_own(runner);
        beside = next_beside(runner);
    }
    *ret_own = own && (!beside || own->order < beside->order);
    return *ret_own ? own : beside;
}

bool places_have_next(const struct runner *runner) {
    bool own;
    return next_request(runner, &own) != NULL;
}

struct request *places_take_next(struct runner *runner) {
    bool own;
    struct request *request = next_request(runner, &own);
    if (request)
        request_queue_take(own ? &runner->waiting.own : &runner->waiting.beside, request);
    return request;
}
