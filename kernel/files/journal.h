/*
 * journal.h - the list of changes that a transaction has decided on, and its text.
 *
 * JSON that is not trusted: a path has to be one below the folder, and a staged
 * file has to have a name of petri's own.
 */
#ifndef PETRI_JOURNAL_H
#define PETRI_JOURNAL_H

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* Where transactions keep theirs, and what names of petri's own begin with, there and among the files of cells. */
#define JOURNAL_FOLDER ".petri"

/* What the names of staged files begin with; a number follows. */
#define JOURNAL_STAGE_NAME "file-"

enum {
    JOURNAL_STAGE_BYTES = 24,
    JOURNAL_CHANGES_MAX = 400000,
    JOURNAL_BYTES_MAX = 512 << 20,
};

enum journal_kind {
    JOURNAL_PUT,           /* the staged file goes to the path */
    JOURNAL_REMOVE,        /* what is no folder */
    JOURNAL_MAKE_FOLDER,   /* where there is none yet */
    JOURNAL_REMOVE_FOLDER, /* if it is empty */
    JOURNAL_KIND_N,
};

/* What a change finds at its path, and what identifies it. */
struct journal_before {
    bool there;
    uint64_t inode;
    int64_t size;
    int64_t mtime_ns;
    uint32_t mode;
};

struct journal_change {
    enum journal_kind kind;
    char *path;                      /* owned */
    char stage[JOURNAL_STAGE_BYTES]; /* where the file is staged, or put aside before it is removed; "" of folders to
                                        remove */
    uint64_t staged;                 /* the staged file's inode; 0 of others */
    struct journal_before before;
    char *placed; /* the name that it has got, where it is another; owned, or NULL; not in the text */
    int result;   /* -errno once it is made; not in the text */
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

/* Whether this is the name of a staged file, which is never another folder's. */
bool journal_is_stage(const char *name);

/* What identifies a file. NULL for none. */
struct journal_before journal_before_of(const struct stat *st);

/* Whether it is that one, as it was. */
bool journal_is(const struct journal_before *before, const struct stat *st);

/* The text, the caller's: free(). 0 or -ENOMEM. */
int journal_write(const struct journal *journal, char **ret_text, size_t *ret_bytes) MUST_CHECK;

/* Reads one. 0 with ret_journal the caller's: journal_fini(); -EBADMSG or -ENOMEM. */
int journal_read(const char *text, size_t bytes, struct journal *ret_journal) MUST_CHECK;

#endif
