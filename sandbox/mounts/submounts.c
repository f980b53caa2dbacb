/*
 * submounts.c - walks the folder once; what nothing is mounted in is taken as a whole.
 *
 * The walk goes into a folder only where a mount point or a hidden entry lies
 * below it. Small files on the way are copied, within bounds; larger ones, and
 * whole folders, become parts. What doesn't fit into the bounds is counted in
 * submounts.view and left out: that must not keep the session from starting.
 */
#define _GNU_SOURCE
#include "submounts.h"

#include "base/cleanup.h"
#include "base/directory.h"
#include "sandbox/base/step.h"
#include "sandbox/base/system.h"
#include "sandbox/files/overlay.h"
#include "sandbox/mounts/host_paths.h"
#include "sandbox/process/process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#define FILES_OPTIONS "mode=0755,size=96m,nr_inodes=4096"
enum { COPY_BYTES = 4 << 20, ALL_BYTES = 64 << 20, MAX_ENTRIES = 4000, MAX_POINTS = 256 };

struct taking {
    const struct folder_rules *rules;
    struct submounts *submounts;
    struct error *error;
    size_t n_points;
    char *point[MAX_POINTS]; /* what is mounted in the folder: below it, as all paths here */
    size_t bytes;
    unsigned entries;
};

/* The mount points below the folder. What can't be understood may be one. 0 or -errno. */
static int find_points(const char *folder, struct taking *taking) {
    auto_free char *buf = NULL;
    size_t size = 0;
    struct procfs_text line;
    auto_file file = process_open(getpid(), "mountinfo");
    if (!file)
        return -errno;
    while (process_next_line(file, &buf, &size, &line)) {
        char point[PATH_MAX];
        if (!procfs_parse_mount_point(line, point, sizeof point))
            return -EBADMSG;
        const char *rest = folder_rest(folder, point);
        if (!rest || !rest[0])
            continue;
        if (taking->n_points == MAX_POINTS)
            return -E2BIG;
        if (!(taking->point[taking->n_points] = strdup(rest)))
            return -ENOMEM;
        taking->n_points++;
    }
    return 0;
}

static void forget_points(struct taking *taking) {
    for (size_t i = 0; i < taking->n_points; i++)
        free(taking->point[i]);
}

/* Whether something is mounted in a folder, not only at it. */
static bool has_points(const struct taking *taking, const char *path) {
    for (size_t i = 0; i < taking->n_points; i++) {
        const char *rest = folder_rest(path, taking->point[i]);
        if (rest && rest[0])
            return true;
    }
    return false;
}

static int fail(const struct taking *taking, int err, const char *path) {
    return step_failed(taking->error, STEP_FOLDER, err, "%s", path + 1);
}

/* Makes an entry a part, which each sandbox mounts by itself. */
static int add_part(struct taking *taking, int fd, const char *path, bool folder) {
    struct submounts *submounts = taking->submounts;
    char place[32], shown[40];
    if (submounts->n == SUBMOUNTS_MAX) {
        submounts->view.omitted++;
        return 0;
    }
    snprintf(place, sizeof place, SUBMOUNTS_PARTS "/%zu", submounts->n);
    int r = folder ? host_paths_make_folders(place, 0755, taking->error) : host_paths_make_file(place, taking->error);
    if (r == 0 && folder) {
        snprintf(shown, sizeof shown, SUBMOUNTS_SHOWN, submounts->n);
        r = host_paths_make_folders(shown, 0755, taking->error);
    }
    if (r)
        return r;
    auto_fd tree = system_open_tree_of(fd);
    r = tree < 0 ? tree : system_move_mount(tree, place);
    if (r == 0 && !(submounts->part[submounts->n].path = strdup(path)))
        r = -ENOMEM;
    if (r)
        return fail(taking, -r, path);
    submounts->part[submounts->n++].folder = folder;
    return 0;
}

static int copy_content(int from, int to, off_t bytes) {
    while (bytes > 0) {
        ssize_t n = sendfile(to, from, NULL, (size_t)bytes);
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        bytes -= n;
    }
    return 0;
}

/* Opens the file that was looked at; -ESTALE where another has taken its place. A descriptor or -errno. */
static int open_same(int dir_fd, const char *name, const struct stat *st) {
    struct stat now;
    auto_fd fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &now))
        return -errno;
    return now.st_dev == st->st_dev && now.st_ino == st->st_ino ? steal_fd(&fd) : -ESTALE;
}

/* Copies a small file as it is now. A file that can't be read here could not be read by a cell either. */
static int copy_file(struct taking *taking, int dir_fd, const char *name, int to_fd, const struct stat *st) {
    auto_fd from = open_same(dir_fd, name, st);
    if (from < 0)
        return from;
    auto_fd to = openat(to_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    int r = to < 0 ? -errno : copy_content(from, to, st->st_size);
    if (r == 0)
        r = folder_copy_owner(from, to);
    if (r == 0 && futimens(to, (struct timespec[]){st->st_atim, st->st_mtim}))
        r = -errno;
    if (r == 0)
        taking->bytes += (size_t)st->st_size;
    else if (to >= 0)
        unlinkat(to_fd, name, 0);
    return r;
}

static int take_file(struct taking *taking, int dir_fd, int fd, int to_fd, const char *path, const struct stat *st) {
    const char *name = strrchr(path, '/') + 1;
    if (st->st_size <= COPY_BYTES && taking->bytes + (size_t)st->st_size <= ALL_BYTES) {
        taking->submounts->view.omitted += copy_file(taking, dir_fd, name, to_fd, st) != 0;
        return 0;
    }
    taking->submounts->view.only_read++;
    auto_fd place = openat(to_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    return place < 0 ? fail(taking, errno, path) : add_part(taking, fd, path, false);
}

static int take_link(const struct taking *taking, int dir_fd, int to_fd, const char *path) {
    const char *name = strrchr(path, '/') + 1;
    char link[PATH_MAX];
    ssize_t n = readlinkat(dir_fd, name, link, sizeof link - 1);
    if (n < 0)
        return fail(taking, errno, path);
    link[n] = 0;
    return symlinkat(link, to_fd, name) ? fail(taking, errno, path) : 0;
}

static int take_entries(struct taking *taking, int dir_fd, int to_fd, const char *path);

static int take_folder(struct taking *taking, int fd, int to_fd, const char *path) {
    const char *name = strrchr(path, '/') + 1;
    if (mkdirat(to_fd, name, 0755))
        return fail(taking, errno, path);
    auto_fd inner_to = openat(to_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int r = inner_to < 0 ? -errno : folder_copy_owner(fd, inner_to);
    if (r)
        return fail(taking, -r, path);
    bool whole = !has_points(taking, path) && folder_fate(taking->rules, path) == FOLDER_SHOW;
    return whole ? add_part(taking, fd, path, true) : take_entries(taking, fd, inner_to, path);
}

static int take_entry(struct taking *taking, int dir_fd, int to_fd, const char *path) {
    struct stat st;
    auto_fd fd = openat(dir_fd, strrchr(path, '/') + 1, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) || taking->entries++ >= MAX_ENTRIES) {
        taking->submounts->view.omitted++;
        return 0;
    }
    if (S_ISDIR(st.st_mode))
        return take_folder(taking, fd, to_fd, path);
    if (S_ISREG(st.st_mode))
        return take_file(taking, dir_fd, fd, to_fd, path, &st);
    return S_ISLNK(st.st_mode) ? take_link(taking, dir_fd, to_fd, path) : 0;
}

/* Takes each entry of a folder by itself, but for those that are hidden. */
static int take_entries(struct taking *taking, int dir_fd, int to_fd, const char *path) {
    auto_dir dir = directory_open(dir_fd);
    int r = 0;
    struct dirent *entry;
    if (!dir)
        return errno == EACCES ? 0 : fail(taking, errno, path[0] ? path : "/.");
    while (r == 0 && (entry = readdir(dir))) {
        char inner[PATH_MAX];
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        int n = snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);
        if (n >= (int)sizeof inner)
            taking->submounts->view.omitted++;
        else if (folder_fate(taking->rules, inner) != FOLDER_HIDE)
            r = take_entry(taking, dirfd(dir), to_fd, inner);
    }
    return r;
}

static int take_apart(const char *path, struct taking *taking) {
    if (mount("petri", SUBMOUNTS_FILES, "tmpfs", MS_NOSUID | MS_NODEV, FILES_OPTIONS))
        return step_failed(taking->error, STEP_MOUNT_TMPFS, errno, "the notebook's folder");
    auto_fd dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    auto_fd to_fd = open(SUBMOUNTS_FILES, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    taking->submounts->used = taking->submounts->view.in_parts = true;
    return dir_fd < 0 || to_fd < 0 ? fail(taking, errno, "/.") : take_entries(taking, dir_fd, to_fd, "");
}

int submounts_build(const char *path, const struct folder_rules *rules, struct submounts *ret,
                    struct error *ret_error) {
    struct taking taking = {.rules = rules, .submounts = ret, .error = ret_error};
    int r = find_points(path, &taking);
    if (r)
        r = step_failed(ret_error, STEP_FOLDER, -r, "what is mounted in it");
    else if (taking.n_points > 0)
        r = take_apart(path, &taking);
    forget_points(&taking);
    return r;
}

/* A tmpfs without extended attributes takes no marks; overlayfs works without them. */
static int make_folder(int from_fd, int layer_fd, const char *path) {
    struct stat st;
    if (mkdirat(layer_fd, path, 0755))
        return errno == EEXIST ? 0 : -errno;
    auto_fd from = openat(from_fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    auto_fd to = openat(layer_fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int r = from < 0 || to < 0 || fstat(from, &st) ? -errno : overlay_mark_copied(to);
    if (r == 0 || r == -EOPNOTSUPP)
        r = folder_copy_owner(from, to);
    return r || futimens(to, (struct timespec[]){st.st_atim, st.st_mtim}) == 0 ? r : -errno;
}

/* The folders on the way to a part, and of one that is a folder its own. */
static int make_folders(const struct submounts_part *part, int from_fd, int layer_fd) {
    char *path = part->path + 1;
    int r = 0;
    for (char *slash = strchr(path, '/'); r == 0 && slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        r = make_folder(from_fd, layer_fd, path);
        *slash = '/';
    }
    return r == 0 && part->folder ? make_folder(from_fd, layer_fd, path) : r;
}

static int make_work(size_t i, int work_fd, unsigned uid, unsigned gid) {
    char path[32];
    snprintf(path, sizeof path, SUBMOUNTS_WORK "/%zu", i);
    if (mkdirat(work_fd, SUBMOUNTS_WORK, 0755) && errno != EEXIST)
        return -errno;
    if (mkdirat(work_fd, path, 0755) && errno != EEXIST)
        return -errno;
    return fchownat(work_fd, path, uid, gid, AT_SYMLINK_NOFOLLOW) ? -errno : 0;
}

int submounts_prepare(const struct submounts *submounts, int from_fd, int folder_fd, int work_fd, unsigned uid,
                      unsigned gid) {
    int r = 0;
    for (size_t i = 0; r == 0 && i < submounts->n; i++) {
        r = make_folders(&submounts->part[i], from_fd, folder_fd);
        if (r == 0)
            r = make_work(i, work_fd, uid, gid);
    }
    return r;
}
