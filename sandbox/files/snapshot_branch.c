/*
 * snapshot_branch.c - versions that no live files have been: those of another one, and what a cell has changed of
 * them, or without what is the host's by now.
 *
 * A file at a name where there was one before is taken for the same one, changed: it has the same live file, so that
 * programs that remember its number find it (sqlite does); nothing tells it from a new one in its place. What the cell
 * has made else has no live file yet: it gets a number that none has, and is made when the session goes there.
 */
#define _GNU_SOURCE
#include "sandbox/files/snapshot_inside.h"

#include "base/cleanup.h"
#include "sandbox/base/system.h"
#include "sandbox/files/overlay.h"
#include "sandbox/files/snapshot_merge.h"
#include "sandbox/files/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* Makes a change to the tree of a new version, whose files are those of another one, too. */
typedef int branch_edit(struct branching *branching, int fd, void *arg);

static int make(struct branching *branching, const struct snapshot_version *base, branch_edit *edit, void *arg) {
    static const struct snapshot_walker adding = {.visit = add_entry};
    auto_fd fd = snapshot_version_make_folder(branching->version);
    int r = fd < 0 ? fd : snapshot_version_link(base, fd, &branching->nodes);
    if (r == 0)
        r = edit(branching, fd, arg);
    return r ? r : snapshot_walk(fd, -1, &adding, branching);
}

/* A version of the files of one that has a folder, changed. */
static int branch_off(struct snapshot_version *base, branch_edit *edit, void *arg, struct snapshot_version **ret) {
    struct snapshot *snapshot = base->snapshot;
    struct branching branching = {.version = calloc(1, sizeof *branching.version)};
    if (!branching.version)
        return -ENOMEM;
    *branching.version = (struct snapshot_version){.references = 1, .snapshot = snapshot};
    int r = snapshot->present == base ? snapshot_version_renew_pairs(base) : base->is_lost ? -ESTALE : 0;
    if (r == 0)
        r = snapshot_version_make_nodes(base, &branching.nodes);
    if (r == 0)
        r = make(&branching, base, edit, arg);
    snapshot_nodes_fini(&branching.nodes);
    if (r)
        snapshot_forget(branching.version);
    else
        *ret = branching.version;
    return r;
}

static int merge(struct branching *branching, int fd, void *arg) {
    struct snapshot_merge_folders *folders = arg;
    folders->to = fd;
    folders->arg = branching;
    return snapshot_merge_layer(folders);
}

int snapshot_branch(struct snapshot_version *base, int layer_fd, const int *below, struct snapshot_version **ret) {
    struct snapshot_merge_folders folders = {
        .layer = layer_fd, .aside = base->snapshot->folders.kept_aside, .below = below, .replaced = note_replaced};
    return branch_off(base, merge, &folders, ret);
}

/* What a version is to be without. */
struct giving_up {
    struct snapshot_given_up *rows;
    size_t n, n_done; /* changes of the tree */
};

/* A folder hides nothing any more. 0 or -errno. */
static int show(struct giving_up *giving_up, int folder_fd) {
    int r = overlay_clear_opaque(folder_fd);
    giving_up->n_done += r > 0;
    return r < 0 ? r : 0;
}

/* Opens the folder of a path's last name, as above. A descriptor, -ENOENT where there is none, or -errno. */
static int open_way(struct giving_up *giving_up, int folder_fd, const char *path) {
    char way[PATH_MAX];
    int fd = system_open_beneath(folder_fd, ".", O_RDONLY | O_DIRECTORY, 0);
    for (const char *slash = strchr(path, '/'); fd >= 0 && slash; slash = strchr(slash + 1, '/')) {
        close_fd(&fd);
        if ((size_t)(slash - path) >= sizeof way)
            return -ENAMETOOLONG;
        memcpy(way, path, (size_t)(slash - path));
        way[slash - path] = 0;
        fd = system_open_beneath(folder_fd, way, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
        const int r = fd < 0 ? 0 : show(giving_up, fd);
        if (r < 0) {
            close_fd(&fd);
            return r;
        }
    }
    return fd == -ENOTDIR ? -ENOENT : fd;
}

static int give_up_folder(struct giving_up *giving_up, int dir_fd, struct snapshot_given_up *row, const char *name) {
    auto_fd fd = tree_open(dir_fd, name);
    int r = fd < 0 ? fd : show(giving_up, fd);
    row->is_gone = r == 0;
    return r;
}

static int give_up(struct branching *branching, struct giving_up *giving_up, int folder_fd,
                   struct snapshot_given_up *row) {
    const char *slash = strrchr(row->path, '/'), *name = slash ? slash + 1 : row->path;
    struct stat st;
    auto_fd dir_fd = open_way(giving_up, folder_fd, row->path);
    row->is_gone = dir_fd == -ENOENT || (dir_fd >= 0 && fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW));
    if (row->is_gone || dir_fd == -ELOOP)
        return 0;
    if (dir_fd < 0)
        return dir_fd;
    if (S_ISDIR(st.st_mode))
        return give_up_folder(giving_up, dir_fd, row, name);
    const struct snapshot_node *node = snapshot_node_of_kept(&branching->nodes, st.st_ino);
    if (!overlay_is_whiteout(&st) && (!S_ISREG(st.st_mode) || !node || node->names > 1))
        return 0;
    if (unlinkat(dir_fd, name, 0))
        return -errno;
    row->is_gone = true;
    giving_up->n_done++;
    return 0;
}

static int give_up_all(struct branching *branching, int fd, void *arg) {
    struct giving_up *giving_up = arg;
    auto_fd folder_fd = tree_open(fd, "folder");
    int r = folder_fd < 0 ? folder_fd : 0;
    for (size_t i = 0; r == 0 && i < giving_up->n; i++)
        r = give_up(branching, giving_up, folder_fd, &giving_up->rows[i]);
    return r;
}

int snapshot_without(struct snapshot_version *base, struct snapshot_given_up *rows, size_t n,
                     struct snapshot_version **ret) {
    struct giving_up giving_up = {.rows = rows, .n = n};
    struct snapshot_version *version = NULL;
    uint64_t number;
    int r = snapshot_pin(base, &number);
    if (r)
        return r;
    r = branch_off(base, give_up_all, &giving_up, &version);
    snapshot_unpin(base);
    if (r)
        return r;
    if (giving_up.n_done == 0)
        snapshot_forget(steal_pointer(version));
    *ret = version;
    return 0;
}
