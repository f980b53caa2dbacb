/*
 * prefault.c - finding out which pages cells write, and having them copied ahead.
 *
 * Which pages a cell writes is read from its page map: private pages that no other
 * process shares are the ones that it has written. Each run of them is a range of its
 * own, for to copy a page between two costs more than a call. Large mappings are left
 * out, for they are data, and what a cell does with its data says nothing about the
 * next one. What two cells have in common is populated for each later cell by
 * MADV_POPULATE_WRITE, in batches; a range that is no longer there is skipped.
 *
 * A wrong sample costs time and nothing else: populating a private page changes
 * nothing that a cell can see.
 */
#define _GNU_SOURCE
#include "prefault.h"

#include "base/cleanup.h"
#include "sandbox/inject/tracee.h"
#include "sandbox/process/mappings.h"
#include "sandbox/process/process.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

enum {
    PAGE = 4096,
    MAPPING_MAX_PAGES = 16384, /* 64 MiB: larger mappings are data, not the interpreter's */
    PAGES_MAX = 2048,          /* 8 MiB in all */
    AT_ONCE = 512,
};

void prefault_fini(struct prefault *prefault) {
    free(prefault->range);
    *prefault = (struct prefault){0};
}

static void add_page(struct prefault *p, uint64_t address, size_t *pages) {
    struct prefault_range *last = p->n ? &p->range[p->n - 1] : NULL;
    if (last && address == last->address + last->bytes)
        last->bytes += PAGE;
    else if (p->n < p->most)
        p->range[p->n++] = (struct prefault_range){address, PAGE};
    else
        return;
    ++*pages;
}

static int sample_mapping(int pagemap, const struct procfs_mapping *m, struct prefault *p, size_t *pages) {
    uint64_t entries[AT_ONCE];
    for (uint64_t at = m->start; at < m->end && *pages < PAGES_MAX; at += sizeof entries / sizeof *entries * PAGE) {
        size_t want = (m->end - at) / PAGE < AT_ONCE ? (m->end - at) / PAGE : AT_ONCE;
        ssize_t n = pread(pagemap, entries, want * sizeof *entries, (off_t)(at / PAGE * sizeof *entries));
        if (n < 0)
            return -errno;
        for (size_t i = 0; i < (size_t)n / sizeof *entries; i++)
            if (procfs_page_is_exclusive(entries[i]))
                add_page(p, at + i * PAGE, pages);
    }
    return 0;
}

int prefault_sample(pid_t pid, size_t most, struct prefault *ret) {
    struct prefault sample = {.most = most, .range = calloc(most, sizeof *sample.range)};
    auto_free char *buf = NULL;
    size_t pages = 0, size = 0;
    struct procfs_mapping m;
    auto_fd pagemap = process_open_fd(pid, "pagemap", O_RDONLY);
    auto_file maps = process_open(pid, "maps");
    int r = !sample.range ? -ENOMEM : pagemap < 0 ? pagemap : !maps ? -errno : 0;
    while (r == 0 && (r = mappings_next_private(maps, &buf, &size, &m)) == 1)
        r = (m.end - m.start) / PAGE <= MAPPING_MAX_PAGES ? sample_mapping(pagemap, &m, &sample, &pages) : 0;
    if (r)
        prefault_fini(&sample);
    else
        *ret = sample;
    return r;
}

void prefault_intersect(struct prefault *habit, const struct prefault *other) {
    struct prefault both = {.most = habit->most, .range = calloc(habit->most, sizeof *both.range)};
    size_t pages = 0, j = 0;
    for (size_t i = 0; both.range && i < habit->n; i++)
        for (uint64_t at = habit->range[i].address; at < habit->range[i].address + habit->range[i].bytes; at += PAGE) {
            while (j < other->n && other->range[j].address + other->range[j].bytes <= at)
                j++;
            if (j < other->n && other->range[j].address <= at)
                add_page(&both, at, &pages);
        }
    prefault_fini(habit);
    *habit = both;
}

int prefault_apply(const struct prefault *prefault, const struct inject_task *task, cell_is_idle *is_idle, void *arg) {
    struct inject_call calls[INJECT_MAX_CALLS];
    size_t next = 0;
    while (next < prefault->n && is_idle(arg)) {
        size_t n = 0, failed = 0;
        for (size_t i = next; i < prefault->n && n < INJECT_MAX_CALLS; i++)
            calls[n++] = (struct inject_call){
                .number = SYS_madvise,
                .argument = {prefault->range[i].address, prefault->range[i].bytes, MADV_POPULATE_WRITE}};
        int r = inject_batch(task, calls, n);
        if (r)
            return r;
        r = inject_failure(calls, n, &failed);
        if (r == -EUCLEAN)
            return r;
        next += r ? failed + 1 : n;
    }
    return 0;
}

int prefault_keep_tables(pid_t pid, int memory_fd) {
    auto_free char *buf = NULL;
    size_t size = 0;
    struct procfs_text line;
    auto_file maps = process_open(pid, "maps");
    if (!maps)
        return -errno;
    while (process_next_line(maps, &buf, &size, &line)) {
        struct procfs_mapping m;
        char byte;
        if (!procfs_parse_mapping(line, &m))
            return -EBADMSG;
        if (m.inode == 0 || m.shared || !(m.protection & PROT_READ) || (m.protection & PROT_WRITE))
            continue;
        /* Written with what it has: the page becomes the mapping's own. Some end before they begin (a file cut short).
         */
        if (memory_read(memory_fd, m.start, &byte, 1) == 0 && memory_write(memory_fd, m.start, &byte, 1))
            continue;
    }
    return 0;
}
