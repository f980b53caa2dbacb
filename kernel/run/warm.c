/*
 * warm.c - the exchange with the interpreter while it starts, before there is any cell.
 *
 * It ends either with image 0 or with warm_give_up(). After that every run is
 * refused with the reason, but kernel_info is still answered. The end of the
 * interpreter's standard error is kept, because only that says why a start has
 * failed.
 */

#include "warm.h"

#include "kernel/base/clock.h"
#include "kernel/base/log.h"
#include "kernel/base/sandbox_error.h"
#include "kernel/jupyter/info.h"
#include "kernel/jupyter/jupyter.h"
#include "kernel/run/runner.h"
#include "kernel/run/travel.h"

#include <stdio.h>
#include <string.h>

enum {
    WARM_S = 60,               /* an interpreter that is not ready by then has failed */
    MAX_FRAME_BYTES = 1 << 20, /* the worker sends only hello and ready */
};

/* A sink that keeps the end of standard error. */
static void keep_tail(void *arg, const char *name, const char *data, size_t bytes) {
    struct tail *tail = arg;
    if (strcmp(name, "stderr") != 0)
        return;
    if (bytes > sizeof tail->text) {
        data += bytes - sizeof tail->text;
        bytes = sizeof tail->text;
    }
    size_t kept = tail->bytes + bytes > sizeof tail->text ? sizeof tail->text - bytes : tail->bytes;
    memmove(tail->text, tail->text + tail->bytes - kept, kept);
    memcpy(tail->text + kept, data, bytes);
    tail->bytes = kept + bytes;
}

/* The tail on one line. */
static void tail_line(const struct tail *tail, char *buf, size_t size) {
    snprintf(buf, size, "%.*s", (int)tail->bytes, tail->text);
    size_t n = strlen(buf);
    while (n > 0 && strchr(" \r\n", buf[n - 1]))
        buf[--n] = '\0';
    for (size_t i = 0; i < n; i++)
        if (buf[i] == '\n' || buf[i] == '\r')
            buf[i] = ' ';
}

void warm_init(struct warm *warm) {
    exchange_init(&warm->exchange);
}

void warm_end(struct runner *runner) {
    exchange_close(&runner->warm.exchange);
    outputs_fini(&runner->warm.outputs);
}

void warm_give_up(struct runner *runner, const char *why) {
    warm_end(runner);
    travel_fini(runner);
    session_destroy(steal_pointer(runner->session));
    runner->state = RUNNER_UNAVAILABLE;
    snprintf(runner->why, sizeof runner->why, "%s", why);
    log_write(runner->log, LOG_LEVEL_ERROR, "no cell can run: %s", why);
    info_give_up(runner->info, runner->jupyter);
}

/* The frames that a starting worker may send; any other one breaks the wire. */
static const char *handle_start_frame(struct exchange *exchange, enum wire_type type, const struct wire_frame *frame) {
    const struct runner *runner = exchange->arg;
    if (type == WIRE_HELLO)
        info_hello(runner->info, runner->jupyter, frame->json);
    else if (type == WIRE_READY)
        exchange_end(exchange, EXCHANGE_DONE);
    else
        return "a frame of this type may not come now";
    return NULL;
}

static const struct exchange_calls calls = {.frame = handle_start_frame};

void warm_begin(struct runner *runner, struct session *session) {
    const struct exchange_options options = {
        .calls = &calls, .arg = runner, .max_frame_bytes = MAX_FRAME_BYTES, .due_us = clock_us() + WARM_S * CLOCK_S};
    runner->session = session;
    if (outputs_init(&runner->warm.outputs, session_stdout_fd(session), session_stderr_fd(session)) < 0 ||
        exchange_open(&runner->warm.exchange, session_control_fd(session), session_exit_fd(session), &options) < 0) {
        warm_give_up(runner, "there is no memory");
        return;
    }
    outputs_begin(&runner->warm.outputs, UINT64_MAX, keep_tail, &runner->warm.tail);
    runner->state = RUNNER_WARMING;
}

/* what: the verb of the sentence, as "ended" or "did not get ready within 60 s". */
static void fail_start(struct runner *runner, const char *what) {
    char last[sizeof runner->warm.tail.text + 1];
    char why[sizeof runner->why];
    outputs_drain(&runner->warm.outputs);
    tail_line(&runner->warm.tail, last, sizeof last);
    snprintf(why, sizeof why, "the interpreter %s while it was starting%s%s", what, last[0] ? ": " : "", last);
    warm_give_up(runner, why);
}

static void fail_start_broken(struct runner *runner) {
    char what[sizeof runner->warm.exchange.why + 64];
    snprintf(what, sizeof what, "broke petri's control channel (%s)", runner->warm.exchange.why);
    fail_start(runner, what);
}

/* The interpreter is ready: makes it image 0. */
static void capture(struct runner *runner) {
    struct error cause = {0};
    struct error error;
    outputs_drain(&runner->warm.outputs);
    int r = session_capture(runner->session, &cause);
    if (r < 0) {
        error_set_sandbox(&error, r, &cause);
        warm_give_up(runner, error.text);
        return;
    }
    warm_end(runner);
    travel_note(runner);
    runner->state = RUNNER_IDLE;
    log_write(runner->log, LOG_LEVEL_DEBUG, "the interpreter is ready");
}

void warm_watch(struct runner *runner, struct poll_set *set) {
    if (!backpressure_holds(&runner->jupyter->backpressure))
        outputs_watch(&runner->warm.outputs, set);
    exchange_watch(&runner->warm.exchange, set);
}

void warm_tick(struct runner *runner, int64_t now_us) {
    exchange_tick(&runner->warm.exchange, now_us);
    if (runner->warm.exchange.state == EXCHANGE_OPEN)
        outputs_tick(&runner->warm.outputs, now_us);
    else if (runner->warm.exchange.state == EXCHANGE_DONE)
        capture(runner);
    else if (runner->warm.exchange.state == EXCHANGE_DIED)
        fail_start(runner, "ended");
    else if (runner->warm.exchange.state == EXCHANGE_LATE)
        fail_start(runner, "did not get ready within 60 s");
    else
        fail_start_broken(runner);
}
