/*
 * run.h - one request while it runs as a cell.
 */
#ifndef PETRI_RUN_H
#define PETRI_RUN_H

#include "kernel/files/inputs.h"
#include "kernel/jupyter/request.h"
#include "kernel/policy/limits.h"
#include "kernel/policy/spec.h"
#include "kernel/run/captures.h"
#include "kernel/run/validation.h"
#include "kernel/worker/displays.h"
#include "kernel/worker/outcome.h"
#include "kernel/worker/transcript.h"

struct artifacts;
struct inputs_read;
struct run;
struct runner;
struct writing;

/* What is particular to a kind of request that runs as a cell; everything else is the runner's. */
struct cell_kind {
    bool has_reply; /* to its request, on shell */
    /* Before the cell: reads the request, publishes what comes first, makes the frame for the worker. Or sets an
     * outcome. */
    void (*begin)(struct runner *runner, struct run *run, json_t **ret_frame);
    /* After it: publishes and replies what run->result.outcome asks for. */
    void (*end)(struct runner *runner, struct run *run);
    /* After the answer; run->request is gone by then. NULL for nothing to do. */
    void (*after)(struct runner *runner, struct run *run);
};

/* What the cell waits for with input(); input.h accounts for it. */
struct question {
    bool waits;
    json_int_t seq;
    json_t *unasked;      /* the content of the input_request, owned, while its client is not there; else NULL */
    int64_t left_us;      /* of the wall clock, once it goes on */
    int64_t wait_left_us; /* of the limit input_wait, for this and all later questions */
    int64_t since_us;     /* up to here the waiting has been accounted for */
    uint64_t since_cpu_us;
};

/* How far a run has come: runner.h. */
enum run_phase {
    RUN_BEGINS,
    RUN_WORKS,    /* its cell runs */
    RUN_FAILED,   /* the cell can't go on: it is to be discarded */
    RUN_COLLECTS, /* the cell is frozen: collect.h */
    RUN_OVER,     /* to be answered */
};

/* What was asked for: set when the run begins, and not changed any more once its cell runs. */
struct run_request {
    json_t *code;         /* as the request has it, owned; NULL where it has none */
    char code_sha256[65]; /* hexadecimal; "" where the request has no code */
    int skipped_lines;    /* of it, that the worker does not get: one of limits, before what has to be the first */
    struct spec spec;     /* beside its code */
    struct limits limits; /* in force for this run */
    struct limits session_limits; /* in force after it, unless it is rolled back */
    const struct frame *buffers;  /* go with the frame to the worker; of the request's message */
    size_t n_buffers;
    bool silent; /* only status on iopub */
    bool allow_stdin;
    bool stop_on_error;
    bool counts; /* takes a number, and stays in the history */
    int execution_count;
};

/* How far it has come; not used any more once it is over. */
struct run_progress {
    enum run_phase phase;
    struct cell *cell;   /* owned; NULL before it started and once it is gone */
    int64_t deadline_us; /* of the wall clock; CLOCK_NEVER while input() waits */
    int64_t grace_us;    /* when an interrupted cell is ended; CLOCK_NEVER where none was */
    int64_t stack_us;    /* when a cell over its time is ended, asked for its stack; else CLOCK_NEVER */
    enum limit over;     /* the limit of time that the stack is asked for about */
    struct question question;
    bool has_asked; /* for input, answered or not */
    struct displays displays;
    struct captures captures;        /* of what it puts out, what widgets take */
    bool interrupted;                /* while it finishes: the rest is to be cancelled */
    struct inputs_read *inputs_read; /* while they are being hashed, owned */
    struct artifacts *artifacts;     /* while they are being copied, owned */
    struct writing *writing;         /* while they are being written to the folder, owned */
    struct validation validation;    /* while it goes on */
};

/* The result: the run report is made of this. */
struct run_result {
    enum outcome outcome;
    bool rolled_back;
    struct outcome_facts facts;
    int64_t ended_us;
    int64_t sandbox_us;           /* what making the sandbox and the copy took, ahead of time or not */
    json_t *reply;                /* the worker's, owned; NULL where it gave none */
    json_t *error;                /* the content of the error it ended with, owned; NULL where it ended well */
    struct transcript transcript; /* what it put out */
    uint64_t stdout_bytes;
    uint64_t stderr_bytes;
    uint64_t dropped_bytes;   /* of both; displays has its own */
    struct inputs inputs;     /* files that the request brought and the cell has read */
    json_t *artifact_rows;    /* of the report, owned; NULL for none */
    size_t artifacts_omitted; /* beyond those */
    json_t *checks;           /* rows of the report, owned; NULL for none */
    json_t *denied;           /* system calls it was refused: rows of the report, owned */
    json_t *cached;           /* the record that is given in its place, owned; or NULL */
    char cache_key[65];       /* "" where its result may not be given again */
};

struct run {
    struct request *request; /* owned; NULL once it is answered */
    uint64_t number;         /* `cell` on the worker's wire; never repeated */
    char run_id[37];
    char started[32]; /* date */
    int64_t started_us;
    struct run_request asked;
    struct run_progress now;
    struct run_result result;
};

/* Takes over the request; limits are copied. NULL on ENOMEM, then the request is freed. */
struct run *run_create(struct request *request, uint64_t number, const struct limits *limits);
void run_destroy(struct run *run);

const struct cell_kind *run_kind(const struct run *run);

/* Whether code of the user's may be in the image after it: it brings code, or files. A comm's message runs only what
 * such code has registered. */
bool run_brings_code(const struct run *run);

/* An outcome that is known before or instead of the worker's reply, and why. */
void run_set_outcome(struct run *run, enum outcome outcome, const char *detail);

/* The running cell can't go on, and why; the facts are those of run->result.facts. Nothing but the first failure
 * counts. */
void run_fail(struct run *run, enum outcome outcome);

/* The same for a cell whose descriptors in flight leave the user's programs none; see over_in_flight in sandbox.h. */
void run_fail_in_flight(struct run *run);

/* The parents of output of earlier cells' threads: the headers of the last requests whose cells are part of the
 * session. All zero is empty. */
enum { RUN_PARENTS = 256 };
struct run_parents {
    struct {
        uint64_t number;
        json_t *header;
    } of[RUN_PARENTS];
};

void run_parents_note(struct run_parents *parents, uint64_t number, json_t *header);

/* Borrowed; NULL where the run is unknown, left nothing, or is too long ago. */
json_t *run_parents_find(const struct run_parents *parents, uint64_t number);
void run_parents_fini(struct run_parents *parents);

#endif
