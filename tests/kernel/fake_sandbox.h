/*
 * fake_sandbox.h - sandbox.h without a sandbox: the test plays the worker.
 *
 * A cell is a socket pair, whose other end the test holds. What the kernel
 * does with cells is written down in order: "create start freeze commit".
 */
#ifndef PETRI_FAKE_SANDBOX_H
#define PETRI_FAKE_SANDBOX_H

#include "sandbox/sandbox.h"

/* What an operation on cells will return from now on. */
struct fake_plan {
    int capture;
    int create;
    int unmade;   /* of cell_create() for the session's own cell, until session_restore() */
    int unmade_n; /* or so often, where it isn't 0 */
    int create_ephemeral;
    int beside_max;    /* 0 for 16 */
    int places_ending; /* how often session_settle() looks until the cells of all places are gone */
    int64_t create_us; /* what making a cell beside takes of the kernel's clock, and discarding any */
    int64_t discard_us;
    void (*meanwhile)(void); /* is called in each of the others' turns meanwhile, in the thread of the kernel's loop */
    int start;               /* of cell_start(): the cell is dead by then */
    int freeze;
    struct cell_end end;     /* of cell_freeze() and cell_end_of() */
    struct cell_usage usage; /* of cell_measure() */
    double processors;       /* that cells use all the time from now on: their CPU time grows with the kernel's clock */
    uint64_t grown_bytes;    /* of session_grown_bytes() */
    uint64_t kept_bound;     /* of session_kept_bound(); 0: what session_kept_bytes() says */
    uint64_t kept_bytes;     /* that each kept image but one adds to that */
    int compact;             /* of session_compact() */
    int lost;                /* of session_check() */
    int lacks_descriptors;   /* how often session_lacks_descriptors() says yes */
    const char *detail;      /* of the error */
    const char *opened;      /* the one file that cells have opened; NULL: they are not watched */
    int opened_fd;           /* what that is opened as afterwards; the caller of cell_open_before() closes it */
};

/* A session whose worker "warms up". What it hands out stays open until fake_session_free(), also where a cell ends. */
struct session *fake_session_create(void);
void fake_session_free(struct session *session);

/* The worker's end of the starting worker's socket, and the write ends of the pipes. Borrowed. */
int fake_worker_fd(struct session *session);
int fake_stdout_fd(struct session *session);
int fake_stderr_fd(struct session *session);
int fake_trace_fd(struct session *session);

/* What the kernel reads of the stack's pipe comes from this descriptor instead. */
void fake_trace_reads(struct session *session, int fd);

void fake_plan(struct session *session, const struct fake_plan *plan);

/* Makes session_exit_fd() readable. */
void fake_worker_dies(struct session *session);

/* Waits until the session's next cell is started (fails the test after a while); returns its worker's end. Borrowed. */
int fake_next_cell(struct session *session);
int fake_next_ephemeral(struct session *session);

/* What the last cell of a role was started with. */
struct cell_limits fake_limits(struct session *session, enum cell_role role);

/* How many cells of a role ran at once, at the most. */
int fake_most(struct session *session, enum cell_role role);

/* Makes the exit_fd of the session's running cell readable. */
void fake_cell_dies(struct session *session, const struct cell_end *end);

/* A system call (connect, to 192.0.2.1:80) of a cell waits for its refusal; NULL: of the session's running one. */
void fake_deny(struct session *session, const struct cell *cell);

/* Waits until the session's cell was signalled, and returns the signal. */
int fake_next_signal(struct session *session);

/* Waits until a cell beside was started that this has not returned yet: the first of them. Borrowed, also when it has
 * ended. Its worker's end, and the write end of its pipe, are borrowed too. */
struct cell *fake_next_beside(struct session *session);
int fake_worker_of(const struct cell *cell);
int fake_stdout_of(const struct cell *cell);

/* Waits until such a cell was signalled, and returns the signal. */
int fake_next_signal_of(struct cell *cell);

/* Such a cell dies; end is borrowed for the cell's life. */
void fake_dies(struct cell *cell, const struct cell_end *end);

/* What was done with cells (not ephemeral ones) so far, words with spaces between: "start" for one of the session's,
 * "beside:start" for one beside. Borrowed until the next call. */
const char *fake_story(struct session *session);

/* The same of ephemeral cells. */
const char *fake_ephemeral_story(struct session *session);

#endif
