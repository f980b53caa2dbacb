/*
 * layers.c - the tables of folders, and the layer of one cell.
 *
 * Mount points that cells need below their own areas are made in layers, with all
 * folders on the way, so that no mount depends on what the host has there.
 */
#define _GNU_SOURCE
#include "layers.h"

#include "base/cleanup.h"
#include "sandbox/files/folder.h"
#include "sandbox/files/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

static const char *const areas[] = {"private", "folder"};
enum { N_AREAS = sizeof areas / sizeof areas[0] };

static const struct {
    const char *name;
    mode_t mode;
    bool owned; /* by the cells' user */
} folders[] = {
    {"live/files", 0755, false},      {"live/files/private", 0755, true}, {"live/files/folder", 0755, true},
    {"live/folder.work", 0755, true}, {"live/aside", 0700, false},        {"live/guards", 0700, false},
    {"kept/files", 0755, false},      {"kept/aside", 0700, false},        {"kept/first", 0755, false},
    {"kept/hidden", 0755, true},      {"kept/emptied", 0755, true},       {"kept/unseen", 0755, true},
    {"kept/versions", 0755, false},
};

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
    {"live/files/private/tmp", "/tmp", 01777},
    {"live/files/private/home", "/home/petri", 0755},
    {"live/files/private/shm", "/dev/shm", 01777},
    {"kept/mountpoints", "/work", 0755},
};

void layer_name(uint64_t id, char ret_name[LAYER_NAME_SIZE]) {
    snprintf(ret_name, LAYER_NAME_SIZE, "cells/%" PRIu64, id);
}

void layer_base(uint64_t id, char ret_name[LAYER_NAME_SIZE]) {
    const uint64_t version = id >> 32 & LAYER_VERSION_MAX;
    if (version)
        snprintf(ret_name, LAYER_NAME_SIZE, "kept/versions/%" PRIu64, version);
    else
        snprintf(ret_name, LAYER_NAME_SIZE, "%s", id & LAYER_OVER_FIRST ? "kept/first" : "kept/files");
}

static int make_owned(int dir_fd, const char *name, mode_t mode, uid_t uid, gid_t gid) {
    if (mkdirat(dir_fd, name, 0700) && errno != EEXIST)
        return -errno;
    if (fchownat(dir_fd, name, uid, gid, AT_SYMLINK_NOFOLLOW) || fchmodat(dir_fd, name, mode, 0))
        return -errno;
    return 0;
}

int layers_init(int dir_fd, uid_t uid, gid_t gid) {
    int r = 0;
    for (size_t i = 0; r == 0 && i < sizeof folders / sizeof folders[0]; i++)
        r = make_owned(dir_fd, folders[i].name, folders[i].mode, folders[i].owned ? uid : 0,
                       folders[i].owned ? gid : 0);
    for (size_t i = 0; r == 0 && i < sizeof seen_areas / sizeof seen_areas[0]; i++)
        r = make_owned(dir_fd, seen_areas[i].name, seen_areas[i].mode, uid, gid);
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
        const size_t start = strlen(seen_areas[i].name);
        snprintf(name, sizeof name, "%s%s", seen_areas[i].name, rest);
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

int layers_find(const char *path, const char *folder, char *ret_name, size_t size) {
    const struct {
        const char *seen_at, *name;
    } rows[] = {{folder, "folder"}, /* which may lie in another area */
                {"/work", "folder"},
                {"/tmp", "private/tmp"},
                {"/home/petri", "private/home"},
                {"/dev/shm", "private/shm"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *rest = rows[i].seen_at && rows[i].seen_at[0] ? folder_rest(rows[i].seen_at, path) : NULL;
        if (rest && (rest[0] == '/' || rest[0] == 0))
            return (size_t)snprintf(ret_name, size, "%s%s", rows[i].name, rest) < size ? 0 : -ENAMETOOLONG;
    }
    return -ENOENT;
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
    }
    return r;
}

int layer_remove(int dir_fd, uint64_t id) {
    char name[LAYER_NAME_SIZE];
    layer_name(id, name);
    return tree_remove(dir_fd, name);
}
