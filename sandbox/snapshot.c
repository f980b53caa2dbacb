#define _GNU_SOURCE
#include "snapshot_inside.h"

#include "cleanup.h"
#include "tree.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* More than a tick of the clock that files have their times from. */
enum { TICK_NS = 20000000, NS_PER_S = 1000000000 };

int snapshot_create(const struct snapshot_folders *folders, struct snapshot **ret) {
    struct snapshot *snapshot = calloc(1, sizeof *snapshot);
    if (!snapshot)
        return -ENOMEM;
    snapshot->folders = *folders;
    int r = snapshot_commit(snapshot);
    if (r)
        snapshot_destroy(snapshot);
    else
        *ret = snapshot;
    return r;
}

void snapshot_destroy(struct snapshot *snapshot) {
    if (!snapshot)
        return;
    snapshot_nodes_fini(&snapshot->nodes);
    free(snapshot);
}

void snapshot_suspect(struct snapshot *snapshot, ino_t live) {
    struct snapshot_node *node = snapshot_node_of_live(&snapshot->nodes, live);
    if (node)
        node->suspect = true;
}

static bool is_same_time(struct timespec a, struct timespec b) {
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

bool snapshot_has_changed(const struct snapshot_node *node, const struct stat *live) {
    return node->suspect || node->recent || !is_same_time(node->changed, live->st_ctim) ||
           (S_ISREG(live->st_mode) && !is_same_time(node->used, live->st_atim));
}

/* A clock that has been set back makes files look recent, or of the future: both are looked at again. */
static bool is_recent(struct timespec time, struct timespec now) {
    const int64_t s = now.tv_sec - time.tv_sec;
    const int64_t ns = s * NS_PER_S + now.tv_nsec - time.tv_nsec;
    return s <= 1 && ns < TICK_NS;
}

void snapshot_note(struct snapshot_node *node, const struct stat *live) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    node->changed = live->st_ctim;
    node->used = live->st_atim;
    node->recent = is_recent(live->st_ctim, now) || (S_ISREG(live->st_mode) && is_recent(live->st_atim, now));
    node->suspect = false;
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

/* Below live, one name after the other, from the uppermost folder on: a path may be longer than any call takes. */
static int open_folder(const struct snapshot *snapshot, ino_t folder) {
    struct stat root;
    if (fstat(snapshot->folders.live, &root))
        return -errno;
    const struct snapshot_node *node = snapshot_node_of_live(&snapshot->nodes, folder);
    size_t depth = 0;
    for (const struct snapshot_node *at = node; at; at = snapshot_node_of_live(&snapshot->nodes, at->folder))
        depth++;
    if (!node && folder != root.st_ino)
        return -ENOENT;
    auto_free const char **names = calloc(depth + 1, sizeof *names);
    auto_fd fd = names ? tree_open(snapshot->folders.live, ".") : -ENOMEM;
    for (size_t i = depth; i-- > 0; node = snapshot_node_of_live(&snapshot->nodes, node->folder))
        names[i] = node->name;
    for (size_t i = 0; fd >= 0 && i < depth; i++) {
        int r = tree_go(&fd, names[i]);
        if (r)
            return r;
    }
    return steal_fd(&fd);
}

/* The folder in which a live file has the name that it had at the last commit. A descriptor, or -ENOENT, or -errno. */
static int open_folder_of(const struct snapshot *snapshot, const struct snapshot_node *node) {
    struct stat st;
    auto_fd fd = node && node->name ? open_folder(snapshot, node->folder) : -ENOENT;
    if (fd >= 0 && (fstatat(fd, node->name, &st, AT_SYMLINK_NOFOLLOW) || st.st_ino != node->live))
        return -ENOENT;
    return steal_fd(&fd);
}

bool snapshot_stands(const struct snapshot *snapshot, ino_t live) {
    auto_fd fd = open_folder_of(snapshot, snapshot_node_of_live(&snapshot->nodes, live));
    return fd >= 0;
}

ino_t snapshot_kept(const struct snapshot *snapshot, ino_t live) {
    const struct snapshot_node *node = snapshot_node_of_live(&snapshot->nodes, live);
    return node ? node->kept : 0;
}

static int guard(const struct snapshot *snapshot, ino_t live) {
    const struct snapshot_node *node = snapshot_node_of_live(&snapshot->nodes, live);
    if (!node || S_ISDIR(node->kind))
        return 0;
    auto_fd fd = open_folder_of(snapshot, node);
    if (fd < 0)
        return fd == -ENOENT ? 0 : fd;
    return snapshot_link_aside(fd, node->name, live, snapshot->folders.guards);
}

bool snapshot_is_guarded(const struct snapshot *snapshot, ino_t live) {
    char number[SNAPSHOT_NAME_BYTES];
    snapshot_number(live, number);
    return faccessat(snapshot->folders.guards, number, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static int by_number(const void *a, const void *b) {
    const ino_t x = *(const ino_t *)a, y = *(const ino_t *)b;
    return (x > y) - (x < y);
}

struct guarded {
    const ino_t *live;
    size_t n;
};

static int remove_guard(void *arg, const struct snapshot_place *place, const char *name, const struct stat *st) {
    const struct guarded *guarded = arg;
    if (guarded->n && bsearch(&st->st_ino, guarded->live, guarded->n, sizeof st->st_ino, by_number))
        return SNAPSHOT_PAST;
    return unlinkat(place->fd, name, 0) ? -errno : SNAPSHOT_PAST;
}

int snapshot_guard(struct snapshot *snapshot, ino_t *live, size_t n) {
    if (n)
        qsort(live, n, sizeof *live, by_number);
    int r = snapshot_walk(snapshot->folders.guards, -1, &(struct snapshot_walker){.visit = remove_guard},
                          &(struct guarded){live, n});
    for (size_t i = 0; r == 0 && i < n; i++)
        r = guard(snapshot, live[i]);
    return r;
}
