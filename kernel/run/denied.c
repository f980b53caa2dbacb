/*
 * denied.c - answers one refused call in each turn of the loop, and counts equal calls in one row.
 *
 * The kernel stops the caller until the call is answered, so calls are also
 * answered while there is no run to count them for.
 */

#include "denied.h"

#include "kernel/run/runner.h"

#include <string.h>

enum {
    ROWS_MAX = 100, /* different calls of a cell; others are answered but not listed */
};

static bool is_of(const json_t *row, const struct denied_call *call) {
    return strcmp(json_string_value(json_object_get(row, "syscall")), call->syscall) == 0 &&
           strcmp(json_string_value(json_object_get(row, "detail")), call->detail) == 0;
}

static void count_call(json_t *list, const struct denied_call *call) {
    size_t i;
    json_t *row;
    json_array_foreach(list, i, row) {
        json_t *n = json_object_get(row, "count");
        if (is_of(row, call)) {
            json_integer_set(n, json_integer_value(n) + 1);
            return;
        }
    }
    if (json_array_size(list) < ROWS_MAX)
        json_array_append_new(
            list, json_pack("{s:s, s:s, s:i}", "syscall", call->syscall, "detail", call->detail, "count", 1));
}

static void denied_ready(void *arg, short events) {
    const struct runner *runner = arg;
    (void)events;
    struct run *run = runner->run;
    struct denied_call call;
    /* Only one: whether another call waits is only known once the descriptor is polled again. */
    if (!runner_has_image(runner) || session_take_denied(runner->session, run ? run->now.cell : NULL, &call) <= 0)
        return;
    if (run && call.by_cell)
        count_call(run->result.denied, &call);
}

void denied_watch(struct runner *runner, struct poll_set *set) {
    if (runner_has_image(runner) && session_denied_fd(runner->session) >= 0)
        poll_set_add_fd(set, session_denied_fd(runner->session), ZMQ_POLLIN, denied_ready, runner);
}
