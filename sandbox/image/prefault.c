/*
 * prefault.c - finding out which pages cells write, and having them copied ahead.
 *
 * Which pages a cell writes is read from its page map: private pages that no other
 * process shares are the ones that it has written. Each run of them is populated by a call
 * of its own, for to copy a page between two costs more than a call. Large mappings are
 * left out, for they are data, and what a cell does with its data says nothing about
 * the next one. A range that is no longer there is skipped.
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
    READ_AT_ONCE = 512,
    RUN_PAGES = 32,          /* at most: where memory has gone, as many are left that are still there */
    POPULATED_AT_ONCE = 256, /* for so long, some 0.7 ms, a request may wait that comes meanwhile */
};

/* Whether this page is among the pages from *next on; *next is moved to where it is or would be. */
static bool has_page(const struct prefault *pages, size_t *next, uint64_t address) {
    while (*next < pages->n && pages->page[*next] < address)
        ++*next;
    return *next < pages->n && pages->page[*next] == address;
}

static int sample_mapping(int pagemap, const struct procfs_mapping *m, const struct prefault *known, size_t *next,
                          struct prefault *sample) {
    uint64_t entries[READ_AT_ONCE];
    for (uint64_t at = m->start; at < m->end; at += READ_AT_ONCE * PAGE) {
        size_t want = (m->end - at) / PAGE < READ_AT_ONCE ? (m->end - at) / PAGE : READ_AT_ONCE;
        ssize_t n = pread(pagemap, entries, want * sizeof *entries, (off_t)(at / PAGE * sizeof *entries));
        if (n < 0)
            return -errno;
        for (size_t i = 0; i < (size_t)n / sizeof *entries && sample->n < PREFAULT_MAX_PAGES; i++)
            if (procfs_page_is_exclusive(entries[i]) && !has_page(known, next, at + i * PAGE))
                sample->page[sample->n++] = at + i * PAGE;
    }
    return 0;
}

int prefault_sample(pid_t pid, const struct prefault *known, struct prefault *ret) {
    auto_free char *buf = NULL;
    size_t next = 0, size = 0;
    struct procfs_mapping m;
    auto_fd pagemap = process_open_fd(pid, "pagemap", O_RDONLY);
    auto_file maps = process_open(pid, "maps");
    int r = pagemap < 0 ? pagemap : !maps ? -errno : 0;
    ret->n = 0;
    while (r == 0 && ret->n < PREFAULT_MAX_PAGES && (r = mappings_next_private(maps, &buf, &size, &m)) == 1)
        r = (m.end - m.start) / PAGE <= MAPPING_MAX_PAGES ? sample_mapping(pagemap, &m, known, &next, ret) : 0;
    return r;
}

static int compare(const void *a, const void *b) {
    const uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;
    return (first > second) - (first < second);
}

void prefault_add_common(struct prefault *known, const struct prefault *a, const struct prefault *b) {
    size_t next = 0;
    for (size_t i = 0; i < b->n && known->n < PREFAULT_MAX_PAGES; i++)
        if (has_page(a, &next, b->page[i]))
            known->page[known->n++] = b->page[i];
    qsort(known->page, known->n, sizeof *known->page, compare);
}

/* The call that populates a run of pages from *next on, before end; *next is moved behind it. */
static struct inject_call populate_run(const struct prefault *prefault, size_t *next, size_t end) {
    const uint64_t start = prefault->page[*next];
    uint64_t bytes = 0;
    for (; *next < end && bytes < RUN_PAGES * PAGE && prefault->page[*next] == start + bytes; ++*next)
        bytes += PAGE;
    return (struct inject_call){.number = SYS_madvise, .argument = {start, bytes, MADV_POPULATE_WRITE}};
}

int prefault_apply(const struct prefault *prefault, const struct inject_task *task, cell_is_idle *is_idle, void *arg) {
    struct inject_call calls[INJECT_MAX_CALLS];
    size_t behind[INJECT_MAX_CALLS]; /* each call's pages */
    size_t next = 0;
    while (next < prefault->n && is_idle(arg)) {
        const size_t end = prefault->n - next < POPULATED_AT_ONCE ? prefault->n : next + POPULATED_AT_ONCE;
        size_t n = 0, failed = 0;
        for (size_t i = next; i < end && n < INJECT_MAX_CALLS; n++) {
            calls[n] = populate_run(prefault, &i, end);
            behind[n] = i;
        }
        int r = inject_batch(task, calls, n);
        if (r)
            return r;
        r = inject_failure(calls, n, &failed);
        if (r == -EUCLEAN)
            return r;
        next = behind[r ? failed : n - 1];
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
