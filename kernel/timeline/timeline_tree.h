/*
 * timeline_tree.h - the rows of a timeline, and the lines that are drawn before each.
 *
 *     first            A node with one child goes on below it. Of several children those without the
 *     [1]              current node are indented, and the one that leads to it goes on below them.
 *     ├─ [2]
 *     │  [3]           "… [5]": what is above it isn't what it was made of, because that is forgotten
 *     [2]              or branches lie too deep in each other.
 *     [3] *
 */
#ifndef PETRI_TIMELINE_TREE_H
#define PETRI_TIMELINE_TREE_H

#include "kernel/timeline/timeline.h"

enum {
    TIMELINE_TREE_LEVELS = 16, /* of branches in branches that are indented; others are not */
    TIMELINE_TREE_BYTES = 192, /* enough for the text of a row */
};

struct timeline_tree_row {
    const struct timeline_node *node;
    unsigned level; /* of indentation */
    uint32_t lines; /* a bit for each level: whether a line goes down from there to a row further below */
    enum {
        TIMELINE_TREE_ON,     /* goes on below the row above */
        TIMELINE_TREE_BRANCH, /* is the first row of a branch */
        TIMELINE_TREE_LAST,   /* is that of the last branch, when nothing goes on below it */
    } begins;
    bool apart; /* its parent isn't where the drawing has it */
};

/* One row for each node that people see (timeline_shown()), from the top, and one without a node at the end; for
 * free(3). NULL on ENOMEM. */
struct timeline_tree_row *timeline_tree_rows(const struct timeline *timeline) MUST_CHECK;

/* The row's lines and its node: "│  ├─ [3]", "first", or "·" for one without a number. Returns buf. */
const char *timeline_tree_text(const struct timeline_tree_row *row, char *buf, size_t size);

#endif
