/*
 * habit.h - which pages the cells of a session are about to write.
 *
 * What two cells that were looked at one after the other have both written, the next one
 * is likely to write as well: the interpreter's counts of references first, later
 * what the user's code goes through again and again.
 */
#ifndef PETRI_SANDBOX_IMAGE_HABIT_H
#define PETRI_SANDBOX_IMAGE_HABIT_H

#include "sandbox/image/prefault.h"

enum {
    HABIT_FIRST = 2,        /* so many cells are looked at before anything is known */
    HABIT_FEW_FAULTS = 128, /* cost less than to find out what they were */
};

struct habit {
    struct prefault known;
    struct prefault last; /* what the last cell that was looked at has written beyond it */
    unsigned n_cells;     /* that were looked at */
};

void habit_forget(struct habit *habit);

/* Whether a cell is to be looked at whose pages have been populated, and that has had so many faults with these. */
bool habit_has_to_learn(const struct habit *habit, uint64_t faults);

/* Looks at what a task that does not run has written: some milliseconds for a large image. What can't be read teaches
 * nothing, and what there is no room for is left. */
void habit_learn(struct habit *habit, pid_t pid);

#endif
