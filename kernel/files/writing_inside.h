/*
 * writing_inside.h - the insides of a writing: writing.c has its course, writing_plan.c what is to be done, and
 * writing_settle.c what came of it.
 */
#ifndef PETRI_WRITING_INSIDE_H
#define PETRI_WRITING_INSIDE_H

#include "base/cleanup.h"
#include "kernel/files/transaction.h"
#include "kernel/files/writing.h"

#define WRITING_CONFLICT "it was changed outside of the notebook meanwhile"

/* A file or folder, from the listing on. */
struct writing_entry {
    char *path; /* owned */
    enum cell_change change;
    unsigned mode, links;
    uint64_t bytes;
    bool earlier;         /* of an earlier cell */
    bool due;             /* not written, and to be tried again */
    char refused[224];    /* why it is not written; "" while nothing is against it */
    size_t first, n;      /* its changes in the transaction */
    char *placed;         /* the name that it has got instead; owned, or NULL */
    const char *conflict; /* why what the host has stays, and cells see that; static, or NULL */
};

/* The file that is being staged. */
struct writing_copy {
    int fd; /* -1 for none */
    off_t at;
    struct stat content;
    struct transaction_file file;
};

enum writing_phase {
    WRITING_LISTED,
    WRITING_REMOVALS,
    WRITING_FOLDERS,
    WRITING_FILES,
    WRITING_STAGED,
    WRITING_DECIDED,
    WRITING_MADE,
    WRITING_DONE,
};

struct writing {
    struct writing_options options;
    enum writing_phase phase;
    struct transaction *transaction; /* owned; NULL before it is open */
    struct writing_entry *entry;
    size_t n;
    size_t at; /* the one whose turn it is in this phase */
    bool too_many;
    json_t *folders; /* those that are there by then, or will have been made; owned */
    struct writing_copy copy;
    char *chunk;           /* owned */
    int64_t skew_ns;       /* how much later the clock of the folder's file system is */
    int64_t lock_until_us; /* how long to wait for another kernel; 0 before the first try */
    int64_t due_us;
};

/* Says why an entry is not written, unless that is said. */
__attribute__((format(printf, 2, 3))) void writing_refuse(struct writing_entry *entry, const char *format, ...);

/* Plans what has to be gone: what the cell has removed, and what stands in the way of what it has made. 0 or -errno.
 */
int writing_plan_removal(struct writing *writing, struct writing_entry *entry) MUST_CHECK;

/* Plans the folders that it needs. 0 or -errno. */
int writing_plan_folders(struct writing *writing, struct writing_entry *entry) MUST_CHECK;

/* Whether a file may replace what stands at its path; then ret_before is that. */
bool writing_plan_put(const struct writing *writing, struct writing_entry *entry, struct stat *ret_before);

/* All is made that will be: has cells see the host's files, and remembers what stays the session's own. */
void writing_settle(struct writing *writing);

#endif
