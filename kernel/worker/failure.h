/*
 * failure.h - the `error` of the run report: an exception and its place in the code, for programs.
 */
#ifndef PETRI_FAILURE_H
#define PETRI_FAILURE_H

#include <jansson.h>

/* The cell that the traceback belongs to. */
struct failure_source {
    const char *code; /* of the cell */
    int number;       /* of the cell, as its traceback names it: "Cell In[3], line 1" */
    enum { FAILURE_INNERMOST_LAST, FAILURE_INNERMOST_FIRST } order;
};

/*
 * {"ename", "evalue", "traceback"} of an `error` reply, with the traceback as
 * lines without colours. Where the traceback has them, also "line" and, for code
 * that could not be parsed, "column", both counted from 1: those of the innermost
 * frame in this cell's code. The caller's; NULL on ENOMEM.
 */
json_t *failure_json(const json_t *reply, const struct failure_source *source);

#endif
