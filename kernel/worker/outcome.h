/*
 * outcome.h - how a cell can end, and the sentence that says so.
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
    OUTCOME_UNANSWERED, /* a time limit too: of waiting for input() */
    OUTCOME_CPU,
    OUTCOME_MEMORY,
    OUTCOME_CRASH,
    OUTCOME_REFUSED,
    OUTCOME_BUDGET,
    OUTCOME_SANDBOX,
    OUTCOME_N,
};

/* Where the code was: the worker's Python stack, innermost frame first, as faulthandler writes it. */
struct outcome_where {
    size_t bytes;
    char text[4096];
};

/* What an outcome's sentence names beside the outcome. */
struct outcome_facts {
    struct cell_end end;        /* OUTCOME_CRASH, where detail is empty */
    char limit[32];             /* the limit that was passed, "5 s"; the grace of an interrupt */
    bool at_ceiling;            /* and no cell can ask for more */
    struct outcome_where where; /* bytes 0 where that is not known */
    char detail[512];           /* why, in words */
    json_t *history;            /* OUTCOME_BUDGET: lines about what was before, owned by the run; or NULL */
};

struct outcome_row {
    const char *name;  /* in the run report */
    const char *ename; /* on the Jupyter wire; NULL where the worker's own reply stands */
    bool rolled_back;
    enum { FACT_NONE, FACT_LIMIT, FACT_DETAIL, FACT_END } fact;
    const char *before; /* the sentence is before, fact, after */
    const char *after;
    const char *hint; /* what to do about it; the last line of the traceback, or NULL */
};

/* Whether all of it has come that is shown: a frame of what runs the cell stands behind the cell's own, or it is full.
 */
bool outcome_where_is_whole(const struct outcome_where *where);

const struct outcome_row *outcome_row(enum outcome outcome);

/* One plain sentence: what happened, which limit, and what the session is now. Returns buf. */
const char *outcome_sentence(enum outcome outcome, const struct outcome_facts *facts, char *buf, size_t size);

/* Content of an `error` message: ename, evalue, traceback. The caller's; NULL on ENOMEM. */
json_t *outcome_error(enum outcome outcome, const struct outcome_facts *facts);

#endif
