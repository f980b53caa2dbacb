/*
 * snapshot_entry.h - one file, link or folder, live or kept: whether it has changed, and how it is moved and made.
 *
 * The part of a snapshot that making it, committing it and restoring it have in common.
 */
#ifndef PETRI_SANDBOX_FILES_SNAPSHOT_ENTRY_H
#define PETRI_SANDBOX_FILES_SNAPSHOT_ENTRY_H

#include "sandbox/files/snapshot_node.h"

#include <stdbool.h>
#include <sys/stat.h>

enum { SNAPSHOT_NAME_BYTES = 24 };

/* The name that a file has in an "aside" folder, or among guards: its inode number. */
void snapshot_number(ino_t inode, char ret_name[SNAPSHOT_NAME_BYTES]);

/* Whether a live file may be another than when it was looked at last; begun: no file was written between that and this
 * moment, by the clock of files. */
bool snapshot_has_changed(const struct snapshot_node *node, const struct stat *live, struct timespec begun);

/* Says of a node that it is now as its live file is. */
void snapshot_note(struct snapshot_node *node, const struct stat *live);

/* And that we ourselves have given its live file a name, or taken one, which moves the ctime. */
void snapshot_note_link(struct snapshot_node *node, const struct stat *before, const struct stat *after);

/* And that this is a name of it, in the live folder at fd. 0 or -errno. */
int snapshot_note_name(struct snapshot_node *node, int fd, const char *name);

/* Moves an entry aside, under its number; where it is there already, by another name, this name goes. 0 or -errno. */
int snapshot_put_aside(int fd, const char *name, ino_t inode, int aside_fd);

/* Gives an entry a second name aside, if it has none. 0 or -errno. */
int snapshot_link_aside(int fd, const char *name, ino_t inode, int aside_fd);

/* Gives a file that lies aside a name: one more where it stays there, else instead. 1, 0 where nothing lies there, or
 * -errno. */
int snapshot_take(int aside_fd, ino_t inode, int fd, const char *name, bool stays);

/* Makes what st says, but for a file's contents, from an entry that is such; ret_st is what was made. 0 or -errno. */
int snapshot_make(int from_fd, const char *name, const struct stat *st, int to_fd, struct stat *ret_st);

/* Opens an entry to read it, or to write to it too, and leaves its time of access. A descriptor or -errno. */
int snapshot_open(int fd, const char *name, int flags);

/* Removes all that is in a folder. 0 or -errno. */
int snapshot_empty(int fd);

#endif
