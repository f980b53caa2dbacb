/*
 * cell_copy_ahead.c - whether a running cell writes through its memory, and how much of it may be copied ahead.
 */
#include "sandbox/base/difference.h"
#include "sandbox/image/copy_ahead.h"
#include "sandbox/process/process.h"
#include "sandbox/session/cell.h"

#include <errno.h>

enum {
    LEAST_FAULTS = 128, /* since the last look: fewer are an interpreter's own */
    PART_OF_ROOM = 4,   /* what is copied for nothing must not bring a cell to its limit */
};

/* How much more memory the cell may take. */
static uint64_t room_bytes(struct cell *cell) {
    struct cell_usage usage;
    if (cell->base.memory_limit_bytes == 0)
        return UINT64_MAX;
    cell_measure(cell, &usage);
    return positive_difference(cell->base.memory_limit_bytes, usage.memory_bytes);
}

int cell_copy_ahead(struct cell *cell, cell_is_idle *has_time, void *arg, uint64_t *ret_bytes) {
    const struct inject_task keeper = {cell->keeper, 0, cell->memory_fd, &cell->session->area};
    struct procfs_stat stat;
    *ret_bytes = 0;
    if (!cell->started || cell->ended || cell->keeper <= 0)
        return -ESRCH;
    int r = process_read_stat(cell->worker, &stat);
    if (r)
        return r;
    if (stat.faults < cell->faults + LEAST_FAULTS)
        return 0;
    cell->faults = stat.faults;
    return copy_ahead(&keeper, room_bytes(cell) / PART_OF_ROOM, has_time, arg, ret_bytes);
}
