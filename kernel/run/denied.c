/*
 * denied.c - answers one refused call in each turn of the loop, and counts equal calls in one row.
 *
 * Linux stops the caller until the call is answered, so calls are also answered
 * while there is no run to count them for. Of the two questions of one lookup, for
 * both kinds of addresses, one is counted.
 */

#include "denied.h"

#include "kernel/run/runner.h"
#include "kernel/run/stream.h"

#include <stdio.h>
#include <string.h>

enum { ROWS_MAX = 100 }; /* different calls of a cell; others are answered but not listed */

#define LOOKUP "getaddrinfo" /* in the place of a call's name */

static const char *text_of(const json_t *row, const char *key) {
    return json_string_value(json_object_get(row, key));
}

/* Counts one more in the row of this call, which is made where there is none. */
static void count_call(json_t *list, const char *syscall, const char *detail, bool again) {
    size_t i;
    json_t *row;
    json_array_foreach(list, i, row) {
        json_t *n = json_object_get(row, "count");
        if (strcmp(text_of(row, "syscall"), syscall) == 0 && strcmp(text_of(row, "detail"), detail) == 0) {
            json_integer_set(n, json_integer_value(n) + again);
            return;
        }
    }
    if (json_array_size(list) < ROWS_MAX)
        json_array_append_new(list, json_pack("{s:s, s:s, s:i}", "syscall", syscall, "detail", detail, "count", 1));
}

static void denied_ready(void *arg, short events) {
    const struct runner *runner = arg;
    (void)events;
    struct denied_call call;
    /* Only one: whether another call waits is only known once the descriptor is polled again. */
    if (!runner_has_image(runner) || session_take_denied(runner->session, &call) <= 0)
        return;
    for (size_t i = 0; call.cell && i < runner->n_runs; i++)
        if (runner->runs[i]->now.cell == call.cell)
            count_call(runner->runs[i]->result.denied, call.syscall, call.detail, true);
}

static void count_name(void *arg, const char *name, bool is_new) {
    const struct run *run = arg;
    count_call(run->result.denied, LOOKUP, name, is_new);
}

/*
 * What of the world outside the run could not reach; NULL for nothing. An address
 * alone counts where the code has failed: libraries connect to one, and go on, to
 * find out their own (dask).
 */
static const char *out_of_reach(const struct run *run) {
    static const char *const network[] = {LOOKUP, "connect", "sendto"};
    const size_t n = run->result.outcome == OUTCOME_OK ? 1 : sizeof network / sizeof network[0];
    size_t i;
    json_t *row;
    json_array_foreach(run->result.denied, i, row) {
        for (size_t j = 0; j < n; j++)
            if (strcmp(text_of(row, "syscall"), network[j]) == 0)
                return text_of(row, "detail");
    }
    return NULL;
}

static void tell(struct runner *runner, struct run *run) {
    const bool is_new = run->beside || !runner->told_network;
    const bool tells = run->now.phase == RUN_OVER && !run->asked.silent && is_new;
    const char *what = tells ? out_of_reach(run) : NULL;
    char line[512];
    if (!what)
        return;
    if (!run->beside)
        runner->told_network = true;
    int n = snprintf(line, sizeof line,
                     "petri: this kernel has no network, so the cell could not reach %.255s. Put data into the "
                     "notebook's folder from outside; install packages in a terminal, and restart the kernel.\n",
                     what);
    stream_tell(run, line, (size_t)n);
}

void denied_tell(struct runner *runner) {
    for (size_t i = 0; i < runner->n_runs; i++)
        tell(runner, runner->runs[i]);
}

void denied_watch(struct runner *runner, struct poll_set *set) {
    for (size_t i = 0; i < runner->n_runs; i++) {
        struct run *run = runner->runs[i];
        run->now.names.asked = count_name;
        run->now.names.arg = run;
        if (run->now.phase == RUN_WORKS)
            names_watch(&run->now.names, run->now.cell, set);
    }
    if (runner_has_image(runner) && session_denied_fd(runner->session) >= 0)
        poll_set_add_fd(set, session_denied_fd(runner->session), ZMQ_POLLIN, denied_ready, runner);
}
