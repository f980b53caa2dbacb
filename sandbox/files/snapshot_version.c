/*
 * snapshot_version.c - earlier states of the kept files, as trees of the same files.
 *
 * Nothing happens until kept files are to change. Then a tree is made beside them, with
 * folders of its own and the files' own inodes, and a table of which live file each is the
 * copy of. What is kept from then on shares no change with it: part() in
 * snapshot_commit.c.
 *
 * To go to a version its entries and the kept ones exchange their places, which takes a
 * rename for each of the uppermost; one that is pinned keeps its tree, and the kept files
 * become another one of the same files. A live file has the right contents already where
 * the same copy is its copy before and after; each other one is suspected.
 */
#define _GNU_SOURCE
#include "sandbox/files/snapshot_inside.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "sandbox/files/mirror.h"
#include "sandbox/files/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdlib.h>

/* Its folder is no more. */
static void leave_tree(struct snapshot_version *version) {
    version->name[0] = 0;
    version->number = 0;
    version->n = 0;
}

struct snapshot_version *snapshot_keep(struct snapshot *snapshot) {
    struct snapshot_version *version = snapshot->present;
    if (!version && !(version = calloc(1, sizeof *version)))
        return NULL;
    version->snapshot = snapshot;
    version->references++;
    return snapshot->present = version;
}

void snapshot_forget(struct snapshot_version *version) {
    if (!version || --version->references > 0)
        return;
    if (version->snapshot->present == version)
        version->snapshot->present = NULL;
    if (version->name[0])
        (void)tree_remove(version->snapshot->folders.versions, version->name);
    free(version->pair);
    free(version);
}

const char *snapshot_version_name(const struct snapshot_version *version) {
    return version->name;
}

int snapshot_version_add(struct snapshot_version *version, const struct snapshot_node *node, ino_t kept,
                         unsigned names) {
    int r = array_grow(&version->pair, version->n, sizeof *version->pair);
    if (r == 0)
        version->pair[version->n++] =
            (struct snapshot_pair){.live = node->live, .kept = kept, .kind = node->kind, .names = names};
    return r;
}

/* A kept entry; the version's folder is the other one. */
static int set_entry_apart(void *arg, const struct snapshot_place *place, const char *name, const struct stat *kept) {
    struct snapshot_version *version = arg;
    struct snapshot_node *node = snapshot_node_of_kept(&version->snapshot->nodes, kept->st_ino);
    struct stat made = *kept;
    if (!node)
        return -EUCLEAN;
    const bool folder = S_ISDIR(kept->st_mode);
    if (folder ? mkdirat(place->other_fd, name, 0700) || fstatat(place->other_fd, name, &made, AT_SYMLINK_NOFOLLOW)
               : linkat(place->fd, name, place->other_fd, name, 0))
        return -errno;
    node->is_in_version = !folder;
    int r = snapshot_version_add(version, node, made.st_ino, 1);
    return r || !folder ? r : SNAPSHOT_INTO_BOTH;
}

static int leave_folder(void *arg, const struct snapshot_place *place, const char *name) {
    struct stat kept;
    (void)arg;
    if (fstatat(place->fd, name, &kept, AT_SYMLINK_NOFOLLOW))
        return -errno;
    auto_fd from = snapshot_open(place->fd, name, O_RDONLY | O_DIRECTORY);
    auto_fd to = from < 0 ? from : snapshot_open(place->other_fd, name, O_RDONLY | O_DIRECTORY);
    int r = to < 0 ? to : mirror_attributes(from, to);
    return r ? r : mirror_status(place->other_fd, name, &kept);
}

int snapshot_version_make_folder(struct snapshot_version *version) {
    struct snapshot *snapshot = version->snapshot;
    version->number = ++snapshot->n_versions;
    snapshot_number(version->number, version->name);
    if (mkdirat(snapshot->folders.versions, version->name, 0755))
        return -errno;
    return tree_open(snapshot->folders.versions, version->name);
}

/* An entry of the present version's folder; the kept one is the other. */
static int pair_entry(void *arg, const struct snapshot_place *place, const char *name, const struct stat *st) {
    struct snapshot_version *version = arg;
    struct stat kept;
    if (fstatat(place->other_fd, name, &kept, AT_SYMLINK_NOFOLLOW))
        return -errno;
    const struct snapshot_node *node = snapshot_node_of_kept(&version->snapshot->nodes, kept.st_ino);
    int r = node ? snapshot_version_add(version, node, st->st_ino, 1) : -EUCLEAN;
    return r || !S_ISDIR(st->st_mode) ? r : SNAPSHOT_INTO_BOTH;
}

int snapshot_version_renew_pairs(struct snapshot_version *version) {
    static const struct snapshot_walker pairing = {.visit = pair_entry};
    const struct snapshot_folders *folders = &version->snapshot->folders;
    auto_fd fd = tree_open(folders->versions, version->name);
    version->n = 0;
    return fd < 0 ? fd : snapshot_walk(fd, folders->kept, &pairing, version);
}

/* Makes the present version's tree. 0 or -errno, then it has none. */
static int make_tree(struct snapshot_version *version) {
    static const struct snapshot_walker apart = {set_entry_apart, leave_folder};
    struct snapshot *snapshot = version->snapshot;
    auto_fd fd = snapshot_version_make_folder(version);
    int r = fd < 0 ? fd : snapshot_walk(snapshot->folders.kept, fd, &apart, version);
    if (r == 0)
        return 0;
    (void)tree_remove(snapshot->folders.versions, version->name);
    leave_tree(version);
    return r;
}

void snapshot_set_apart(struct snapshot *snapshot) {
    struct snapshot_version *version = snapshot->present;
    if (!version)
        return;
    snapshot->present = NULL;
    version->is_lost = (version->name[0] ? snapshot_version_renew_pairs(version) : make_tree(version)) < 0;
}

int snapshot_pin(struct snapshot_version *version, uint64_t *ret_number) {
    int r = version->is_lost ? -ESTALE : version->name[0] ? 0 : make_tree(version);
    if (r)
        return r;
    version->references++;
    version->pins++;
    *ret_number = version->number;
    return 0;
}

void snapshot_unpin(struct snapshot_version *version) {
    if (!version)
        return;
    version->pins--;
    snapshot_forget(version);
}

static int move_entry(void *arg, const struct snapshot_place *place, const char *name, const struct stat *st) {
    const int to_fd = *(const int *)arg;
    (void)st;
    return renameat2(place->fd, name, to_fd, name, RENAME_NOREPLACE) ? -errno : SNAPSHOT_PAST;
}

static int move_all(int from_fd, int to_fd) {
    return snapshot_walk(from_fd, -1, &(struct snapshot_walker){.visit = move_entry}, &to_fd);
}

/* The files of a version that no cell's layer lies over become the kept ones, of which there are none. */
static int move_back(const struct snapshot_version *version) {
    const struct snapshot_folders *folders = &version->snapshot->folders;
    auto_fd fd = tree_open(folders->versions, version->name);
    return fd < 0 ? fd : move_all(fd, folders->kept);
}

static void add_node(const void *at, VISIT visit, void *arg) {
    struct snapshot_version *version = arg;
    struct snapshot_node *node = *(struct snapshot_node *const *)at;
    if ((visit == preorder || visit == leaf) && snapshot_version_add(version, node, node->kept, node->names))
        version->is_lost = true;
}

/* The kept files, which are to make room, go to a folder of their version, or are removed where nobody wants it. */
static int move_present(struct snapshot *snapshot) {
    struct snapshot_version *version = snapshot->present;
    snapshot->present = NULL;
    if (version && version->name[0])
        version->is_lost = snapshot_version_renew_pairs(version) < 0;
    if (!version || version->name[0])
        return snapshot_empty(snapshot->folders.kept);
    twalk_r(snapshot->nodes.by_live, add_node, version);
    auto_fd fd = snapshot_version_make_folder(version);
    return fd < 0 ? fd : move_all(snapshot->folders.kept, fd);
}

/* A live file of which the version has the copy that is its copy now is known to be as it was. */
static struct snapshot_node *make_node(const struct snapshot *snapshot, const struct snapshot_pair *pair,
                                       struct snapshot_nodes *nodes) {
    const struct snapshot_node *before = snapshot_node_of_live(&snapshot->nodes, pair->live);
    struct snapshot_node *node = snapshot_node_of_kept(nodes, pair->kept);
    if (!node && !(node = snapshot_node_pair(nodes, pair->live, pair->kept, pair->kind)))
        return NULL;
    node->names += pair->names;
    node->is_in_version = true;
    node->suspect = !before || before->kept != pair->kept || before->suspect;
    node->changed = before ? before->changed : (struct timespec){0};
    node->used = before ? before->used : (struct timespec){0};
    return node;
}

int snapshot_version_make_nodes(const struct snapshot_version *version, struct snapshot_nodes *ret_nodes) {
    struct snapshot_nodes nodes = {0};
    for (size_t i = 0; i < version->n; i++)
        if (!make_node(version->snapshot, &version->pair[i], &nodes)) {
            snapshot_nodes_fini(&nodes);
            return -ENOMEM;
        }
    *ret_nodes = nodes;
    return 0;
}

/* An entry of a version, of which the kept files get another folder, or the same file. */
static int link_entry(void *arg, const struct snapshot_place *place, const char *name, const struct stat *st) {
    struct snapshot_nodes *nodes = arg;
    struct stat made;
    if (!S_ISDIR(st->st_mode))
        return linkat(place->fd, name, place->other_fd, name, 0) ? -errno : 0;
    const struct snapshot_node *node = snapshot_node_of_kept(nodes, st->st_ino);
    if (!node)
        return -EUCLEAN;
    const struct snapshot_pair pair = {.live = node->live, .kind = node->kind, .names = node->names};
    if (mkdirat(place->other_fd, name, 0700) || fstatat(place->other_fd, name, &made, AT_SYMLINK_NOFOLLOW))
        return -errno;
    struct snapshot_node *folder = snapshot_node_pair(nodes, pair.live, made.st_ino, pair.kind);
    if (!folder)
        return -ENOMEM;
    folder->names = pair.names;
    folder->suspect = true;
    return SNAPSHOT_INTO_BOTH;
}

int snapshot_version_link(const struct snapshot_version *version, int to_fd, struct snapshot_nodes *nodes) {
    static const struct snapshot_walker linking = {link_entry, leave_folder};
    auto_fd fd = tree_open(version->snapshot->folders.versions, version->name);
    return fd < 0 ? fd : snapshot_walk(fd, to_fd, &linking, nodes);
}

int snapshot_switch(struct snapshot_version *version) {
    struct snapshot *snapshot = version->snapshot;
    struct snapshot_nodes nodes;
    if (version == snapshot->present)
        return 0;
    if (version->is_lost)
        return -ESTALE;
    if (snapshot_version_make_nodes(version, &nodes))
        return -ESTALE;
    int r = move_present(snapshot);
    if (r == 0)
        r = version->pins ? snapshot_version_link(version, snapshot->folders.kept, &nodes) : move_back(version);
    snapshot_nodes_fini(&snapshot->nodes);
    snapshot->nodes = nodes;
    if (r)
        return r;
    if (version->pins == 0) {
        (void)tree_remove(snapshot->folders.versions, version->name); /* an empty folder that stays harms nobody */
        leave_tree(version);
    }
    snapshot->present = version;
    return 0;
}
