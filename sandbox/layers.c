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

#define ORIGIN "user.overlay.origin"
#define LINKS "links" /* there while a layer is copied */

enum { MAX_DEPTH = 256 }; /* of folders that exist in both layers: deeper ones are refused, not merged */

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

int layers_make_mount_point(int dir_fd, const char *path, uid_t uid, gid_t gid) {
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
            int r = make_owned(dir_fd, name, 0755, uid, gid);
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
    int fd = openat(dir_fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

static int copy_area(int dir_fd, const char *base, const char *layer, const char *area) {
    auto_fd from = open_area(dir_fd, base, area);
    auto_fd to = open_area(dir_fd, layer, area);
    int r = from < 0 ? from : (to < 0 ? to : make_owned(dir_fd, LINKS, 0700, 0, 0));
    auto_fd links = r == 0 ? openat(dir_fd, LINKS, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (r == 0)
        r = links < 0 ? -errno : tree_copy(from, to, links);
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

/* Where a merge stands; lowest: nothing below the folder merged into is seen, so that it needs no whiteouts. */
struct merge {
    bool lowest;
    int depth;
};

static int merge_folder(int from, int to, struct merge merge);

static bool is_whiteout(int dir_fd, const char *name) {
    struct stat st;
    return fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && overlay_is_whiteout(&st);
}

/* Linux looks for whiteouts in a folder that no other layer has only where it bears this mark: "copied up". */
static int expect_whiteouts(int fd) {
    return fsetxattr(fd, ORIGIN, "", 0, 0) ? -errno : 0;
}

static int make_opaque(int dir_fd, const char *name) {
    auto_fd fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 || fsetxattr(fd, OVERLAY_OPAQUE, "y", 1, 0) ? -errno : 0;
}

/* Whether a folder was merged with the one below it: 1, 0 where it is opaque and takes its place, or -errno. */
static int merge_folders(int from, int to, const char *name, struct merge merge) {
    auto_fd upper = openat(from, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    auto_fd lower = openat(to, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (upper < 0 || lower < 0)
        return -errno;
    if (overlay_is_opaque(upper))
        return 0;
    int r = merge_folder(upper, lower, (struct merge){merge.lowest || overlay_is_opaque(lower), merge.depth + 1});
    if (r == 0)
        r = copy_attributes(upper, lower);
    return r ? r : 1;
}

/*
 * An entry takes the place of what was there, which hid what is below both
 * layers: so a folder in the place of a file or a whiteout becomes opaque.
 */
static int replace_entry(int from, int to, const char *name, struct merge merge) {
    bool whiteout = is_whiteout(from, name), folder = is_folder(from, name), over_folder = is_folder(to, name);
    int r = 0;
    if (merge.lowest && whiteout)
        return tree_remove(to, name);
    if (whiteout)
        r = expect_whiteouts(to);
    else if (folder && !over_folder && !merge.lowest && faccessat(to, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        r = make_opaque(from, name);
    if (r == 0 && (folder || over_folder))
        r = tree_remove(to, name);
    return r ? r : (renameat(from, name, to, name) ? -errno : 0);
}

/* Moves one entry down. A folder over a folder is merged, unless it is opaque. */
static int merge_entry(int from, int to, const char *name, struct merge merge) {
    int r = is_folder(from, name) && is_folder(to, name) ? merge_folders(from, to, name, merge) : 0;
    return r ? (r < 0 ? r : 0) : replace_entry(from, to, name, merge);
}

static int merge_folder(int from, int to, struct merge merge) {
    int copy = openat(from, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
    auto_dir dir = copy < 0 ? NULL : fdopendir(copy);
    struct dirent *entry;
    if (!dir)
        return -errno;
    if (merge.depth > MAX_DEPTH)
        return -ELOOP;
    while (r == 0 && (entry = readdir(dir)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            r = merge_entry(from, to, entry->d_name, merge);
    return r;
}

static int commit_area(int dir_fd, const char *layer, const char *area) {
    auto_fd from = open_area(dir_fd, layer, area);
    auto_fd to = open_area(dir_fd, "committed", area);
    if (from < 0 || to < 0)
        return from < 0 ? from : to;
    return merge_folder(from, to, (struct merge){.lowest = strcmp(area, "private") == 0});
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
