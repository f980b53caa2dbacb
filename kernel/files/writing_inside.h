/*
 * writing_inside.h - the struct of a writing, shared by writing.c (phases),
 * writing_list.c (what has changed), writing_hold.c (holds some back),
 * writing_plan.c (plans changes) and writing_settle.c (results).
 */
#ifndef PETRI_WRITING_INSIDE_H
#define PETRI_WRITING_INSIDE_H

#include "base/cleanup.h"
#include "kernel/files/transaction.h"
#include "kernel/files/writing.h"

#include <sodium.h>

#define WRITING_CONFLICT "it was changed outside of the notebook meanwhile"
#define WRITING_IN_USE "another program has it open for writing"

#define WRITING_UNKNOWN_BYTES UINT64_MAX

enum { WRITING_CHUNK_BYTES = 256 << 10, WRITING_DIGEST_BYTES = 32 };

/* A file or folder of the list. */
struct writing_entry {
    char *path; /* owned */
    enum cell_change change;
    unsigned mode, links;
    uint64_t bytes;
    bool same;            /* holds what stood there: written for its mode and times, and not told */
    bool earlier;         /* of an earlier cell */
    bool nowhere;         /* the cell has removed what the folder doesn't have */
    bool over;            /* in the place of what an earlier cell has removed, which is due */
    int64_t since;        /* waits for what this cell and later ones have left unsaved */
    bool due;             /* not written: the next cell tries again */
    int64_t cell;         /* the number of the cell that has changed it last; 0: not known */
    char refused[224];    /* why it is not written; "" if it is */
    size_t first, n;      /* its changes in the transaction */
    char *awaited;        /* the unsaved file for which it waits; owned, or NULL */
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

/* A file or link that the session has, and the folder won't have after this writing. */
struct writing_unsaved {
    char *path;     /* owned */
    int64_t cell;   /* as of an entry */
    uint64_t bytes; /* 0 for a link; WRITING_UNKNOWN_BYTES for a folder that is too deep to be looked into */
    bool looked_at;
    int unread; /* -errno, where there is no digest */
    unsigned char digest[WRITING_DIGEST_BYTES];
};

/* What of the plan would take the only copy of something from the folder: writing_hold.c. */
struct writing_hold {
    struct writing_unsaved *unsaved; /* sorted by bytes; owned */
    size_t n;
    size_t newest;   /* that of the last cell */
    bool known;      /* these are listed */
    size_t at;       /* the next change to look at */
    json_t *folders; /* by path: true: something in it is held back; owned, or NULL */
    int rounds;      /* how often all were looked at */
    bool again;      /* one was held back in this round */
    int fd;          /* of the file that is being read; -1 for none; owned */
    crypto_generichash_state digest;
};

enum writing_phase {
    WRITING_LISTED,
    WRITING_ROOM,
    WRITING_FOLDERS,
    WRITING_FILES,
    WRITING_HELD,
    WRITING_REMOVALS,
    WRITING_REMOVALS_HELD,
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
    size_t n_room;   /* so many changes make room for others */
    size_t *room;    /* which entry needs it, of each of these; owned */
    size_t n_new;    /* so many changes are of what the cells have, not of what they have removed */
    struct writing_hold hold;
    struct writing_copy copy;
    int failures;          /* how often a change could not be made */
    char *chunk;           /* of WRITING_CHUNK_BYTES; owned; NULL before the folder is open */
    int64_t skew_ns;       /* how far the clock of the folder's file system is ahead */
    int64_t lock_until_us; /* how long to wait for another kernel; 0 before the first try */
    int64_t due_us;
};

/* Fills the list of entries. 0, or -errno. */
int writing_list(struct writing *writing) MUST_CHECK;

/* Refuses an entry of the list that is never written, or not yet. */
void writing_judge(const struct writing *writing, struct writing_entry *entry);

/* Sets why an entry is not written, unless it has a reason already. */
__attribute__((format(printf, 2, 3))) void writing_refuse(struct writing_entry *entry, const char *format, ...);

/* Refuses an entry for now: what it would take from the disk has to wait for a path of the session's. */
void writing_wait(struct writing_entry *entry, const char *path);

/* Refuses an entry for now if r is -EACCES, and returns 0; else r. */
int writing_refuse_closed(struct writing_entry *entry, int r) MUST_CHECK;

/* Plans to remove the files and folders that are in the way of what the cell has made. 0 or -errno. */
int writing_plan_room(struct writing *writing, struct writing_entry *entry) MUST_CHECK;

/* Plans to remove what the cell has removed. 0 or -errno. */
int writing_plan_removal(struct writing *writing, struct writing_entry *entry) MUST_CHECK;

/* Plans the folders that the entry needs. 0 or -errno. */
int writing_plan_folders(struct writing *writing, struct writing_entry *entry) MUST_CHECK;

/* Whether there is a file at the entry's path that may be replaced; then ret_before is its stat(2). */
bool writing_plan_put(const struct writing *writing, struct writing_entry *entry, struct stat *ret_before);

/* Whether the folder has nothing at a path. */
bool writing_is_nowhere(const struct writing *writing, const char *path);

/* The entry of a path; NULL where it is not on the list. */
struct writing_entry *writing_find(const struct writing *writing, const char *path);

/* Whether the cell has removed or replaced a folder that a path was in. */
bool writing_is_folder_gone(const struct writing *writing, const char *path);

/* Whether the session has something there that the folder won't have; and of how many bytes, as writing_unsaved. */
bool writing_is_unsaved(const struct writing_entry *entry);
uint64_t writing_unsaved_bytes(const struct writing_entry *entry);

/*
 * Holds back what would take the only copy of something from the folder, of all
 * changes that are planned from the first on. In slices: 1 while there is more to
 * do, 0, or -errno.
 */
int writing_hold_back(struct writing *writing, size_t first) MUST_CHECK;

/* An unsaved file for which what a cell has removed has to wait; NULL for none. Borrowed. After writing_hold_back(). */
const char *writing_awaited(const struct writing *writing, int64_t cell);

void writing_hold_fini(struct writing_hold *hold);

/* Before the changes are committed: notes the folders that they change, as they are. */
void writing_plan_touched(struct writing *writing);

/* After changes that were taken back: notes that it was petri that has touched the host's files and folders. */
void writing_settle_taken_back(struct writing *writing);

/* After all changes: makes cells see the host's files, and notes of which files the session keeps its own version. */
void writing_settle(struct writing *writing);

#endif
