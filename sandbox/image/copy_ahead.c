/*
 * copy_ahead.c - finding where a cell writes through its memory, and copying what comes next.
 *
 * Of each range of a huge page the first and the last page are looked at. Where both are the
 * cell's own, it has been written; where the first is and the last is still the image's, the
 * cell is at work. Behind some written ones that means that it goes on to the next. What
 * was copied for it counts as written: so nothing more is copied before the cell has
 * come to the end of that. A cell that leaves out as much as it has written before has that
 * copied for nothing each time.
 *
 * One page of a range is populated first: that splits the huge page that the image has there,
 * and Linux collapses only what has a page that may be written.
 */
#define _GNU_SOURCE
#include "copy_ahead.h"

#include "base/cleanup.h"
#include "base/errand.h"
#include "sandbox/image/huge_pages.h"
#include "sandbox/process/mappings.h"
#include "sandbox/process/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

enum {
    PAGE = 4096,
    PAGES = HUGE_PAGE_BYTES / PAGE,
    LEAST_WRITTEN = 4, /* ranges in a row: 8 MiB, which take a cell 10 ms */
    MOST_AHEAD = 32,   /* 64 MiB: what is copied for nothing where the cell ends there */
    AT_ONCE = 8,       /* some milliseconds */
    QUICK_MS = 1,      /* most looks take less */
};

enum range_state { RANGE_OTHER, RANGE_WRITTEN, RANGE_REACHED, RANGE_SHARED };

/* What an errand has, and finds. */
struct look {
    int pagemap;
    FILE *maps;
    uint64_t most; /* ranges */
    uint64_t address, ranges;
    int r;
};

/* How a page is held: RANGE_WRITTEN where the cell has it for itself, RANGE_SHARED where it is the image's, too. */
static enum range_state page_state(uint64_t entry) {
    if (!procfs_page_is_private(entry) || !procfs_page_is_present(entry))
        return RANGE_OTHER;
    return procfs_page_is_exclusive(entry) ? RANGE_WRITTEN : RANGE_SHARED;
}

static enum range_state look_at_page(const struct look *look, uint64_t address) {
    uint64_t entry;
    if (pread(look->pagemap, &entry, sizeof entry, (off_t)(address / PAGE * sizeof entry)) != sizeof entry)
        return RANGE_OTHER;
    return page_state(entry);
}

static enum range_state look_at_range(const struct look *look, uint64_t address) {
    const enum range_state first = look_at_page(look, address);
    if (first != RANGE_WRITTEN)
        return first;
    const enum range_state last = look_at_page(look, address + HUGE_PAGE_BYTES - PAGE);
    return last == RANGE_SHARED ? RANGE_REACHED : last;
}

/* Whether each page of a range is there, and the image's: a huge page would fill what is missing. */
static bool is_whole(const struct look *look, uint64_t address) {
    uint64_t entry[PAGES];
    bool is_shared = pread(look->pagemap, entry, sizeof entry, (off_t)(address / PAGE * sizeof *entry)) == sizeof entry;
    for (size_t i = 0; is_shared && i < PAGES; i++)
        is_shared = page_state(entry[i]) == RANGE_SHARED;
    return is_shared;
}

/* How many ranges from address on are whole; at most so many. */
static uint64_t count_whole(const struct look *look, uint64_t address, uint64_t end, uint64_t most) {
    uint64_t n = 0;
    while (n < most && huge_pages_has_range(address + n * HUGE_PAGE_BYTES, end) &&
           is_whole(look, address + n * HUGE_PAGE_BYTES))
        n++;
    return n;
}

/* How many ranges may be copied behind so many that were written. */
static uint64_t most_behind(const struct look *look, uint64_t written) {
    const uint64_t most = written < MOST_AHEAD ? written : MOST_AHEAD;
    return written < LEAST_WRITTEN ? 0 : most < look->most ? most : look->most;
}

static void look_at_mapping(struct look *look, const struct procfs_mapping *m) {
    uint64_t at = huge_pages_first(m->start), written = 0;
    for (; look->ranges == 0 && huge_pages_has_range(at, m->end); at += HUGE_PAGE_BYTES) {
        const enum range_state state = look_at_range(look, at);
        if (state == RANGE_REACHED) {
            look->address = at + HUGE_PAGE_BYTES;
            look->ranges = count_whole(look, look->address, m->end, most_behind(look, written));
        }
        written = state == RANGE_WRITTEN ? written + 1 : 0;
    }
}

/* An errand. The files are closed as soon as nothing is read any more. */
static void look_at_all(void *arg) {
    struct look *look = arg;
    auto_free char *buf = NULL;
    size_t size = 0;
    struct procfs_mapping m;
    int r = 1;
    while (r == 1 && look->ranges == 0) {
        r = mappings_next_private(look->maps, &buf, &size, &m);
        if (r == 1 && m.inode == 0)
            look_at_mapping(look, &m);
    }
    look->r = r < 0 ? r : 0;
    fclose(look->maps);
    close(look->pagemap);
}

int copy_ahead_look(struct copy_ahead *copy, pid_t pid, uint64_t most_bytes) {
    auto_fd pagemap = process_open_fd(pid, "pagemap", O_RDONLY);
    auto_file maps = process_open(pid, "maps");
    if (pagemap < 0 || !maps)
        return pagemap < 0 ? pagemap : -errno;
    struct look *look = malloc(sizeof *look);
    if (look)
        *look = (struct look){.pagemap = pagemap, .maps = maps, .most = most_bytes / HUGE_PAGE_BYTES};
    copy->look = look ? errand_begin(look_at_all, look) : NULL;
    if (!copy->look) {
        free(look);
        return -ENOMEM;
    }
    (void)steal_fd(&pagemap);
    (void)steal_pointer(maps);
    return 0;
}

int copy_ahead_take(struct copy_ahead *copy, uint64_t *ret_bytes) {
    const struct look *found = errand_await_for(copy->look, QUICK_MS);
    if (!found)
        return 0;
    *copy = (struct copy_ahead){.address = found->address, .ranges = found->ranges, .look = copy->look};
    *ret_bytes = copy->ranges * HUGE_PAGE_BYTES;
    const int r = found->r;
    errand_leave(steal_pointer(copy->look));
    return r < 0 ? r : 1;
}

bool copy_ahead_has_work(const struct copy_ahead *copy) {
    return copy->ranges > 0;
}

static uint64_t ranges_of_step(const struct copy_ahead *copy) {
    return copy->ranges < AT_ONCE ? copy->ranges : AT_ONCE;
}

/* One page of each range of a step is populated, then all are collapsed. */
static struct inject_call next_call(const struct copy_ahead *copy) {
    const uint64_t n = ranges_of_step(copy);
    const uint64_t page[] = {copy->address + copy->populated * HUGE_PAGE_BYTES, PAGE, MADV_POPULATE_WRITE};
    const uint64_t step[] = {copy->address, n * HUGE_PAGE_BYTES, MADV_COLLAPSE};
    struct inject_call call = {.number = SYS_madvise};
    memcpy(call.argument, copy->populated < n ? page : step, sizeof page);
    return call;
}

/* Such a call has been made. What ended a step is added to *copied, in ranges. 0 or -errno. */
static int take_result(struct copy_ahead *copy, uint64_t *copied) {
    const uint64_t n = ranges_of_step(copy);
    const bool ends_step = copy->populated == n;
    const int r = inject_result_status(copy->pending.call.result);
    if (r && !(ends_step && r == -EAGAIN)) /* the cell itself has come to one of them meanwhile */
        return r;
    copy->populated = ends_step ? 0 : copy->populated + 1;
    if (ends_step) {
        copy->address += n * HUGE_PAGE_BYTES;
        copy->ranges -= n;
        *copied += n;
    }
    return 0;
}

int copy_ahead_make(struct copy_ahead *copy, const struct inject_task *keeper, cell_is_idle *has_time, void *arg,
                    uint64_t *ret_bytes) {
    uint64_t copied = 0;
    int done = 1, r = 0;
    while (r == 0 && done == 1 && copy->ranges > 0 && (copy->pending.is_begun || has_time(arg))) {
        if (!copy->pending.is_begun)
            copy->pending.call = next_call(copy);
        done = inject_go_on(keeper, &copy->pending, has_time, arg);
        r = done < 0 ? done : done == 1 ? take_result(copy, &copied) : 0;
    }
    const bool is_at_work = copy->pending.is_begun || copy->populated > 0;
    copy->ranges = is_at_work && r == 0 ? ranges_of_step(copy) : 0; /* what is behind that is found anew */
    *ret_bytes = copied * HUGE_PAGE_BYTES;
    return r;
}

int copy_ahead_end(struct copy_ahead *copy, const struct inject_task *keeper) {
    copy->ranges = 0;
    errand_leave(steal_pointer(copy->look));
    return inject_conclude(keeper, &copy->pending);
}
