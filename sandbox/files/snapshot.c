/*
 * snapshot.c - pairs of live files and copies, and the guards that keep live files alive.
 *
 * A snapshot pairs each live file with its kept copy by inode number (nodes), and
 * remembers the times that the live file had when the two were the same. To make
 * one is to commit for the first time.
 *
 * Guards are second names of live files that an image has open or mapped. A cell
 * may remove every name that it knows of such a file, and the inode still has one,
 * so that a rollback can link it again, and processes that have it open have the right
 * file.
 * A node knows the folder and the name that its file had at the last commit; from
 * these the path is walked, name by name, because it may be longer than a call
 * takes.
 */
#define _GNU_SOURCE
#include "sandbox/files/snapshot_inside.h"

#include "base/cleanup.h"
#include "sandbox/files/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

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

/*
 * The file system's own clock, which can be before any that a program can ask for:
 * since Linux 6.13 the ctime of a file that was looked at is taken more finely, and no
 * later one is before it. So a time is taken that has to be fine. See:
 * "Multigrain Timestamps" in Linux's documentation.
 */
static int read_clock(int folder_fd, struct timespec *ret) {
    struct stat st;
    for (int i = 0; i < 2; i++) /* the second time within the tick of the first */
        if (futimens(folder_fd, NULL) || fstat(folder_fd, &st))
            return -errno;
    *ret = st.st_ctim;
    return 0;
}

void snapshot_begin(struct snapshot *snapshot) {
    if (snapshot->begun.tv_sec == 0 && read_clock(snapshot->folders.guards, &snapshot->begun))
        snapshot->begun = (struct timespec){0}; /* then all count as changed */
}

bool snapshot_take_access(struct snapshot *snapshot) {
    const bool restored = snapshot->restored_access;
    snapshot->restored_access = false;
    return restored;
}

void snapshot_suspect(struct snapshot *snapshot, ino_t live) {
    struct snapshot_node *node = snapshot_node_of_live(&snapshot->nodes, live);
    if (node)
        node->suspect = true;
}

bool snapshot_is_unchanged(const struct snapshot *snapshot, const struct stat *live, ino_t kept) {
    const struct snapshot_node *node = snapshot_node_of_live(&snapshot->nodes, live->st_ino);
    return node && node->kept == kept && node->kind == (live->st_mode & S_IFMT) &&
           (node->same || !snapshot_has_changed(node, live, snapshot->begun));
}

void snapshot_note_same(struct snapshot *snapshot, ino_t live, ino_t kept) {
    struct snapshot_node *node = snapshot_node_of_live(&snapshot->nodes, live);
    if (node && node->kept == kept)
        node->same = true;
}

/* Opens a live folder, walking one name after the other from the top: its path may be longer than any call takes. */
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

static int open_entry(int fd, const char *name) {
    int entry_fd = openat(fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    return entry_fd < 0 ? -errno : entry_fd;
}

static int guard(const struct snapshot *snapshot, ino_t live) {
    struct snapshot_node *node = snapshot_node_of_live(&snapshot->nodes, live);
    struct stat before, after;
    if (!node || S_ISDIR(node->kind))
        return 0;
    auto_fd fd = open_folder_of(snapshot, node);
    if (fd < 0)
        return fd == -ENOENT ? 0 : fd;
    auto_fd file_fd = open_entry(fd, node->name);
    if (file_fd < 0 || fstat(file_fd, &before))
        return -errno;
    int r = snapshot_link_aside(fd, node->name, live, snapshot->folders.guards);
    if (r == 0 && fstat(file_fd, &after) == 0)
        snapshot_note_link(node, &before, &after);
    return r;
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
    const struct snapshot *snapshot;
    const ino_t *live;
    size_t n;
};

static int remove_guard(void *arg, const struct snapshot_place *place, const char *name, const struct stat *st) {
    const struct guarded *guarded = arg;
    struct stat after;
    if (guarded->n && bsearch(&st->st_ino, guarded->live, guarded->n, sizeof st->st_ino, by_number))
        return SNAPSHOT_PAST;
    struct snapshot_node *node = snapshot_node_of_live(&guarded->snapshot->nodes, st->st_ino);
    auto_fd fd = open_entry(place->fd, name);
    if (fd < 0 || unlinkat(place->fd, name, 0))
        return -errno;
    if (node && fstat(fd, &after) == 0)
        snapshot_note_link(node, st, &after);
    return SNAPSHOT_PAST;
}

int snapshot_guard(struct snapshot *snapshot, ino_t *live, size_t n) {
    if (n)
        qsort(live, n, sizeof *live, by_number);
    int r = snapshot_walk(snapshot->folders.guards, -1, &(struct snapshot_walker){.visit = remove_guard},
                          &(struct guarded){snapshot, live, n});
    for (size_t i = 0; r == 0 && i < n; i++)
        r = guard(snapshot, live[i]);
    return r;
}

static int empty_guard(void *arg, const struct snapshot_place *place, const char *name, const struct stat *st) {
    const struct guarded *guarded = arg;
    if (!S_ISREG(st->st_mode) || st->st_nlink > 1 || st->st_blocks == 0 ||
        (guarded->n && bsearch(&st->st_ino, guarded->live, guarded->n, sizeof st->st_ino, by_number)))
        return SNAPSHOT_PAST;
    auto_fd fd = snapshot_open(place->fd, name, O_WRONLY | O_TRUNC);
    return fd < 0 ? fd : SNAPSHOT_PAST;
}

int snapshot_empty_guards(const struct snapshot *snapshot, const ino_t *live, size_t n) {
    return snapshot_walk(snapshot->folders.guards, -1, &(struct snapshot_walker){.visit = empty_guard},
                         &(struct guarded){snapshot, live, n});
}
