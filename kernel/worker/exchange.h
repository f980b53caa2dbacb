/*
 * exchange.h - one request to one worker: sends it, and reads the worker's frames until one of the ends below.
 *
 *     CLOSED --start, open--> OPEN --done, death, a limit, a broken wire--> one of the ends --close--> CLOSED
 *
 * Everything that runs in a cell uses an exchange: the session's cell, a
 * completion, a check of a run, the preload, the self-test of `petri doctor`. The
 * interpreter that starts uses one too, without a request.
 *
 * The handlers of the poll set read and write bytes, and note what has happened.
 * Only exchange_tick() takes frames, measures the cell, and looks at deadlines;
 * its owner looks at the state after that. The first end is final. An exchange
 * that has ended still exists until exchange_close().
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
    EXCHANGE_CLOSED, /* not in use */
    EXCHANGE_OPEN,
    EXCHANGE_DONE,           /* the worker has replied: reply */
    EXCHANGE_BROKEN,         /* the worker has broken the wire: why */
    EXCHANGE_DIED,           /* the process at the other end has ended */
    EXCHANGE_LATE,           /* due_us has passed */
    EXCHANGE_OVER_CPU,       /* the cell has used more CPU time than its limit */
    EXCHANGE_OVER_MEMORY,    /* the cell has held more memory than its limit */
    EXCHANGE_OVER_IN_FLIGHT, /* over_in_flight in sandbox.h */
    EXCHANGE_REPLACED,       /* the cell's first process has executed another program */
};

struct exchange;

/* The functions that differ between exchanges. Each comment says what happens where the function is NULL. */
struct exchange_calls {
    /*
     * A frame other than done has come; it is borrowed. Returns NULL where
     * the frame is allowed, else why it breaks the wire (static). Without
     * the function publish and sync are acknowledged and dropped, and all
     * others break the wire.
     */
    const char *(*frame)(struct exchange *exchange, enum wire_type type, const struct wire_frame *frame);
    /* Whether reading from the worker has to wait for now. Without the function: no. */
    bool (*holds)(const struct exchange *exchange);
    /* The cell has been measured and is within its limits. May make measure_us earlier. */
    void (*measured)(struct exchange *exchange, int64_t now_us);
};

struct exchange_options {
    const struct exchange_calls *calls; /* borrowed for as long as it is open; NULL for none */
    void *arg;                          /* for calls */
    size_t max_frame_bytes;             /* of a frame from the worker */
    int64_t due_us;                     /* the deadline (clock_us()), or CLOCK_NEVER */
    const struct limits *limits;        /* of the cell; borrowed for the call, not needed without a cell */
    bool is_watched;                    /* session_is_watched(): only measuring enforces the limits */
    const struct frame *buffers;        /* sent with the request; borrowed for the call */
    size_t n_buffers;
};

struct exchange {
    enum exchange_state state;
    char why[96];      /* EXCHANGE_BROKEN: the reason */
    json_t *reply;     /* EXCHANGE_DONE: the worker's reply, owned; NULL where its frame has none */
    bool is_finishing; /* the reply has come, and the cell is being measured */
    bool has_frame;    /* a frame has come */

    const struct exchange_calls *calls;
    void *arg;
    struct worker_link link;
    struct cell *cell; /* borrowed; NULL in the exchange with the starting interpreter */
    int exit_fd;
    bool exited;

    struct cell_usage usage; /* of the cell, from the last measurement */
    int64_t cpu_ms;          /* the limit of CPU time */
    int64_t cpus;
    int64_t memory_bytes; /* the limit of memory */
    bool is_watched;

    int64_t due_us;
    int64_t closed_us;  /* when a closed socket breaks the wire, unless the process has ended by then */
    int64_t measure_us; /* when to measure the cell next */
};

/* Has to be called first. */
void exchange_init(struct exchange *exchange);

/*
 * Sends the request to a cell that has not started, and starts the cell. frame is
 * borrowed; NULL is -ENOMEM. The cell is borrowed until exchange_close(). 0, or
 * -errno and the exchange is closed.
 */
int exchange_start(struct exchange *exchange, struct cell *cell, const json_t *frame,
                   const struct exchange_options *options) MUST_CHECK;

/* Opens an exchange with a starting interpreter. Both descriptors are borrowed. 0 or -ENOMEM. */
int exchange_open(struct exchange *exchange, int control_fd, int exit_fd,
                  const struct exchange_options *options) MUST_CHECK;

/* Closes it in any state, and frees what it owns. */
void exchange_close(struct exchange *exchange);

/* Sends or queues one more frame; where that fails, the wire is broken. frame is borrowed; NULL fails with ENOMEM. */
void exchange_send(struct exchange *exchange, const json_t *frame);

/* Acknowledges a publish or sync frame. */
void exchange_acknowledge(struct exchange *exchange, const json_t *frame);

/* Ends an open exchange; does nothing to another. */
void exchange_end(struct exchange *exchange, enum exchange_state end);

/* Whether it has ended and is not closed yet. */
bool exchange_has_ended(const struct exchange *exchange);

/* Whether it has ended because the cell is over its time or a limit, or has executed another program: it may still run.
 */
bool exchange_is_over_limit(const struct exchange *exchange);

void exchange_watch(struct exchange *exchange, struct poll_set *set);

/* Takes some frames, and does what is due. */
void exchange_tick(struct exchange *exchange, int64_t now_us);

/* The same where nothing may be discarded (slices_serve()): a cell over its time or a limit is killed. */
void exchange_meanwhile(struct exchange *exchange, int64_t now_us);

#endif
