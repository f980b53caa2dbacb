/*
 * huge_pages.c - finding ranges that are worth a huge page, and having them collapsed.
 *
 * A range counts as full if no more than an eighth of it is missing: that is the most
 * that a huge page adds to the memory of its range. Pages of files, shared ones and
 * swapped ones are left where they are. The keeper makes each call by itself and
 * checked, because it stands outside any sandbox. What Linux refuses is not asked for
 * again: it has no huge page left, or the program wants none there.
 */
#define _GNU_SOURCE
#include "huge_pages.h"

#include "base/cleanup.h"
#include "sandbox/inject/helper.h"
#include "sandbox/process/mappings.h"
#include "sandbox/process/process.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

enum { PAGE = 4096, PAGES = HUGE_PAGE_BYTES / PAGE, FULL = PAGES / 8 * 7, GROW = 256 };

/* One look at all of a keeper's memory, in ascending order. */
struct look {
    const struct inject_task *keeper;
    cell_is_idle *is_idle;
    void *arg;
    int pagemap;
    const struct huge_pages *before;
    size_t next; /* of before: the first that is not behind us */
    struct huge_pages after;
    size_t collapsed;
};

void huge_pages_fini(struct huge_pages *huge) {
    free(huge->address);
    *huge = (struct huge_pages){0};
}

static int add(struct huge_pages *huge, uint64_t address) {
    if (huge->n % GROW == 0) {
        uint64_t *grown = reallocarray(huge->address, huge->n + GROW, sizeof *grown);
        if (!grown)
            return -ENOMEM;
        huge->address = grown;
    }
    huge->address[huge->n++] = address;
    return 0;
}

static bool is_full(int pagemap, uint64_t address) {
    uint64_t entry[PAGES];
    size_t present = 0;
    if (pread(pagemap, entry, sizeof entry, (off_t)(address / PAGE * sizeof *entry)) != sizeof entry)
        return false;
    for (size_t i = 0; i < PAGES; i++)
        present += procfs_page_is_private(entry[i]) && procfs_page_is_present(entry[i]);
    return present >= FULL;
}

static bool was_tried(struct look *look, uint64_t address) {
    const struct huge_pages *before = look->before;
    while (look->next < before->n && before->address[look->next] < address)
        look->next++;
    return look->next < before->n && before->address[look->next] == address;
}

/* Whether a call was made, and refused by Linux. */
static bool is_refusal(int r) {
    return r == -EINVAL || r == -EAGAIN || r == -ENOMEM || r == -EBUSY;
}

static int look_at_range(struct look *look, uint64_t address) {
    const struct inject_call collapse = {.number = SYS_madvise, .argument = {address, HUGE_PAGE_BYTES, MADV_COLLAPSE}};
    const bool tried = was_tried(look, address);
    if (!is_full(look->pagemap, address))
        return 0;
    int r = tried ? 0 : helper_do(look->keeper, collapse);
    look->collapsed += !tried && r == 0;
    return r == 0 || is_refusal(r) ? add(&look->after, address) : r;
}

/* 1, 0 where somebody waits, or -errno. */
static int look_at_mapping(struct look *look, const struct procfs_mapping *m) {
    int r = 1;
    for (uint64_t at = huge_pages_first(m->start); r == 1 && huge_pages_has_range(at, m->end); at += HUGE_PAGE_BYTES)
        if (!look->is_idle(look->arg))
            r = 0;
        else if ((r = look_at_range(look, at)) == 0)
            r = 1;
    return r;
}

static int look_at_all(struct look *look, FILE *maps) {
    auto_free char *buf = NULL;
    size_t size = 0;
    struct procfs_mapping m;
    int r = 1, more = 1;
    while (r == 1 && (more = mappings_next_private(maps, &buf, &size, &m)) == 1)
        if (m.inode == 0)
            r = look_at_mapping(look, &m);
    return more < 0 ? more : r;
}

/* What there was no time to look at stays as it was known. 0 or -errno. */
static int keep_rest(struct look *look) {
    const struct huge_pages *before = look->before;
    const struct huge_pages *after = &look->after;
    const uint64_t last = after->n ? after->address[after->n - 1] : 0;
    int r = 0;
    for (size_t i = look->next; r == 0 && i < before->n; i++)
        if (before->address[i] > last)
            r = add(&look->after, before->address[i]);
    return r;
}

int huge_pages_collapse(struct huge_pages *huge, const struct inject_task *keeper, cell_is_idle *is_idle, void *arg,
                        size_t *ret_n) {
    auto_fd pagemap = process_open_fd(keeper->tid, "pagemap", O_RDONLY);
    auto_file maps = process_open(keeper->tid, "maps");
    struct look look = {.keeper = keeper, .is_idle = is_idle, .arg = arg, .pagemap = pagemap, .before = huge};
    int r = pagemap < 0 ? pagemap : !maps ? -errno : look_at_all(&look, maps);
    const int kept = r == 1 ? 0 : keep_rest(&look);
    *ret_n = look.collapsed;
    if (kept) {
        huge_pages_fini(&look.after);
        return kept;
    }
    huge_pages_fini(huge);
    *huge = look.after;
    return r;
}
