#include "warm.h"

#include "kernel/clock.h"
#include "kernel/kernel.h"

#include <stdio.h>
#include <string.h>

enum {
    WARM_S = 60,               /* an interpreter that is not warm by then will not be */
    MAX_FRAME_BYTES = 1 << 20, /* of a worker that says no more than hello and ready */
};

/* Keeps the end of what was written to standard error, which says why a start failed. */
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

void warm_begin(struct kernel *kernel, struct session *session) {
    struct runner *runner = &kernel->runner;
    runner->session = session;
    runner->warm_deadline_us = clock_us() + WARM_S * CLOCK_S;
    if (outputs_init(&runner->outputs, session_stdout_fd(session), session_stderr_fd(session)) < 0 ||
        worker_link_attach(&runner->link, session_control_fd(session), MAX_FRAME_BYTES) < 0) {
        runner_give_up(kernel, "there is no memory");
        return;
    }
    outputs_begin(&runner->outputs, UINT64_MAX, keep_tail, &runner->tail);
    runner->state = RUNNER_WARMING;
}

void warm_failed(struct kernel *kernel, const char *what) {
    struct runner *runner = &kernel->runner;
    char last[sizeof runner->tail.text + 1];
    char why[sizeof runner->why];
    outputs_drain(&runner->outputs);
    tail_line(&runner->tail, last, sizeof last);
    snprintf(why, sizeof why, "the interpreter %s while it was starting%s%s", what, last[0] ? ": " : "", last);
    runner_give_up(kernel, why);
}

void warm_ready(struct kernel *kernel) {
    struct runner *runner = &kernel->runner;
    struct sandbox_error error = {0};
    char text[512];
    outputs_drain(&runner->outputs);
    if (session_capture(runner->session, &error) < 0)
        runner_give_up(kernel, sandbox_error_text(&error, text, sizeof text));
    else
        runner_ready(kernel);
}

void warm_exit_ready(struct kernel *kernel, void *arg, short events) {
    (void)arg;
    (void)events;
    if (kernel->runner.state == RUNNER_WARMING)
        warm_failed(kernel, "ended");
}

void warm_tick(struct kernel *kernel, int64_t now_us) {
    struct runner *runner = &kernel->runner;
    if (runner->link.ended)
        warm_failed(kernel, "closed its control socket");
    else if (runner->warm_deadline_us <= now_us)
        warm_failed(kernel, "did not get ready within 60 s");
    else
        outputs_tick(&runner->outputs, now_us);
}
