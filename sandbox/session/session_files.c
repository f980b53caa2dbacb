/*
 * session_files.c - keeping a session's files at a commit, and putting them back.
 *
 * Freeze: the snapshot is told which mapped files the cell may have written.
 * Commit: the snapshot is brought up to date, and guards are set for what the new
 * image has open. Restore: the overlay is made to forget, the live files are put back
 * below it, and every name that the cell has changed is looked at through the overlay;
 * only where one is not shown as it is the folder is mounted anew.
 *
 * Both need a few inodes beside those of cells. Where the cell has used up the
 * limit, it is raised for the one attempt and put back. After a commit that failed
 * there is nothing to restore from, so its error is kept and no cell goes on.
 */
#define _GNU_SOURCE
#include "session_files.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "sandbox/base/system.h"
#include "sandbox/files/changes.h"
#include "sandbox/files/folder.h"
#include "sandbox/files/layers.h"
#include "sandbox/files/overlay.h"
#include "sandbox/files/tree.h"
#include "sandbox/session/cell.h"
#include "sandbox/session/kept.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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
    } rows[] = {{"live/files", &folders->live},       {"live/aside", &folders->live_aside},
                {"live/guards", &folders->guards},    {"kept/files", &folders->kept},
                {"kept/aside", &folders->kept_aside}, {"kept/versions", &folders->versions}};
    *folders = (struct snapshot_folders){-1, -1, -1, -1, -1, -1};
    int r = 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if ((*rows[i].fd = tree_open(session->zygote.files_fd, rows[i].path)) < 0)
            r = *rows[i].fd;
    return r;
}

static void close_folders(struct snapshot_folders *folders) {
    close_fd(&folders->live);
    close_fd(&folders->live_aside);
    close_fd(&folders->guards);
    close_fd(&folders->kept);
    close_fd(&folders->kept_aside);
    close_fd(&folders->versions);
}

/* Keeps a copy of the files that the session begins with, for cells of image 0; it is never changed. */
static int keep_first(const struct session *session) {
    struct snapshot_folders folders = session->files.folders;
    struct snapshot *copy = NULL;
    auto_fd first = tree_open(session->zygote.files_fd, "kept/first");
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

/* Takes a step of the snapshot. The names that it gives to files count for the limit of files, which cells may have
 * reached: then that is raised for the moment. */
static int with_room(const struct session *session, int (*step)(struct snapshot *snapshot, void *arg), void *arg) {
    int r = step(session->files.snapshot, arg);
    if (r == -ENOSPC && zygote_raise_file_limit(&session->zygote) == 0) {
        r = step(session->files.snapshot, arg);
        int ended = zygote_lower_file_limit(&session->zygote);
        r = r ? r : ended;
    }
    return r;
}

static int names_add(struct names *names, const char *path) {
    int r = names->n == NAMES_MAX ? -E2BIG : array_grow(&names->path, names->n, sizeof *names->path);
    if (r == 0 && !(names->path[names->n] = strdup(path)))
        r = -ENOMEM;
    if (r == 0)
        names->n++;
    else
        names->failed = r;
    return r;
}

static void names_fini(struct names *names) {
    for (size_t i = 0; i < names->n; i++)
        free(names->path[i]);
    free(names->path);
    *names = (struct names){0};
}

/* Frees what was found out about a cell that has ended. */
static void forget_cell(struct session_files *files) {
    names_fini(&files->released);
    free(files->held);
    files->held = NULL;
    files->n_held = 0;
}

static int commit(struct snapshot *snapshot, void *arg) {
    (void)arg;
    return snapshot_commit(snapshot);
}

static int restore(struct snapshot *snapshot, void *arg) {
    (void)arg;
    return snapshot_restore(snapshot);
}

const char *session_files_below_folder(const struct session *session, const char *path) {
    const char *rest = folder_rest("/work", path);
    if (!rest)
        rest = folder_rest(session->folder, path);
    return rest && rest[0] == '/' && rest[1] ? rest + 1 : NULL;
}

/*
 * The number of a live file that an image has by this path and number. An overlay
 * goes on giving a file that was copied up the number of the host's: then it is the
 * live file of that path.
 */
static ino_t live_number(const struct session *session, int folder_fd, const char *path, ino_t inode) {
    struct stat st;
    const char *rest = path ? session_files_below_folder(session, path) : NULL;
    return rest && fstatat(folder_fd, rest, &st, AT_SYMLINK_NOFOLLOW) == 0 ? st.st_ino : inode;
}

static int by_number(const void *a, const void *b) {
    const ino_t one = *(const ino_t *)a, other = *(const ino_t *)b;
    return (one > other) - (one < other);
}

int session_files_find_held(const struct session *session, const struct image *image, ino_t **ret_numbers,
                            size_t *ret_n) {
    const struct mapped_files *mapped = &image->shared.mapped;
    const struct descriptors *list = &image->descriptors;
    auto_fd folder_fd = tree_open(session->files.folders.live, "folder");
    auto_free ino_t *numbers = malloc((list->of_kind[DESCRIPTOR_FILE] + mapped->n + 1) * sizeof *numbers);
    size_t n = 0;
    if (folder_fd < 0 || !numbers)
        return folder_fd < 0 ? folder_fd : -ENOMEM;
    for (size_t i = 0; list->of_kind[DESCRIPTOR_FILE] && i < list->n; i++)
        if (list->at[i].kind == DESCRIPTOR_FILE && S_ISREG(list->at[i].mode))
            numbers[n++] = live_number(session, folder_fd, list->at[i].path, list->at[i].inode);
    for (size_t i = 0; i < mapped->n; i++)
        numbers[n++] = mapped->file[i].live;
    qsort(numbers, n, sizeof *numbers, by_number);
    *ret_numbers = numbers;
    numbers = NULL;
    *ret_n = n;
    return 0;
}

/* Whether an image may have a live file by a descriptor or a mapping that tells no number of a live file: one of a file
 * without a name. */
static bool has_unnamed(const struct image *image) {
    for (size_t i = 0; i < image->shared.n; i++)
        if (!image->shared.piece[i].is_memory)
            return true;
    return image->descriptors.of_kind[DESCRIPTOR_UNNAMED] > 0;
}

/* snapshot_guard() for a cell that is committed: of n files that its result has open or mapped, and those of the kept
 * images. The contents of files that only these have is given up, for a copy is kept. */
static int guard_all(const struct cell *cell, struct snapshot *snapshot, ino_t *live, size_t n) {
    const struct session *session = cell->session;
    size_t n_all = n;
    for (const struct kept_image *kept = session->kept; kept; kept = kept->next)
        n_all += kept->n_held;
    if (n_all == n)
        return snapshot_guard(snapshot, live, n);
    auto_free ino_t *all = calloc(n_all, sizeof *all);
    if (!all)
        return -ENOMEM;
    ino_t *end = mempcpy(all, live, n * sizeof *all);
    for (const struct kept_image *kept = session->kept; kept; kept = kept->next)
        end = mempcpy(end, kept->held, kept->n_held * sizeof *all);
    int r = snapshot_guard(snapshot, all, n_all);
    return r || has_unnamed(cell->result) ? r : snapshot_empty_guards(snapshot, live, n);
}

/* Of the files that an image has open or mapped, the new one and those that are kept, those which a cell might unlink,
 * and which must be the same ones after all when one goes back to it. */
static int guard(struct snapshot *snapshot, void *arg) {
    const struct cell *cell = arg;
    ino_t *found;
    size_t n;
    int r = session_files_find_held(cell->session, cell->result, &found, &n);
    if (r)
        return r;
    auto_free ino_t *numbers = found;
    return guard_all(cell, snapshot, numbers, n);
}

/*
 * Whether two looks are at one file. An overlay tells by the upper bits of a
 * number which of its folders a file is from, and a file of the host's keeps its
 * number while it is open, also when a cell has replaced its contents: but its
 * change has a time.
 */
static bool is_same(const struct stat *one, const struct stat *other) {
    return ((one->st_ino ^ other->st_ino) & NUMBER_BITS) == 0 && one->st_size == other->st_size &&
           memcmp(&one->st_ctim, &other->st_ctim, sizeof one->st_ctim) == 0;
}

/* What lies below the live files at a path. released: it was a cell's own, so that what the host has there now isn't
 * what is hidden of homes. */
static bool look_below(const struct session *session, const char *path, bool released, struct stat *ret_below) {
    const struct changes_options below = session_outputs_below(session, LAYER_LIVE);
    return released ? below.folder_fd >= 0 && fstatat(below.folder_fd, path, ret_below, AT_SYMLINK_NOFOLLOW) == 0
                    : changes_look_before(&below, path, ret_below);
}

/* Whether a name leads through the overlay to what lies below it: a live file, or else one of the host's. */
static bool is_shown(const struct session *session, int view_fd, int live_fd, const char *path, bool released) {
    struct stat shown, below;
    const bool seen = fstatat(view_fd, path, &shown, AT_SYMLINK_NOFOLLOW) == 0;
    const bool live = fstatat(live_fd, path, &below, AT_SYMLINK_NOFOLLOW) == 0;
    if (live && released && S_ISDIR(below.st_mode))
        return seen && S_ISDIR(shown.st_mode);
    if (live)
        return S_ISCHR(below.st_mode) ? !seen : seen && is_same(&shown, &below);
    if (!look_below(session, path, released, &below))
        return !seen;
    return seen ? is_same(&shown, &below) : !released;
}

/* Remounts the session's view of a folder that is whole, by one call: Linux then forgets names that are not open. */
static int reconfigure(struct session *session) {
    struct session_files *files = &session->files;
    if (files->view_fd < 0)
        files->view_fd = system_pick_mount(session->zygote.files_fd, "view");
    return files->view_fd < 0 ? files->view_fd : system_reconfigure(files->view_fd);
}

int session_files_refresh(struct session *session) {
    return session->zygote.view.in_parts || reconfigure(session) ? zygote_refresh(&session->zygote) : 0;
}

/* Has the overlay show what lies below it; names, released: as above. It remembers who may enter a folder as long as
 * something in that is open, and doesn't tell that. */
static int refresh(struct session *session, const struct names *names, bool released) {
    const bool access = snapshot_take_access(session->files.snapshot);
    int r = session_files_refresh(session);
    if (r || (names->failed == 0 && names->n == 0 && !access))
        return r;
    auto_fd view_fd = tree_open(session->zygote.files_fd, "view");
    auto_fd live_fd = tree_open(session->files.folders.live, "folder");
    bool right = !access && names->failed == 0 && view_fd >= 0 && live_fd >= 0;
    for (size_t i = 0; right && i < names->n; i++)
        right = is_shown(session, view_fd, live_fd, names->path[i], released);
    if (right)
        return 0;
    close_fd(&view_fd);
    close_fd(&session->files.view_fd);
    opened_forget(&session->opened); /* they are of the overlay that is no more */
    return zygote_renew(&session->zygote);
}

/* Finds which live files are mapped, each when its mapping is seen first: later its path may lead to another. */
static void find_mapped(const struct session *session, struct mapped_files *mapped) {
    auto_fd folder_fd = mapped->n ? tree_open(session->files.folders.live, "folder") : -1;
    for (size_t i = 0; i < mapped->n; i++) {
        struct mapped_file *file = &mapped->file[i];
        if (file->live == 0)
            file->live = live_number(session, folder_fd, file->path, file->inode);
    }
}

void session_files_freeze(const struct cell *cell) {
    const struct mapped_files *before = &cell->image->shared.mapped;
    struct snapshot *snapshot = cell->session->files.snapshot;
    find_mapped(cell->session, &cell->result->shared.mapped);
    if (cell->had_children)
        mapped_files_suspect_all(before, snapshot);
    else
        mapped_files_suspect_touched(before, &cell->result->shared.mapped, cell->result->keeper, snapshot);
}

void session_files_commit(const struct cell *cell) {
    struct session *session = cell->session;
    struct snapshot *snapshot = session->files.snapshot;
    session->files.failed = with_room(session, commit, NULL);
    mapped_files_note(&cell->result->shared.mapped, snapshot);
    if (session->files.failed == 0)
        session->files.failed = with_room(session, guard, (void *)cell);
    if (session->files.failed == 0 && (session->files.released.n > 0 || session->files.released.failed)) {
        opened_forget(&session->opened); /* a folder that the host has by now is another one */
        session->files.failed = refresh(session, &session->files.released, true);
    }
    forget_cell(&session->files);
}

/* Whether a frozen cell has a live file open or mapped. A number of another file system counts too: it is safe to keep.
 * 1, 0 or -errno. */
static int is_held(const struct cell *cell, ino_t live) {
    struct session_files *files = &cell->session->files;
    int r = files->held ? 0 : session_files_find_held(cell->session, cell->result, &files->held, &files->n_held);
    if (r)
        return r;
    return bsearch(&live, files->held, files->n_held, sizeof live, by_number) != NULL;
}

/* Gives up one entry of a live folder. 1, 0 where it stays, or -errno. */
static int release(const struct cell *cell, int dir_fd, const char *name) {
    struct stat st;
    if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW))
        return errno == ENOENT ? 1 : -errno;
    if (S_ISDIR(st.st_mode)) {
        auto_fd fd = tree_open(dir_fd, name);
        int r = fd < 0 ? fd : overlay_clear_opaque(fd);
        return r < 0 ? r : 1;
    }
    if (!overlay_is_whiteout(&st)) {
        const bool guarded = snapshot_is_guarded(cell->session->files.snapshot, st.st_ino);
        const bool plain = S_ISREG(st.st_mode) && st.st_nlink == 1U + guarded;
        const int held = plain ? is_held(cell, st.st_ino) : 0;
        if (!plain || held)
            return held < 0 ? held : 0;
    }
    return unlinkat(dir_fd, name, 0) ? -errno : 1;
}

/* Opens the folder that path's last name is in; the folders on the way hide nothing either, for the host has them by
 * now. A descriptor, -ENOENT where there is none, or -errno. */
static int release_way(int files_fd, const char *path, struct names *released) {
    char way[PATH_MAX];
    int fd = system_open_beneath(files_fd, ".", O_RDONLY | O_DIRECTORY, 0);
    for (const char *slash = strchr(path, '/'); fd >= 0 && slash; slash = strchr(slash + 1, '/')) {
        close_fd(&fd);
        if ((size_t)(slash - path) >= sizeof way)
            return -ENAMETOOLONG;
        memcpy(way, path, (size_t)(slash - path));
        way[slash - path] = 0;
        fd = system_open_beneath(files_fd, way, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
        int r = fd < 0 ? 0 : overlay_clear_opaque(fd);
        if (r > 0)
            (void)names_add(released, way);
        if (r < 0)
            close_fd(&fd);
        fd = r < 0 ? r : fd;
    }
    return fd == -ENOTDIR ? -ENOENT : fd;
}

int session_files_release(struct cell *cell, const char *path) {
    struct session *session = cell->session;
    const char *slash = strrchr(path, '/');
    auto_fd files_fd = tree_open(session->files.folders.live, "folder");
    auto_fd dir_fd = files_fd < 0 ? files_fd : release_way(files_fd, path, &session->files.released);
    if (dir_fd == -ENOENT)
        return 1; /* nothing is there that would hide the host's */
    int r = dir_fd < 0 ? dir_fd : release(cell, dir_fd, slash ? slash + 1 : path);
    if (r > 0)
        (void)names_add(&session->files.released, path); /* what is missing there has the folder mounted anew */
    return r;
}

/* Tells of one file that the image has open or mapped, by the cell's path of it. */
static int tell_held(const struct session *session, int live_fd, const char *path, ino_t inode,
                     cell_held_handler *handler, void *arg) {
    struct stat st;
    const char *rest = path ? session_files_below_folder(session, path) : NULL;
    if (!rest || fstatat(live_fd, rest, &st, AT_SYMLINK_NOFOLLOW) == 0)
        return 0; /* a live one, or one that the session has put another in the place of */
    const bool there = fstatat(session->folder_fd, rest, &st, AT_SYMLINK_NOFOLLOW) == 0;
    return handler(arg, rest, there && ((st.st_ino ^ inode) & NUMBER_BITS) == 0);
}

int session_files_list_held(const struct cell *cell, cell_held_handler *handler, void *arg) {
    const struct session *session = cell->session;
    const struct descriptors *list = &cell->result->descriptors;
    const struct mapped_files *mapped = &cell->result->shared.mapped;
    auto_fd live_fd = tree_open(session->files.folders.live, "folder");
    int r = live_fd < 0 ? live_fd : 0;
    for (size_t i = 0; r == 0 && i < list->n; i++)
        if (list->at[i].kind == DESCRIPTOR_FILE && S_ISREG(list->at[i].mode))
            r = tell_held(session, live_fd, list->at[i].path, list->at[i].inode, handler, arg);
    for (size_t i = 0; r == 0 && i < mapped->n; i++)
        r = tell_held(session, live_fd, mapped->file[i].path, mapped->file[i].inode, handler, arg);
    return r;
}

/* A name that a cell has changed. */
static int add_changed(void *arg, const struct cell_file *file) {
    return names_add(arg, file->path);
}

int session_files_restore(const struct cell *cell) {
    struct session *session = cell->session;
    struct snapshot *snapshot = session->files.snapshot;
    struct names names = {0};
    if (session->files.failed)
        return session->files.failed;
    mapped_files_suspect_all(&cell->image->shared.mapped, snapshot);
    const int listed = cell_list_names(cell, add_changed, &names);
    if (listed)
        names.failed = listed;
    int r = session_files_refresh(session); /* what it remembers of folders that are to go keeps their remains alive */
    if (r == 0)
        r = with_room(session, restore, NULL);
    if (r == 0)
        r = refresh(session, &names, false);
    names_fini(&names);
    forget_cell(&session->files);
    return r;
}

/* A name that another version has changed. */
static int list_names(const struct session *session, struct names *names) {
    auto_fd live_fd = tree_open(session->files.folders.live, "folder");
    auto_fd kept_fd = live_fd < 0 ? live_fd : tree_open(session->files.folders.kept, "folder");
    struct changes_options options = session_outputs_below(session, LAYER_LIVE);
    options.upper_fd = live_fd;
    options.base_fd = kept_fd;
    options.live = options.names_only = true;
    options.snapshot = session->files.snapshot;
    return kept_fd < 0 ? kept_fd : changes_list(&options, add_changed, names);
}

int session_files_go(struct session *session, struct snapshot_version *version) {
    struct names names = {0};
    if (session->files.failed)
        return session->files.failed;
    opened_forget(&session->opened);
    killed_await(&session->killed);
    int r = session_files_refresh(session);
    if (r == 0)
        r = snapshot_switch(version);
    if (r)
        return r;
    snapshot_begin(session->files.snapshot); /* nothing has been written since the last look */
    if ((r = list_names(session, &names)))
        names.failed = r;
    r = with_room(session, restore, NULL);
    if (r == 0)
        r = refresh(session, &names, false);
    names_fini(&names);
    return r;
}

static void add_files(const struct session *session, enum session_files_of of, uint64_t *bytes, uint64_t *inodes) {
    static const char *const folders[] = {
        [SESSION_FILES_LIVE] = "live", [SESSION_FILES_KEPT] = "kept", [SESSION_FILES_BESIDE] = "cells"};
    struct statvfs files;
    auto_fd fd = tree_open(session->zygote.files_fd, folders[of]);
    if (fd >= 0 && fstatvfs(fd, &files) == 0) {
        *bytes += (uint64_t)(files.f_blocks - files.f_bfree) * files.f_frsize;
        *inodes += (uint64_t)(files.f_files - files.f_ffree);
    }
}

void session_files_measure(const struct session *session, uint64_t *ret_bytes, uint64_t *ret_inodes) {
    *ret_bytes = *ret_inodes = 0;
    add_files(session, SESSION_FILES_LIVE, ret_bytes, ret_inodes);
    add_files(session, SESSION_FILES_BESIDE, ret_bytes, ret_inodes);
}

bool session_files_beside_are_full(const struct session *session) {
    struct statvfs files;
    auto_fd fd = tree_open(session->zygote.files_fd, "cells");
    return fd >= 0 && fstatvfs(fd, &files) == 0 &&
           (files.f_bfree < files.f_blocks / 2 || files.f_ffree < files.f_files / 2);
}

uint64_t session_files_bytes(const struct session *session, enum session_files_of of) {
    uint64_t bytes = 0, inodes = 0;
    add_files(session, of, &bytes, &inodes);
    return bytes;
}
