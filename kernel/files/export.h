/*
 * export.h - the export folder: the folder on the host that cells' files are copied to.
 *
 * Only files that petri wrote are overwritten: `.petri-sha256` in the folder
 * lists them, in the format of sha256sum(1). A file that is not listed, or has
 * another digest, is not touched; the copy then gets a free name, as "plot
 * (2).png". A copy is written under a temporary name and then renamed, so that no
 * program sees a partial one. No symbolic link is followed below the folder.
 * Kernels that share a folder take turns. A run that goes beside others replaces
 * no copy that was made after it was asked for: its caller says so by kept_since_us.
 * The session is told of each name first (session_keep_output()), so that its cells don't see the copy.
 *
 * See: openat2(2), RENAME_NOREPLACE in rename(2), flock(2).
 */
#ifndef PETRI_EXPORT_H
#define PETRI_EXPORT_H

#include "base/cleanup.h"
#include "kernel/files/export_log.h"
#include "sandbox/sandbox.h"

#include <limits.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct export {
    int parent_fd;           /* owned; -1 where it could not be opened */
    char parent[PATH_MAX];   /* its name, for people; another folder may have that name by now */
    char name[NAME_MAX + 1]; /* of the export folder below parent; "": parent is the export folder */
    bool off;                /* nothing is copied */
    struct session *session; /* whose cells are not to see copies; borrowed, set by the caller; NULL for none */
    int dir_fd;              /* while it is open, else -1 */
    struct export_log log;   /* what petri has written there */
    json_t *placed;          /* path: when this kernel last gave it to a copy, of clock_us(); owned */
    off_t placed_bytes;      /* of its paths: at most as many as the log has */
    off_t compare_bytes;     /* how many bytes of existing files may still be hashed; set by the caller. A larger file
                                counts as not petri's */
};

/* folder_fd: the notebook's folder, copied; folder: its name; name: of the folder below it, "" for none at all.
 * Nothing is made yet. */
void export_init(struct export *export, int folder_fd, const char *folder, const char *name);

/* The same for an existing folder, by its absolute path. */
void export_init_at(struct export *export, const char *path);
void export_fini(struct export *export);

/*
 * Makes the folder if it does not exist, opens and locks it. 0; -EAGAIN where
 * another kernel has locked it, or it is open already; -ELOOP or -ENOTDIR where it is not a folder; or
 * another -errno.
 */
int export_open(struct export *export) MUST_CHECK;
void export_close(struct export *export);

/* An existing file at the path of a copy, while it is hashed. */
struct export_look {
    int fd; /* -1 for none */
    off_t left;
    struct stat before;
    crypto_hash_sha256_state hash;
};

/* A file that is being written. All zero but fd -1 is none. */
struct export_file {
    int fd; /* for writing */
    char name[EXPORT_NAME_BYTES];
    int names_tried;
    struct export_look look;
};

/* Where a file is to go. */
struct export_place {
    const char *path;   /* below the folder */
    const char *sha256; /* of its content, hexadecimal */
    int64_t until_us;   /* of clock_us() */
    /* Copies with other content that were made at this time of clock_us() or later stay as they are; 0 for none. */
    int64_t kept_since_us;
};

/* Begins a file of an open folder. 0 or -errno. Blocks as writing to a disk does. */
int export_begin(const struct export *export, struct export_file *ret_file) MUST_CHECK;

/*
 * Gives a written file its path, or a free name like it. Hashes existing files
 * until about until_us; then it returns -EINPROGRESS, and has to be called again
 * with the same path. Otherwise the file is used up. 0 with the file's path in
 * ret_path; -EEXIST where a hundred names are taken; -ELOOP or -ENOTDIR where a
 * folder in path is not a folder; or another -errno.
 */
int export_place(struct export *export, struct export_file *file, const struct export_place *place,
                 char ret_path[PATH_MAX]) MUST_CHECK;

/* Drops a file that was begun; none is allowed. */
void export_drop(const struct export *export, struct export_file *file);

#endif
