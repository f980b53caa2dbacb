/*
 * export.h - the folder on the host that cells' files are copied to, and what petri has written there.
 *
 * Nothing is overwritten that petri did not write: the file `.petri-sha256` in
 * the folder says what it wrote, in the format of sha256sum(1), and a file that
 * is not what stands there, or not there at all, is left alone; the copy gets a
 * free name, "plot (2).png". A copy is written under a name of petri's own and
 * then renamed, so that programs never see half of it. No link is followed below
 * the folder. Kernels that share a folder take turns.
 *
 * See: openat2(2), RENAME_NOREPLACE in rename(2), flock(2).
 */
#ifndef PETRI_EXPORT_H
#define PETRI_EXPORT_H

#include "base/cleanup.h"
#include "kernel/files/export_log.h"

#include <limits.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct export {
    int parent_fd;           /* owned; its name may lead elsewhere meanwhile. -1 where it could not be opened */
    char parent[PATH_MAX];   /* that name: for people */
    char name[NAME_MAX + 1]; /* of the folder below parent, made when it is needed; "": parent is the folder */
    bool off;                /* nothing is copied */
    int dir_fd;              /* while it is open, else -1 */
    struct export_log log;   /* what petri has written there */
    off_t compare_bytes;     /* of files that stand there, which may still be read to see whether they are petri's;
                                the caller sets it. Larger ones count as not written by petri */
};

/* folder_fd: the notebook's folder, copied; folder: its name; name: of the folder below it, "" for none at all.
 * Nothing is made yet. */
void export_init(struct export *export, int folder_fd, const char *folder, const char *name);

/* The same for a folder of any place, which exists, by its absolute path. */
void export_init_at(struct export *export, const char *path);
void export_fini(struct export *export);

/*
 * Opens the folder, which is made if need be, and keeps other kernels out.
 * 0; -EAGAIN where another is in; -ELOOP or -ENOTDIR where it is no folder; or
 * another -errno.
 */
int export_open(struct export *export) MUST_CHECK;
void export_close(struct export *export);

/* What stands where a file is to go, while it is read. */
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
};

/* Begins a file of an open folder. 0 or -errno. Blocks as writing to a disk does. */
int export_begin(const struct export *export, struct export_file *ret_file) MUST_CHECK;

/*
 * Gives a written file its place: its path, or a free name like it. Reads files
 * that stand there already, at most until until_us or a little longer: then it is
 * -EINPROGRESS, and to be called again with the same path. Else it uses the file
 * up. 0 with the path that it has got in ret_path; -EEXIST where a hundred names
 * are taken; -ELOOP or -ENOTDIR where a folder in path is none; or another -errno.
 */
int export_place(struct export *export, struct export_file *file, const struct export_place *place,
                 char ret_path[PATH_MAX]) MUST_CHECK;

/* Drops a file that was begun; none is allowed. */
void export_drop(const struct export *export, struct export_file *file);

#endif
