/*
 * snapshot_node.h - which file of the snapshot is which of those that cells write.
 *
 * Inode numbers of a tmpfs are never given twice, so a number names the same file as
 * long as that exists. Should they wrap around all the same, the kind of the file is
 * compared, too.
 */
#ifndef PETRI_SANDBOX_FILES_SNAPSHOT_NODE_H
#define PETRI_SANDBOX_FILES_SNAPSHOT_NODE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* A file, a folder, a link: whatever has an inode. */
struct snapshot_node {
    ino_t live, kept;
    mode_t kind;             /* S_IFMT of its mode */
    struct timespec changed; /* its ctime when it was looked at last */
    struct timespec used;    /* and its atime */
    bool suspect;            /* may have been written by a mapping, which no time tells */
    bool same;               /* has been compared with the copy since it was looked at, and holds the same bytes */
    bool is_in_version;      /* a version may have the copy, too: it must not be changed any more */
    uint64_t round;          /* in which it was looked at last */
    unsigned names;          /* that it had then */
    ino_t folder;            /* the live inode of one that it is in; the uppermost has no node */
    char *name;              /* there; owned */
};

/* All zero is none. */
struct snapshot_nodes {
    void *by_live, *by_kept; /* of tsearch(3) */
};

/* A node, or NULL. */
struct snapshot_node *snapshot_node_of_live(const struct snapshot_nodes *nodes, ino_t live);
struct snapshot_node *snapshot_node_of_kept(const struct snapshot_nodes *nodes, ino_t kept);

/* Says that the two are the same file; what was said of either before is forgotten. NULL on ENOMEM. */
struct snapshot_node *snapshot_node_pair(struct snapshot_nodes *nodes, ino_t live, ino_t kept, mode_t kind);

/* Forgets those that were not looked at in this round. 0 or -ENOMEM. */
int snapshot_nodes_forget(struct snapshot_nodes *nodes, uint64_t round);

void snapshot_nodes_fini(struct snapshot_nodes *nodes);

#endif
