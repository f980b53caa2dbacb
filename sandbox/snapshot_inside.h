/*
 * snapshot_inside.h - the insides of a snapshot, shared by the files that make, commit and restore it.
 */
#ifndef PETRI_SANDBOX_SNAPSHOT_INSIDE_H
#define PETRI_SANDBOX_SNAPSHOT_INSIDE_H

#include "sandbox/snapshot.h"
#include "sandbox/snapshot_entry.h"
#include "sandbox/snapshot_node.h"
#include "sandbox/snapshot_walk.h"

#include <stdint.h>

struct snapshot {
    struct snapshot_folders folders;
    struct snapshot_nodes nodes;
    uint64_t round;
};

#endif
