/*
 * snapshot_inside.h - the insides of a snapshot, shared by the files that make, commit and restore it.
 */
#ifndef PETRI_SANDBOX_SNAPSHOT_INSIDE_H
#define PETRI_SANDBOX_SNAPSHOT_INSIDE_H

#include "snapshot.h"
#include "snapshot_entry.h"
#include "snapshot_node.h"
#include "snapshot_walk.h"

#include <stdint.h>

struct snapshot {
    struct snapshot_folders folders;
    struct snapshot_nodes nodes;
    uint64_t round;
};

#endif
