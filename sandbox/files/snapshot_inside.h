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
};

/* To be called before kept files are changed: the present version gets a tree of its own. Where it can't have one it is
 * lost, and the change goes on. */
void snapshot_set_apart(struct snapshot *snapshot);

#endif
