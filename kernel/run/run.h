/*
 * run.h - one request while it runs as a cell.
 */
#ifndef PETRI_RUN_H
#define PETRI_RUN_H

#include "kernel/files/inputs.h"
#include "kernel/jupyter/comms.h"
#include "kernel/jupyter/request.h"
#include "kernel/policy/limits.h"
#include "kernel/policy/spec.h"
#include "kernel/run/captures.h"
#include "kernel/run/comparison.h"
#include "kernel/run/in_place.h"
#include "kernel/run/names.h"
#include "kernel/run/validation.h"
#include "kernel/worker/displays.h"
#include "kernel/worker/exchange.h"
#include "kernel/worker/outcome.h"
#include "kernel/worker/outputs.h"
#include "kernel/worker/transcript.h"

struct artifacts;
struct inputs_read;
struct run;
struct runner;
struct writing;

/* What differs between the kinds of requests that run as cells; the runner does everything else. */
struct cell_kind {
    bool has_reply; /* the request gets a reply on shell */
    /* Whether a request, whose turn it is, concerns nothing in the session: then no run is made of it. NULL for none.
     */
    bool (*is_ignored)(const struct runner *runner, const struct request *request);
    /*
     * Before the cell: reads the request, publishes what comes before the
     * cell's output, and makes the frame for the worker; or sets an
     * outcome.
     */
    void (*begin)(struct run *run, json_t **ret_frame);
    /* After it: publishes an error and replies, according to run->result.outcome. */
    void (*end)(struct run *run);
    /* After the reply and the idle status; run->request is gone by then. NULL for nothing to do. */
    void (*after)(struct run *run);
};

/* The question that the cell asks with input(): input.h. */
struct question {
    bool waits;
    bool out;       /* it has been sent */
    bool held;      /* it is kept while that of another run is out */
    uint64_t order; /* of all questions: the first that is held is sent first */
    json_int_t seq;
    char msg_id[37]; /* of the input_request, once it has been sent */
    json_t *unsent; /* the content of the input_request, owned, until it is sent: not before its client has connected to
                       stdin */
    int64_t left_us;      /* of the wall clock, once it goes on */
    int64_t wait_left_us; /* of the limit input_wait, for this and all later questions */
    int64_t since_us;     /* the waiting until then has been subtracted */
    uint64_t since_cpu_us;
};

/* The phase of a run: runner.h. */
enum run_phase {
    RUN_BEGINS,
    RUN_WORKS,    /* its cell runs */
    RUN_FAILED,   /* the cell has failed, and is to be discarded */
    RUN_COLLECTS, /* the cell is frozen: collect.h */
    RUN_OVER,     /* to be answered */
};

/* What was asked for: set when the run begins, and constant once its cell runs. */
struct run_request {
    json_t *code;         /* as the request has it, owned; NULL where it has none */
    char code_sha256[65]; /* hexadecimal; "" where the request has no code */
    int skipped_lines; /* lines at the start of the code that the worker does not get: 1 for a %%limits line, else 0 */
    struct spec spec;
    struct limits limits;         /* in force for this run */
    struct limits session_limits; /* in force after it, unless it is rolled back */
    const struct frame *buffers;  /* sent to the worker with the frame; borrowed from the request's message */
    size_t n_buffers;
    bool silent; /* only its status is published on iopub */
    bool allow_stdin;
    bool stop_on_error;
    bool counts; /* takes an execution count, is stored in the history, and is a step: not silent, hidden or blank */
    int execution_count;
    int shown_number; /* by which tracebacks name its code: of one that takes no number, the next cell's */
    json_t *missed;   /* cells that the history of inputs in its image lacks: missed.h; owned, or NULL */
};

/* Its progress; not used once it is over. */
struct run_progress {
    enum run_phase phase;
    struct cell *cell;        /* owned; NULL before it started and once it is gone */
    struct exchange exchange; /* with its cell */
    struct outputs outputs;   /* of its cell: stream.h */
    int64_t deadline_us;      /* of the wall clock; CLOCK_NEVER while input() waits */
    int64_t grace_us;         /* when an interrupted cell is ended; CLOCK_NEVER where it was not interrupted */
    int64_t stack_us; /* when a cell over its time is ended, after it was asked for its stack; else CLOCK_NEVER */
    enum limit over;  /* the limit of time that it is over, while it is asked for its stack */
    uint64_t asked_at_bytes; /* what it held when it was last asked for its stack because of its memory */
    struct in_place in_place;
    struct question question;
    struct names names; /* that its programs ask for */
    bool knows_left;    /* how much of the memory its cell has changed */
    bool warned;        /* the user has been told that its time is nearly over */
    bool has_asked;     /* has called input(), answered or not */
    struct displays displays;
    struct captures captures;        /* its outputs that widgets capture */
    bool interrupted;                /* when nothing of its cell ran */
    struct inputs_read *inputs_read; /* while they are being hashed, owned */
    struct artifacts *artifacts;     /* while they are being copied, owned */
    struct writing *writing;         /* while they are being written to the folder, owned */
    struct validation validation;    /* its checks */
    struct comparison comparison;    /* of a %diff, which has no cell of its own */
};

/* Its result: the run report is made of this. */
struct run_result {
    enum outcome outcome;
    bool rolled_back;
    struct outcome_facts facts;
    int64_t ended_us;
    int64_t sandbox_us;           /* the time to make the sandbox and the copy of the image, ahead or not */
    json_t *reply;                /* of the worker, owned; NULL where there is none */
    json_t *error;                /* the content of the error it ended with, owned; NULL where it ended well */
    struct transcript transcript; /* its outputs */
    uint64_t stdout_bytes;
    uint64_t stderr_bytes;
    uint64_t dropped_bytes;   /* of everything but displays, which counts its own */
    struct inputs inputs;     /* files that the request brought and the cell has read */
    json_t *artifact_rows;    /* of the report, owned; NULL for none */
    json_t *earlier_rows;     /* the same of what earlier cells or a branch had left to be written */
    size_t artifacts_omitted; /* artifacts that have no row */
    json_t *checks;           /* rows of the report, owned; NULL for none */
    json_t *denied;           /* refused system calls: rows of the report, owned */
    uint64_t bytes_changed;   /* of memory, by its cell */
    bool has_image;           /* its cell has been committed */
    bool travelled;           /* its code was a line such as %undo: travel.h; it has no cell */
    char parent[37];          /* the image that its cell was made of; "" for none */
    json_t *cached;           /* the record that is returned instead of running, owned; or NULL */
    char cache_key[65];       /* "" where the run can't be cached */
};

struct run {
    struct runner *runner;   /* borrowed */
    struct request *request; /* owned; NULL once it is answered */
    uint64_t number;         /* `cell` on the worker's wire; never repeated */
    bool beside;            /* a fresh run or a branch: it runs beside the session's own, of which it changes nothing */
    bool branch;            /* one that begins in an image that is kept, and not in image 0 */
    struct comms *comms;    /* the session's, borrowed; or own_comms */
    struct comms own_comms; /* of a run beside: none is open in image 0, and of a branch those that were open then */
    json_t *own_files;      /* those of the state that a branch began in: struct timeline_state; or NULL */
    char run_id[37];
    char started[32]; /* date */
    int64_t started_us;
    struct run_request asked;
    struct run_progress now;
    struct run_result result;
};

/* Takes over the request; limits are copied, the runner is borrowed for life. NULL on ENOMEM, then the request is
 * freed. */
struct run *run_create(struct runner *runner, struct request *request, uint64_t number, const struct limits *limits);
void run_destroy(struct run *run);

const struct cell_kind *run_kind(const struct run *run);

/* Whether a request asks for a run beside the session's own. Known from its arrival on. */
bool run_goes_beside(const struct request *request);

/*
 * Whether it can leave user's code in its image: code, or files. A comm
 * message runs only what earlier code has registered.
 */
bool run_brings_code(const struct run *run);

/* Sets an outcome that is known before, or without, the worker's reply; detail says why. */
void run_set_outcome(struct run *run, enum outcome outcome, const char *detail);

/* The running cell has failed, with the facts in run->result.facts. Only the first failure counts. */
void run_fail(struct run *run, enum outcome outcome);

/* The same for a cell that is over a limit of its profile. */
void run_fail_limit(struct run *run, enum outcome outcome, const struct profile *profile, enum limit limit);

/* The same for one that is over its limit of memory, or was killed as all kernels together were over common_bytes. */
void run_fail_memory(struct run *run, const struct cell_usage *usage, const struct profile *profile,
                     int64_t common_bytes);

/* The same for a cell with too many descriptors in flight: see over_in_flight in sandbox.h. */
void run_fail_in_flight(struct run *run);

/*
 * The headers of the last requests whose cells are part of the session: output
 * of a task is published under the request that started it. All zero is
 * empty.
 */
enum { RUN_PARENTS = 256, RUN_PARENT_BYTES = 16 << 10 };
struct run_parents {
    struct {
        uint64_t number;
        json_t *header;
    } of[RUN_PARENTS];
};

void run_parents_note(struct run_parents *parents, uint64_t number, json_t *header);

/* Borrowed; NULL where the run's cell is not part of the session, RUN_PARENTS runs or more ago, or its header takes
 * more than RUN_PARENT_BYTES of memory. */
json_t *run_parents_find(const struct run_parents *parents, uint64_t number);
void run_parents_fini(struct run_parents *parents);

#endif
