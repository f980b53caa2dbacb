/*
 * selftest.c - does what a session does until the end of its first cell, in one blocking function.
 *
 * It uses the same functions as the kernel, so it fails where the kernel would
 * fail. Each step has its own error message.
 */

#include "selftest.h"

#include "kernel/base/clock.h"
#include "kernel/base/sandbox_error.h"
#include "kernel/interpreter/launch.h"
#include "kernel/worker/exchange.h"

#include <errno.h>
#include <string.h>

enum { PATIENCE_S = 60, MAX_FRAME_BYTES = 1 << 20, TAIL_BYTES = 320 };

struct selftest {
    struct session *session;
    struct cell *cell;
    struct exchange exchange;
    int64_t due_us;
};

static void cleanup_selftest(struct selftest *selftest) {
    exchange_close(&selftest->exchange);
    cell_discard(selftest->cell);
    session_destroy(selftest->session);
}

/* The frames of a starting worker; all but ready are ignored. */
static const char *handle_start(struct exchange *exchange, enum wire_type type, const struct wire_frame *frame) {
    (void)frame;
    if (type == WIRE_READY)
        exchange_end(exchange, EXCHANGE_DONE);
    return NULL;
}

static const struct exchange_calls start_calls = {.frame = handle_start};

/* Waits until the exchange has ended. 0 where it is done, else -errno. */
static int await_done(struct exchange *exchange) {
    while (exchange->state == EXCHANGE_OPEN) {
        struct poll_set set;
        poll_set_init(&set);
        exchange_watch(exchange, &set);
        int r = poll_set_turn(&set);
        if (r < 0)
            return r;
        exchange_tick(exchange, clock_us());
    }
    if (exchange->state == EXCHANGE_DONE)
        return 0;
    return exchange->state == EXCHANGE_LATE ? -ETIMEDOUT : -EPIPE;
}

/* The last line that an interpreter wrote before it ended. */
static void read_last_line(int fd, char *buf, size_t size) {
    char text[4096];
    ssize_t n = read(fd, text, sizeof text - 1);
    text[n > 0 ? n : 0] = '\0';
    for (size_t end = strlen(text); end > 0 && (text[end - 1] == '\n' || text[end - 1] == ' '); end--)
        text[end - 1] = '\0';
    const char *line = strrchr(text, '\n');
    snprintf(buf, size, "%s", line ? line + 1 : text);
}

static int say_interpreter(const struct selftest *selftest, int r, struct error *ret_error) {
    char last[TAIL_BYTES];
    read_last_line(session_stderr_fd(selftest->session), last, sizeof last);
    return error_set(ret_error, -r, "the interpreter %s%s%s. Mend it, or name another with --python.",
                     r == -ETIMEDOUT ? "was not ready after a minute" : "ended while it was starting",
                     last[0] ? ": " : "", last);
}

static int start_session(struct selftest *selftest, const struct launch *launch, struct error *ret_error) {
    struct error cause = {0};
    int r = launch_session(launch, &selftest->session, ret_error);
    if (r < 0)
        return r;
    const struct exchange_options options = {
        .calls = &start_calls, .max_frame_bytes = MAX_FRAME_BYTES, .due_us = selftest->due_us};
    r = exchange_open(&selftest->exchange, session_control_fd(selftest->session), session_exit_fd(selftest->session),
                      &options);
    if (r == 0)
        r = await_done(&selftest->exchange);
    if (r < 0)
        return say_interpreter(selftest, r, ret_error);
    r = session_capture(selftest->session, &cause);
    return r < 0 ? error_set_sandbox(ret_error, r, &cause) : 0;
}

/* Sends the request to a cell, starts the cell and waits for the reply. */
static int run_request(struct selftest *selftest, const struct limits *limits) {
    json_auto_t *frame =
        json_pack("{s:s, s:i, s:s, s:b, s:b, s:{}, s:b, s:i}", "type", "execute", "cell", 1, "code", "1 + 1", "silent",
                  1, "store_history", 0, "user_expressions", "allow_stdin", 0, "execution_count", 0);
    const struct exchange_options options = {.max_frame_bytes = MAX_FRAME_BYTES,
                                             .due_us = selftest->due_us,
                                             .limits = limits,
                                             .is_watched = session_is_watched(selftest->session)};
    exchange_close(&selftest->exchange);
    int r = exchange_start(&selftest->exchange, selftest->cell, frame, &options);
    return r == 0 ? await_done(&selftest->exchange) : r;
}

static int run_cell(struct selftest *selftest, const struct limits *limits, struct error *ret_error) {
    struct error cause = {0};
    struct cell_end end;
    int r =
        cell_create(selftest->session, &(struct cell_options){.source = CELL_FROM_CURRENT}, &selftest->cell, &cause);
    if (r < 0)
        return error_set_sandbox(ret_error, r, &cause);
    r = run_request(selftest, limits);
    if (r < 0)
        return error_set(ret_error, -r, "a cell was made, but did not answer: %s.", strerror(-r));
    r = cell_freeze(selftest->cell, &end, &cause);
    if (r < 0)
        return error_set_sandbox(ret_error, r, &cause);
    cell_commit(steal_pointer(selftest->cell));
    return 0;
}

int selftest_run(const struct sandbox_host *host, const struct workdir *workdir, const char *python,
                 struct error *ret_error) {
    struct selftest selftest __attribute__((cleanup(cleanup_selftest))) = {.due_us = clock_us() + PATIENCE_S * CLOCK_S};
    struct paths paths;
    struct limits limits;
    exchange_init(&selftest.exchange);
    limits_defaults(PROFILE_NOTEBOOK, &limits);
    limits_resolve(&limits);
    int r = paths_find(&paths);
    if (r < 0)
        return error_set(ret_error, -r, "petri's own files are not where its program is: build or install it anew.");
    const struct launch launch = {.host = host,
                                  .paths = &paths,
                                  .workdir = workdir,
                                  .python = python,
                                  .profile = PROFILE_NOTEBOOK,
                                  .limits = &limits};
    r = start_session(&selftest, &launch, ret_error);
    return r < 0 ? r : run_cell(&selftest, &limits, ret_error);
}
