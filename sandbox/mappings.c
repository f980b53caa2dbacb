#define _GNU_SOURCE
#include "mappings.h"

#include "cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#define DELETED " (deleted)"

/* Of Linux 6.11 and later: the next mapping of a kind, without a text for all the others. */
struct procmap_query_arguments { /* struct procmap_query */
    uint64_t size, query_flags, query_addr, vma_start, vma_end, vma_flags, vma_page_size, vma_offset, inode;
    uint32_t dev_major, dev_minor, vma_name_size, build_id_size;
    uint64_t vma_name_addr, build_id_addr;
};
#define QUERY_MAPPING _IOWR('f', 17, struct procmap_query_arguments)
enum { QUERY_SHARED = 0x08, QUERY_THIS_OR_NEXT = 0x10, QUERY_PROTECTION = 0x07 };
_Static_assert(PROT_READ == 1 && PROT_WRITE == 2 && PROT_EXEC == 4, "as the query's flags have them");

static bool ends_deleted(const char *name, size_t n) {
    const size_t tail = strlen(DELETED);
    return n >= tail && memcmp(name + n - tail, DELETED, tail) == 0;
}

/*
 * Whether a mapping could be made writable: that of a file that was opened for
 * reading can't, however large it is. Only asked of files, for the text takes
 * Linux milliseconds. See: VmFlags in proc_pid_smaps(5).
 */
static bool may_be_written(pid_t pid, uint64_t start) {
    char path[32];
    auto_free char *line = NULL;
    size_t size = 0;
    bool is_it = false;
    snprintf(path, sizeof path, "/proc/%d/smaps", pid);
    auto_file smaps = fopen(path, "re");
    while (smaps && getline(&line, &size, smaps) > 0) {
        uint64_t from, to;
        if (is_it && strncmp(line, "VmFlags:", 8) == 0)
            return strstr(line, " mw") != NULL;
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " ", &from, &to) == 2)
            is_it = from == start;
    }
    return true;
}

/* Passes on what a cell could change. */
static int hand_on(pid_t pid, mapping_handler *handler, void *arg, const struct mapping *mapping) {
    if (!mapping->is_memory && !(mapping->protection & PROT_WRITE) && !may_be_written(pid, mapping->start))
        return 0;
    return handler(arg, mapping);
}

static bool is_memory(const char *name) {
    return strncmp(name, "/memfd:", 7) == 0 || strncmp(name, "/dev/zero", 9) == 0;
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
        if (query.vma_name_size > 0 && ends_deleted(name, query.vma_name_size - 1))
            r = hand_on(pid, handler, arg,
                        &(struct mapping){.start = query.vma_start,
                                          .end = query.vma_end,
                                          .offset = query.vma_offset,
                                          .inode = query.inode,
                                          .is_memory = is_memory(name),
                                          .protection = (int)(query.vma_flags & QUERY_PROTECTION)});
    }
    return r;
}

static int read_line(pid_t pid, const char *line, mapping_handler *handler, void *arg) {
    struct mapping mapping = {0};
    char read, write, execute, kind;
    size_t n = strcspn(line, "\n");
    if (!ends_deleted(line, n) ||
        sscanf(line, "%" SCNx64 "-%" SCNx64 " %c%c%c%c %" SCNx64 " %*s %" SCNu64, &mapping.start, &mapping.end, &read,
               &write, &execute, &kind, &mapping.offset, &mapping.inode) != 8 ||
        kind != 's')
        return 0;
    const char *name = memchr(line, '/', n);
    mapping.is_memory = name && is_memory(name);
    mapping.protection =
        (read == 'r' ? PROT_READ : 0) | (write == 'w' ? PROT_WRITE : 0) | (execute == 'x' ? PROT_EXEC : 0);
    return hand_on(pid, handler, arg, &mapping);
}

int mappings_each(pid_t pid, mapping_handler *handler, void *arg) {
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/maps", pid);
    auto_file maps = fopen(path, "re");
    if (!maps)
        return -errno;
    int r = query(pid, fileno(maps), handler, arg);
    if (r != -ENOTTY)
        return r;
    auto_free char *line = NULL;
    size_t size = 0;
    r = 0;
    while (r == 0 && getline(&line, &size, maps) > 0) /* a path may be as long as it likes */
        r = read_line(pid, line, handler, arg);
    return r;
}
