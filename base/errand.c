/*
 * errand.c - see errand.h.
 *
 * Two have an errand, its thread and who has begun it. The one that is through with it last frees it.
 */
#define _GNU_SOURCE
#include "errand.h"

#include "base/slices.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

enum { PATIENCE_MS = 5 }; /* in which most are done, and nobody else needs a turn */

enum progress { WORKS, DONE, LEFT };

struct errand {
    void (*work)(void *arg);
    void *arg;
    pthread_t thread;
    bool is_thread;
    atomic_int progress;
};

static void errand_free(struct errand *errand) {
    free(errand->arg);
    free(errand);
}

static void *do_work(void *arg) {
    struct errand *errand = arg;
    errand->work(errand->arg);
    if (atomic_exchange(&errand->progress, DONE) == LEFT)
        errand_free(errand);
    return NULL;
}

static void begin(struct errand *errand, void (*work)(void *arg), void *arg) {
    errand->work = work;
    errand->arg = arg;
    atomic_init(&errand->progress, WORKS);
    errand->is_thread = pthread_create(&errand->thread, NULL, do_work, errand) == 0;
    if (!errand->is_thread)
        (void)do_work(errand);
}

struct errand *errand_begin(void (*work)(void *arg), void *arg) {
    struct errand *errand = calloc(1, sizeof *errand);
    if (errand)
        begin(errand, work, arg);
    return errand;
}

void *errand_result(const struct errand *errand) {
    return atomic_load(&errand->progress) == DONE ? errand->arg : NULL;
}

void errand_await(struct errand *errand) {
    if (errand->is_thread)
        pthread_join(errand->thread, NULL);
    errand->is_thread = false;
}

void *errand_await_for(struct errand *errand, int ms) {
    enum { NS_PER_MS = 1000000, NS_PER_S = 1000000000 };
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    const long ns = until.tv_nsec + (long)ms * NS_PER_MS;
    until.tv_sec += ns / NS_PER_S;
    until.tv_nsec = ns % NS_PER_S;
    if (errand->is_thread && pthread_clockjoin_np(errand->thread, NULL, CLOCK_MONOTONIC, &until) == 0)
        errand->is_thread = false;
    return errand_result(errand);
}

void errand_leave(struct errand *errand) {
    if (!errand)
        return;
    if (errand->is_thread)
        pthread_detach(errand->thread);
    if (atomic_exchange(&errand->progress, LEFT) == DONE)
        errand_free(errand);
}

void errand_do(void (*work)(void *arg), void *arg) {
    struct errand errand;
    begin(&errand, work, arg);
    while (errand.is_thread && !errand_await_for(&errand, PATIENCE_MS))
        slices_wait();
    errand_await(&errand);
}
