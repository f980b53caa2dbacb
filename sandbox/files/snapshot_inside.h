/*
 * snapshot_inside.h - the insides of a snapshot, shared by the files that make, commit and restore it.
 */
#ifndef PETRI_SANDBOX_FILES_SNAPSHOT_INSIDE_H
#define PETRI_SANDBOX_FILES_SNAPSHOT_INSIDE_H

#include "sandbox/files/snapshot.h"
#include "sandbox/files/snapshot_entry.h"
#include "sandbox/files/snapshot_node.h"
#include "sandbox/files/snapshot_walk.h"

#include <stdint.h>
#include <time.h>

struct snapshot {
    struct snapshot_folders folders;
    struct snapshot_nodes nodes;
    uint64_t round;
    bool restored_access;             /* snapshot_take_access() */
    struct timespec begun;            /* when live files were written first since the last look; 0: at any time */
    struct snapshot_version *present; /* the version that the kept files are; NULL where nobody wants that */
    uint64_t n_versions;              /* that have been set apart */
    uint64_t n_unborn;                /* files of versions that no live file has ever been */
};

/* A kept file or folder of a version, and the live one that it is the copy of. */
struct snapshot_pair {
    ino_t live, kept;
    mode_t kind;
    unsigned names; /* of several pairs of the same two: summed up */
};

struct snapshot_version {
    unsigned references, pins;
    struct snapshot *snapshot;
    uint64_t number;                /* of its folder; 0 for none */
    char name[SNAPSHOT_NAME_BYTES]; /* the same, below versions; "": it has none, and the kept files are it */
    bool is_lost;
    struct snapshot_pair *pair; /* n of them, once it has a folder; owned */
    size_t n;
};

/* Makes an empty folder for a version. A descriptor or -errno. */
int snapshot_version_make_folder(struct snapshot_version *version);

/* Brings the pairs of the present version up to date, which has a folder: restoring may have made live files anew
 * since. 0 or -errno. */
int snapshot_version_renew_pairs(struct snapshot_version *version);

/* Adds names of a kept entry, of which the node is known, to a version's pairs. 0 or -ENOMEM. */
int snapshot_version_add(struct snapshot_version *version, const struct snapshot_node *node, ino_t kept,
                         unsigned names);

/* The nodes that its pairs make: snapshot_nodes_fini(). 0 or -ENOMEM. */
int snapshot_version_make_nodes(const struct snapshot_version *version, struct snapshot_nodes *ret_nodes);

/* Makes another tree of the very files of a version that has a folder, with folders of its own, in an empty folder;
 * these nodes of it become those of the new tree. 0 or -errno. */
int snapshot_version_link(const struct snapshot_version *version, int to_fd, struct snapshot_nodes *nodes);

/* To be called before kept files are changed: the present version gets a tree of its own. Where it can't have one it is
 * lost, and the change goes on. */
void snapshot_set_apart(struct snapshot *snapshot);

#endif
