/*
 * snapshot_merge.c - walks a layer, with the tree that it is merged into beside it.
 *
 * What the layer has replaces what stands at the same name, but for a folder over a folder: these become one, unless
 * the layer's is opaque. Whether something below both has a name is looked up by the path, as long as no
 * folder on the way hides it.
 */
#define _GNU_SOURCE
#include "snapshot_merge.h"

#include "base/cleanup.h"
#include "sandbox/files/mirror.h"
#include "sandbox/files/overlay.h"
#include "sandbox/files/snapshot_entry.h"
#include "sandbox/files/snapshot_walk.h"
#include "sandbox/files/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

struct merging {
    const struct snapshot_merge_folders *folders;
    unsigned depth;      /* 0 in the layer itself, 1 in "private" or "folder" */
    unsigned hidden;     /* the depth of the folder that hides what the host has there; 0 for none */
    bool on_folder;      /* in "folder" */
    char path[PATH_MAX]; /* below that; "" for itself */
    unsigned unsaid;     /* how many folders of the way that is too short for */
};

static bool is_area(const char *name) {
    return strcmp(name, "private") == 0 || strcmp(name, "folder") == 0;
}

/* Goes into a folder; what is deeper than a path can say the host does not have. */
static void push(struct merging *merging, const char *name, bool hides) {
    const size_t n = strlen(merging->path);
    if (merging->depth == 0)
        merging->on_folder = strcmp(name, "folder") == 0;
    else if (merging->unsaid > 0 || n + strlen(name) + 2 > sizeof merging->path)
        merging->unsaid++;
    else
        snprintf(merging->path + n, sizeof merging->path - n, "/%s", name);
    merging->depth++;
    if (hides && merging->hidden == 0)
        merging->hidden = merging->depth;
}

static void pop(struct merging *merging) {
    char *last = strrchr(merging->path, '/');
    if (merging->unsaid > 0)
        merging->unsaid--;
    else if (last)
        *last = 0;
    if (merging->hidden == merging->depth)
        merging->hidden = 0;
    merging->depth--;
}

/* Whether what lies below has an entry that is to be hidden in the folder that is walked. */
static bool is_below(const struct merging *merging, const char *name) {
    char path[PATH_MAX + NAME_MAX + 2];
    struct stat st;
    if (!merging->on_folder || merging->hidden || merging->unsaid)
        return false;
    snprintf(path, sizeof path, "%s/%s", merging->path, name);
    for (const int *fd = merging->folders->below; *fd >= 0; fd++)
        if (fstatat(*fd, path + 1, &st, AT_SYMLINK_NOFOLLOW) == 0)
            return true;
    return false;
}

static bool is_opaque_at(int dir_fd, const char *name) {
    auto_fd fd = snapshot_open(dir_fd, name, O_RDONLY | O_DIRECTORY);
    return fd >= 0 && overlay_is_opaque(fd);
}

static int put_whiteout(const struct snapshot_place *place, const char *name, const struct stat *st) {
    int r = overlay_put_whiteout(place->other_fd, name);
    return r ? r : mirror_status(place->other_fd, name, st);
}

/* Takes away what the overlay of the layer has noted: plain files have none of it, and of others it is of no use to
 * another overlay. 0 or -errno. */
static int strip(int fd) {
    char names[4096];
    const ssize_t n = flistxattr(fd, names, sizeof names);
    for (const char *name = names; n > 0 && name < names + n; name += strlen(name) + 1)
        if (strncmp(name, "user.overlay.", 13) == 0 && fremovexattr(fd, name))
            return -errno;
    return n < 0 && errno != EOPNOTSUPP && errno != ENOTSUP ? -errno : 0;
}

static int copy_contents(const struct snapshot_place *place, const char *name) {
    auto_fd from = snapshot_open(place->fd, name, O_RDONLY);
    auto_fd to = from < 0 ? from : snapshot_open(place->other_fd, name, O_RDWR);
    int r = to < 0 ? to : mirror_free_room(from, to);
    if (r == 0)
        r = mirror_fill(from, to);
    if (r == 0)
        r = mirror_attributes(from, to);
    return r ? r : strip(to);
}

/* Of several names of a file the first one is copied, and the others find it aside. */
static int copy(const struct merging *merging, const struct snapshot_place *place, const char *name,
                const struct stat *st, struct stat *ret_made) {
    const int aside_fd = merging->folders->aside;
    int r = st->st_nlink > 1 ? snapshot_take(aside_fd, st->st_ino, place->other_fd, name, true) : 0;
    if (r)
        return r < 0 ? r : 0;
    r = snapshot_make(place->fd, name, st, place->other_fd, ret_made);
    if (r == 0 && S_ISREG(st->st_mode))
        r = copy_contents(place, name);
    if (r == 0 && st->st_nlink > 1)
        r = snapshot_link_aside(place->other_fd, name, st->st_ino, aside_fd);
    return r ? r : mirror_status(place->other_fd, name, st);
}

/* Puts what the layer has in the place of what is there. */
static int replace(const struct merging *merging, const struct snapshot_place *place, const char *name,
                   const struct stat *st) {
    const struct snapshot_merge_folders *folders = merging->folders;
    struct stat before, made = {0};
    const bool stood = fstatat(place->other_fd, name, &before, AT_SYMLINK_NOFOLLOW) == 0;
    int r = stood ? tree_remove(place->other_fd, name) : 0;
    if (r)
        return r;
    if (overlay_is_whiteout(st))
        return is_below(merging, name) ? put_whiteout(place, name, st) : 0;
    r = copy(merging, place, name, st, &made);
    return r == 0 && folders->replaced && stood && S_ISREG(before.st_mode) && S_ISREG(made.st_mode)
               ? folders->replaced(folders->arg, before.st_ino, made.st_ino)
               : r;
}

/* A folder of the layer: there is one at its name afterwards. */
static int enter(struct merging *merging, const struct snapshot_place *place, const char *name) {
    struct stat there;
    const bool opaque = is_opaque_at(place->fd, name);
    const bool stands = fstatat(place->other_fd, name, &there, AT_SYMLINK_NOFOLLOW) == 0;
    const bool stays = stands && S_ISDIR(there.st_mode) && !opaque;
    const bool hides = opaque || (stands && !S_ISDIR(there.st_mode)) || is_opaque_at(place->other_fd, name);
    int r = stands && !stays ? tree_remove(place->other_fd, name) : 0;
    if (r == 0 && !stays && mkdirat(place->other_fd, name, 0700))
        r = -errno;
    if (r)
        return r;
    push(merging, name, hides);
    return SNAPSHOT_INTO_BOTH;
}

/* An entry of the layer; the tree's folder is the other one. */
static int merge_entry(void *arg, const struct snapshot_place *place, const char *name, const struct stat *st) {
    struct merging *merging = arg;
    if (merging->depth == 0 && !is_area(name))
        return SNAPSHOT_PAST;
    return S_ISDIR(st->st_mode) ? enter(merging, place, name) : replace(merging, place, name, st);
}

/* A folder that hid what the host has there goes on to do so. */
static int leave_folder(void *arg, const struct snapshot_place *place, const char *name) {
    struct merging *merging = arg;
    struct stat st;
    const bool hides = merging->hidden == merging->depth;
    pop(merging);
    auto_fd from = snapshot_open(place->fd, name, O_RDONLY | O_DIRECTORY);
    auto_fd to = from < 0 ? from : snapshot_open(place->other_fd, name, O_RDONLY | O_DIRECTORY);
    int r = to < 0 ? to : mirror_attributes(from, to);
    if (r == 0 && hides && merging->on_folder && fsetxattr(to, OVERLAY_OPAQUE, "y", 1, 0))
        r = -errno;
    if (r == 0 && !merging->on_folder)
        r = strip(to);
    if (r < 0 || fstatat(place->fd, name, &st, AT_SYMLINK_NOFOLLOW))
        return r < 0 ? r : -errno;
    return mirror_status(place->other_fd, name, &st);
}

int snapshot_merge_layer(const struct snapshot_merge_folders *folders) {
    static const struct snapshot_walker walker = {merge_entry, leave_folder};
    struct merging merging = {.folders = folders};
    int r = snapshot_walk(folders->layer, folders->to, &walker, &merging);
    int emptied = snapshot_empty(folders->aside);
    return r ? r : emptied;
}
