/*
 * Images in random states: what cells bring themselves into (worker_strange.c) ends in a commit after which the next
 * cell can be made, or in a rollback; never in a session that is lost, and never in a process that stays.
 *
 * PETRI_SEED repeats a sequence, PETRI_STRANGE changes how many sessions there are.
 */
#include "tests/sandbox/live.h"

#include "sandbox/session/session.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { SESSIONS = 3, CELLS = 16, DOINGS = 12, PATIENCE_MS = 1000 };

/* The worker's answer, or whether it is dead, or neither for a while. */
static const char *answer(const struct cell *cell) {
    return live_await(cell, PATIENCE_MS) > 0 ? live_receive(cell) : NULL;
}

static void fail_with(const char *what, const struct error *error) {
    char text[1024];
    (void)fprintf(stderr, "%s: %s\n", what, sandbox_error_text(error, text, sizeof text));
    CHECK(!"the session goes on");
}

static struct cell *start(struct live *live, enum cell_role role) {
    struct cell *cell = NULL;
    struct error error = {0};
    if (cell_create(live->session, &(struct cell_options){.role = role}, &cell, &error))
        fail_with("cell_create", &error);
    CHECK_EQUAL(cell_start(cell, &(struct cell_limits){.processes = 200}), 0);
    return cell;
}

/* Commits the cell where it can be; else it is rolled back. */
static void end(struct cell *cell, bool alive) {
    struct cell_end how;
    struct error error = {0};
    int r = alive ? cell_freeze(cell, &how, &error) : -ESRCH;
    if (r == 0)
        cell_commit(cell);
    else
        cell_discard(cell);
    CHECK(r == 0 || r == -ESRCH || r == -EUCLEAN || r == -ENOTSUP);
}

/* A cell that does nothing: whether it could, with what the cells before it have left. */
static bool runs(struct live *live) {
    struct cell *cell = start(live, CELL_OF_SESSION);
    (void)!write(cell_control_fd(cell), "add 0\n", 6);
    bool answered = answer(cell) != NULL;
    cell_discard(cell);
    return answered;
}

/* Whether it still answers. */
static bool be_strange(const struct live *live, const struct cell *cell, uint64_t seed) {
    live_send(cell, "strange %llu %d %#llx", (unsigned long long)seed, DOINGS,
              (unsigned long long)live->session->area.code);
    return answer(cell) != NULL;
}

/* Some cells are rolled back, whatever they are; and sometimes one runs beside them, which leaves nothing. */
static void run_strange(struct live *live, uint64_t seed) {
    for (int i = 0; i < CELLS; i++, seed++) {
        struct cell *beside = seed % 3 == 0 ? start(live, seed % 2 ? CELL_BESIDE : CELL_EPHEMERAL) : NULL;
        struct cell *cell = start(live, CELL_OF_SESSION);
        if (beside)
            (void)be_strange(live, beside, ~seed);
        const bool alive = be_strange(live, cell, seed);
        cell_discard(beside);
        end(cell, alive && seed % 5 != 0);
        if (!runs(live))
            break; /* it has cut off the branch that it sat on, and only that: a cell could be made */
    }
}

static void await_alone(void) {
    for (int i = 0; i < 5000 && live_count_processes() > 1; i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    if (live_count_processes() != 1)
        (void)!system("for p in /proc/[0-9]*; do tr '\\n' ' ' < $p/stat | cut -c1-60; cat $p/wchan; echo; done >&2");
    CHECK_EQUAL(live_count_processes(), 1);
}

static uint64_t new_seed(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static void strange_images_lose_no_session(struct live *live) {
    const char *seed_text = getenv("PETRI_SEED");
    uint64_t seed = seed_text ? strtoull(seed_text, NULL, 0) : new_seed();
    (void)fprintf(stderr, "PETRI_SEED=%llu repeats this\n", (unsigned long long)seed);
    run_strange(live, seed);
    session_destroy(live->session);
    live->session = NULL;
    await_alone();
}

int main(void) {
    enum { MAX = 10000 };
    static struct live_case cases[MAX];
    static char names[MAX][48];
    const char *sessions = getenv("PETRI_STRANGE");
    int n = sessions ? atoi(sessions) : SESSIONS;
    for (int i = 0; i < n && i < MAX; i++) {
        (void)snprintf(names[i], sizeof names[i], "strange_images_%d_lose_no_session", i + 1);
        cases[i] = (struct live_case){names[i], strange_images_lose_no_session, NULL};
    }
    return live_main("strange images", cases, n < MAX ? (size_t)n : MAX);
}
