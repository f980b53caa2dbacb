/*
 * cell_copy_ahead.c - whether a running cell writes through its memory, and how much of it may be copied ahead.
 *
 * What is copied may be more than what the cell writes, and nobody can tell: so it has
 * to be no more than a part of the cell's limit, and the limit grows by it. A cell that
 * fits its limit is never ended for what was copied.
 */
#include "sandbox/base/difference.h"
#include "sandbox/process/process.h"
#include "sandbox/session/cell.h"

#include <errno.h>

enum {
    LEAST_FAULTS = 128, /* since the last look: fewer are an interpreter's own */
    PART_OF_LIMIT = 16,
};

static struct inject_task keeper_of(const struct cell *cell) {
    return (struct inject_task){cell->keeper, 0, cell->memory_fd, &cell->session->area};
}

/* How much may still be copied. */
static uint64_t left_bytes(const struct cell *cell) {
    const uint64_t limit = cell->base.memory_limit_bytes;
    return limit == 0 ? UINT64_MAX : positive_difference(limit / PART_OF_LIMIT, cell->copied_bytes);
}

/* Begins to look where the cell has had enough faults. 0 or -errno. */
static int look(struct cell *cell) {
    struct procfs_stat stat;
    int r = process_read_stat(cell->worker, &stat);
    if (r || stat.faults < cell->faults + LEAST_FAULTS)
        return r;
    cell->faults = stat.faults;
    return copy_ahead_look(&cell->copy, cell->keeper, left_bytes(cell));
}

/* Finds the next to copy, and has the cell's limit grow by that. 1; 0 where a look goes on; or -errno. */
static int find(struct cell *cell) {
    uint64_t bytes;
    int r = cell->copy.look ? 0 : look(cell);
    if (r || !cell->copy.look)
        return r ? r : 1;
    r = copy_ahead_take(&cell->copy, &bytes);
    if (r <= 0 || bytes == 0)
        return r;
    r = cell_grant_memory(cell, cell->copied_bytes + bytes);
    return r < 0 ? r : 1;
}

int cell_copy_ahead(struct cell *cell, cell_is_idle *has_time, void *arg, uint64_t *ret_bytes) {
    const struct inject_task keeper = keeper_of(cell);
    *ret_bytes = 0;
    if (!cell->started || cell->ended || cell->keeper <= 0)
        return -ESRCH;
    int r = copy_ahead_has_work(&cell->copy) ? 1 : find(cell);
    if (r <= 0)
        return r < 0 ? r : -EAGAIN;
    r = copy_ahead_make(&cell->copy, &keeper, has_time, arg, ret_bytes);
    cell->copied_bytes += *ret_bytes;
    cell->misled |= r == -EUCLEAN;
    return r;
}

int cell_end_copy_ahead(struct cell *cell) {
    const struct inject_task keeper = keeper_of(cell);
    return copy_ahead_end(&cell->copy, &keeper);
}
