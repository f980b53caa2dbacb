#define _GNU_SOURCE
#include "mappings.h"

#include "cleanup.h"
#include "process.h"

#include <errno.h>
#include <limits.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

/* Of Linux 6.11 and later: the next mapping of a kind, without a text for all the others. */
struct procmap_query_arguments { /* struct procmap_query */
    uint64_t size, query_flags, query_addr, vma_start, vma_end, vma_flags, vma_page_size, vma_offset, inode;
    uint32_t dev_major, dev_minor, vma_name_size, build_id_size;
    uint64_t vma_name_addr, build_id_addr;
};
#define QUERY_MAPPING _IOWR('f', 17, struct procmap_query_arguments)
enum { QUERY_SHARED = 0x08, QUERY_THIS_OR_NEXT = 0x10, QUERY_PROTECTION = 0x07 };
_Static_assert(PROT_READ == 1 && PROT_WRITE == 2 && PROT_EXEC == 4, "as the query's flags have them");

/*
 * Whether a mapping could be made writable: that of a file that was opened for
 * reading can't, however large it is. Only asked of files, for the text takes
 * Linux milliseconds. See: VmFlags in proc_pid_smaps(5).
 */
static bool may_be_written(pid_t pid, uint64_t start) {
    auto_free char *buf = NULL;
    size_t size = 0;
    bool is_it = false;
    struct procfs_text line, flags;
    struct procfs_mapping mapping;
    auto_file smaps = process_open(pid, "smaps");
    while (smaps && process_next_line(smaps, &buf, &size, &line)) {
        if (procfs_parse_mapping(line, &mapping))
            is_it = mapping.start == start;
        else if (is_it && procfs_get_value(line, "VmFlags", &flags))
            return procfs_has_word(flags, "mw");
    }
    return true;
}

/* Passes on what a cell could change. */
static int hand_on(pid_t pid, mapping_handler *handler, void *arg, const struct mapping *mapping) {
    if (!mapping->is_memory && !(mapping->protection & PROT_WRITE) && !may_be_written(pid, mapping->start))
        return 0;
    return handler(arg, mapping);
}

/* Whether what is mapped has no name that somebody could open it by. */
static bool is_unnamed(struct procfs_text name) {
    return procfs_is_memory(name) || procfs_is_deleted(name);
}

/* 0, what the handler said, or -errno: -ENOTTY where Linux does not have the query. */
static int query(pid_t pid, int maps_fd, mapping_handler *handler, void *arg) {
    char name[PATH_MAX];
    struct procmap_query_arguments query = {.size = sizeof query};
    int r = 0;
    while (r == 0) {
        query.query_flags = QUERY_SHARED | QUERY_THIS_OR_NEXT;
        query.query_addr = query.vma_end;
        query.vma_name_addr = (uint64_t)(uintptr_t)name;
        query.vma_name_size = sizeof name;
        query.build_id_size = 0;
        if (ioctl(maps_fd, QUERY_MAPPING, &query))
            return errno == ENOENT ? 0 : -errno;
        const struct procfs_text text = {name, query.vma_name_size > 0 ? query.vma_name_size - 1 : 0};
        if (is_unnamed(text))
            r = hand_on(pid, handler, arg,
                        &(struct mapping){.start = query.vma_start,
                                          .end = query.vma_end,
                                          .offset = query.vma_offset,
                                          .inode = query.inode,
                                          .is_memory = procfs_is_memory(text),
                                          .protection = (int)(query.vma_flags & QUERY_PROTECTION)});
    }
    return r;
}

static int read_line(pid_t pid, struct procfs_text line, mapping_handler *handler, void *arg) {
    struct procfs_mapping mapping;
    if (!procfs_parse_mapping(line, &mapping))
        return -EBADMSG;
    if (!mapping.shared || !is_unnamed(mapping.name))
        return 0;
    return hand_on(pid, handler, arg,
                   &(struct mapping){.start = mapping.start,
                                     .end = mapping.end,
                                     .offset = mapping.offset,
                                     .inode = mapping.inode,
                                     .is_memory = procfs_is_memory(mapping.name),
                                     .protection = mapping.protection});
}

int mappings_each(pid_t pid, mapping_handler *handler, void *arg) {
    auto_file maps = process_open(pid, "maps");
    if (!maps)
        return -errno;
    int r = query(pid, fileno(maps), handler, arg);
    if (r != -ENOTTY)
        return r;
    auto_free char *buf = NULL;
    size_t size = 0;
    struct procfs_text line;
    r = 0;
    while (r == 0 && process_next_line(maps, &buf, &size, &line))
        r = read_line(pid, line, handler, arg);
    return r;
}
