/*
 * snapshot_branch.c - a version that no live files have been: those of another one, and what a cell has changed of
 * them.
 *
 * A file at a name where there was one before is taken for the same one, changed: it has the same live file, so that
 * programs that remember its number find it (sqlite does); nothing tells it from a new one in its place. What the cell
 * has made else has no live file yet: it gets a number that none has, and is made when the session goes there.
 */
#define _GNU_SOURCE
#include "sandbox/files/snapshot_inside.h"

#include "base/cleanup.h"
#include "sandbox/files/snapshot_merge.h"
#include "sandbox/files/tree.h"

#include <errno.h>
#include <stdlib.h>

/* Above all that a tmpfs gives. */
#define UNBORN (UINT64_C(1) << 62)

struct branching {
    struct snapshot_version *version;
    struct snapshot_nodes nodes;
};

/* A snapshot_merge_replaced. */
static int note_replaced(void *arg, ino_t before, ino_t made) {
    struct branching *branching = arg;
    const struct snapshot_node *node = snapshot_node_of_kept(&branching->nodes, before);
    if (!node || !S_ISREG(node->kind))
        return 0;
    return snapshot_node_pair(&branching->nodes, node->live, made, node->kind) ? 0 : -ENOMEM;
}

/* An entry of the new version's folder. */
static int add_entry(void *arg, const struct snapshot_place *place, const char *name, const struct stat *st) {
    struct branching *branching = arg;
    struct snapshot *snapshot = branching->version->snapshot;
    const struct snapshot_node *node = snapshot_node_of_kept(&branching->nodes, st->st_ino);
    (void)place, (void)name;
    if (!node)
        node = snapshot_node_pair(&branching->nodes, UNBORN + snapshot->n_unborn++, st->st_ino, st->st_mode);
    int r = node ? snapshot_version_add(branching->version, node, st->st_ino, 1) : -ENOMEM;
    return r || !S_ISDIR(st->st_mode) ? r : SNAPSHOT_INTO;
}

static int make(struct branching *branching, const struct snapshot_version *base,
                struct snapshot_merge_folders *folders) {
    static const struct snapshot_walker adding = {.visit = add_entry};
    auto_fd fd = snapshot_version_make_folder(branching->version);
    int r = fd < 0 ? fd : snapshot_version_link(base, fd, &branching->nodes);
    folders->to = fd;
    if (r == 0)
        r = snapshot_merge_layer(folders);
    return r ? r : snapshot_walk(fd, -1, &adding, branching);
}

int snapshot_branch(struct snapshot_version *base, int layer_fd, int host_fd, struct snapshot_version **ret) {
    struct snapshot *snapshot = base->snapshot;
    struct branching branching = {.version = calloc(1, sizeof *branching.version)};
    struct snapshot_merge_folders folders = {.layer = layer_fd,
                                             .aside = snapshot->folders.kept_aside,
                                             .host = host_fd,
                                             .replaced = note_replaced,
                                             .arg = &branching};
    if (!branching.version)
        return -ENOMEM;
    *branching.version = (struct snapshot_version){.references = 1, .snapshot = snapshot};
    int r = snapshot->present == base ? snapshot_version_renew_pairs(base) : base->is_lost ? -ESTALE : 0;
    if (r == 0)
        r = snapshot_version_make_nodes(base, &branching.nodes);
    if (r == 0)
        r = make(&branching, base, &folders);
    snapshot_nodes_fini(&branching.nodes);
    if (r)
        snapshot_forget(branching.version);
    else
        *ret = branching.version;
    return r;
}
