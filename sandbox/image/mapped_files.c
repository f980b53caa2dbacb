/*
 * mapped_files.c - which mapped files a cell may have written, told by its page table.
 *
 * A write through a shared mapping moves no time, so which mapped files a cell may
 * have changed is told by its page table: a cell begins without any page of a shared
 * mapping (mapped_files_begin()), and a page that is there at the end was touched.
 * Four cases can't be told and count as touched: a mapping that is gone by the
 * end, one whose pages are locked, a machine with swap (a page that was written out
 * has left the page table), and a page map that can't be read. A file that is suspected without need is
 * compared and found unchanged; one that is not suspected would be lost.
 */
#define _GNU_SOURCE
#include "mapped_files.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "sandbox/base/system.h"
#include "sandbox/files/tree.h"
#include "sandbox/process/process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>

/* Of an entry of a page map. See: proc_pid_pagemap(5). */
#define PAGE_IS_THERE (UINT64_C(1) << 63 | UINT64_C(1) << 62)

enum { ENTRIES = 4096 };

void mapped_files_fini(struct mapped_files *mapped) {
    for (size_t i = 0; i < mapped->n; i++)
        free(mapped->file[i].path);
    free(mapped->file);
    *mapped = (struct mapped_files){0};
}

uint64_t mapped_files_bytes(const struct mapped_files *mapped) {
    uint64_t bytes = malloc_usable_size(mapped->file);
    for (size_t i = 0; i < mapped->n; i++)
        bytes += malloc_usable_size(mapped->file[i].path);
    return bytes;
}

static const struct mapped_file *find(const struct mapped_files *mapped, uint64_t start, uint64_t end, ino_t inode) {
    for (size_t i = 0; mapped && i < mapped->n; i++)
        if (mapped->file[i].start == start && mapped->file[i].end == end && mapped->file[i].inode == inode)
            return &mapped->file[i];
    return NULL;
}

int mapped_files_add(struct mapped_files *mapped, const struct mapping *mapping, const struct mapped_files *before) {
    const struct mapped_file *known = find(before, mapping->start, mapping->end, mapping->inode);
    int r = array_grow(&mapped->file, mapped->n, sizeof *mapped->file);
    char *path = r == 0 ? strdup(known ? known->path : mapping->name) : NULL;
    if (!path)
        return -ENOMEM;
    mapped->file[mapped->n++] = (struct mapped_file){.start = mapping->start,
                                                     .end = mapping->end,
                                                     .offset = mapping->offset,
                                                     .protection = mapping->protection,
                                                     .inode = mapping->inode,
                                                     .live = known ? known->live : 0,
                                                     .path = path};
    return 0;
}

/* A file that is looked for in a folder. */
struct search {
    int dir_fd;
    const struct mapping *mapping;
    size_t *left;
    char name[NAME_MAX + 1];
};

static int compare(void *arg, const char *name, off_t next) {
    struct search *search = arg;
    struct stat st;
    (void)next;
    if (*search->left == 0)
        return -E2BIG;
    --*search->left;
    if (fstatat(search->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode) ||
        st.st_dev != search->mapping->device || st.st_ino != search->mapping->inode)
        return 0;
    snprintf(search->name, sizeof search->name, "%s", name);
    return 1;
}

/* Only where the device is the same as well: through an overlay, whose numbers may be those of other files, none is
 * found. */
char *mapped_files_find_name(pid_t viewer, const struct mapping *mapping, size_t *left) {
    char root[32], *path = NULL;
    const char *end = strrchr(mapping->name, '/');
    if (!end || end == mapping->name)
        return NULL;
    snprintf(root, sizeof root, "/proc/%d/root", viewer);
    auto_free char *folder = strndup(mapping->name, (size_t)(end - mapping->name));
    auto_fd found_fd = folder ? system_open_in_root(root, folder, false) : -1;
    auto_fd dir_fd = found_fd < 0 ? -1 : tree_open(found_fd, ".");
    struct search search = {.dir_fd = dir_fd, .mapping = mapping, .left = left};
    if (dir_fd < 0 || tree_read(dir_fd, compare, &search) != 1 || asprintf(&path, "%s/%s", folder, search.name) < 0)
        return NULL;
    return path;
}

void mapped_files_note(struct mapped_files *mapped, const struct snapshot *files) {
    for (size_t i = 0; i < mapped->n; i++)
        mapped->file[i].kept = snapshot_kept(files, mapped->file[i].live);
}

void mapped_files_suspect_all(const struct mapped_files *mapped, struct snapshot *files) {
    for (size_t i = 0; i < mapped->n; i++)
        snapshot_suspect(files, mapped->file[i].live);
}

/* Whether a memory has pages of a mapping. What can't be read may have. */
static bool is_touched(int pages_fd, const struct mapped_file *file) {
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), end = file->end / page;
    auto_free uint64_t *entries = malloc(ENTRIES * sizeof *entries);
    for (uint64_t at = file->start / page; entries && at < end;) {
        const size_t most = end - at < ENTRIES ? (size_t)(end - at) : ENTRIES;
        ssize_t n = pread(pages_fd, entries, most * sizeof *entries, (off_t)(at * sizeof *entries));
        if (n <= 0)
            return true;
        for (size_t i = 0; i < (size_t)n / sizeof *entries; i++)
            if (entries[i] & PAGE_IS_THERE)
                return true;
        at += (size_t)n / sizeof *entries;
    }
    return !entries;
}

/* Pages that were written out are in no map of a process any more. */
static bool may_swap(void) {
    struct sysinfo info;
    return sysinfo(&info) || info.totalswap > 0;
}

void mapped_files_suspect_touched(const struct mapped_files *before, const struct mapped_files *after, pid_t pid,
                                  struct snapshot *files) {
    const bool all = may_swap();
    auto_file pages = before->n + after->n && !all ? process_open(pid, "pagemap") : NULL;
    for (size_t i = 0; i < before->n; i++) {
        const struct mapped_file *file = &before->file[i];
        if (!find(after, file->start, file->end, file->inode))
            snapshot_suspect(files, file->live); /* it can't be told any more */
    }
    for (size_t i = 0; i < after->n; i++)
        if (snapshot_kept(files, after->file[i].live) && (!pages || is_touched(fileno(pages), &after->file[i])))
            snapshot_suspect(files, after->file[i].live);
}

/* The copy of a file as the task sees it; of the session's own cell the live file. What it calls the descriptor, or
 * -errno. */
static int open_copy(const struct mapped_file *file, struct restorer *restorer, uint64_t *ret_bytes) {
    struct stat st;
    int made = file->path[0] == '/' ? restorer_open(restorer, file->path, O_RDONLY | O_NONBLOCK) : -ENOENT;
    if (made < 0)
        return made;
    auto_fd fd = restorer_take(restorer, made);
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (st.st_ino == file->kept || !restorer->layered)) {
        *ret_bytes = (uint64_t)st.st_size;
        return made;
    }
    int r = fd == -EUCLEAN ? fd : restorer_close(restorer, made);
    return r ? r : -ENOENT;
}

/* Maps what the task has opened in the place of the file's mapping; nothing (made < 0): memory that can't be accessed.
 */
static int map(const struct mapped_file *file, struct restorer *restorer, int made, int how) {
    const bool has = made >= 0;
    struct inject_call call = {.number = SYS_mmap,
                               .argument = {file->start, file->end - file->start,
                                            (uint64_t)(has ? file->protection : PROT_NONE),
                                            (uint64_t)(how | MAP_FIXED | MAP_NORESERVE | (has ? 0 : MAP_ANONYMOUS)),
                                            has ? (uint64_t)made : UINT64_MAX, has ? file->offset : 0}};
    int r = restorer_call(restorer, &call);
    if (r == 0 && call.result != (int64_t)file->start)
        r = call.result < 0 ? (int)call.result : -EUCLEAN;
    return r;
}

static int restore(const struct mapped_file *file, struct restorer *restorer) {
    uint64_t bytes;
    const int made = open_copy(file, restorer, &bytes);
    if (made == -EUCLEAN)
        return made;
    int r = map(file, restorer, made, MAP_PRIVATE);
    return r == 0 && made >= 0 ? restorer_close(restorer, made) : r;
}

int mapped_files_restore(const struct mapped_files *mapped, struct restorer *restorer) {
    int r = 0;
    for (size_t i = 0; r == 0 && i < mapped->n; i++)
        if (mapped->file[i].kept)
            r = restore(&mapped->file[i], restorer);
    return r;
}

static bool is_mapped_before(const struct mapped_files *mapped, size_t i) {
    size_t k = 0;
    while (mapped->file[k].kept != mapped->file[i].kept)
        k++;
    return k < i;
}

/* Opens a file that the task may write: then its layer, if it has one, has a copy, which takes room and time. What it
 * calls the descriptor, or -errno where its mappings are to be private ones. */
static int open_own(const struct mapped_file *file, struct restorer *restorer) {
    uint64_t bytes;
    int made = open_copy(file, restorer, &bytes);
    int r = made < 0 ? made : restorer_close(restorer, made);
    if (r)
        return r;
    if (restorer->layered && bytes > restorer->room)
        return -EFBIG;
    restorer->room -= restorer->layered ? bytes : 0;
    return restorer_open(restorer, file->path, O_RDWR | O_NONBLOCK);
}

/* All mappings of one file. */
static int restore_own(const struct mapped_files *mapped, size_t first, struct restorer *restorer) {
    const int made = open_own(&mapped->file[first], restorer);
    int r = made == -EUCLEAN ? made : 0;
    for (size_t i = first; r == 0 && i < mapped->n; i++)
        if (mapped->file[i].kept == mapped->file[first].kept)
            r = made >= 0 ? map(&mapped->file[i], restorer, made, MAP_SHARED) : restore(&mapped->file[i], restorer);
    return r == 0 && made >= 0 ? restorer_close(restorer, made) : r;
}

int mapped_files_restore_own(const struct mapped_files *mapped, struct restorer *restorer) {
    int r = 0;
    for (size_t i = 0; r == 0 && i < mapped->n; i++)
        if (mapped->file[i].kept && !is_mapped_before(mapped, i))
            r = restore_own(mapped, i, restorer);
    return r;
}

static int leave(const struct mapped_file *file, const struct inject_task *keeper) {
    struct inject_call call = {.number = SYS_mmap,
                               .argument = {file->start, file->end - file->start, PROT_NONE,
                                            MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE | MAP_ANONYMOUS, UINT64_MAX, 0}};
    int r = inject_checked(keeper, &call, NULL, NULL);
    if (r || call.result == (int64_t)file->start)
        return r;
    return call.result < 0 ? inject_result_status(call.result) : -EUCLEAN;
}

int mapped_files_leave(struct mapped_files *mapped, const struct inject_task *keeper, mapped_files_kept *kept,
                       const void *arg) {
    int r = 0;
    for (size_t i = 0; r == 0 && i < mapped->n; i++) {
        mapped->file[i].live = 0;
        mapped->file[i].kept = kept(arg, mapped->file[i].path);
        r = mapped->file[i].kept ? leave(&mapped->file[i], keeper) : 0;
    }
    mapped->anew = true;
    return r;
}

/* The pages stay those of the file. */
int mapped_files_begin(const struct mapped_files *mapped, struct restorer *restorer) {
    int r = mapped->anew ? mapped_files_restore_own(mapped, restorer) : 0;
    for (size_t i = 0; r == 0 && i < mapped->n; i++) {
        const struct mapped_file *file = &mapped->file[i];
        struct inject_call forget = {.number = SYS_madvise,
                                     .argument = {file->start, file->end - file->start, MADV_DONTNEED}};
        r = file->live ? restorer_call(restorer, &forget) : 0;
    }
    return r;
}
