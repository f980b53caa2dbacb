/*
 * travel_line.h - lines such as "%undo 3", which the kernel process itself handles where a cell consists of one.
 *
 * The text comes from a client. This is a parser, which needs no timeline.
 */
#ifndef PETRI_TRAVEL_LINE_H
#define PETRI_TRAVEL_LINE_H

#include "base/cleanup.h"
#include "base/error.h"
#include "kernel/base/image_name.h"

#include <stdbool.h>
#include <stddef.h>

enum travel {
    TRAVEL_NONE, /* it is code */
    TRAVEL_UNDO,
    TRAVEL_REDO,
    TRAVEL_CHECKPOINT,
    TRAVEL_RESTORE,
    TRAVEL_TIMELINE,
    TRAVEL_DIFF,
    TRAVEL_FORGET,
    TRAVEL_N,
};

enum {
    TRAVEL_CELLS_MAX = 1000000, /* the most that undo and redo take */
    TRAVEL_ARGUMENTS_MAX = 2,
};

struct travel_line {
    enum travel travel;
    unsigned n; /* of undo and redo: 1 to TRAVEL_CELLS_MAX; 0 for the others */
    char argument[TRAVEL_ARGUMENTS_MAX][IMAGE_NAME_BYTES + 1]; /* of the others; "" for none */
};

/*
 * Reads a cell of so many bytes. Empty lines and lines that are comments may stand around the one line, spaces
 * around it, and a comment behind its arguments. 0 with ret_line, which is TRAVEL_NONE where the cell is anything else;
 * or -EINVAL where it is one of these lines with arguments that it doesn't take: a sentence in ret_error says what it
 * takes. Arguments are words; a quote is a character like others. That of checkpoint and forget has no
 * image_name_problem(), those of restore and diff have no image_name_text_problem(). The second one of diff is "" where
 * it was left out: the present state.
 */
int travel_line_read(const char *code, size_t bytes, struct travel_line *ret_line, struct error *ret_error) MUST_CHECK;

/* Whether a cell only asks what one of these lines does, as IPython has it: "%undo?", "?%undo" or either with "??". */
bool travel_line_asks(const char *code, size_t bytes);

#endif
