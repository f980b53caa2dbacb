/*
 * changes.c - comparing what lies over a folder with what was there before.
 *
 * Goes down the upper folder and, beside it, what was there before: the base, what hides
 * something of the host's folder, and that folder. A name that is in the upper one is created or changed;
 * a whiteout, or a name that only the lower ones have where the upper folder hides
 * them, is deleted. A file has changed if it holds something else than what stood
 * there before: a cell that opens a file of the host's for writing gets a copy of
 * it, and what touches a file moves its times, and neither changes it. Of live
 * files, whose base is the copy of the last commit, the snapshot knows which may
 * have changed, so that only these are compared. A file is compared once, however many
 * names it has. Names are a cell's, so depth and length of paths are bounded.
 */
#define _GNU_SOURCE
#include "changes.h"

#include "base/cleanup.h"
#include "base/directory.h"
#include "base/slices.h"
#include "sandbox/files/mirror.h"
#include "sandbox/files/overlay.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_DEPTH = 40 };

/* What was found of a file that has several names, and of what stood before at one of them. */
struct compared {
    ino_t inode, before;
    dev_t before_device;
    bool same;
};

struct walk {
    void *compared; /* of tsearch(3) */
    const struct changes_options *options;
    cell_change_handler *handler;
    void *arg;
    size_t missing_in; /* of the layers below, the one whose entries are visited as missing */
    size_t path_bytes;
    char path[PATH_MAX];
};

/* What lies below a folder of the layer, the upper one first; -1 where there is no such folder. */
enum { BASE, FOLDER = CHANGES_HIDES + 1, BELOW };
struct below {
    int fd[BELOW];
};

/* One folder of the layer on the way; opaque: it hides what lies below, which is deleted unless it is there anew. */
struct level {
    int fd;
    struct below below;
    int host_fd; /* the host's folder of the same path, also where cells do not see it any more; or -1 */
    bool opaque;
    int depth;
};

static int walk_level(struct walk *walk, const struct level *level);

static int open_folder(int dir_fd, const char *name) {
    return dir_fd < 0 ? -1 : openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static bool look(int dir_fd, const char *name, struct stat *ret_st) {
    return dir_fd >= 0 && fstatat(dir_fd, name, ret_st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* What stood at a name before the layer: in which of those below, BELOW for none. There may be a whiteout. */
struct before {
    bool stood;
    size_t in;
    struct stat st;
};

static struct before look_before(const struct below *below, const char *name) {
    struct before before = {0};
    while (before.in < BELOW && !look(below->fd[before.in], name, &before.st))
        before.in++;
    before.stood = before.in < BELOW && !overlay_is_whiteout(&before.st);
    return before;
}

static bool look_below(const struct below *below, const char *name, struct stat *ret_st) {
    const struct before before = look_before(below, name);
    *ret_st = before.st;
    return before.stood;
}

static void close_below(struct below *below) {
    for (size_t i = 0; i < BELOW; i++)
        close_fd(&below->fd[i]);
}
#define auto_below __attribute__((cleanup(close_below))) struct below

/* The folders that stood there before; the caller closes them. */
static struct below open_below(const struct below *below, const char *name) {
    struct stat st;
    struct below inner;
    bool hidden = false;
    for (size_t i = 0; i < BELOW; i++) {
        const bool there = !hidden && look(below->fd[i], name, &st);
        inner.fd[i] = there && S_ISDIR(st.st_mode) ? open_folder(below->fd[i], name) : -1;
        hidden |= there && (inner.fd[i] < 0 || overlay_is_opaque(inner.fd[i]));
    }
    return inner;
}

/* The same of the notebook's folder itself; borrowed. */
static struct below below_all(const struct changes_options *options) {
    struct below below = {{[BASE] = options->base_fd, -1, -1, -1, [FOLDER] = options->folder_fd}};
    for (size_t i = 0; options->hides && i < CHANGES_HIDES && options->hides[i] >= 0; i++)
        below.fd[BASE + 1 + i] = options->hides[i];
    return below;
}

/* Tells of one entry; file has what is known of it beside the entry itself. */
static int tell(struct walk *walk, const struct level *level, const char *name, const struct stat *st,
                struct cell_file file) {
    struct stat host;
    const struct snapshot *snapshot = walk->options->snapshot;
    const bool guarded = snapshot && st->st_nlink > 1 && snapshot_is_guarded(snapshot, st->st_ino);
    const nlink_t links = st->st_nlink - guarded;
    file.path = walk->path;
    file.mode = st->st_mode;
    file.links = links > UINT32_MAX ? UINT32_MAX : (unsigned)links;
    file.bytes = S_ISREG(st->st_mode) ? (uint64_t)st->st_size : 0;
    file.on_host = look(level->host_fd, name, &host);
    return walk->handler(walk->arg, &file);
}

/* Opens a file without moving its time of access where we may, for with that of a live file the snapshot finds
 * mappings. A descriptor or -errno. */
static int open_file(int dir_fd, const char *name) {
    const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    int fd = openat(dir_fd, name, flags | O_NOATIME);
    if (fd < 0 && errno == EPERM)
        fd = openat(dir_fd, name, flags);
    return fd < 0 ? -errno : fd;
}

static int compare_files(int dir_fd, int other_dir_fd, const char *name) {
    auto_fd fd = open_file(dir_fd, name);
    auto_fd other_fd = fd < 0 ? fd : open_file(other_dir_fd, name);
    return other_fd < 0 ? other_fd : mirror_compare(fd, other_fd);
}

static int compare_links(int dir_fd, int other_dir_fd, const char *name) {
    char target[PATH_MAX], other[PATH_MAX];
    const ssize_t n = readlinkat(dir_fd, name, target, sizeof target);
    const ssize_t m = n < 0 ? n : readlinkat(other_dir_fd, name, other, sizeof other);
    return m < 0 ? -errno : n == m && memcmp(target, other, (size_t)n) == 0;
}

/* Whether two entries of one kind hold the same; sockets and FIFOs, which are made anew for each cell (descriptors.h),
 * hold nothing. 1, 0 or -errno. */
static int compare(int dir_fd, int other_dir_fd, const char *name, const struct stat *st) {
    if (S_ISREG(st->st_mode))
        return compare_files(dir_fd, other_dir_fd, name);
    return S_ISLNK(st->st_mode) ? compare_links(dir_fd, other_dir_fd, name)
                                : S_ISSOCK(st->st_mode) || S_ISFIFO(st->st_mode);
}

static int by_inodes(const void *a, const void *b) {
    const struct compared *one = a, *other = b;
    if (one->inode != other->inode)
        return one->inode < other->inode ? -1 : 1;
    if (one->before != other->before)
        return one->before < other->before ? -1 : 1;
    return (one->before_device > other->before_device) - (one->before_device < other->before_device);
}

/* compare(), once for all names that lead to the same two files. */
static int compare_once(struct walk *walk, const struct level *level, const char *name, const struct stat *st,
                        const struct before *before) {
    const struct compared key = {.inode = st->st_ino, .before = before->st.st_ino, .before_device = before->st.st_dev};
    struct compared *const *found = st->st_nlink > 1 ? tfind(&key, &walk->compared, by_inodes) : NULL;
    if (found)
        return (*found)->same;
    int r = compare(level->fd, level->below.fd[before->in], name, st);
    if (r < 0 || st->st_nlink == 1)
        return r;
    struct compared *made = malloc(sizeof *made);
    if (made)
        *made = (struct compared){st->st_ino, before->st.st_ino, before->st.st_dev, r};
    if (!made || !tsearch(made, &walk->compared, by_inodes)) {
        free(made);
        return -ENOMEM;
    }
    return r;
}

/* Whether an entry holds what stood there before it. A file of the host's that can't be read counts as another. 1, 0 or
 * -errno. */
static int is_same(struct walk *walk, const struct level *level, const char *name, const struct stat *st,
                   const struct before *before) {
    struct snapshot *snapshot = before->in == BASE ? walk->options->snapshot : NULL;
    if (!before->stood || (before->st.st_mode & S_IFMT) != (st->st_mode & S_IFMT))
        return 0;
    if (snapshot && snapshot_is_unchanged(snapshot, st, before->st.st_ino))
        return 1;
    if (st->st_ino == before->st.st_ino && st->st_dev == before->st.st_dev)
        return 1; /* versions have a file in common */
    if (walk->options->names_only || (S_ISREG(st->st_mode) && st->st_size != before->st.st_size))
        return 0;
    int r = compare_once(walk, level, name, st, before);
    if (r > 0 && snapshot)
        snapshot_note_same(snapshot, st->st_ino, before->st.st_ino);
    return r < 0 && before->in != BASE ? 0 : r;
}

/* Whether one of two folders hides what the host has there and the other one doesn't: then each name of the host's may
 * lead elsewhere. */
static bool hides_others(const struct walk *walk, int fd, int base_fd) {
    return walk->options->names_only && walk->options->live && base_fd >= 0 &&
           overlay_is_opaque(fd) != overlay_is_opaque(base_fd);
}

static int visit_folder(struct walk *walk, const struct level *level, const char *name, const struct stat *st) {
    struct stat before;
    const bool is_new = !look_below(&level->below, name, &before) || !S_ISDIR(before.st_mode);
    const bool told = level->depth == MAX_DEPTH || (walk->options->folders && is_new);
    int r = told ? tell(walk, level, name, st, (struct cell_file){.change = CELL_CREATED}) : 0;
    if (r || level->depth == MAX_DEPTH)
        return r;
    auto_fd fd = open_folder(level->fd, name);
    if (fd < 0)
        return -errno;
    auto_below below = open_below(&level->below, name);
    auto_fd host_fd = open_folder(level->host_fd, name);
    if (hides_others(walk, fd, below.fd[BASE]))
        return -E2BIG;
    return walk_level(walk, &(struct level){.fd = fd,
                                            .below = below,
                                            .host_fd = host_fd,
                                            .opaque = level->opaque || overlay_is_opaque(fd),
                                            .depth = level->depth + 1});
}

static int visit_whiteout(struct walk *walk, const struct level *level, const char *name) {
    struct stat before = {0};
    if (walk->options->live && look(level->below.fd[BASE], name, &before) && overlay_is_whiteout(&before))
        return 0; /* an earlier cell's */
    if (!look_below(&level->below, name, &before))
        before = (struct stat){0};
    return tell(walk, level, name, &before, (struct cell_file){.change = CELL_DELETED});
}

static int visit_file(struct walk *walk, const struct level *level, const char *name, const struct stat *st) {
    const struct before before = look_before(&level->below, name);
    const int same = is_same(walk, level, name, st, &before);
    if (same < 0)
        return same;
    if (same && walk->options->live && before.in == BASE)
        return 0; /* an earlier cell's */
    const enum cell_change change = before.stood ? CELL_CHANGED : CELL_CREATED;
    return tell(walk, level, name, st, (struct cell_file){.change = change, .same = same});
}

static int visit(struct walk *walk, const struct level *level, const char *name) {
    struct stat st;
    if (fstatat(level->fd, name, &st, AT_SYMLINK_NOFOLLOW))
        return -errno;
    if (overlay_is_whiteout(&st))
        return visit_whiteout(walk, level, name);
    return S_ISDIR(st.st_mode) ? visit_folder(walk, level, name, &st) : visit_file(walk, level, name, &st);
}

/* An entry of what lies below: deleted, where the layer hides it and has nothing in its place. Where a whiteout of the
 * base is no more, nothing is deleted, but the name leads elsewhere. */
static int visit_missing(struct walk *walk, const struct level *level, const char *name) {
    struct stat st;
    const struct before before = look_before(&level->below, name);
    const bool shown_anew = before.in == BASE && walk->options->names_only;
    if (before.in != walk->missing_in || look(level->fd, name, &st) || (!before.stood && !shown_anew))
        return 0;
    return tell(walk, level, name, &before.st, (struct cell_file){.change = CELL_DELETED});
}

typedef int visitor(struct walk *walk, const struct level *level, const char *name);

/* Calls visit for each entry of a folder; its path stands in walk meanwhile, shortened where it is longer than any. */
static int each_entry(struct walk *walk, int dir_fd, const struct level *level, visitor *visit_one) {
    auto_dir dir = directory_open(dir_fd);
    int r = 0;
    size_t before = walk->path_bytes;
    struct dirent *entry;
    if (!dir)
        return -errno;
    while (r == 0 && (errno = 0, entry = readdir(dir))) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        slices_step();
        int n = snprintf(walk->path + before, sizeof walk->path - before, "%s%s", before ? "/" : "", entry->d_name);
        walk->path_bytes = before + (size_t)n < sizeof walk->path ? before + (size_t)n : sizeof walk->path - 1;
        r = visit_one(walk, level, entry->d_name);
    }
    if (r == 0)
        r = -errno; /* of readdir(3): 0 at the end */
    walk->path_bytes = before;
    walk->path[before] = 0;
    return r;
}

/* Of the base, what has no live file in its place is deleted; of what is below it, only what an opaque folder hides. */
static int walk_missing(struct walk *walk, const struct level *level) {
    int r = 0;
    for (size_t i = 0; r == 0 && i < (level->opaque ? BELOW : BASE + 1); i++) {
        walk->missing_in = i;
        if (level->below.fd[i] >= 0)
            r = each_entry(walk, level->below.fd[i], level, visit_missing);
    }
    return r;
}

static int walk_level(struct walk *walk, const struct level *level) {
    int r = each_entry(walk, level->fd, level, visit);
    return r || (!level->opaque && !walk->options->live) ? r : walk_missing(walk, level);
}

int changes_list(const struct changes_options *options, cell_change_handler *handler, void *arg) {
    auto_free struct walk *walk = malloc(sizeof *walk);
    if (!walk)
        return -ENOMEM;
    walk->options = options;
    walk->handler = handler;
    walk->arg = arg;
    walk->path_bytes = 0;
    walk->path[0] = 0;
    walk->compared = NULL;
    int r = walk_level(
        walk, &(struct level){.fd = options->upper_fd, .below = below_all(options), .host_fd = options->folder_fd});
    tdestroy(walk->compared, free);
    return r;
}

/* The folder that path's last name is in, as it was; the name goes to ret_name. The caller closes them. */
static struct below open_parent_before(const struct changes_options *options, const char *path, const char **ret_name) {
    char name[NAME_MAX + 1];
    const struct below all = below_all(options);
    struct below below = open_below(&all, ".");
    for (const char *slash; (slash = strchr(path, '/')); path = slash + 1) {
        auto_below outer = below;
        snprintf(name, sizeof name, "%.*s", (int)(slash - path), path);
        below = open_below(&outer, name);
    }
    *ret_name = path;
    return below;
}

bool changes_look_before(const struct changes_options *options, const char *path, struct stat *ret_st) {
    auto_below below = open_parent_before(options, path, &path);
    return look_below(&below, path, ret_st);
}

int changes_open_before(const struct changes_options *options, const char *path) {
    auto_below below = open_parent_before(options, path, &path);
    const struct before before = look_before(&below, path);
    struct stat st;
    if (!before.stood)
        return -ENOENT;
    if (!S_ISREG(before.st.st_mode))
        return -EINVAL;
    auto_fd fd = openat(below.fd[before.in], path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st))
        return -errno;
    return S_ISREG(st.st_mode) ? steal_fd(&fd) : -EINVAL; /* the host may have put another in its place */
}
