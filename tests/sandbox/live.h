/*
 * live.h - cases with real sessions, each in processes of its own, as root and as an ordinary user.
 */
#ifndef PETRI_TESTS_LIVE_H
#define PETRI_TESTS_LIVE_H

#include "as_user.h"
#include "sandbox/sandbox.h"

#include <limits.h>
#include <stddef.h>

/* Where cells see the notebook's folder beside its own path. */
#define LIVE_WORK "/work"

struct live {
    struct session *session; /* captured: its worker, worker.c, waits for a line */
    struct sandbox_host host;
    char folder[PATH_MAX];  /* the notebook's folder; has the files host.txt and sub/deep.txt */
    char outside[PATH_MAX]; /* a folder that cells don't see, with the file secret.txt; the worker's binary stands
                               beside */
};

struct live_case {
    const char *name;
    void (*run)(struct live *live);
    void (*prepare)(void); /* before the sandbox is entered; may be NULL */
};

/* A case without preparations, called as its function. */
#define LIVE_CASE(function)                                                                                            \
    { #function, function, NULL }

/*
 * Runs each case, as the user there is, and where that is root as an ordinary
 * user too. In a case CHECK() and its kin say what is wrong. Where the machine
 * can't have sandboxes a case is skipped with the reason; with
 * PETRI_REQUIRE_LIVE=1 that is a failure. What main() returns.
 */
int live_main(const char *group, const struct live_case *cases, size_t n);

/* How often to do what is repeated n times: a sixth of that with PETRI_LIVE_BRIEF=1, for where all is emulated. */
int live_times(int n);

/* A cell of the current image, started without limits. */
struct cell *live_start(struct live *live);

/* Sends a line to a running cell. */
void live_send(const struct cell *cell, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Waits for what a running cell says: 1 where there is something, -1 where its worker has ended instead, 0 for neither
 * in time. Calls that the filter asks about meanwhile are answered. */
int live_await(const struct cell *cell, int ms);

/* Its next line, in a buffer that the next call uses again; NULL where the cell's worker or its socket ended instead.
 */
const char *live_receive(const struct cell *cell);

/* Both; the worker must live. */
const char *live_ask(const struct cell *cell, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A whole cell: one line, one answer, and a commit. */
const char *live_do(struct live *live, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same for a system call: its number, then its arguments as the worker reads them. */
long live_call(struct live *live, long number, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Freezes the cell, which must go well, and commits it. How many processes it left behind. */
unsigned live_commit(struct cell *cell);

/* The same for a cell that nobody knows whether it can be carried on: commits it, or discards it for what it did. */
void live_end(struct cell *cell);

/* Whole cells that make what the worker can make, a pair of descriptors or one: their numbers, which must be new. */
struct live_pair {
    int a, b;
};
struct live_pair live_make_pair(struct live *live, const char *what);
int live_make_one(struct live *live, const char *what);

/* Has a running cell connect to itself: both ends. */
void live_make_connection(const struct cell *cell, int ret_fds[2]);

/* Waits for errands, each of which is a thread of its own: until ours is the only one. */
void live_await_errands(void);

/* session_measure_kept(), once it has the figure. */
uint64_t live_kept_bytes(struct live *live);

/* Keeps the session's state. */
struct kept_image *live_keep(const struct live *live);

/* A cell of a kept image beside the session's own, started without limits, once there is a place: what earlier cells
 * have left is not gone at once. */
struct cell *live_branch(const struct live *live, struct kept_image *kept);

/* Freezes such a cell, which must go well, and keeps what it leaves. */
struct kept_image *live_keep_branch(struct cell *cell);

/* The cell can't be carried on, for a reason that has the text; it is discarded, and the session is as it was. */
void live_check_refused(struct live *live, struct cell *cell, const char *reason);

/* The process of a running cell's worker, as we number it. */
int live_worker_of(const struct cell *cell);

/* The answer is that about a process which is not shown: which one depends on what Linux remembers of the name. */
void live_check_hidden(const char *answer);

/* How many processes there are, for who looks. */
int live_count_processes(void);

/* Waits until what has ended is gone, and what was counted before is all there is but what is made for the next cell.
 */
void live_await_processes(struct live *live, int before);

/* The entries of a folder, and the lines of a file, as of /proc/self/fd and /proc/self/mountinfo. */
int live_count_entries(const char *path);
int live_count_lines(const char *path);

/* Waits for the death of the cell's worker, and discards the cell. */
struct cell_end live_await_death(struct cell *cell);

/* Waits for text on the session's standard output. */
void live_await_output(struct live *live, const char *text);

/* The session still works: a cell adds 0 to the counter, which must be value. */
void live_check_counter(struct live *live, long value);

#endif
