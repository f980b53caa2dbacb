/*
 * snapshot_commit.c - the copy becomes what the live files are.
 *
 * First each kept entry that is not the copy of the live entry of the same name is
 * moved aside. Then the live files are walked: the copy of each is in its place, or
 * is taken from aside, or is made; and where the live file may have changed, the
 * copy is made equal. What is still aside in the end has no live file any more, and
 * is removed.
 *
 * Before the first change the version that is to stay is set apart. It has the same
 * files, so a copy that it has is not changed, but replaced by another one.
 */
#define _GNU_SOURCE
#include "sandbox/files/snapshot_inside.h"

#include "base/cleanup.h"
#include "sandbox/files/mirror.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

/* The node of a live entry, if the kept one of its name is its copy. */
static struct snapshot_node *match(const struct snapshot *snapshot, const struct stat *live, const struct stat *kept) {
    struct snapshot_node *node = snapshot_node_of_live(&snapshot->nodes, live->st_ino);
    const mode_t kind = live->st_mode & S_IFMT;
    return node && node->kept == kept->st_ino && node->kind == kind && kind == (kept->st_mode & S_IFMT) ? node : NULL;
}

/* A kept entry; the live folder is the other one. */
static int put_away(void *arg, const struct snapshot_place *place, const char *name, const struct stat *kept) {
    struct snapshot *snapshot = arg;
    struct stat live;
    const bool there = place->other_fd >= 0 && fstatat(place->other_fd, name, &live, AT_SYMLINK_NOFOLLOW) == 0;
    const struct snapshot_node *node = there ? match(snapshot, &live, kept) : NULL;
    const int aside_fd = snapshot->folders.kept_aside;
    if (!node)
        snapshot_set_apart(snapshot);
    if (!node)
        return snapshot_put_aside(place->fd, name, kept->st_ino, aside_fd);
    if (S_ISDIR(kept->st_mode))
        return SNAPSHOT_INTO_BOTH;
    return node->names > 1 || live.st_nlink > 1 ? snapshot_link_aside(place->fd, name, kept->st_ino, aside_fd) : 0;
}

static const struct snapshot_walker away = {.visit = put_away};

/* Gives a copy that lies aside the name of its live file. 1, 0 where there is none, or -errno. */
static int take(struct snapshot *snapshot, const struct snapshot_place *place, const char *name,
                const struct stat *live, const struct snapshot_node *node) {
    const bool stays = !S_ISDIR(live->st_mode) && live->st_nlink > 1;
    if (!node || node->kind != (live->st_mode & S_IFMT))
        return 0;
    int r = snapshot_take(snapshot->folders.kept_aside, node->kept, place->other_fd, name, stays);
    if (r <= 0 || !S_ISDIR(live->st_mode))
        return r;
    /* A folder was put aside with all that is in it. */
    auto_fd live_fd = snapshot_open(place->fd, name, O_RDONLY | O_DIRECTORY);
    auto_fd kept_fd = live_fd < 0 ? live_fd : snapshot_open(place->other_fd, name, O_RDONLY | O_DIRECTORY);
    r = kept_fd < 0 ? kept_fd : snapshot_walk(kept_fd, live_fd, &away, snapshot);
    return r ? r : 1;
}

/* Makes a copy without contents; of several names the first one is made, and the others find it aside. */
static int make(struct snapshot *snapshot, const struct snapshot_place *place, const char *name,
                const struct stat *live, struct snapshot_node **ret_node) {
    struct stat made;
    int r = snapshot_make(place->fd, name, live, place->other_fd, &made);
    if (r)
        return r;
    *ret_node = snapshot_node_pair(&snapshot->nodes, live->st_ino, made.st_ino, live->st_mode);
    if (!*ret_node)
        return -ENOMEM;
    return !S_ISDIR(live->st_mode) && live->st_nlink > 1
               ? snapshot_link_aside(place->other_fd, name, made.st_ino, snapshot->folders.kept_aside)
               : 0;
}

/* Makes sure that a live entry has its copy at the same name. */
static int find(struct snapshot *snapshot, const struct snapshot_place *place, const char *name,
                const struct stat *live, struct snapshot_node **ret_node) {
    struct stat kept;
    *ret_node = snapshot_node_of_live(&snapshot->nodes, live->st_ino);
    const bool stands = fstatat(place->other_fd, name, &kept, AT_SYMLINK_NOFOLLOW) == 0;
    if (stands && match(snapshot, live, &kept))
        return 0;
    if (stands && (!*ret_node || (*ret_node)->round != snapshot->round))
        return -EUCLEAN;                              /* no other process makes names there */
    if (stands && unlinkat(place->other_fd, name, 0)) /* by another name it has got another copy: part() */
        return -errno;
    snapshot_set_apart(snapshot);
    int r = take(snapshot, place, name, live, *ret_node);
    return r ? (r < 0 ? r : 0) : make(snapshot, place, name, live, ret_node);
}

/* Whether the copy of a live file is equal to it; same: its bytes are. 1, 0 or -errno. */
static int is_equal(const struct snapshot_place *place, const char *name, const struct stat *live, bool same) {
    int r = mirror_compare_status(place->other_fd, name, live);
    if (r <= 0 || !S_ISREG(live->st_mode))
        return r;
    auto_fd from = snapshot_open(place->fd, name, O_RDONLY);
    auto_fd to = from < 0 ? from : snapshot_open(place->other_fd, name, O_RDONLY);
    r = to < 0 ? to : same ? 1 : mirror_compare(from, to);
    return r > 0 ? mirror_compare_attributes(from, to) : r;
}

/* Puts a new copy, without contents, in the place of one that a version has, too. */
static int part(struct snapshot *snapshot, const struct snapshot_place *place, const char *name,
                const struct stat *live, struct snapshot_node **node) {
    const unsigned names = (*node)->names;
    if (unlinkat(place->other_fd, name, 0))
        return -errno;
    int r = make(snapshot, place, name, live, node);
    if (r)
        return r;
    (*node)->names = names;
    (*node)->round = snapshot->round;
    return 0;
}

/* same: but for its bytes, which the copy has already. */
static int copy_file(const struct snapshot_place *place, const char *name, bool same) {
    auto_fd from = snapshot_open(place->fd, name, O_RDONLY);
    auto_fd to = from < 0 ? from : snapshot_open(place->other_fd, name, O_RDWR);
    int r = to < 0 ? to : 0;
    if (r == 0 && !same)
        r = mirror_free_room(from, to);
    if (r == 0 && !same)
        r = mirror_fill(from, to);
    return r ? r : mirror_attributes(from, to);
}

/* Makes the copy of a live file that may have changed equal to it. */
static int renew(struct snapshot *snapshot, const struct snapshot_place *place, const char *name,
                 const struct stat *live, struct snapshot_node *node) {
    bool same = node->same;
    const bool shared = node->is_in_version || snapshot->present;
    int r = shared ? is_equal(place, name, live, same) : 0;
    if (r == 0 && shared) {
        snapshot_set_apart(snapshot);
        r = part(snapshot, place, name, live, &node);
        same = false;
    }
    if (r < 0)
        return r;
    if (r == 0 && (r = snapshot_note_name(node, place->fd, name)) == 0 && S_ISREG(live->st_mode))
        r = copy_file(place, name, same);
    if (r == 0)
        r = mirror_status(place->other_fd, name, live);
    if (r >= 0)
        snapshot_note(node, live);
    return r < 0 ? r : 0;
}

/* A live entry; the kept folder is the other one. */
static int bring_up(void *arg, const struct snapshot_place *place, const char *name, const struct stat *live) {
    struct snapshot *snapshot = arg;
    struct snapshot_node *node = NULL;
    int r = find(snapshot, place, name, live, &node);
    if (r)
        return r;
    const bool is_first = S_ISDIR(live->st_mode) || node->round != snapshot->round;
    node->names = is_first ? 1 : node->names + 1;
    if (!is_first)
        return 0; /* of several names, the first one has done all */
    node->round = snapshot->round;
    r = snapshot_note_name(node, place->fd, name);
    if (r || S_ISDIR(live->st_mode))
        return r ? r : SNAPSHOT_INTO_BOTH;
    return snapshot_has_changed(node, live, snapshot->begun) ? renew(snapshot, place, name, live, node) : 0;
}

static int renew_attributes(struct snapshot *snapshot, const struct snapshot_place *place, const char *name) {
    auto_fd from = snapshot_open(place->fd, name, O_RDONLY | O_DIRECTORY);
    auto_fd to = from < 0 ? from : snapshot_open(place->other_fd, name, O_RDONLY | O_DIRECTORY);
    if (to < 0 || (snapshot->present && mirror_compare_attributes(from, to) == 1))
        return to < 0 ? to : 0;
    snapshot_set_apart(snapshot);
    return mirror_attributes(from, to);
}

/* Once all in it is in its place, which changes its times. */
static int leave_folder(void *arg, const struct snapshot_place *place, const char *name) {
    struct snapshot *snapshot = arg;
    struct stat live;
    if (fstatat(place->fd, name, &live, AT_SYMLINK_NOFOLLOW))
        return -errno;
    struct snapshot_node *node = snapshot_node_of_live(&snapshot->nodes, live.st_ino);
    int r = 0;
    if (!node)
        return -EUCLEAN;
    if (snapshot_has_changed(node, &live, snapshot->begun))
        r = renew_attributes(snapshot, place, name);
    if (r == 0 && snapshot->present && mirror_compare_status(place->other_fd, name, &live) == 0)
        snapshot_set_apart(snapshot);
    if (r == 0)
        r = mirror_status(place->other_fd, name, &live);
    if (r == 0)
        snapshot_note(node, &live);
    return r;
}

int snapshot_commit(struct snapshot *snapshot) {
    static const struct snapshot_walker up = {bring_up, leave_folder};
    const struct snapshot_folders *folders = &snapshot->folders;
    snapshot->round++;
    int r = snapshot_walk(folders->kept, folders->live, &away, snapshot);
    if (r == 0)
        r = snapshot_walk(folders->live, folders->kept, &up, snapshot);
    const int emptied = snapshot_empty(folders->kept_aside);
    if (r == 0)
        r = emptied;
    if (r)
        return r;
    snapshot->begun = (struct timespec){0};
    return snapshot_nodes_forget(&snapshot->nodes, snapshot->round);
}
