/*
 * mapped_files.h - shared mappings of files that have a name, by which cells write them without a system call.
 *
 * A copy of an address space maps the same files, and for the session's cells that
 * is right: they write the live files (layers.h), so what one writes by a mapping
 * the next one reads by the path. But such a write changes no time, so which files
 * a cell may have written is told by its page table (mapped_files.c). A cell that
 * is thrown away gets private mappings of the files' copies instead.
 *
 * See: proc_pid_pagemap(5).
 */
#ifndef PETRI_SANDBOX_IMAGE_MAPPED_FILES_H
#define PETRI_SANDBOX_IMAGE_MAPPED_FILES_H

#include "base/cleanup.h"
#include "sandbox/descriptors/restorer.h"
#include "sandbox/files/snapshot.h"
#include "sandbox/process/mappings.h"

struct mapped_file {
    uint64_t start, end, offset;
    int protection;
    ino_t inode; /* as Linux tells it: an overlay gives a file that was copied up the number of the host's */
    ino_t live;  /* of the file itself, if it is a live one; 0 until that is found out */
    ino_t kept;  /* of its copy; 0 where it is none of the live files */
    char *path;  /* owned */
};

struct mapped_files {
    size_t n;
    struct mapped_file *file;
    bool anew; /* the image is of a cell that had a layer: none is mapped, and each cell maps those that have a copy */
};

void mapped_files_fini(struct mapped_files *mapped);

/* What the list takes of our own memory. */
uint64_t mapped_files_bytes(const struct mapped_files *mapped);

/*
 * The path of a file that has lost the name that it was mapped by and has another one in the same folder, as
 * sem_open(3) gives files theirs; the caller's. viewer: a process that sees the session's files; left: how many names
 * may be looked at, which become fewer. NULL where there is none, or none is found.
 */
char *mapped_files_find_name(pid_t viewer, const struct mapping *mapping, size_t *left);

/* Adds a mapping. before: those of the image that the cell was made of, which know the paths that Linux no longer
 * tells; or NULL. 0 or -ENOMEM. */
int mapped_files_add(struct mapped_files *mapped, const struct mapping *mapping, const struct mapped_files *before);

/* The following three need the numbers of the live files. After a commit: notes the copies. */
void mapped_files_note(struct mapped_files *mapped, const struct snapshot *files);

/* Has the snapshot suspect all these files. */
void mapped_files_suspect_all(const struct mapped_files *mapped, struct snapshot *files);

/* The same with those that a cell has touched: before and after are the mappings at its beginning and its end, pid has
 * its memory. */
void mapped_files_suspect_touched(const struct mapped_files *before, const struct mapped_files *after, pid_t pid,
                                  struct snapshot *files);

/* Has a task of the session's own cell begin without a page of the live files, for mapped_files_suspect_touched(); what
 * is to be mapped anew is. 0 or -errno. */
int mapped_files_begin(const struct mapped_files *mapped, struct restorer *restorer) MUST_CHECK;

/*
 * An image is kept of a cell that had a layer: it gives up its mappings of files that the session has, for the layer's
 * files go with the cell. kept says which: the number of the copy that stands at a path, 0 for none; arg is its. 0 or
 * -errno.
 */
typedef ino_t mapped_files_kept(const void *arg, const char *path);
int mapped_files_leave(struct mapped_files *mapped, const struct inject_task *keeper, mapped_files_kept *kept,
                       const void *arg) MUST_CHECK;

/* The same of a whole run beside the session's own: it has the files of its layer mapped, and writes them so, as far as
 * restorer->room goes; the others are as in the next one. 0 or -errno. */
int mapped_files_restore_own(const struct mapped_files *mapped, struct restorer *restorer) MUST_CHECK;

/* Gives a task of a cell that is thrown away the copies, of which it changes none by that. 0 or -errno. */
int mapped_files_restore(const struct mapped_files *mapped, struct restorer *restorer) MUST_CHECK;

#endif
