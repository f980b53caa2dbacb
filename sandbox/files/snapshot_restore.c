/*
 * snapshot_restore.c - the live files become what the copy is.
 *
 * First each live entry that is not in its place is moved aside, if the copy has
 * it, or removed. Then the copy is walked: what lies aside, or has a guard, is put
 * in its place, what no longer exists is made anew, and room that the copy does not
 * take is freed. Last, contents and times are put back where they may have changed:
 * only then is there room for them, and nothing moves any more. Both are done once for a
 * file, however many names it has.
 */
#define _GNU_SOURCE
#include "sandbox/files/snapshot_inside.h"

#include "base/cleanup.h"
#include "sandbox/files/mirror.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

/* Whether the copy of a live entry stands at the same name. */
static bool is_in_place(const struct snapshot_node *node, const struct snapshot_place *place, const char *name,
                        struct stat *ret_kept) {
    return node && place->other_fd >= 0 && fstatat(place->other_fd, name, ret_kept, AT_SYMLINK_NOFOLLOW) == 0 &&
           node->kept == ret_kept->st_ino && (ret_kept->st_mode & S_IFMT) == node->kind;
}

/* The node of a live entry, if it is what the copy has. */
static const struct snapshot_node *find(const struct snapshot *snapshot, const struct stat *live) {
    const struct snapshot_node *node = snapshot_node_of_live(&snapshot->nodes, live->st_ino);
    return node && node->kind == (live->st_mode & S_IFMT) ? node : NULL;
}

/* A live entry; the kept folder is the other one. A folder that has to go is emptied first, for what is in it may have
 * been moved there. */
static int evict(void *arg, const struct snapshot_place *place, const char *name, const struct stat *live) {
    struct snapshot *snapshot = arg;
    const struct snapshot_node *node = find(snapshot, live);
    const int aside_fd = snapshot->folders.live_aside;
    struct stat kept;
    const bool in_place = is_in_place(node, place, name, &kept);
    if (S_ISDIR(live->st_mode))
        return in_place ? SNAPSHOT_INTO_BOTH : SNAPSHOT_INTO;
    if (in_place)
        return node->names > 1 ? snapshot_link_aside(place->fd, name, live->st_ino, aside_fd) : 0;
    if (node)
        return snapshot_put_aside(place->fd, name, live->st_ino, aside_fd);
    return unlinkat(place->fd, name, 0) ? -errno : 0;
}

static int leave_evicted(void *arg, const struct snapshot_place *place, const char *name) {
    struct snapshot *snapshot = arg;
    struct stat live, kept;
    if (fstatat(place->fd, name, &live, AT_SYMLINK_NOFOLLOW))
        return -errno;
    const struct snapshot_node *node = find(snapshot, &live);
    if (is_in_place(node, place, name, &kept))
        return 0;
    if (node)
        return snapshot_put_aside(place->fd, name, live.st_ino, snapshot->folders.live_aside);
    return unlinkat(place->fd, name, AT_REMOVEDIR) ? -errno : 0;
}

/* Makes a file that exists nowhere any more, as another inode. */
static int make_anew(struct snapshot *snapshot, const struct snapshot_place *place, const char *name,
                     const struct stat *kept) {
    struct stat made;
    const struct snapshot_node *before = snapshot_node_of_kept(&snapshot->nodes, kept->st_ino);
    const unsigned names = before ? before->names : 1;
    int r = snapshot_make(place->fd, name, kept, place->other_fd, &made);
    if (r)
        return r;
    struct snapshot_node *node = snapshot_node_pair(&snapshot->nodes, made.st_ino, kept->st_ino, kept->st_mode);
    if (!node)
        return -ENOMEM;
    node->names = names;
    node->is_in_version = true; /* that may be, and where it isn't, one copy more is made */
    return !S_ISDIR(kept->st_mode) && names > 1
               ? snapshot_link_aside(place->other_fd, name, made.st_ino, snapshot->folders.live_aside)
               : 0;
}

/* Puts what a kept entry is the copy of in its place. */
static int put_in_place(struct snapshot *snapshot, const struct snapshot_place *place, const char *name,
                        const struct stat *kept) {
    const struct snapshot_folders *folders = &snapshot->folders;
    const struct snapshot_node *node = snapshot_node_of_kept(&snapshot->nodes, kept->st_ino);
    const bool folder = S_ISDIR(kept->st_mode);
    int r = 0;
    if (node)
        r = snapshot_take(folders->live_aside, node->live, place->other_fd, name, !folder && node->names > 1);
    if (r == 0 && node && !folder)
        r = snapshot_take(folders->guards, node->live, place->other_fd, name, true);
    return r ? (r < 0 ? r : 0) : make_anew(snapshot, place, name, kept);
}

/* Looks at the live entry of a kept one: its node, or NULL where it has not changed, or where another name of it was
 * looked at in this round. 0 or -errno. */
static int look(struct snapshot *snapshot, const struct snapshot_place *place, const char *name,
                const struct stat *kept, struct snapshot_node **ret_changed) {
    struct stat live;
    struct snapshot_node *node = snapshot_node_of_kept(&snapshot->nodes, kept->st_ino);
    if (fstatat(place->other_fd, name, &live, AT_SYMLINK_NOFOLLOW))
        return -errno;
    if (!node || node->live != live.st_ino)
        return -EUCLEAN;
    const bool is_first = node->round != snapshot->round;
    node->round = snapshot->round;
    *ret_changed = is_first && snapshot_has_changed(node, &live, snapshot->begun) ? node : NULL;
    return snapshot_note_name(node, place->other_fd, name);
}

/* A kept entry; the live folder is the other one. */
static int place_entry(void *arg, const struct snapshot_place *place, const char *name, const struct stat *kept) {
    struct snapshot *snapshot = arg;
    struct snapshot_node *changed = NULL;
    int r = faccessat(place->other_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0 ? 0 : 1;
    if (r)
        r = put_in_place(snapshot, place, name, kept);
    if (r == 0 && S_ISREG(kept->st_mode))
        r = look(snapshot, place, name, kept, &changed);
    if (r || !changed)
        return r || !S_ISDIR(kept->st_mode) ? r : SNAPSHOT_INTO_BOTH;
    auto_fd from = snapshot_open(place->fd, name, O_RDONLY);
    auto_fd to = from < 0 ? from : snapshot_open(place->other_fd, name, O_RDWR);
    return to < 0 ? to : mirror_free_room(from, to);
}

static int put_back(const struct snapshot_place *place, const char *name, const struct stat *kept) {
    const int flags = S_ISDIR(kept->st_mode) ? O_RDONLY | O_DIRECTORY : O_RDWR;
    if (!S_ISDIR(kept->st_mode) && !S_ISREG(kept->st_mode))
        return 0;
    auto_fd from = snapshot_open(place->fd, name, flags & ~O_RDWR);
    auto_fd to = from < 0 ? from : snapshot_open(place->other_fd, name, flags);
    int r = to < 0 ? to : 0;
    if (r == 0 && S_ISREG(kept->st_mode))
        r = mirror_fill(from, to);
    return r ? r : mirror_attributes(from, to);
}

static int restore(struct snapshot *snapshot, const struct snapshot_place *place, const char *name,
                   const struct stat *kept) {
    struct snapshot_node *changed = NULL;
    struct stat live;
    int r = look(snapshot, place, name, kept, &changed);
    if (r || !changed)
        return r;
    r = fstatat(place->other_fd, name, &live, AT_SYMLINK_NOFOLLOW) ? -errno : put_back(place, name, kept);
    snapshot->restored_access |= S_ISDIR(kept->st_mode) && (live.st_mode != kept->st_mode ||
                                                            live.st_uid != kept->st_uid || live.st_gid != kept->st_gid);
    if (r == 0)
        r = mirror_status(place->other_fd, name, kept);
    if (r == 0 && fstatat(place->other_fd, name, &live, AT_SYMLINK_NOFOLLOW))
        r = -errno;
    if (r == 0)
        snapshot_note(changed, &live);
    return r;
}

static int restore_entry(void *arg, const struct snapshot_place *place, const char *name, const struct stat *kept) {
    return S_ISDIR(kept->st_mode) ? SNAPSHOT_INTO_BOTH : restore(arg, place, name, kept);
}

/* Once all in it is in its place, which changes its times. */
static int restore_folder(void *arg, const struct snapshot_place *place, const char *name) {
    struct stat kept;
    return fstatat(place->fd, name, &kept, AT_SYMLINK_NOFOLLOW) ? -errno : restore(arg, place, name, &kept);
}

int snapshot_restore(struct snapshot *snapshot) {
    static const struct snapshot_walker evicting = {evict, leave_evicted}, placing = {place_entry, NULL},
                                        restoring = {restore_entry, restore_folder};
    const struct snapshot_folders *folders = &snapshot->folders;
    int r = snapshot_walk(folders->live, folders->kept, &evicting, snapshot);
    snapshot->round++;
    if (r == 0)
        r = snapshot_walk(folders->kept, folders->live, &placing, snapshot);
    if (r == 0) /* names aside count as a file's, so before its times; what could not be placed stays there */
        r = snapshot_empty(folders->live_aside);
    snapshot->round++;
    if (r == 0)
        r = snapshot_walk(folders->kept, folders->live, &restoring, snapshot);
    if (r == 0)
        snapshot->begun = (struct timespec){0};
    return r;
}
