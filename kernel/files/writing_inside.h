/*
 * writing_inside.h - the struct of a writing, shared by writing.c (phases),
 * writing_plan.c (plans changes) and writing_settle.c (results).
 */
#ifndef PETRI_WRITING_INSIDE_H
#define PETRI_WRITING_INSIDE_H

#include "base/cleanup.h"
#include "kernel/files/transaction.h"
#include "kernel/files/writing.h"

#define WRITING_CONFLICT "it was changed outside of the notebook meanwhile"

/* A file or folder of the list. */
struct writing_entry {
    char *path; /* owned */
    enum cell_change change;
    unsigned mode, links;
    uint64_t bytes;
    bool same;            /* holds what stood there: written for its mode and times, and not told */
    bool earlier;         /* of an earlier cell */
    bool due;             /* not written: the next cell tries again */
    char refused[224];    /* why it is not written; "" if it is */
    size_t first, n;      /* its changes in the transaction */
    char *placed;         /* the path that it was given instead; owned, or NULL */
    const char *conflict; /* why the host's file is kept, which cells see from now on; static, or NULL */
};

/* A folder of the host's whose names change, or that is made. */
struct writing_folder {
    char *path;         /* owned; NULL where there was no memory */
    size_t made;        /* the change that makes it, counted from 1; 0 where none does */
    struct stat before; /* all zero where there was nothing */
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
    WRITING_COMMITTED,
    WRITING_MADE,
    WRITING_DONE,
};

struct writing {
    struct writing_options options;
    enum writing_phase phase;
    struct transaction *transaction; /* owned; NULL before it is open */
    struct writing_entry *entry;
    size_t n;
    size_t at; /* the current entry of this phase */
    bool too_many;
    json_t *folders; /* by path: true: exists or is planned; false: a file there is removed first; owned */
    struct writing_folder *folder; /* n_folders of them; owned */
    size_t n_folders;
    json_t *touched; /* by path: the index of each; owned */
    struct writing_copy copy;
    char *chunk;           /* owned */
    int64_t skew_ns;       /* how far the clock of the folder's file system is ahead */
    int64_t lock_until_us; /* how long to wait for another kernel; 0 before the first try */
    int64_t due_us;
};

/* Sets why an entry is not written, unless it has a reason already. */
__attribute__((format(printf, 2, 3))) void writing_refuse(struct writing_entry *entry, const char *format, ...);

/* Plans removals: what the cell has removed, and files and folders that are in the way of what it has made. 0 or
 * -errno. */
int writing_plan_removal(struct writing *writing, struct writing_entry *entry) MUST_CHECK;

/* Plans the folders that the entry needs. 0 or -errno. */
int writing_plan_folders(struct writing *writing, struct writing_entry *entry) MUST_CHECK;

/* Whether there is a file at the entry's path that may be replaced; then ret_before is its stat(2). */
bool writing_plan_put(const struct writing *writing, struct writing_entry *entry, struct stat *ret_before);

/* Before the changes are committed: notes the folders that they change, as they are. */
void writing_plan_touched(struct writing *writing);

/* After all changes: makes cells see the host's files, and notes of which files the session keeps its own version. */
void writing_settle(struct writing *writing);

#endif
