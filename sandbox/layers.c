#define _GNU_SOURCE
#include "layers.h"

#include "cleanup.h"
#include "folder.h"
#include "overlay.h"
#include "tree.h"
#include "tree_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#define LINKS "links" /* there while a layer is copied */

static const char *const areas[] = {"private", "folder"};
enum { N_AREAS = sizeof areas / sizeof areas[0] };

/*
 * Where cells see what, for mount points: the areas of "private", and /work,
 * which takes its mount points from a layer of their own below the notebook's
 * folder, so that they are no files of a cell.
 */
static const struct {
    const char *name;
    const char *seen_at;
    mode_t mode;
} seen_areas[] = {
    {"private/tmp", "/tmp", 01777},
    {"private/home", "/home/petri", 0755},
    {"private/shm", "/dev/shm", 01777},
    {"mountpoints", "/work", 0755},
};

void layer_name(uint64_t id, char ret_name[LAYER_NAME_SIZE]) {
    snprintf(ret_name, LAYER_NAME_SIZE, "cells/%" PRIu64, id);
}

const char *layer_base(uint64_t id) {
    return id & LAYER_OVER_FIRST ? "first" : "committed";
}

static int make_owned(int dir_fd, const char *name, mode_t mode, uid_t uid, gid_t gid) {
    if (mkdirat(dir_fd, name, 0700) && errno != EEXIST)
        return -errno;
    if (fchownat(dir_fd, name, uid, gid, AT_SYMLINK_NOFOLLOW) || fchmodat(dir_fd, name, mode, 0))
        return -errno;
    return 0;
}

int layers_init(int dir_fd, uid_t uid, gid_t gid) {
    char name[64];
    int r = make_owned(dir_fd, "cells", 0755, 0, 0);
    if (r == 0)
        r = make_owned(dir_fd, "committed", 0755, 0, 0);
    for (int i = 0; r == 0 && i < N_AREAS; i++) {
        snprintf(name, sizeof name, "committed/%s", areas[i]);
        r = make_owned(dir_fd, name, 0755, uid, gid);
    }
    for (size_t i = 0; r == 0 && i < sizeof seen_areas / sizeof seen_areas[0]; i++) {
        snprintf(name, sizeof name, "committed/%s", seen_areas[i].name);
        r = make_owned(dir_fd, name, seen_areas[i].mode, uid, gid);
    }
    return r;
}

static int make_file(int dir_fd, const char *name, uid_t uid, gid_t gid) {
    if (mknodat(dir_fd, name, S_IFREG | 0644, 0) && errno != EEXIST)
        return -errno;
    return fchownat(dir_fd, name, uid, gid, AT_SYMLINK_NOFOLLOW) ? -errno : 0;
}

int layers_make_mount_point(int dir_fd, const char *path, bool folder, uid_t uid, gid_t gid) {
    char name[PATH_MAX];
    for (size_t i = 0; i < sizeof seen_areas / sizeof seen_areas[0]; i++) {
        const char *rest = folder_rest(seen_areas[i].seen_at, path);
        if (!rest || !rest[0])
            continue;
        int start = snprintf(name, sizeof name, "committed/%s", seen_areas[i].name);
        snprintf(name + start, sizeof name - (size_t)start, "%s", rest);
        for (char *p = name + start + 1;; p++) {
            char at = *p;
            if (at != '/' && at != 0)
                continue;
            *p = 0;
            int r = at == 0 && !folder ? make_file(dir_fd, name, uid, gid) : make_owned(dir_fd, name, 0755, uid, gid);
            if (r || at == 0)
                return r;
            *p = at;
        }
    }
    return 0;
}

bool layers_are_copied(int dir_fd) {
    return fgetxattr(dir_fd, OVERLAY_OPAQUE, NULL, 0) < 0 && errno == EOPNOTSUPP;
}

static int open_area(int dir_fd, const char *layer, const char *area) {
    char path[LAYER_NAME_SIZE + 16];
    snprintf(path, sizeof path, "%s/%s", layer, area);
    return tree_open(dir_fd, path);
}

static int copy_area(int dir_fd, const char *base, const char *layer, const char *area) {
    auto_fd from = open_area(dir_fd, base, area);
    auto_fd to = open_area(dir_fd, layer, area);
    int r = from < 0 ? from : (to < 0 ? to : make_owned(dir_fd, LINKS, 0700, 0, 0));
    auto_fd links = r == 0 ? tree_open(dir_fd, LINKS) : r;
    if (r == 0)
        r = links < 0 ? links : tree_copy(from, to, links);
    int removed = tree_remove(dir_fd, LINKS);
    return r ? r : removed;
}

int layer_create(int dir_fd, uint64_t id, uid_t uid, gid_t gid) {
    char name[LAYER_NAME_SIZE], path[LAYER_NAME_SIZE + 16];
    layer_name(id, name);
    int r = make_owned(dir_fd, name, 0755, 0, 0);
    for (int i = 0; r == 0 && i < N_AREAS; i++) {
        snprintf(path, sizeof path, "%s/%s", name, areas[i]);
        r = make_owned(dir_fd, path, 0755, uid, gid);
        snprintf(path, sizeof path, "%s/%s.work", name, areas[i]);
        if (r == 0)
            r = make_owned(dir_fd, path, 0755, uid, gid);
        if (r == 0 && layers_are_copied(dir_fd))
            r = copy_area(dir_fd, layer_base(id), name, areas[i]);
    }
    return r;
}

int layers_keep_first(int dir_fd, uid_t uid, gid_t gid) {
    char path[LAYER_NAME_SIZE];
    int r = make_owned(dir_fd, "first", 0755, 0, 0);
    for (int i = 0; r == 0 && i < N_AREAS; i++) {
        snprintf(path, sizeof path, "first/%s", areas[i]);
        r = make_owned(dir_fd, path, 0755, uid, gid);
        if (r == 0)
            r = copy_area(dir_fd, "committed", "first", areas[i]);
    }
    return r;
}

int layer_remove(int dir_fd, uint64_t id) {
    char name[LAYER_NAME_SIZE];
    layer_name(id, name);
    return tree_remove(dir_fd, name);
}

static bool is_folder(int dir_fd, const char *name) {
    struct stat st;
    return fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

/* A folder that is in both layers keeps the upper one's owner, mode and times. */
static int copy_attributes(int from, int to) {
    struct stat st;
    if (fstat(from, &st) || fchown(to, st.st_uid, st.st_gid) || fchmod(to, st.st_mode & 07777))
        return -errno;
    return futimens(to, (struct timespec[]){st.st_atim, st.st_mtim}) ? -errno : 0;
}

/*
 * Where a merge stands: the same folder of the layer and of the committed one,
 * depth folders below the area. From `hidden` of them on nothing below the
 * folder merged into is seen, so that it needs no whiteouts.
 */
struct merge {
    int from, to;
    int depth, hidden;
    char name[NAME_MAX + 1]; /* of a folder in it that has to be merged first */
};

static bool is_lowest(const struct merge *merge) {
    return merge->depth >= merge->hidden;
}

static bool is_whiteout(int dir_fd, const char *name) {
    struct stat st;
    return fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && overlay_is_whiteout(&st);
}

static int make_opaque(int dir_fd, const char *name) {
    auto_fd fd = tree_open(dir_fd, name);
    if (fd < 0)
        return fd;
    return fsetxattr(fd, OVERLAY_OPAQUE, "y", 1, 0) ? -errno : 0;
}

/*
 * An entry takes the place of what was there, which hid what is below both
 * layers: so a folder in the place of a file or a whiteout becomes opaque.
 */
static int replace_entry(const struct merge *merge, const char *name) {
    int from = merge->from, to = merge->to, r = 0;
    bool whiteout = is_whiteout(from, name), folder = is_folder(from, name), over_folder = is_folder(to, name);
    if (whiteout && is_lowest(merge)) {
        r = tree_remove(to, name);
        return r ? r : (unlinkat(from, name, 0) ? -errno : 0);
    }
    if (whiteout)
        r = overlay_mark_copied(to);
    else if (folder && !over_folder && !is_lowest(merge) && faccessat(to, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        r = make_opaque(from, name);
    if (r == 0 && (folder || over_folder))
        r = tree_remove(to, name);
    return r ? r : (renameat(from, name, to, name) ? -errno : 0);
}

/* A folder over a folder: merged at once if it is empty, replaced if it is opaque. 1 where it has to be gone into. */
static int merge_folders(const struct merge *merge, const char *name) {
    auto_fd upper = tree_open(merge->from, name);
    auto_fd lower = tree_open(merge->to, name);
    if (upper < 0 || lower < 0)
        return upper < 0 ? upper : lower;
    if (overlay_is_opaque(upper))
        return replace_entry(merge, name);
    int r = copy_attributes(upper, lower);
    if (r == 0 && unlinkat(merge->from, name, AT_REMOVEDIR))
        r = errno == ENOTEMPTY ? 1 : -errno;
    return r;
}

static int merge_entry(void *arg, const char *name, off_t next) {
    struct merge *merge = arg;
    bool both = is_folder(merge->from, name) && is_folder(merge->to, name);
    int r = both ? merge_folders(merge, name) : replace_entry(merge, name);
    (void)next;
    if (r > 0)
        memcpy(merge->name, name, strlen(name) + 1);
    return r;
}

/*
 * Moves entries down until a folder has to be gone into: 1. 0 when nothing is
 * left, or -errno. The folder that they are taken out of keeps its times.
 */
static int merge_entries(struct merge *merge) {
    struct stat st;
    if (fstat(merge->from, &st) || lseek(merge->from, 0, SEEK_SET) < 0)
        return -errno;
    int r = tree_read(merge->from, merge_entry, merge);
    if (futimens(merge->from, (struct timespec[]){st.st_atim, st.st_mtim}) && r >= 0)
        r = -errno;
    return r;
}

/* Goes down into a folder that both have, or up to the one above. 1 or -errno. */
static int go(struct merge *merge, const char *name, int step) {
    int r = tree_go(&merge->from, name);
    if (r == 0)
        r = tree_go(&merge->to, name);
    if (r)
        return r;
    merge->depth += step;
    if (merge->depth < merge->hidden)
        merge->hidden = step > 0 && overlay_is_opaque(merge->to) ? merge->depth : INT_MAX;
    return 1;
}

/* A folder is gone into and, once nothing is left in it, out of again: no depth needs more than some descriptors. */
static int merge_area(struct merge *merge) {
    int r;
    do {
        r = merge_entries(merge);
        if (r > 0)
            r = go(merge, merge->name, 1);
        else if (r == 0 && merge->depth > 0)
            r = go(merge, "..", -1);
    } while (r > 0);
    return r;
}

static int commit_area(int dir_fd, const char *layer, const char *area) {
    struct merge merge = {.from = open_area(dir_fd, layer, area),
                          .to = open_area(dir_fd, "committed", area),
                          .hidden = strcmp(area, "private") == 0 ? 0 : INT_MAX};
    int r = merge.from < 0 ? merge.from : (merge.to < 0 ? merge.to : merge_area(&merge));
    close_fd(&merge.from);
    close_fd(&merge.to);
    return r;
}

/* The layer's area and the committed one change places; the one that was committed goes with the layer. */
static int exchange_area(int dir_fd, const char *layer, const char *area) {
    char from[LAYER_NAME_SIZE + 16], to[LAYER_NAME_SIZE + 16];
    snprintf(from, sizeof from, "%s/%s", layer, area);
    snprintf(to, sizeof to, "committed/%s", area);
    return renameat2(dir_fd, from, dir_fd, to, RENAME_EXCHANGE) ? -errno : 0;
}

int layer_commit(int dir_fd, uint64_t id) {
    char name[LAYER_NAME_SIZE];
    int (*commit)(int, const char *, const char *) = layers_are_copied(dir_fd) ? exchange_area : commit_area;
    layer_name(id, name);
    int r = 0;
    for (int i = 0; r == 0 && i < N_AREAS; i++)
        r = commit(dir_fd, name, areas[i]);
    return r ? r : layer_remove(dir_fd, id);
}
