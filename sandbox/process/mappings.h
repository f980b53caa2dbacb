/*
 * mappings.h - mappings of a process: of files and memory that others may have, and private ones that can be written
 * to.
 *
 * See: proc_pid_maps(5), PROCMAP_QUERY.
 */
#ifndef PETRI_SANDBOX_PROCESS_MAPPINGS_H
#define PETRI_SANDBOX_PROCESS_MAPPINGS_H

#include "sandbox/process/procfs.h"
#include "sandbox/sandbox.h"

#include <stdio.h>
#include <sys/types.h>

struct mapping {
    uint64_t start, end; /* addresses */
    uint64_t offset;     /* in the file */
    uint64_t inode;
    dev_t device;
    bool is_shared;
    bool is_memory;   /* of no file system that a cell sees: shared anonymous memory, or a memfd */
    bool is_named;    /* of a file that has not lost the name that it was opened by */
    const char *name; /* of such a file, as Linux tells it; for the time of the call */
    int protection;   /* as mmap(2) takes it */
};

/* The most of them that a look goes through: files that are mapped read-only, for each is looked up. */
enum { MAPPINGS_MAX = 4096 };

/* Called for each; other than 0 ends it. */
typedef int mapping_handler(void *arg, const struct mapping *mapping);

/* Every shared mapping of memory, of a file that has its name, or of one that is unlinked and that may be written to;
 * and, if private ones are asked for, those of memory. 0, what handler said, -E2BIG where there are more than
 * MAPPINGS_MAX files that can't be written to, or -errno.
 */
int mappings_each(pid_t pid, bool private_too, mapping_handler *handler, void *arg) MUST_CHECK;

/*
 * The next private mapping that can be written to, in the text of a process' maps. buf and size as for
 * process_next_line(). 1, 0 where there is none, or -EBADMSG.
 */
int mappings_next_private(FILE *maps, char **buf, size_t *size, struct procfs_mapping *ret) MUST_CHECK;

/* How many mappings of all kinds a process has. Takes as long as the text of all is read. 0 or -errno. */
int mappings_count(pid_t pid, size_t *ret_n) MUST_CHECK;

#endif
