/*
 * outcome.h - the outcomes of a cell, and their sentences.
 */
#ifndef PETRI_OUTCOME_H
#define PETRI_OUTCOME_H

#include "sandbox/sandbox.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum outcome {
    OUTCOME_OK,
    OUTCOME_ERROR, /* the code raised */
    OUTCOME_INTERRUPTED,
    OUTCOME_TIMEOUT,
    OUTCOME_UNANSWERED, /* over the limit input_wait; "timeout" in the report */
    OUTCOME_CPU,
    OUTCOME_MEMORY,
    OUTCOME_COMMON_MEMORY, /* of all kernels of the user together; "memory" in the report */
    OUTCOME_CRASH,
    OUTCOME_REFUSED,
    OUTCOME_BUDGET,
    OUTCOME_UNKNOWN, /* there is no such image; "refused" in the report */
    OUTCOME_SANDBOX,
    OUTCOME_LOST, /* a process of petri's was killed; "sandbox" in the report */
    OUTCOME_N,
};

/* The worker's Python stack, innermost frame first, in the format of faulthandler. */
struct outcome_where {
    size_t bytes;
    char text[4096];
};

/* The facts that an outcome's sentence names. */
struct outcome_facts {
    struct cell_end end;        /* OUTCOME_CRASH, where detail is empty */
    char limit[32];             /* the limit that was reached, as "5 s"; for an interrupt the grace */
    char more[96];              /* how to ask for more of it: limits_more(); "" where it can't be raised */
    const char *mend;           /* in the place of the row's hint; NULL for that */
    char session[384];          /* what the session is now, in the place of "as it was before the cell"; "" for that */
    struct outcome_where where; /* bytes is 0 where the stack is not known */
    char detail[512];           /* why, in words */
    json_t *history; /* lines of the traceback: the task's last runs (OUTCOME_BUDGET) or the refused line; owned by the
                        run; or NULL */
};

struct outcome_row {
    const char *name;  /* in the run report */
    const char *ename; /* in Jupyter messages; NULL where the worker's reply is sent */
    bool rolled_back;
    enum { FACT_NONE, FACT_LIMIT, FACT_DETAIL, FACT_END } fact;
    const char *before; /* the sentence is before, then the fact, then after */
    const char *after;
    const char *hint; /* what the user can do; the last line of the traceback, or NULL */
    bool has_limit;   /* the hint goes on with how to ask for more of the limit */
};

/* Whether all frames that are shown have been read: a frame of what runs the cell follows the cell's own, or text
 * is full. */
bool outcome_where_is_whole(const struct outcome_where *where);

const struct outcome_row *outcome_row(enum outcome outcome);

/* One sentence: what happened, which limit, and the state of the session. Returns buf. */
const char *outcome_sentence(enum outcome outcome, const struct outcome_facts *facts, char *buf, size_t size);

/* Content of an `error` message: ename, evalue, traceback. The caller's; NULL on ENOMEM. */
json_t *outcome_error(enum outcome outcome, const struct outcome_facts *facts);

#endif
