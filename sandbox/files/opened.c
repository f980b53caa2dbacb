/*
 * opened.c - inotify watches on a folder and those in it, breadth first.
 *
 * The upper folders come first, for there are watches for OPENED_FOLDERS only.
 * Beside opens, they tell of folders that come and go: then all are made anew
 * before the next cell, on the same inotify instance, because to close one takes
 * some milliseconds. What may be missing (a queue that was full, a folder without a
 * watch, a path that is too long) is told by the result of opened_take(), and fails
 * nothing.
 */
#define _GNU_SOURCE
#include "opened.h"

#include "base/cleanup.h"
#include "base/directory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>

enum { EVENTS_BYTES = 16384 };

/* What tells, with IN_ISDIR, that there are other folders than those that are watched, or by other names. */
#define FOLDER_EVENTS (IN_CREATE | IN_MOVE | IN_DELETE)

static struct timespec changed_at(int host_fd, const char *path) {
    struct stat st;
    if (host_fd < 0 || fstatat(host_fd, path, &st, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW))
        return (struct timespec){0};
    return st.st_mtim;
}

void opened_init(struct opened *opened) {
    *opened = (struct opened){.fd = -1, .host_fd = -1};
}

void opened_forget(struct opened *opened) {
    for (size_t i = 0; i < opened->n; i++) {
        inotify_rm_watch(opened->fd, opened->folder[i].watch);
        free(opened->folder[i].path);
    }
    opened->n = opened->entries = 0;
    opened->left_out = opened->stale = false;
}

void opened_fini(struct opened *opened) {
    opened_forget(opened);
    close_fd(&opened->fd);
}

bool opened_is_outdated(const struct opened *opened) {
    for (size_t i = 0; i < opened->n; i++) {
        struct timespec now = changed_at(opened->host_fd, opened->folder[i].path);
        if (memcmp(&now, &opened->folder[i].changed, sizeof now) != 0)
            return true;
    }
    return false;
}

/* Adds a watch on the folder at fd. 0 or -errno; path is copied. */
static int watch_folder(struct opened *opened, int fd, const char *path) {
    char link[32];
    char *copy = strdup(path);
    if (!copy)
        return -ENOMEM;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    int watch = inotify_add_watch(opened->fd, link, IN_OPEN | FOLDER_EVENTS | IN_ONLYDIR);
    if (watch < 0) {
        free(copy);
        return -errno;
    }
    opened->folder[opened->n].watch = watch;
    opened->folder[opened->n].changed = changed_at(opened->host_fd, path);
    opened->folder[opened->n++].path = copy;
    return 0;
}

static bool is_folder(int dir_fd, const struct dirent *entry) {
    struct stat st;
    if (entry->d_type != DT_UNKNOWN)
        return entry->d_type == DT_DIR;
    return fstatat(dir_fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

/* Watches the folders that are directly in one that is watched. */
static int watch_inner(struct opened *opened, int root_fd, size_t at) {
    const char *outer = opened->folder[at].path;
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    auto_dir dir = directory_of(openat(root_fd, outer[0] ? outer : ".", flags));
    int r = 0;
    struct dirent *entry;
    char path[PATH_MAX];
    if (!dir)
        return -errno;
    while (r == 0 && (entry = readdir(dir))) {
        if (++opened->entries > OPENED_ENTRIES) {
            opened->left_out = true;
            break;
        }
        if (!is_folder(dirfd(dir), entry) || strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        int n = snprintf(path, sizeof path, "%s%s%s", outer, outer[0] ? "/" : "", entry->d_name);
        auto_fd fd = n < (int)sizeof path ? openat(dirfd(dir), entry->d_name, flags) : -1;
        if (fd < 0 || opened->n == OPENED_FOLDERS)
            opened->left_out = true;
        else
            r = watch_folder(opened, fd, path);
        if (opened->n == OPENED_FOLDERS && opened->left_out)
            break;
    }
    return r;
}

int opened_watch(struct opened *opened, int folder_fd, int host_fd) {
    char buf[EVENTS_BYTES];
    opened_forget(opened);
    if (opened->fd < 0 && (opened->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) < 0)
        return -errno;
    while (read(opened->fd, buf, sizeof buf) > 0)
        continue; /* Linux reuses no number of a watch, but the queue may be full */
    opened->host_fd = host_fd;
    int r = watch_folder(opened, folder_fd, "");
    for (size_t at = 0; r == 0 && at < opened->n; at++)
        r = watch_inner(opened, folder_fd, at);
    if (r)
        opened_forget(opened);
    return r;
}

/* The paths that were found, in the order of their events. */
struct found {
    size_t n;
    char *path[OPENED_FILES];
    bool more;
};

static const char *folder_of(const struct opened *opened, int watch) {
    for (size_t i = 0; i < opened->n; i++)
        if (opened->folder[i].watch == watch)
            return opened->folder[i].path;
    return NULL;
}

static int note(struct found *found, const char *folder, const char *name) {
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s%s%s", folder, folder[0] ? "/" : "", name);
    if (n >= (int)sizeof path)
        return found->more = true, 0;
    for (size_t i = found->n; i-- > 0;)
        if (strcmp(found->path[i], path) == 0)
            return 0;
    if (found->n == OPENED_FILES)
        return found->more = true, 0;
    found->path[found->n] = strdup(path);
    return found->path[found->n++] ? 0 : -ENOMEM;
}

static bool is_of_folders(const struct inotify_event *event) {
    return (event->mask & (IN_Q_OVERFLOW | IN_IGNORED)) || ((event->mask & IN_ISDIR) && (event->mask & FOLDER_EVENTS));
}

/* found: NULL for events that don't count. */
static int note_events(struct opened *opened, const char *buf, size_t bytes, struct found *found) {
    struct inotify_event event;
    for (size_t at = 0; at + sizeof event <= bytes; at += sizeof event + event.len) {
        memcpy(&event, buf + at, sizeof event);
        opened->stale |= is_of_folders(&event);
        if (!found)
            continue;
        const char *folder = folder_of(opened, event.wd);
        if (event.mask & IN_Q_OVERFLOW)
            found->more = true;
        if (!(event.mask & IN_OPEN) || (event.mask & IN_ISDIR) || event.len == 0 || !folder)
            continue;
        int r = note(found, folder, buf + at + sizeof event);
        if (r)
            return r;
    }
    return 0;
}

bool opened_renew(struct opened *opened) {
    char buf[EVENTS_BYTES];
    ssize_t n;
    while (opened->n > 0 && (n = read(opened->fd, buf, sizeof buf)) > 0)
        (void)note_events(opened, buf, (size_t)n, NULL);
    return opened->n > 0 && !opened->stale;
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* One block with the pointers and, behind them, the texts. NULL on ENOMEM. */
static char **pack(const struct found *found) {
    size_t bytes = (found->n + 1) * sizeof(char *);
    for (size_t i = 0; i < found->n; i++)
        bytes += strlen(found->path[i]) + 1;
    char **paths = malloc(bytes);
    char *text = paths ? (char *)(paths + found->n + 1) : NULL;
    for (size_t i = 0; paths && i < found->n; i++) {
        paths[i] = text;
        text = stpcpy(text, found->path[i]) + 1;
    }
    return paths;
}

int opened_take(struct opened *opened, char ***ret_paths, size_t *ret_n) {
    char buf[EVENTS_BYTES];
    struct found found = {.more = opened->left_out};
    ssize_t n;
    int r = opened->n > 0 ? 0 : -EBADF;
    while (r == 0 && (n = read(opened->fd, buf, sizeof buf)) > 0)
        r = note_events(opened, buf, (size_t)n, &found);
    qsort(found.path, found.n, sizeof found.path[0], by_text);
    char **paths = r == 0 ? pack(&found) : NULL;
    for (size_t i = 0; i < found.n; i++)
        free(found.path[i]);
    if (!paths)
        return r ? r : -ENOMEM;
    *ret_paths = paths;
    *ret_n = found.n;
    return !found.more;
}
