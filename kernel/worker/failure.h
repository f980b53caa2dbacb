/*
 * failure.h - what went wrong in a cell, and where, as a program wants to read it.
 */
#ifndef PETRI_FAILURE_H
#define PETRI_FAILURE_H

#include <jansson.h>

/* Where the traceback is of. */
struct failure_source {
    const char *code; /* of the cell */
    int number;       /* of the cell, as its traceback names it: "Cell In[3], line 1" */
    enum { FAILURE_INNERMOST_LAST, FAILURE_INNERMOST_FIRST } order;
};

/*
 * {"ename", "evalue", "traceback"} of an `error` reply, the traceback as plain
 * lines without colours, and where they can be read from it, "line" and, for
 * code that could not be parsed, "column", both counted from 1. The innermost
 * line of this cell's own is meant. The caller's; NULL on ENOMEM.
 */
json_t *failure_json(const json_t *reply, const struct failure_source *source);

#endif
