/*
 * journal.h - the list of changes of a transaction, and its text.
 *
 * The text is JSON. It is checked when it is read: a path has to be below the
 * folder, and a staged file has to have a name of petri's.
 */
#ifndef PETRI_JOURNAL_H
#define PETRI_JOURNAL_H

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* The folder of a transaction's journal and staged files. */
#define JOURNAL_FOLDER ".petri"

/* The prefix of a staged file's name; a number follows. */
#define JOURNAL_STAGE_NAME "file-"

/* The prefix of a staged file's name: what it is being exchanged for, where that takes three steps. */
#define JOURNAL_SWAP_NAME "swap-"

enum {
    JOURNAL_STAGE_BYTES = 24,
    JOURNAL_CHANGES_MAX = 400000,
    JOURNAL_BYTES_MAX = 512 << 20,
};

enum journal_kind {
    JOURNAL_PUT,           /* moves the staged file to the path */
    JOURNAL_REMOVE,        /* removes anything but a folder */
    JOURNAL_MAKE_FOLDER,   /* unless it exists */
    JOURNAL_REMOVE_FOLDER, /* if it is empty */
    JOURNAL_KIND_N,
};

/* A file or folder as it was when it was looked at; all zero for none. */
struct journal_version {
    bool there;
    uint64_t inode;
    int64_t size;
    int64_t mtime_ns;
    uint32_t mode;
};

struct journal_change {
    enum journal_kind kind;
    char *path;                      /* owned */
    char stage[JOURNAL_STAGE_BYTES]; /* name of the staged file; then of what was replaced or removed; "" for folders
                                        to remove */
    struct journal_version staged;   /* the staged file or folder */
    struct journal_version before;   /* what the change may replace or remove */
    bool left_out;                   /* it is not made; not in the text */
    char *placed;                    /* the path that it was given instead, owned, or NULL; not in the text */
    int result;                      /* 0 or -errno, once it is made; not in the text */
};

struct journal {
    size_t n;
    struct journal_change *change;
};

void journal_fini(struct journal *journal);

/* Adds a change with a copy of path. 0 with ret_change borrowed until the next call, or -ENOMEM. */
int journal_add(struct journal *journal, enum journal_kind kind, const char *path,
                struct journal_change **ret_change) MUST_CHECK;

/* Forgets the changes from the n-th on. */
void journal_cut(struct journal *journal, size_t n);

/* Whether name can be that of a staged file. */
bool journal_is_stage(const char *name);

/* Takes the fields of st; NULL for a file that does not exist. */
struct journal_version journal_version_of(const struct stat *st);

/* Whether st is the same file, unchanged. */
bool journal_is(const struct journal_version *version, const struct stat *st);

/* The text, the caller's: free(). 0 or -ENOMEM. */
int journal_write(const struct journal *journal, char **ret_text, size_t *ret_bytes) MUST_CHECK;

/* Reads one. 0 with ret_journal the caller's: journal_fini(); -EBADMSG or -ENOMEM. */
int journal_read(const char *text, size_t bytes, struct journal *ret_journal) MUST_CHECK;

#endif
