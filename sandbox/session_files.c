#define _GNU_SOURCE
#include "session_files.h"

#include "array.h"
#include "cell.h"
#include "changes.h"
#include "cleanup.h"
#include "layers.h"
#include "system.h"
#include "tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

/* More names than these aren't looked at one by one. */
enum { NAMES_MAX = 4096 };

#define NUMBER_BITS ((UINT64_C(1) << 48) - 1)

static int open_folders(struct session *session) {
    struct snapshot_folders *folders = &session->files.folders;
    const struct {
        const char *path;
        int *fd;
    } rows[] = {{"live/files", &folders->live},
                {"live/aside", &folders->live_aside},
                {"live/guards", &folders->guards},
                {"kept/files", &folders->kept},
                {"kept/aside", &folders->kept_aside}};
    *folders = (struct snapshot_folders){-1, -1, -1, -1, -1};
    int r = 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if ((*rows[i].fd = tree_open(session->nursery.files_fd, rows[i].path)) < 0)
            r = *rows[i].fd;
    return r;
}

static void close_folders(struct snapshot_folders *folders) {
    close_fd(&folders->live);
    close_fd(&folders->live_aside);
    close_fd(&folders->guards);
    close_fd(&folders->kept);
    close_fd(&folders->kept_aside);
}

/* What there is when the session begins, for cells of image 0: a copy that is never brought up to date. */
static int keep_first(const struct session *session) {
    struct snapshot_folders folders = session->files.folders;
    struct snapshot *copy = NULL;
    auto_fd first = tree_open(session->nursery.files_fd, "kept/first");
    folders.kept = first;
    int r = first < 0 ? first : snapshot_create(&folders, &copy);
    snapshot_destroy(copy);
    return r;
}

int session_files_begin(struct session *session) {
    int r = open_folders(session);
    if (r == 0)
        r = snapshot_create(&session->files.folders, &session->files.snapshot);
    if (r == 0)
        r = keep_first(session);
    if (r && !session->files.snapshot)
        close_folders(&session->files.folders);
    return r;
}

void session_files_end(struct session *session) {
    if (!session->files.snapshot)
        return;
    snapshot_destroy(session->files.snapshot);
    session->files.snapshot = NULL;
    close_folders(&session->files.folders);
    close_fd(&session->files.view_fd);
}

/* Names that we give to files take room of which cells may have used up all there is: it is lent. */
static int with_room(const struct session *session, int (*step)(struct snapshot *snapshot, void *arg), void *arg) {
    int r = step(session->files.snapshot, arg);
    if (r == -ENOSPC && nursery_lend_names(&session->nursery) == 0) {
        r = step(session->files.snapshot, arg);
        int ended = nursery_end_loan(&session->nursery);
        r = r ? r : ended;
    }
    return r;
}

static int commit(struct snapshot *snapshot, void *arg) {
    (void)arg;
    return snapshot_commit(snapshot);
}

static int restore(struct snapshot *snapshot, void *arg) {
    (void)arg;
    return snapshot_restore(snapshot);
}

/* Of the files that an image has open or mapped, those which a cell might unlink, and which must be the same ones after
 * all when it is lost. */
static int guard(struct snapshot *snapshot, void *arg) {
    const struct image *image = arg;
    const struct mapped *mapped = &image->shared.mapped;
    const struct descriptors *list = &image->descriptors;
    auto_free ino_t *numbers = malloc((list->of_kind[DESCRIPTOR_FILE] + mapped->n + 1) * sizeof *numbers);
    size_t n = 0;
    if (!numbers)
        return -ENOMEM;
    for (size_t i = 0; list->of_kind[DESCRIPTOR_FILE] && i < list->n; i++)
        if (list->at[i].kind == DESCRIPTOR_FILE && S_ISREG(list->at[i].mode))
            numbers[n++] = list->at[i].inode;
    for (size_t i = 0; i < mapped->n; i++)
        if (mapped->file[i].kept)
            numbers[n++] = mapped->file[i].inode;
    return snapshot_guard(snapshot, numbers, n);
}

void session_files_commit(const struct cell *cell) {
    struct session *session = cell->session;
    struct snapshot *snapshot = session->files.snapshot;
    struct mapped *before = &cell->image->shared.mapped, *after = &cell->result->shared.mapped;
    if (cell->had_children)
        mapped_suspect_all(before, snapshot);
    else
        mapped_suspect_touched(before, after, cell->result->keeper, snapshot);
    session->files.failed = with_room(session, commit, NULL);
    mapped_note(after, snapshot);
    if (session->files.failed == 0)
        session->files.failed = with_room(session, guard, cell->result);
}

/* The names that a cell has changed; more than NAMES_MAX are too many. */
struct names {
    size_t n;
    char **path;
};

static int add_name(void *arg, const struct cell_file *file) {
    struct names *names = arg;
    if (names->n == NAMES_MAX)
        return -E2BIG;
    int r = array_make_room(&names->path, names->n, sizeof *names->path);
    if (r == 0 && !(names->path[names->n] = strdup(file->path)))
        r = -ENOMEM;
    if (r == 0)
        names->n++;
    return r;
}

static void names_fini(struct names *names) {
    for (size_t i = 0; i < names->n; i++)
        free(names->path[i]);
    free(names->path);
}

/*
 * Whether two looks are at one file. An overlay tells by the upper bits of a
 * number which of its folders a file is from, and a file of the host's keeps its
 * number while somebody has it open, whatever a cell has made of it: but its
 * change has a time.
 */
static bool is_same(const struct stat *one, const struct stat *other) {
    return ((one->st_ino ^ other->st_ino) & NUMBER_BITS) == 0 && one->st_size == other->st_size &&
           memcmp(&one->st_ctim, &other->st_ctim, sizeof one->st_ctim) == 0;
}

/* Whether a name leads through the overlay to what lies below it: a live file, or else one of the host's. */
static bool is_shown(const struct session *session, int view_fd, int live_fd, const char *path) {
    struct stat shown, below;
    const bool seen = fstatat(view_fd, path, &shown, AT_SYMLINK_NOFOLLOW) == 0;
    const bool live = fstatat(live_fd, path, &below, AT_SYMLINK_NOFOLLOW) == 0;
    if (live)
        return S_ISCHR(below.st_mode) ? !seen : seen && is_same(&shown, &below);
    if (session->folder_fd < 0 || fstatat(session->folder_fd, path, &below, AT_SYMLINK_NOFOLLOW))
        return !seen;
    return !seen || is_same(&shown, &below); /* it may be hidden */
}

/* One call for a folder that is whole: to remount it, which forgets what nobody has open, is not tied to a mount. */
static int reconfigure(struct session *session) {
    struct session_files *files = &session->files;
    if (files->view_fd < 0)
        files->view_fd = system_pick_mount(session->nursery.files_fd, "view");
    return files->view_fd < 0 ? files->view_fd : system_reconfigure(files->view_fd);
}

int session_files_refresh(struct session *session) {
    return session->nursery.view.apart || reconfigure(session) ? nursery_refresh(&session->nursery) : 0;
}

/* Has the overlay show what lies below it. names: those that may have to do with it; result: of finding them. */
static int refresh(struct session *session, const struct names *names, int result) {
    int r = session_files_refresh(session);
    if (r || (result == 0 && names->n == 0))
        return r;
    auto_fd view_fd = tree_open(session->nursery.files_fd, "view");
    auto_fd live_fd = tree_open(session->files.folders.live, "folder");
    bool right = result == 0 && view_fd >= 0 && live_fd >= 0;
    for (size_t i = 0; right && i < names->n; i++)
        right = is_shown(session, view_fd, live_fd, names->path[i]);
    if (right)
        return 0;
    close_fd(&view_fd);
    close_fd(&session->files.view_fd);
    return nursery_renew(&session->nursery);
}

int session_files_restore(const struct cell *cell) {
    struct session *session = cell->session;
    struct snapshot *snapshot = session->files.snapshot;
    struct names names = {0};
    if (session->files.failed)
        return session->files.failed;
    mapped_suspect_all(&cell->image->shared.mapped, snapshot);
    const int listed = cell_list_names(cell, add_name, &names);
    int r = session_files_refresh(session); /* what it remembers of folders that are to go keeps their remains alive */
    if (r == 0)
        r = with_room(session, restore, NULL);
    if (r == 0)
        r = refresh(session, &names, listed);
    names_fini(&names);
    return r;
}

uint64_t session_files_bytes(const struct session *session) {
    static const char *const parts[] = {"live", "cells"};
    struct statvfs files;
    uint64_t bytes = 0;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        auto_fd fd = tree_open(session->nursery.files_fd, parts[i]);
        if (fd >= 0 && fstatvfs(fd, &files) == 0)
            bytes += (uint64_t)(files.f_blocks - files.f_bfree) * files.f_frsize;
    }
    return bytes;
}
