/*
 * mappings.c - asks Linux for one mapping of a file after the other, or reads the text of all.
 *
 * Linux 6.11 has an ioctl that skips mappings of other kinds; before that maps is
 * read line by line. Memory is told by its device, which no file that a cell can
 * name has; a name, which takes most of the time, is asked for only where it
 * counts. A file that is mapped read-only may still be made writable, which
 * neither tells: those are put aside, and the flags of smaps are read once for all
 * of them.
 */
#define _GNU_SOURCE
#include "mappings.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "sandbox/process/process.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

/* Of Linux 6.11 and later: the next mapping of a kind, without a text for all the others. */
struct procmap_query_arguments { /* struct procmap_query */
    uint64_t size, query_flags, query_addr, vma_start, vma_end, vma_flags, vma_page_size, vma_offset, inode;
    uint32_t dev_major, dev_minor, vma_name_size, build_id_size;
    uint64_t vma_name_addr, build_id_addr;
};
#define QUERY_MAPPING _IOWR('f', 17, struct procmap_query_arguments)
enum { QUERY_PROTECTION = 0x07, QUERY_SHARED = 0x08, QUERY_THIS_OR_NEXT = 0x10, QUERY_OF_FILES = 0x20 };
_Static_assert(PROT_READ == 1 && PROT_WRITE == 2 && PROT_EXEC == 4, "as the query's flags have them");

/* What one look finds. */
struct look {
    pid_t pid;
    mapping_handler *handler;
    void *arg;
    bool private_too;
    dev_t memory;                     /* the device of all shared memory */
    struct mapping *open_for_reading; /* files that are mapped so that one can't write to them; owned */
    size_t n;
};

static int put_aside(struct look *look, const struct mapping *mapping) {
    if (look->n == MAPPINGS_MAX)
        return -E2BIG;
    int r = array_grow(&look->open_for_reading, look->n, sizeof *mapping);
    if (r == 0)
        look->open_for_reading[look->n++] = *mapping;
    return r;
}

/* Memory of all kinds that has inodes is in one file system of Linux' own. 0 or -errno. See: shmem_file_setup() in
 * Linux. */
static int find_memory_device(dev_t *ret_device) {
    struct stat st;
    auto_fd fd = memfd_create("device", MFD_CLOEXEC);
    if (fd < 0 || fstat(fd, &st))
        return -errno;
    *ret_device = st.st_dev;
    return 0;
}

/* Passes on what a cell could change, and what holds memory that it could not. */
static int hand_on(struct look *look, const struct mapping *mapping) {
    if (!mapping->is_shared && !(look->private_too && mapping->is_memory))
        return 0;
    return mapping->is_memory || mapping->is_named || mapping->protection & PROT_WRITE
               ? look->handler(look->arg, mapping)
               : put_aside(look, mapping);
}

/*
 * Passes on those of the others that could be made writable: a mapping of a file
 * that was opened for reading can't. The text takes Linux milliseconds, so it is
 * read once, and only where there is such a mapping; both are in order of
 * addresses. One that the text doesn't tell is taken for writable.
 * See: VmFlags in proc_pid_smaps(5).
 */
static int hand_on_others(struct look *look) {
    auto_free char *buf = NULL;
    size_t size = 0, i = 0;
    bool is_it = false;
    int r = 0;
    struct procfs_text line, flags;
    struct procfs_mapping mapping;
    auto_file smaps = look->n ? process_open(look->pid, "smaps") : NULL;
    while (r == 0 && i < look->n && smaps && process_next_line(smaps, &buf, &size, &line)) {
        if (procfs_parse_mapping(line, &mapping)) {
            while (r == 0 && i < look->n && look->open_for_reading[i].start < mapping.start)
                r = look->handler(look->arg, &look->open_for_reading[i++]);
            is_it = i < look->n && look->open_for_reading[i].start == mapping.start;
        } else if (is_it && procfs_get_value(line, "VmFlags", &flags)) {
            if (procfs_has_word(flags, "mw"))
                r = look->handler(look->arg, &look->open_for_reading[i]);
            is_it = false;
            i++;
        }
    }
    while (r == 0 && i < look->n)
        r = look->handler(look->arg, &look->open_for_reading[i++]);
    return r;
}

static int ask(int maps_fd, struct procmap_query_arguments *query, uint64_t flags, char *name, uint32_t name_bytes) {
    query->query_flags = flags;
    query->vma_name_addr = (uint64_t)(uintptr_t)name;
    query->vma_name_size = name_bytes;
    query->build_id_size = 0;
    return ioctl(maps_fd, QUERY_MAPPING, query) ? -errno : 0;
}

/* 0, what the handler said, or -errno: -ENOTTY where Linux does not have the query. */
static int query(struct look *look, int maps_fd) {
    char name[PATH_MAX];
    struct procmap_query_arguments query = {.size = sizeof query};
    int r = 0;
    const uint64_t kind = look->private_too ? QUERY_OF_FILES : QUERY_SHARED;
    while (r == 0 && (r = ask(maps_fd, &query, kind | QUERY_THIS_OR_NEXT, NULL, 0)) == 0) {
        struct mapping mapping = {.start = query.vma_start,
                                  .end = query.vma_end,
                                  .offset = query.vma_offset,
                                  .inode = query.inode,
                                  .device = makedev(query.dev_major, query.dev_minor),
                                  .is_shared = query.vma_flags & QUERY_SHARED,
                                  .name = name,
                                  .protection = (int)(query.vma_flags & QUERY_PROTECTION)};
        query.query_addr = query.vma_start;
        mapping.is_memory = mapping.device == look->memory;
        name[0] = 0;
        if (mapping.is_shared && !mapping.is_memory)
            r = ask(maps_fd, &query, 0, name, sizeof name);
        mapping.is_named = name[0] && !procfs_is_deleted((struct procfs_text){name, strlen(name)});
        if (r == 0)
            r = hand_on(look, &mapping);
        query.query_addr = query.vma_end;
    }
    return r == -ENOENT ? 0 : r;
}

static int read_line(struct look *look, struct procfs_text line) {
    struct procfs_mapping mapping;
    if (!procfs_parse_mapping(line, &mapping))
        return -EBADMSG;
    char name[PATH_MAX];
    const bool is_memory = mapping.device == look->memory;
    if (!mapping.shared && !is_memory)
        return 0; /* before the name is copied: most are of this kind */
    snprintf(name, sizeof name, "%.*s", (int)mapping.name.n, mapping.name.at);
    return hand_on(look, &(struct mapping){.start = mapping.start,
                                           .end = mapping.end,
                                           .offset = mapping.offset,
                                           .inode = mapping.inode,
                                           .device = mapping.device,
                                           .is_shared = mapping.shared,
                                           .is_memory = is_memory,
                                           .is_named = !is_memory && !procfs_is_deleted(mapping.name),
                                           .name = name,
                                           .protection = mapping.protection});
}

static int read_maps(struct look *look, FILE *maps) {
    auto_free char *buf = NULL;
    size_t size = 0;
    struct procfs_text line;
    int r = 0;
    while (r == 0 && process_next_line(maps, &buf, &size, &line))
        r = read_line(look, line);
    return r;
}

int mappings_each(pid_t pid, bool private_too, mapping_handler *handler, void *arg) {
    struct look look = {.pid = pid, .private_too = private_too, .handler = handler, .arg = arg};
    auto_file maps = process_open(pid, "maps");
    if (!maps)
        return -errno;
    int r = find_memory_device(&look.memory);
    if (r == 0)
        r = query(&look, fileno(maps));
    if (r == -ENOTTY)
        r = read_maps(&look, maps);
    if (r == 0)
        r = hand_on_others(&look);
    free(look.open_for_reading);
    return r;
}

int mappings_next_private(FILE *maps, char **buf, size_t *size, struct procfs_mapping *ret) {
    struct procfs_text line;
    while (process_next_line(maps, buf, size, &line)) {
        if (!procfs_parse_mapping(line, ret))
            return -EBADMSG;
        if ((ret->protection & PROT_WRITE) && !ret->shared)
            return 1;
    }
    return 0;
}

int mappings_count(pid_t pid, size_t *ret_n) {
    auto_free char *buf = NULL;
    size_t size = 0, n = 0;
    struct procfs_text line;
    auto_file maps = process_open(pid, "maps");
    if (!maps)
        return -errno;
    while (process_next_line(maps, &buf, &size, &line))
        n++;
    *ret_n = n;
    return 0;
}
