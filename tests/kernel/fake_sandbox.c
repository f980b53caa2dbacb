#include "fake_sandbox.h"

#include "fake_clock.h"

#include "base/slices.h"
#include "kernel/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { STUCK_S = 30, STORY_BYTES = 65536, N_PIPES = 3, BESIDE_MAX = 16, TURNS = 20 };

enum { ROLES = CELL_EPHEMERAL + 1 };

struct cell {
    struct cell *next; /* of all that the session ever had */
    struct session *session;
    enum cell_role role;
    int control_fd;
    int worker_fd; /* given to the test */
    int exit_fd;
    int out[N_PIPES][2]; /* of a cell beside, its own */
    int signal;          /* the same */
    bool runs;
    bool given;                 /* to the test: fake_next_beside() */
    const struct cell_end *end; /* how it has died; NULL: as planned */
};

struct session {
    pthread_mutex_t mutex; /* the kernel's loop has a thread of its own */
    pthread_cond_t changed;
    struct fake_plan plan;
    int64_t planned_us;
    int n[ROLES], most[ROLES];        /* that run; together at the most */
    uint64_t n_kept;                  /* images */
    struct cell_limits limits[ROLES]; /* of the last started one of each role */
    int control_fd, worker_fd, exit_fd, denied_fd;
    int out[N_PIPES][2]; /* pipes of stdout, stderr and the stack */
    struct cell *running;
    const struct cell *denied; /* whose call waits for its refusal */
    struct cell *cells;
    int started[ROLES]; /* worker ends of the last started one of each role; -1 once taken */
    int signal;
    char story[STORY_BYTES], ephemeral_story[STORY_BYTES];
    char told[STORY_BYTES];
};

/* The kernel reads from them without waiting. */
static void make_pipes(int out[N_PIPES][2]) {
    for (int i = 0; i < N_PIPES; i++) {
        assert_int_equal(pipe2(out[i], O_CLOEXEC), 0);
        assert_int_equal(fcntl(out[i][0], F_SETFL, O_NONBLOCK), 0);
    }
}

static void close_pipes(int out[N_PIPES][2]) {
    for (int i = 0; i < N_PIPES; i++) {
        close(out[i][0]);
        close(out[i][1]);
    }
}

/* The kernel's end, and the one at which the test waits for what the kernel says. */
static void make_pair(int fds[2]) {
    const struct timeval stuck = {.tv_sec = STUCK_S};
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    assert_int_equal(fcntl(fds[0], F_SETFL, O_NONBLOCK), 0);
    assert_int_equal(setsockopt(fds[1], SOL_SOCKET, SO_RCVTIMEO, &stuck, sizeof stuck), 0);
}

struct session *fake_session_create(void) {
    struct session *session = calloc(1, sizeof *session);
    int pair[2];
    assert_non_null(session);
    pthread_mutex_init(&session->mutex, NULL);
    pthread_cond_init(&session->changed, NULL);
    make_pair(pair);
    session->control_fd = pair[0];
    session->worker_fd = pair[1];
    session->exit_fd = eventfd(0, EFD_CLOEXEC);
    session->denied_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
    for (int i = 0; i < ROLES; i++)
        session->started[i] = -1;
    make_pipes(session->out);
    return session;
}

/* The test may still hold its ends: fake_session_free() closes them. */
void session_destroy(struct session *session) {
    (void)session;
}

static void close_cell(struct cell *cell) {
    close(cell->control_fd);
    close(cell->worker_fd);
    close(cell->exit_fd);
    if (cell->role == CELL_BESIDE)
        close_pipes(cell->out);
    free(cell);
}

void fake_session_free(struct session *session) {
    for (struct cell *cell = session->cells, *next; cell; cell = next) {
        next = cell->next;
        close_cell(cell);
    }
    close(session->control_fd);
    close(session->worker_fd);
    close(session->exit_fd);
    close(session->denied_fd);
    close_pipes(session->out);
    pthread_cond_destroy(&session->changed);
    pthread_mutex_destroy(&session->mutex);
    free(session);
}

static void tell(const struct cell *cell, const char *word) {
    static const char *const whose[ROLES] = {[CELL_BESIDE] = "beside:"};
    struct session *session = cell->session;
    char *story = cell->role == CELL_EPHEMERAL ? session->ephemeral_story : session->story;
    pthread_mutex_lock(&session->mutex);
    size_t n = strlen(story);
    snprintf(story + n, STORY_BYTES - n, "%s%s%s", n ? " " : "", whose[cell->role] ? whose[cell->role] : "", word);
    pthread_cond_broadcast(&session->changed);
    pthread_mutex_unlock(&session->mutex);
}

static const char *retell(struct session *session, const char *story) {
    pthread_mutex_lock(&session->mutex);
    memcpy(session->told, story, sizeof session->told);
    pthread_mutex_unlock(&session->mutex);
    return session->told;
}

const char *fake_story(struct session *session) {
    return retell(session, session->story);
}

const char *fake_ephemeral_story(struct session *session) {
    return retell(session, session->ephemeral_story);
}

void fake_plan(struct session *session, const struct fake_plan *plan) {
    pthread_mutex_lock(&session->mutex);
    session->plan = *plan;
    session->planned_us = clock_us();
    pthread_mutex_unlock(&session->mutex);
}

static struct fake_plan plan_of(struct session *session) {
    pthread_mutex_lock(&session->mutex);
    struct fake_plan plan = session->plan;
    plan.usage.cpu_us += (uint64_t)(plan.processors * (double)(clock_us() - session->planned_us));
    pthread_mutex_unlock(&session->mutex);
    return plan;
}

int fake_worker_fd(struct session *session) {
    return session->worker_fd;
}

int fake_stdout_fd(struct session *session) {
    return session->out[0][1];
}

int fake_trace_fd(struct session *session) {
    return session->out[2][1];
}

void fake_trace_reads(struct session *session, int fd) {
    assert_int_equal(dup2(fd, session->out[2][0]), session->out[2][0]);
}

int fake_stderr_fd(struct session *session) {
    return session->out[1][1];
}

static void make_readable(int event_fd) {
    uint64_t one = 1;
    assert_int_equal(write(event_fd, &one, sizeof one), sizeof one);
}

void fake_worker_dies(struct session *session) {
    make_readable(session->exit_fd);
}

/* Waits until *value is not nothing, and takes it. */
static int take(struct session *session, int *value, int nothing) {
    struct timespec until;
    int r = 0;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += STUCK_S;
    pthread_mutex_lock(&session->mutex);
    while (*value == nothing && r == 0)
        r = pthread_cond_timedwait(&session->changed, &session->mutex, &until);
    int taken = *value;
    *value = nothing;
    pthread_mutex_unlock(&session->mutex);
    assert_int_equal(r, 0);
    return taken;
}

static void give(struct session *session, int *value, int what) {
    pthread_mutex_lock(&session->mutex);
    *value = what;
    pthread_cond_broadcast(&session->changed);
    pthread_mutex_unlock(&session->mutex);
}

int fake_next_cell(struct session *session) {
    return take(session, &session->started[CELL_OF_SESSION], -1);
}

int fake_next_ephemeral(struct session *session) {
    return take(session, &session->started[CELL_EPHEMERAL], -1);
}

struct cell_limits fake_limits(struct session *session, enum cell_role role) {
    pthread_mutex_lock(&session->mutex);
    struct cell_limits limits = session->limits[role];
    pthread_mutex_unlock(&session->mutex);
    return limits;
}

int fake_most(struct session *session, enum cell_role role) {
    pthread_mutex_lock(&session->mutex);
    int most = session->most[role];
    pthread_mutex_unlock(&session->mutex);
    return most;
}

int fake_next_signal(struct session *session) {
    return take(session, &session->signal, 0);
}

void fake_cell_dies(struct session *session, const struct cell_end *end) {
    pthread_mutex_lock(&session->mutex);
    session->plan.end = *end;
    struct cell *cell = session->running;
    pthread_mutex_unlock(&session->mutex);
    assert_non_null(cell);
    make_readable(cell->exit_fd);
}

/* The first that has started and was not given away; NULL where there is none. Cells are listed from the last one. */
static struct cell *first_beside(const struct session *session) {
    struct cell *found = NULL;
    for (struct cell *cell = session->cells; cell; cell = cell->next)
        if (cell->role == CELL_BESIDE && cell->runs && !cell->given)
            found = cell;
    return found;
}

struct cell *fake_next_beside(struct session *session) {
    take(session, &session->started[CELL_BESIDE], -1);
    pthread_mutex_lock(&session->mutex);
    struct cell *cell = first_beside(session);
    assert_non_null(cell);
    cell->given = true;
    if (first_beside(session))
        session->started[CELL_BESIDE] = 0; /* there is another one to take */
    pthread_mutex_unlock(&session->mutex);
    return cell;
}

int fake_worker_of(const struct cell *cell) {
    return cell->worker_fd;
}

int fake_stdout_of(const struct cell *cell) {
    return cell->out[0][1];
}

int fake_next_signal_of(struct cell *cell) {
    return take(cell->session, &cell->signal, 0);
}

void fake_dies(struct cell *cell, const struct cell_end *end) {
    pthread_mutex_lock(&cell->session->mutex);
    cell->end = end;
    pthread_mutex_unlock(&cell->session->mutex);
    make_readable(cell->exit_fd);
}

static int planned(int r, const char *detail, struct error *ret_error) {
    if (r < 0) {
        *ret_error = (struct error){.step = 1, .err = -r};
        snprintf(ret_error->text, sizeof ret_error->text, "%s", detail ? detail : "");
    }
    return r;
}

int session_control_fd(const struct session *session) {
    return session->control_fd;
}

int session_exit_fd(const struct session *session) {
    return session->exit_fd;
}

int session_stdout_fd(const struct session *session) {
    return session->out[0][0];
}

int session_stderr_fd(const struct session *session) {
    return session->out[1][0];
}

int session_denied_fd(const struct session *session) {
    return session->denied_fd;
}

int session_take_denied(struct session *session, struct denied_call *ret_call) {
    uint64_t n;
    if (read(session->denied_fd, &n, sizeof n) < 0)
        return -errno;
    pthread_mutex_lock(&session->mutex);
    *ret_call = (struct denied_call){.syscall = "connect", .detail = "192.0.2.1:80", .cell = session->denied};
    pthread_mutex_unlock(&session->mutex);
    return 1;
}

void fake_deny(struct session *session, const struct cell *cell) {
    pthread_mutex_lock(&session->mutex);
    session->denied = cell ? cell : session->running;
    pthread_mutex_unlock(&session->mutex);
    make_readable(session->denied_fd);
}

bool session_settle(struct session *session) {
    pthread_mutex_lock(&session->mutex);
    session->plan.places_ending -= session->plan.places_ending > 0;
    const bool more = session->plan.places_ending > 0;
    pthread_mutex_unlock(&session->mutex);
    return more;
}

bool session_lacks_descriptors(const struct session *session, uint64_t *ret_limit) {
    struct session *own = (struct session *)session;
    pthread_mutex_lock(&own->mutex);
    const bool lacks = own->plan.lacks_descriptors > 0;
    own->plan.lacks_descriptors -= lacks;
    pthread_mutex_unlock(&own->mutex);
    *ret_limit = 1024;
    return lacks;
}

uint64_t session_grown_bytes(const struct session *session) {
    return plan_of((struct session *)session).grown_bytes;
}

int session_compact(struct session *session, cell_is_idle *is_idle, void *arg, size_t *ret_n) {
    *ret_n = 1;
    (void)is_idle(arg); /* whether it is done in time the plan says, and not when the test's next request comes */
    tell(&(struct cell){.session = session, .role = CELL_OF_SESSION}, "compact");
    return plan_of(session).compact;
}

struct kept_image {
    char nothing;
};

int session_keep(struct session *session, struct kept_image **ret_kept) {
    *ret_kept = calloc(1, sizeof **ret_kept);
    session->n_kept += *ret_kept != NULL;
    return *ret_kept ? 0 : -ENOMEM;
}

void session_forget(struct session *session, struct kept_image *kept) {
    session->n_kept -= kept != NULL;
    free(kept);
}

static uint64_t kept_bytes(const struct session *session) {
    return session->n_kept > 0 ? (session->n_kept - 1) * plan_of((struct session *)session).kept_bytes : 0;
}

uint64_t session_kept_bound(const struct session *session) {
    const uint64_t bound = plan_of((struct session *)session).kept_bound;
    return bound ? bound : kept_bytes(session);
}

bool session_measure_kept(struct session *session, uint64_t *ret_bytes) {
    tell(&(struct cell){.session = session, .role = CELL_OF_SESSION}, "measure");
    *ret_bytes = kept_bytes(session);
    return true;
}

int cell_keep(struct cell *cell, struct kept_image **ret_kept) {
    assert_int_equal(cell->role, CELL_BESIDE);
    tell(cell, "keep");
    return session_keep(cell->session, ret_kept);
}

int session_compare_files(struct session *session, struct kept_image *before, struct kept_image *after,
                          cell_change_handler *handler, void *arg) {
    assert_true(before && after);
    tell(&(struct cell){.session = session, .role = CELL_OF_SESSION}, "compare");
    return handler(arg, &(struct cell_file){.path = "a.txt", .change = CELL_CREATED, .bytes = 3});
}

int session_check(const struct session *session, struct error *ret_error) {
    const struct fake_plan plan = plan_of((struct session *)session);
    return planned(plan.lost, plan.detail, ret_error);
}

int session_restore(struct session *session, struct kept_image *kept, struct error *ret_error) {
    assert_non_null(kept);
    assert_int_equal(session->n[CELL_OF_SESSION], 0);
    (void)ret_error;
    tell(&(struct cell){.session = session, .role = CELL_OF_SESSION}, "restore");
    pthread_mutex_lock(&session->mutex);
    session->plan.unmade = 0;
    pthread_mutex_unlock(&session->mutex);
    return 0;
}

bool session_has_place(const struct session *session) {
    const struct fake_plan plan = plan_of((struct session *)session);
    return plan.places_ending == 0 && session->n[CELL_BESIDE] < (plan.beside_max ? plan.beside_max : BESIDE_MAX);
}

void cell_measure(struct cell *cell, struct cell_usage *ret_usage) {
    *ret_usage = plan_of(cell->session).usage;
}

bool cell_measure_last(struct cell *cell, struct cell_usage *ret_usage) {
    cell_measure(cell, ret_usage);
    return true;
}

int session_capture(struct session *session, struct error *ret_error) {
    struct fake_plan plan = plan_of(session);
    return planned(plan.capture, plan.detail, ret_error);
}

/* Some turns of the others pass meanwhile. */
static void take_long(const struct fake_plan *plan, int64_t us) {
    for (int i = 0; us > 0 && i < TURNS; i++) {
        fake_clock_put_forward(us / TURNS);
        if (plan->meanwhile)
            plan->meanwhile();
        slices_wait();
    }
}

void cell_kill(const struct cell *cell) {
    tell(cell, "kill");
}

/* What is planned for a cell that is to be made. */
static int next_create(struct session *session, enum cell_role role) {
    pthread_mutex_lock(&session->mutex);
    struct fake_plan *plan = &session->plan;
    const int r = role == CELL_EPHEMERAL                        ? plan->create_ephemeral
                  : role == CELL_OF_SESSION && plan->unmade < 0 ? plan->unmade
                                                                : plan->create;
    if (role == CELL_OF_SESSION && plan->unmade_n > 0 && --plan->unmade_n == 0)
        plan->unmade = 0;
    pthread_mutex_unlock(&session->mutex);
    return r;
}

int cell_create(struct session *session, const struct cell_options *options, struct cell **ret_cell,
                struct error *ret_error) {
    struct fake_plan plan = plan_of(session);
    int pair[2];
    const int r = next_create(session, options->role);
    if (r < 0)
        return planned(r, plan.detail, ret_error);
    if (options->role == CELL_BESIDE)
        take_long(&plan, plan.create_us);
    struct cell *cell = calloc(1, sizeof *cell);
    assert_non_null(cell);
    make_pair(pair);
    assert_false(options->role == CELL_OF_SESSION && options->source != CELL_FROM_CURRENT);
    assert_int_equal(options->kept != NULL, options->source == CELL_FROM_KEPT);
    *cell = (struct cell){.next = session->cells,
                          .session = session,
                          .role = options->role,
                          .control_fd = pair[0],
                          .worker_fd = pair[1],
                          .exit_fd = eventfd(0, EFD_CLOEXEC)};
    if (cell->role == CELL_BESIDE)
        make_pipes(cell->out);
    pthread_mutex_lock(&session->mutex);
    session->cells = cell;
    pthread_mutex_unlock(&session->mutex);
    tell(cell, "create");
    *ret_cell = cell;
    return 0;
}

/* Counts the cells that run. */
static void set_runs(struct cell *cell, bool runs) {
    struct session *session = cell->session;
    const enum cell_role role = cell->role;
    pthread_mutex_lock(&session->mutex);
    if (role == CELL_OF_SESSION)
        session->running = runs ? cell : NULL;
    session->n[role] += runs - cell->runs;
    cell->runs = runs;
    if (session->n[role] > session->most[role])
        session->most[role] = session->n[role];
    pthread_mutex_unlock(&session->mutex);
}

int cell_start(struct cell *cell, const struct cell_limits *limits) {
    const int r = plan_of(cell->session).start;
    assert_non_null(limits);
    if (r < 0) {
        make_readable(cell->exit_fd);
        return r;
    }
    pthread_mutex_lock(&cell->session->mutex);
    cell->session->limits[cell->role] = *limits;
    pthread_mutex_unlock(&cell->session->mutex);
    tell(cell, "start");
    set_runs(cell, true);
    give(cell->session, &cell->session->started[cell->role], cell->worker_fd);
    return 0;
}

int cell_put_file(struct cell *cell, const char *path, const void *data, size_t bytes) {
    (void)data;
    (void)bytes;
    tell(cell, "put");
    return strcmp(path, "full") == 0 ? -ENOSPC : 0;
}

int cell_take_opened(struct cell *cell, char ***ret_paths, size_t *ret_n) {
    const char *opened = plan_of(cell->session).opened;
    char **paths = opened ? calloc(1, sizeof *paths) : NULL;
    if (!opened)
        return -EBADF;
    assert_non_null(paths);
    paths[0] = (char *)(size_t)opened; /* one block: the text is not freed with it */
    *ret_paths = paths;
    *ret_n = 1;
    return 1;
}

int cell_open_before(const struct cell *cell, const char *path) {
    const struct fake_plan plan = plan_of(cell->session);
    return plan.opened && strcmp(plan.opened, path) == 0 ? plan.opened_fd : -ENOENT;
}

int cell_control_fd(const struct cell *cell) {
    return cell->control_fd;
}

int cell_exit_fd(const struct cell *cell) {
    return cell->exit_fd;
}

bool cell_is_whole(const struct cell *cell) {
    struct pollfd exit = {.fd = cell->exit_fd, .events = POLLIN};
    return poll(&exit, 1, 0) == 0;
}

/* Read end of one of a cell's pipes. */
static int pipe_of(const struct cell *cell, int which) {
    return cell->role == CELL_BESIDE ? cell->out[which][0] : cell->session->out[which][0];
}

int cell_stdout_fd(const struct cell *cell) {
    return pipe_of(cell, 0);
}

int cell_stderr_fd(const struct cell *cell) {
    return pipe_of(cell, 1);
}

int cell_trace_fd(const struct cell *cell) {
    return pipe_of(cell, 2);
}

static int *signal_of(const struct cell *cell) {
    return cell->role == CELL_BESIDE ? &((struct cell *)cell)->signal : &cell->session->signal;
}

void cell_signal_group(const struct cell *cell, int signal) {
    give(cell->session, signal_of(cell), signal);
}

/* An interrupt is followed by one of these every few milliseconds: it takes the place of none that waits to be read. */
void cell_signal(const struct cell *cell, int signal) {
    struct session *session = cell->session;
    pthread_mutex_lock(&session->mutex);
    if (*signal_of(cell) == 0)
        *signal_of(cell) = signal;
    pthread_cond_broadcast(&session->changed);
    pthread_mutex_unlock(&session->mutex);
}

int cell_freeze(struct cell *cell, struct cell_end *ret_end, struct error *ret_error) {
    struct fake_plan plan = plan_of(cell->session);
    tell(cell, "freeze");
    *ret_end = plan.end;
    return planned(plan.freeze, plan.detail, ret_error);
}

static void end_cell(struct cell *cell, const char *how) {
    set_runs(cell, false);
    tell(cell, how);
}

void cell_commit(struct cell *cell) {
    end_cell(cell, "commit");
}

void cell_discard(struct cell *cell) {
    if (!cell)
        return;
    const struct fake_plan plan = plan_of(cell->session);
    take_long(&plan, plan.discard_us);
    end_cell(cell, "discard");
}

void cell_end_of(struct cell *cell, struct cell_end *ret_end) {
    pthread_mutex_lock(&cell->session->mutex);
    const struct cell_end *end = cell->end;
    pthread_mutex_unlock(&cell->session->mutex);
    *ret_end = end ? *end : plan_of(cell->session).end;
}
