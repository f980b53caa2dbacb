/*
 * snapshot_entry.c - whether one file has changed, and how it is moved and made.
 *
 * A file counts as changed where its ctime or, for a regular one, its atime is
 * another than at the last look; where that time is not older than the moment from
 * which on files were written again, so that a change in the same tick of the clock
 * has the same one; or where it is suspected. All of these may be wrong in one
 * direction only: what is unchanged may be compared once more.
 */
#define _GNU_SOURCE
#include "snapshot_entry.h"

#include "sandbox/files/snapshot_walk.h"
#include "sandbox/files/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static bool is_same_time(struct timespec a, struct timespec b) {
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static bool is_before(struct timespec a, struct timespec b) {
    return a.tv_sec != b.tv_sec ? a.tv_sec < b.tv_sec : a.tv_nsec < b.tv_nsec;
}

/* Whether a time of a file tells that nothing has moved it. */
static bool is_as_noted(struct timespec noted, struct timespec is, struct timespec begun) {
    return is_same_time(noted, is) && is_before(noted, begun);
}

bool snapshot_has_changed(const struct snapshot_node *node, const struct stat *live, struct timespec begun) {
    return node->suspect || !is_as_noted(node->changed, live->st_ctim, begun) ||
           (S_ISREG(live->st_mode) && !is_as_noted(node->used, live->st_atim, begun));
}

void snapshot_note(struct snapshot_node *node, const struct stat *live) {
    node->changed = live->st_ctim;
    node->used = live->st_atim;
    node->suspect = node->same = false;
}

void snapshot_note_link(struct snapshot_node *node, const struct stat *before, const struct stat *after) {
    if (is_same_time(node->changed, before->st_ctim))
        node->changed = after->st_ctim;
}

int snapshot_note_name(struct snapshot_node *node, int fd, const char *name) {
    struct stat folder;
    if (fstat(fd, &folder))
        return -errno;
    if (!node->name || strcmp(node->name, name) != 0) {
        char *copy = strdup(name);
        if (!copy)
            return -ENOMEM;
        free(node->name);
        node->name = copy;
    }
    node->folder = folder.st_ino;
    return 0;
}

void snapshot_number(ino_t inode, char ret_name[SNAPSHOT_NAME_BYTES]) {
    snprintf(ret_name, SNAPSHOT_NAME_BYTES, "%ju", (uintmax_t)inode);
}

int snapshot_put_aside(int fd, const char *name, ino_t inode, int aside_fd) {
    char number[SNAPSHOT_NAME_BYTES];
    snapshot_number(inode, number);
    if (renameat2(fd, name, aside_fd, number, RENAME_NOREPLACE) == 0)
        return 0;
    return errno != EEXIST || unlinkat(fd, name, 0) ? -errno : 0;
}

int snapshot_link_aside(int fd, const char *name, ino_t inode, int aside_fd) {
    char number[SNAPSHOT_NAME_BYTES];
    snapshot_number(inode, number);
    return linkat(fd, name, aside_fd, number, 0) && errno != EEXIST ? -errno : 0;
}

int snapshot_take(int aside_fd, ino_t inode, int fd, const char *name, bool stays) {
    char number[SNAPSHOT_NAME_BYTES];
    snapshot_number(inode, number);
    if ((stays ? linkat(aside_fd, number, fd, name, 0) : renameat2(aside_fd, number, fd, name, RENAME_NOREPLACE)) == 0)
        return 1;
    return errno == ENOENT ? 0 : -errno;
}

static int make_symlink(int from_fd, const char *name, int to_fd) {
    char target[PATH_MAX];
    ssize_t n = readlinkat(from_fd, name, target, sizeof target - 1);
    if (n < 0)
        return -errno;
    target[n] = 0;
    return symlinkat(target, to_fd, name) ? -errno : 0;
}

int snapshot_make(int from_fd, const char *name, const struct stat *st, int to_fd, struct stat *ret_st) {
    int r;
    if (S_ISLNK(st->st_mode))
        r = make_symlink(from_fd, name, to_fd);
    else if (S_ISDIR(st->st_mode))
        r = mkdirat(to_fd, name, 0700) ? -errno : 0;
    else
        r = mknodat(to_fd, name, (st->st_mode & S_IFMT) | 0600, st->st_rdev) ? -errno : 0;
    return r == 0 && fstatat(to_fd, name, ret_st, AT_SYMLINK_NOFOLLOW) ? -errno : r;
}

int snapshot_open(int fd, const char *name, int flags) {
    int opened = openat(fd, name, flags | O_NOFOLLOW | O_NOATIME | O_NONBLOCK | O_CLOEXEC);
    return opened < 0 ? -errno : opened;
}

static int remove_entry(void *arg, const struct snapshot_place *place, const char *name, const struct stat *st) {
    (void)arg, (void)st;
    int r = tree_remove(place->fd, name);
    return r < 0 ? r : SNAPSHOT_PAST;
}

int snapshot_empty(int fd) {
    return snapshot_walk(fd, -1, &(struct snapshot_walker){.visit = remove_entry}, NULL);
}
