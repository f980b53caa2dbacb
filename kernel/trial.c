#include "trial.h"

#include "kernel/clock.h"
#include "kernel/launch.h"
#include "kernel/talk.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <zmq.h>

enum { PATIENCE_S = 60, MAX_FRAME_BYTES = 1 << 20, TAIL_BYTES = 320 };

struct trial {
    struct session *session;
    struct cell *cell;
    struct worker_link link;
    int64_t deadline_us;
};

static void cleanup_trial(struct trial *trial) {
    worker_link_detach(&trial->link);
    cell_discard(trial->cell);
    session_destroy(trial->session);
}

/* Waits until a frame of this type comes; others are acknowledged where they ask for it, and dropped. */
static int await_frame(struct trial *trial, enum wire_type wanted) {
    for (;;) {
        struct wire_frame frame;
        enum wire_type type;
        const char *why;
        int r = worker_link_next(&trial->link, &frame, &type, &why);
        if (r < 0)
            return r;
        if (r == 1) {
            r = type == WIRE_PUBLISH || type == WIRE_SYNC ? talk_ack(&trial->link, frame.json) : 0;
            wire_frame_fini(&frame);
            if (r < 0 || type == wanted)
                return r;
            continue;
        }
        struct pollfd pollfd = {.fd = trial->link.fd, .events = POLLIN};
        int64_t left_ms = (trial->deadline_us - clock_us()) / CLOCK_MS;
        if (trial->link.ended)
            return -EPIPE;
        if (left_ms <= 0 || poll(&pollfd, 1, (int)left_ms) == 0)
            return -ETIMEDOUT;
        r = worker_link_serve(&trial->link, ZMQ_POLLIN);
        if (r < 0)
            return r;
    }
}

/* The last line that an interpreter has written before it ended. */
static void read_last_line(int fd, char *buf, size_t size) {
    char text[4096];
    ssize_t n = read(fd, text, sizeof text - 1);
    text[n > 0 ? n : 0] = '\0';
    for (size_t end = strlen(text); end > 0 && (text[end - 1] == '\n' || text[end - 1] == ' '); end--)
        text[end - 1] = '\0';
    const char *line = strrchr(text, '\n');
    snprintf(buf, size, "%s", line ? line + 1 : text);
}

static int say_interpreter(const struct trial *trial, int r, char *why, size_t why_bytes) {
    char last[TAIL_BYTES];
    read_last_line(session_stderr_fd(trial->session), last, sizeof last);
    snprintf(why, why_bytes, "the interpreter %s%s%s. Mend it, or name another with --python.",
             r == -ETIMEDOUT ? "was not ready after a minute" : "ended while it was starting", last[0] ? ": " : "",
             last);
    return r;
}

static int say_sandbox(const struct sandbox_error *error, int r, char *why, size_t why_bytes) {
    sandbox_error_text(error, why, why_bytes);
    return r;
}

static int start(struct trial *trial, const struct launch *launch, char *why, size_t why_bytes) {
    struct sandbox_error error = {0};
    int r = launch_session(launch, &trial->session, &error);
    if (r < 0)
        return say_sandbox(&error, r, why, why_bytes);
    r = worker_link_attach(&trial->link, session_control_fd(trial->session), MAX_FRAME_BYTES);
    if (r == 0)
        r = await_frame(trial, WIRE_READY);
    if (r < 0)
        return say_interpreter(trial, r, why, why_bytes);
    r = session_capture(trial->session, &error);
    return r < 0 ? say_sandbox(&error, r, why, why_bytes) : 0;
}

/* Sends the cell its request, lets it run and waits for the answer. */
static int answer(struct trial *trial, const struct limits *limits) {
    json_auto_t *frame =
        json_pack("{s:s, s:i, s:s, s:b, s:b, s:{}, s:b, s:i}", "type", "execute", "cell", 1, "code", "1 + 1", "silent",
                  1, "store_history", 0, "user_expressions", "allow_stdin", 0, "execution_count", 0);
    int r = worker_link_attach(&trial->link, cell_control_fd(trial->cell), MAX_FRAME_BYTES);
    if (r == 0)
        r = talk_send(&trial->link, frame, NULL, 0);
    if (r == 0)
        r = cell_start(trial->cell, &(struct cell_limits){
                                        .memory_bytes = (uint64_t)limits->values[LIMIT_MEMORY],
                                        .processes = (unsigned)limits->values[LIMIT_PROCESSES],
                                        .cpus = (unsigned)limits->values[LIMIT_CPUS],
                                    });
    return r == 0 ? await_frame(trial, WIRE_DONE) : r;
}

static int run_cell(struct trial *trial, const struct limits *limits, char *why, size_t why_bytes) {
    struct sandbox_error error = {0};
    struct cell_end end;
    int r = cell_create(trial->session, &(struct cell_options){.source = CELL_FROM_CURRENT}, &trial->cell, &error);
    if (r < 0)
        return say_sandbox(&error, r, why, why_bytes);
    r = answer(trial, limits);
    if (r < 0) {
        snprintf(why, why_bytes, "a cell was made, but did not answer: %s.", strerror(-r));
        return r;
    }
    r = cell_freeze(trial->cell, &end, &error);
    if (r < 0)
        return say_sandbox(&error, r, why, why_bytes);
    cell_commit(steal_pointer(trial->cell));
    return 0;
}

int trial_run(const struct sandbox_ground *ground, const struct workdir *workdir, const char *python, char *why,
              size_t why_bytes) {
    struct trial trial __attribute__((cleanup(cleanup_trial))) = {.deadline_us = clock_us() + PATIENCE_S * CLOCK_S};
    struct paths paths;
    struct limits limits;
    worker_link_init(&trial.link);
    limits_defaults(PROFILE_NOTEBOOK, &limits);
    int r = paths_find(&paths);
    if (r < 0) {
        snprintf(why, why_bytes, "petri's own files are not where its program is: build or install it anew.");
        return r;
    }
    const struct launch launch = {.ground = ground,
                                  .paths = &paths,
                                  .workdir = workdir,
                                  .python = python,
                                  .profile = PROFILE_NOTEBOOK,
                                  .limits = &limits};
    r = start(&trial, &launch, why, why_bytes);
    return r < 0 ? r : run_cell(&trial, &limits, why, why_bytes);
}
