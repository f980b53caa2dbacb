/*
 * exchange.h - one request to one worker: it is sent, and its frames are read within limits until it is done or lost.
 *
 *     CLOSED --start, open--> OPEN --done, death, a limit, a broken wire--> one of the ends --close--> CLOSED
 *
 * All that runs in a cell runs so: the session's cell, completion beside it, a
 * check of what came of a run, the warm-up of an interpreter, the self-test of
 * `petri doctor`; and the interpreter that starts, which gets no request.
 *
 * The handlers of the poll set read and write, and mark what has happened.
 * exchange_tick() alone takes frames, measures, and ends an exchange; its owner
 * looks at the state after that. The first end counts and is final.
 *
 * See: docs/worker-wire.md.
 */
#ifndef PETRI_EXCHANGE_H
#define PETRI_EXCHANGE_H

#include "base/cleanup.h"
#include "kernel/base/poll_set.h"
#include "kernel/policy/limits.h"
#include "kernel/worker/worker_link.h"
#include "protocol/message.h"
#include "sandbox/sandbox.h"

enum exchange_state {
    EXCHANGE_CLOSED, /* there is none */
    EXCHANGE_OPEN,
    EXCHANGE_DONE,           /* the worker has answered: reply */
    EXCHANGE_BROKEN,         /* the worker has broken the wire: why */
    EXCHANGE_DIED,           /* the process at the other end has ended */
    EXCHANGE_LATE,           /* due_us has passed */
    EXCHANGE_OVER_CPU,       /* it has used more CPU time than its limits allow */
    EXCHANGE_OVER_MEMORY,    /* the same of memory */
    EXCHANGE_OVER_IN_FLIGHT, /* over_in_flight in sandbox.h */
    EXCHANGE_REPLACED,       /* its first process runs another program: exec */
};

struct exchange;

/* What is particular to an exchange. A function that is NULL does what stands behind it. */
struct exchange_calls {
    /* A frame other than done, borrowed. NULL where it was due, or how it breaks the wire (static).
     * NULL: publish and sync are acknowledged and dropped, all others break the wire. */
    const char *(*frame)(struct exchange *exchange, enum wire_type type, const struct wire_frame *frame);
    /* Whether nothing is read from the worker for now. NULL: no. */
    bool (*holds)(const struct exchange *exchange);
    /* The cell has been measured and is within its limits; may bring measure_us forward. NULL: nothing. */
    void (*measured)(struct exchange *exchange, int64_t now_us);
};

struct exchange_options {
    const struct exchange_calls *calls; /* borrowed for as long as it is open; NULL for none */
    void *arg;                          /* theirs */
    size_t max_frame_bytes;             /* of a frame that comes */
    int64_t due_us;                     /* when it is late (clock_us()), or CLOCK_NEVER */
    const struct limits *limits;        /* of the cell; borrowed for the call, not needed without a cell */
    bool is_watched;                    /* session_is_watched(): measuring alone keeps the limits */
    const struct frame *buffers;        /* that go with the request; borrowed for the call */
    size_t n_buffers;
};

struct exchange {
    enum exchange_state state;
    char why[96];  /* EXCHANGE_BROKEN: how */
    json_t *reply; /* EXCHANGE_DONE: what the worker says, owned; NULL where it says nothing */
    bool heard;    /* a frame has come */

    const struct exchange_calls *calls;
    void *arg;
    struct worker_link link;
    struct cell *cell; /* borrowed; NULL where the session's first process is at the other end */
    int exit_fd;
    bool exited;

    struct cell_usage usage; /* of the cell, when it was measured last */
    int64_t cpu_ms;          /* what it may use */
    int64_t cpus;
    bool is_watched;

    int64_t due_us;
    int64_t closed_us;  /* when a worker that has closed its end has broken the wire, unless its death comes first */
    int64_t measure_us; /* when the cell is measured next */
};

/* Before anything else. */
void exchange_init(struct exchange *exchange);

/*
 * Sends a cell that was made and not started its request, and starts it. frame
 * is borrowed; NULL is -ENOMEM. The cell stays its owner's, who closes the
 * exchange before the cell is gone. 0, or -errno and nothing is open.
 */
int exchange_start(struct exchange *exchange, struct cell *cell, const json_t *frame,
                   const struct exchange_options *options) MUST_CHECK;

/* Reads what a session's first process says while it starts. Both descriptors are borrowed. 0 or -ENOMEM. */
int exchange_open(struct exchange *exchange, int control_fd, int exit_fd,
                  const struct exchange_options *options) MUST_CHECK;

/* Ends it in whatever state it is, and frees what it has. */
void exchange_close(struct exchange *exchange);

/* Sends one more frame, or queues it: what can't be sent breaks the wire. frame is borrowed; NULL is -ENOMEM. */
void exchange_send(struct exchange *exchange, const json_t *frame);

/* Answers a publish or sync. */
void exchange_acknowledge(struct exchange *exchange, const json_t *frame);

/* Marks an open exchange as ended. */
void exchange_end(struct exchange *exchange, enum exchange_state end);

/* Whether it has ended and was not closed yet. */
bool exchange_has_ended(const struct exchange *exchange);

void exchange_watch(struct exchange *exchange, struct poll_set *set);

/* Takes frames, some at a time, and what is due. */
void exchange_tick(struct exchange *exchange, int64_t now_us);

#endif
