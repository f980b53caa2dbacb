/*
 * host_paths.c - shows an overlay where Linux allows one, else a bind mount.
 *
 * A folder is shown as an overlay of itself. Linux refuses that where something
 * is mounted in it: then each entry is shown by itself, or, where there are too
 * many, the folder is bound and its sockets and FIFOs are covered. A file has no
 * overlay of its own: it is taken out of one of its folder, which stands for that
 * moment only.
 *
 * A path is opened once, in the host's root, and from then on known by its
 * descriptor: what the host renames meanwhile can't lead elsewhere.
 */
#define _GNU_SOURCE
#include "host_paths.h"

#include "base/cleanup.h"
#include "base/directory.h"
#include "sandbox/base/step.h"
#include "sandbox/base/system.h"
#include "sandbox/files/folder.h"
#include "sandbox/files/overlay.h"
#include "sandbox/process/process.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <linux/mount.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

/* Where the overlay of a folder stands while a file is taken out of it. */
#define ASIDE "/.petri/aside"

/* What covers a socket or FIFO. */
#define NOTHING "/.petri/nothing"

/* Where folders of whiteouts stand. */
#define WHITE "/.petri/white"

/* A folder in which something is mounted is taken apart, but not one with more entries. Each thing that is covered is
 * a mount of every sandbox. */
enum { MAX_ENTRIES = 256, MAX_COVERED = 256 };

int host_paths_make_folders(const char *path, unsigned mode, struct error *ret_error) {
    char whole[PATH_MAX];
    int n = snprintf(whole, sizeof whole, "%s", path);
    if (n < 0 || (size_t)n >= sizeof whole)
        return step_failed(ret_error, STEP_TEMPLATE_FILE, ENAMETOOLONG, "%s", path);
    for (char *p = whole + 1; p <= whole + n; p++) {
        if (*p != '/' && *p != 0)
            continue;
        char kept_char = *p;
        *p = 0;
        if (mkdir(whole, kept_char ? 0755 : mode) && errno != EEXIST && errno != EROFS)
            return step_failed(ret_error, STEP_TEMPLATE_FILE, errno, "%s", whole);
        *p = kept_char;
    }
    return 0;
}

int host_paths_make_file(const char *path, struct error *ret_error) {
    auto_fd fd = open(path, O_RDONLY | O_CREAT | O_CLOEXEC, 0644); /* it may be there, on a read-only mount */
    return fd < 0 ? step_failed(ret_error, STEP_TEMPLATE_FILE, errno, "%s", path) : 0;
}

/* One thing of the host's, open, and where it is to be seen. */
struct shown {
    const struct host_paths *host;
    int fd;
    const char *target; /* exists, and is a folder where fd is one */
};

/* Where fd leads, as this process sees it. 0 or -errno. */
static int path_of(const struct shown *shown, char path[PATH_MAX]) {
    char link[PATH_MAX];
    snprintf(link, sizeof link, "%s/proc/self/fd/%d", shown->host->root, shown->fd);
    ssize_t n = readlink(link, path, PATH_MAX - 1);
    if (n < 0)
        return -errno;
    path[n] = 0;
    return 0;
}

static int cover(const char *path, struct error *error) {
    int r = host_paths_make_file(NOTHING, error);
    if (r == 0 && mount(NOTHING, path, NULL, MS_BIND, NULL))
        r = step_failed(error, STEP_MOUNT_BIND, errno, "covering %s", path);
    return r;
}

/*
 * Covers sockets and FIFOs: in a bind mount they are the host's own inodes, with the
 * host's processes at the other end. One that is made later is not covered.
 */
static int cover_channels(const char *target, struct error *error) {
    char *const paths[] = {strdup(target), NULL};
    FTS *walk = paths[0] ? fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL) : NULL;
    const FTSENT *entry;
    int covered = 0, r = walk ? 0 : step_failed(error, STEP_MEMORY, ENOMEM, "%s", "");
    while (r == 0 && (entry = fts_read(walk)))
        if (entry->fts_info == FTS_DEFAULT &&
            (S_ISSOCK(entry->fts_statp->st_mode) || S_ISFIFO(entry->fts_statp->st_mode)))
            r = ++covered <= MAX_COVERED
                    ? cover(entry->fts_path, error)
                    : step_failed(error, STEP_MOUNT_BIND, E2BIG, "%s has too many sockets and FIFOs", target);
    if (walk)
        fts_close(walk);
    free(paths[0]);
    return r;
}

/* Shows the host's own inodes, with all that is mounted in the folder. */
static int bind(const struct shown *shown, struct error *error) {
    const uint64_t attributes = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
    auto_fd tree = system_open_tree_of(shown->fd);
    int r = tree < 0 ? tree : system_move_mount(tree, shown->target);
    if (r)
        return step_failed(error, STEP_MOUNT_BIND, -r, "%s", shown->target);
    r = system_mount_setattr(AT_FDCWD, shown->target, 1, attributes, -1);
    return r ? step_failed(error, STEP_MOUNT_ATTRIBUTES, -r, "%s", shown->target)
             : cover_channels(shown->target, error);
}

/* Whether anything is mounted below it. Linux won't let an overlay lie over such a folder: it would uncover what the
 * mount covers. What can't be understood may be one. */
static bool has_mounts(const struct shown *shown) {
    char folder[PATH_MAX], path[PATH_MAX];
    auto_free char *buf = NULL;
    size_t size = 0;
    struct procfs_text line;
    bool found = false;
    snprintf(path, sizeof path, "%s/proc/self/mountinfo", shown->host->root);
    auto_file file = fopen(path, "re");
    if (!file || path_of(shown, folder))
        return false;
    while (!found && process_next_line(file, &buf, &size, &line)) {
        char point[PATH_MAX];
        const char *rest = procfs_parse_mount_point(line, point, sizeof point) ? folder_rest(folder, point) : line.at;
        found = rest && rest[0];
    }
    return found;
}

static int count_entries(int fd) {
    auto_dir dir = directory_open(fd);
    int n = 0;
    while (dir && readdir(dir))
        n++;
    return dir ? n - 2 : -errno;
}

static int show_open(const struct shown *shown, const struct stat *st, struct error *error);

static int show_link(int dir_fd, const char *name, const char *target, struct error *error) {
    char link[PATH_MAX];
    ssize_t n = readlinkat(dir_fd, name, link, sizeof link - 1);
    if (n < 0)
        return step_failed(error, STEP_MOUNT_BIND, errno, "%s", target);
    link[n] = 0;
    return symlink(link, target) ? step_failed(error, STEP_TEMPLATE_FILE, errno, "%s", target) : 0;
}

static int show_entry(const struct shown *folder, const char *name, struct error *error) {
    char target[PATH_MAX];
    struct stat st;
    if (snprintf(target, sizeof target, "%s/%s", folder->target, name) >= (int)sizeof target)
        return step_failed(error, STEP_MOUNT_BIND, ENAMETOOLONG, "%s", folder->target);
    auto_fd fd = openat(folder->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st))
        return step_failed(error, STEP_MOUNT_BIND, errno, "%s", target);
    if (S_ISLNK(st.st_mode))
        return show_link(folder->fd, name, target, error);
    if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
        return 0;
    int r = S_ISDIR(st.st_mode) ? host_paths_make_folders(target, 0755, error) : host_paths_make_file(target, error);
    return r ? r : show_open(&(struct shown){folder->host, fd, target}, &st, error);
}

/* Shows each entry by itself, in a folder of the template's. */
static int take_apart(const struct shown *folder, struct error *error) {
    auto_dir dir = directory_open(folder->fd);
    int r = 0;
    struct dirent *entry;
    if (!dir)
        return step_failed(error, STEP_MOUNT_BIND, errno, "%s", folder->target);
    while (r == 0 && (entry = readdir(dir)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            r = show_entry(folder, entry->d_name, error);
    return r;
}

/* Whether the target is the template's own, so that entries can be made in it. */
static bool can_be_filled(const char *target) {
    return access(target, W_OK) == 0;
}

static int show_folder(const struct shown *shown, struct error *error) {
    if (overlay_show(NULL, shown->fd, shown->target) == 0)
        return 0;
    int n = has_mounts(shown) && can_be_filled(shown->target) ? count_entries(shown->fd) : -1;
    return n >= 0 && n <= MAX_ENTRIES ? take_apart(shown, error) : bind(shown, error);
}

/* Whether two descriptors are open on files of one mount. */
static bool are_on_one_mount(int a, int b) {
    struct statx one, other;
    return statx(a, "", AT_EMPTY_PATH, STATX_MNT_ID, &one) == 0 &&
           statx(b, "", AT_EMPTY_PATH, STATX_MNT_ID, &other) == 0 && one.stx_mnt_id == other.stx_mnt_id;
}

/* Shows a file as one of an overlay of its folder. 0 or -errno: a file that is mounted by itself is in no folder that
 * an overlay could show. */
static int show_file_apart(const struct shown *shown) {
    char path[PATH_MAX], own[PATH_MAX];
    int r = path_of(shown, path);
    char *name = r == 0 ? strrchr(path, '/') : NULL;
    if (!name)
        return r ? r : -EINVAL;
    if (snprintf(own, sizeof own, ASIDE "%s", name) >= (int)sizeof own)
        return -ENAMETOOLONG;
    *name = 0;
    auto_fd folder = open(path[0] ? path : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0 || !are_on_one_mount(folder, shown->fd))
        return -EINVAL;
    if (mkdir(ASIDE, 0700) && errno != EEXIST)
        return -errno;
    r = overlay_show(NULL, folder, ASIDE);
    if (r)
        return r;
    auto_fd file = system_open_tree(own, 0);
    r = umount2(ASIDE, MNT_DETACH) ? -errno : 0;
    if (r == 0)
        r = file < 0 ? file : system_move_mount(file, shown->target);
    return r;
}

static int show_open(const struct shown *shown, const struct stat *st, struct error *error) {
    if (S_ISDIR(st->st_mode))
        return show_folder(shown, error);
    return show_file_apart(shown) == 0 ? 0 : bind(shown, error);
}

/* Whiteouts of what is hidden in a folder: where they stand, or an empty text where there are none. */
static int hide_in(const struct shown *shown, char ret_place[PATH_MAX], struct error *error) {
    char path[PATH_MAX];
    struct folder_rules rules = {0};
    struct folder_seen seen = {0};
    struct stat st;
    size_t root = strlen(shown->host->root);
    int r = path_of(shown, path), n = 0;
    ret_place[0] = 0;
    if (r == 0)
        r = folder_rules_init(&rules, path + root, shown->host->homes, shown->host->kept);
    if (r == 0 && rules.homes[0]) {
        do
            snprintf(ret_place, PATH_MAX, WHITE "/%d", n++);
        while (stat(ret_place, &st) == 0);
        r = host_paths_make_folders(ret_place, 0755, error);
        auto_fd fd = openat(shown->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        auto_fd white = open(ret_place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (r == 0)
            r = fd < 0 || white < 0 ? -errno : folder_hide(fd, white, &rules, &seen);
    }
    folder_seen_fini(&seen);
    folder_rules_fini(&rules);
    return r ? step_failed(error, STEP_MOUNT_OVERLAY, -r, "hiding entries of a home in %s", shown->target) : 0;
}

/* Makes a file for another to be bound on, with the folders on the way to it. */
static int make_file_below(const char *path, struct error *error) {
    char folder[PATH_MAX];
    const char *name = strrchr(path, '/');
    if (!name || snprintf(folder, sizeof folder, "%.*s", (int)(name - path), path) >= (int)sizeof folder)
        return step_failed(error, STEP_TEMPLATE_FILE, EINVAL, "%s", path);
    int r = folder[0] ? host_paths_make_folders(folder, 0755, error) : 0;
    return r ? r : host_paths_make_file(path, error);
}

static int show_overlay(const struct shown *shown, const char *path, struct error *error) {
    char above[PATH_MAX];
    int r = hide_in(shown, above, error);
    if (r)
        return r;
    r = overlay_show(above[0] ? above : OVERLAY_EMPTY, shown->fd, shown->target);
    return r ? step_failed(error, STEP_MOUNT_OVERLAY, -r, "%s", path) : 0;
}

int host_paths_show(const struct host_paths *host, const char *path, const char *target, enum host_paths_as as,
                    struct error *ret_error) {
    struct stat st;
    auto_fd fd = system_open_in_root(host->root, path, true);
    if (fd == -ENOENT || fd == -ENOTDIR)
        return 0;
    if (fd < 0 || fstat(fd, &st))
        return step_failed(ret_error, STEP_MOUNT_BIND, fd < 0 ? -fd : errno, "%s", path);
    if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
        return step_failed(ret_error, STEP_MOUNT_BIND, EINVAL, "%s is no file or folder", path);
    int r = S_ISDIR(st.st_mode) ? host_paths_make_folders(target, 0755, ret_error) : make_file_below(target, ret_error);
    if (r)
        return r;
    const struct shown shown = {host, fd, target};
    return as == HOST_PATHS_AS_OVERLAY && S_ISDIR(st.st_mode) ? show_overlay(&shown, path, ret_error)
                                                              : show_open(&shown, &st, ret_error);
}
