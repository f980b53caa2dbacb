/*
 * copy_ahead.c - finding where a cell writes through its memory, and copying what comes next.
 *
 * Of each range of a huge page the first and the last page are looked at. Where both are the
 * cell's own, it has been written; where the first is and the last is still the image's, the
 * cell is at work. Behind some written ones that means that it goes on to the next. What
 * was copied for it counts as written: so nothing more is copied before the cell has
 * come to the end of that.
 *
 * One page of a range is populated first: that splits the huge page that the image has there,
 * and Linux collapses only what has a page that may be written.
 */
#define _GNU_SOURCE
#include "copy_ahead.h"

#include "base/cleanup.h"
#include "sandbox/image/huge_pages.h"
#include "sandbox/inject/helper.h"
#include "sandbox/process/process.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

enum {
    PAGE = 4096,
    LEAST_WRITTEN = 4, /* ranges in a row: 8 MiB, which take a cell 10 ms */
    MOST_AHEAD = 32,   /* 64 MiB: what is copied for nothing where the cell ends there */
    AT_ONCE = 8,       /* some milliseconds */
};

enum range_state { RANGE_OTHER, RANGE_WRITTEN, RANGE_REACHED, RANGE_SHARED };

struct look {
    const struct inject_task *keeper;
    cell_is_idle *has_time;
    void *arg;
    int pagemap;
    uint64_t left; /* ranges that may still be copied */
    uint64_t copied;
};

/* How a page is held: RANGE_WRITTEN for one that the cell has for itself, RANGE_SHARED for one that is the image's,
 * too.
 */
static enum range_state look_at_page(const struct look *look, uint64_t address) {
    uint64_t entry;
    if (pread(look->pagemap, &entry, sizeof entry, (off_t)(address / PAGE * sizeof entry)) != sizeof entry ||
        !procfs_page_is_private(entry) || !procfs_page_is_present(entry))
        return RANGE_OTHER;
    return procfs_page_is_exclusive(entry) ? RANGE_WRITTEN : RANGE_SHARED;
}

static enum range_state look_at_range(const struct look *look, uint64_t address) {
    const enum range_state first = look_at_page(look, address);
    if (first != RANGE_WRITTEN)
        return first;
    const enum range_state last = look_at_page(look, address + HUGE_PAGE_BYTES - PAGE);
    return last == RANGE_SHARED ? RANGE_REACHED : last;
}

static int advise(const struct look *look, uint64_t address, uint64_t bytes, int advice) {
    return helper_do(look->keeper,
                     (struct inject_call){.number = SYS_madvise, .argument = {address, bytes, (uint64_t)advice}});
}

static int copy_ranges(struct look *look, uint64_t address, uint64_t n) {
    int r = 0;
    for (uint64_t i = 0; r == 0 && i < n; i++)
        r = advise(look, address + i * HUGE_PAGE_BYTES, PAGE, MADV_POPULATE_WRITE);
    if (r == 0)
        r = advise(look, address, n * HUGE_PAGE_BYTES, MADV_COLLAPSE);
    if (r && r != -EAGAIN) /* the cell itself has come to one of them meanwhile */
        return r;
    look->left -= n;
    look->copied += n;
    return 0;
}

/* The same in steps, as long as there is time. */
static int copy_in_steps(struct look *look, uint64_t address, uint64_t n) {
    int r = 0;
    for (uint64_t i = 0; r == 0 && i < n && look->has_time(look->arg); i += AT_ONCE)
        r = copy_ranges(look, address + i * HUGE_PAGE_BYTES, n - i < AT_ONCE ? n - i : AT_ONCE);
    return r;
}

static bool has_range(uint64_t address, uint64_t end) {
    return address < end && end - address >= HUGE_PAGE_BYTES;
}

/* How many ranges from address on are the image's; at most so many. */
static uint64_t count_shared(const struct look *look, uint64_t address, uint64_t end, uint64_t most) {
    uint64_t n = 0;
    while (n < most && has_range(address + n * HUGE_PAGE_BYTES, end) &&
           look_at_range(look, address + n * HUGE_PAGE_BYTES) == RANGE_SHARED)
        n++;
    return n;
}

/* How many ranges may be copied behind so many that were written. */
static uint64_t most_behind(const struct look *look, uint64_t written) {
    const uint64_t most = written < MOST_AHEAD ? written : MOST_AHEAD;
    return written < LEAST_WRITTEN ? 0 : most < look->left ? most : look->left;
}

static int look_at_mapping(struct look *look, const struct procfs_mapping *m) {
    uint64_t at = (m->start + HUGE_PAGE_BYTES - 1) / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES, written = 0;
    int r = 0;
    for (; r == 0 && look->left > 0 && has_range(at, m->end) && look->has_time(look->arg); at += HUGE_PAGE_BYTES) {
        const enum range_state state = look_at_range(look, at);
        const uint64_t next = at + HUGE_PAGE_BYTES;
        const uint64_t n = state == RANGE_REACHED ? count_shared(look, next, m->end, most_behind(look, written)) : 0;
        written = state == RANGE_WRITTEN ? written + 1 : 0;
        if (n > 0)
            r = copy_in_steps(look, next, n);
        at += n * HUGE_PAGE_BYTES;
    }
    return r;
}

static int look_at_all(struct look *look, FILE *maps) {
    auto_free char *buf = NULL;
    size_t size = 0;
    struct procfs_text line;
    int r = 0;
    while (r == 0 && look->has_time(look->arg) && process_next_line(maps, &buf, &size, &line)) {
        struct procfs_mapping m;
        if (!procfs_parse_mapping(line, &m))
            r = -EBADMSG;
        else if ((m.protection & PROT_WRITE) && !m.shared && m.inode == 0)
            r = look_at_mapping(look, &m);
    }
    return r;
}

int copy_ahead(const struct inject_task *keeper, uint64_t most_bytes, cell_is_idle *has_time, void *arg,
               uint64_t *ret_bytes) {
    auto_fd pagemap = process_open_fd(keeper->tid, "pagemap", O_RDONLY);
    auto_file maps = process_open(keeper->tid, "maps");
    struct look look = {
        .keeper = keeper, .has_time = has_time, .arg = arg, .pagemap = pagemap, .left = most_bytes / HUGE_PAGE_BYTES};
    int r = pagemap < 0 ? pagemap : !maps ? -errno : look_at_all(&look, maps);
    *ret_bytes = look.copied * HUGE_PAGE_BYTES;
    return r;
}
