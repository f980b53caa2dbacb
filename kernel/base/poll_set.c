/*
 * poll_set.c - an array of poll items for one call of zmq_poll(3).
 *
 * Handlers are called after the wait, in the order in which they were added. A
 * handler may change anything but the set.
 */

#include "poll_set.h"

#include "kernel/base/clock.h"

#include <assert.h>
#include <errno.h>

void poll_set_init(struct poll_set *set) {
    set->n = 0;
    set->deadline_us = CLOCK_NEVER;
}

static void add_item(struct poll_set *set, zmq_pollitem_t item, poll_handler *handler, void *arg) {
    assert(set->n < POLL_SET_MAX);
    set->items[set->n] = item;
    set->targets[set->n].handler = handler;
    set->targets[set->n].arg = arg;
    set->n++;
}

void poll_set_add_socket(struct poll_set *set, void *socket, short events, poll_handler *handler, void *arg) {
    add_item(set, (zmq_pollitem_t){.socket = socket, .events = events}, handler, arg);
}

void poll_set_add_fd(struct poll_set *set, int fd, short events, poll_handler *handler, void *arg) {
    add_item(set, (zmq_pollitem_t){.fd = fd, .events = events}, handler, arg);
}

void poll_set_deadline(struct poll_set *set, int64_t deadline_us) {
    set->deadline_us = clock_sooner(set->deadline_us, deadline_us);
}

static long timeout_ms(const struct poll_set *set) {
    if (set->deadline_us == CLOCK_NEVER)
        return -1;
    int64_t left_us = set->deadline_us - clock_us();
    /* Rounded up: a turn that ends before its deadline would be repeated until the deadline. */
    return left_us <= 0 ? 0 : (long)((left_us + CLOCK_MS - 1) / CLOCK_MS);
}

int poll_set_turn(struct poll_set *set) {
    if (zmq_poll(set->items, (int)set->n, timeout_ms(set)) < 0)
        return errno == EINTR ? 0 : -errno;
    for (size_t i = 0; i < set->n; i++)
        if (set->items[i].revents)
            set->targets[i].handler(set->targets[i].arg, set->items[i].revents);
    return 0;
}
