/*
 * habit.c - two cells that have written the same pages teach the habit of a session.
 *
 * What is known is never looked at again: pages that were populated look as if the cell had
 * written them. So it only grows, until it is full or forgotten as a whole. A wrong
 * habit costs time and memory, and nothing else: populating a private page changes
 * nothing that a cell can see.
 */
#include "habit.h"

void habit_forget(struct habit *habit) {
    habit->known.n = habit->last.n = 0;
    habit->n_cells = 0;
}

bool habit_has_to_learn(const struct habit *habit, uint64_t faults) {
    return habit->known.n < PREFAULT_MAX_PAGES && faults >= habit->known.n + HABIT_FEW_FAULTS;
}

void habit_learn(struct habit *habit, pid_t pid) {
    struct prefault beyond;
    if (prefault_sample(pid, &habit->known, &beyond))
        return;
    if (habit->n_cells++ > 0)
        prefault_add_common(&habit->known, &habit->last, &beyond);
    habit->last = beyond;
}
