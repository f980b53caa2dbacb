/*
 * outputs.c - whiteouts over what is copied to a folder, and copies of what is replaced there.
 *
 * The layer lies below a mounted overlay, of which cells may look at any name meanwhile. So a copy gets its name once
 * all of it is there, and before the host's file is replaced. An overlay remembers which layers have a folder: so the
 * layer gets those of the folder when the session begins, before any overlay is mounted. Nothing is taken out of the
 * layer again: what stands at a name in it holds for the whole session.
 */
#define _GNU_SOURCE
#include "outputs.h"

#include "base/cleanup.h"
#include "base/directory.h"
#include "sandbox/base/system.h"
#include "sandbox/files/folder.h"
#include "sandbox/files/layers.h"
#include "sandbox/files/mirror.h"
#include "sandbox/files/overlay.h"
#include "sandbox/files/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of the folder that are looked at when the session begins. */
enum { ENTRIES_MAX = 20000, DEPTH_MAX = 32 };

/* Whether the session was told to show the folder, or something in it. */
static bool are_asked_for(const struct session_options *options) {
    char path[PATH_MAX + NAME_MAX + 2];
    snprintf(path, sizeof path, "%s/%s", options->folder, options->outputs);
    for (const char *const *shown = options->readonly; shown && *shown; shown++)
        if (folder_rest(path, *shown))
            return true;
    return false;
}

bool outputs_are_hidden(const struct session_options *options, uint64_t layer) {
    return options->outputs && (options->hide_outputs || layer & LAYER_OVER_FIRST) && !are_asked_for(options);
}

static int put_whiteout(int dir_fd, const char *name) {
    int r = overlay_put_whiteout(dir_fd, name);
    return r == -EEXIST ? 0 : r;
}

/* Makes a folder of the layer like the host's at folder_fd. A descriptor or -errno. */
static int make_folder(int folder_fd, int layer_fd, const char *name) {
    if (mkdirat(layer_fd, name, 0755) && errno != EEXIST)
        return -errno;
    auto_fd made = tree_open(layer_fd, name);
    int r = made < 0 ? made : folder_copy_owner(folder_fd, made);
    return r ? r : steal_fd(&made);
}

static int open_inner(int dir_fd, const char *name) {
    return system_open_beneath(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
}

/* Makes the folders of the layer that the host has at a name and in it, as long as there are few; a run that is under
 * way may see a copy in a later one. entries: how many may be looked at. */
static int make_folders(int dir_fd, int layer_fd, const char *name, int depth, int *entries) {
    auto_fd folder_fd = open_inner(dir_fd, name);
    if (folder_fd < 0)
        return 0; /* no folder, or one that cells can't read either */
    auto_fd made = make_folder(folder_fd, layer_fd, name);
    auto_dir dir = made < 0 ? NULL : directory_open(folder_fd);
    struct dirent *entry;
    int r = made < 0 ? made : 0;
    while (r == 0 && dir && depth > 0 && --*entries > 0 && (entry = readdir(dir)))
        if ((entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN) && strcmp(entry->d_name, ".") != 0 &&
            strcmp(entry->d_name, "..") != 0)
            r = make_folders(folder_fd, made, entry->d_name, depth - 1, entries);
    return r;
}

/* For cells that see nothing of the folder: an empty one, where there is one. A whiteout below it hides what is in that
 * as a mark of overlayfs would, which a tmpfs does not keep before Linux 6.6. */
static int hide_all(const char *name, int files_fd, int folder_fd) {
    int none = 1;
    auto_fd emptied_fd = tree_open(files_fd, "kept/emptied");
    auto_fd unseen_fd = emptied_fd < 0 ? emptied_fd : tree_open(files_fd, "kept/unseen");
    int r = unseen_fd < 0 ? unseen_fd : make_folders(folder_fd, emptied_fd, name, 0, &none);
    return r ? r : put_whiteout(unseen_fd, name);
}

/* For the others: what the caller has there for itself is hidden, and the folders are made. */
static int hide_own(const struct session_options *options, int folder_fd, int hidden_fd) {
    int entries = ENTRIES_MAX;
    int r = make_folders(folder_fd, hidden_fd, options->outputs, DEPTH_MAX, &entries);
    auto_fd made = r ? r : tree_open(hidden_fd, options->outputs);
    for (const char *const *name = options->outputs_own; r == 0 && made >= 0 && name && *name; name++)
        r = put_whiteout(made, *name);
    return r;
}

int outputs_hide(const struct session_options *options, int files_fd, int folder_fd) {
    struct stat st;
    int r = options->outputs ? hide_all(options->outputs, files_fd, folder_fd) : 0;
    if (r || !options->outputs)
        return r;
    auto_fd hidden_fd = tree_open(files_fd, "kept/hidden");
    if (hidden_fd < 0)
        return hidden_fd;
    if (fstatat(folder_fd, options->outputs, &st, AT_SYMLINK_NOFOLLOW) && errno == ENOENT)
        return put_whiteout(hidden_fd, options->outputs);
    return hide_own(options, folder_fd, hidden_fd);
}

/* Copies a file of the host's, with its owner, its mode and its time, and gives the copy its name. 0; -EFBIG where
 * there is no room for it; or -errno. */
static int copy(int from_fd, int layer_fd, const char *name, struct outputs_room *room) {
    char link[32];
    struct stat st;
    auto_fd to_fd = openat(layer_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (to_fd < 0 || fstat(from_fd, &st))
        return -errno;
    if ((uint64_t)st.st_size > room->bytes)
        return -EFBIG;
    int r = mirror_free_room(from_fd, to_fd);
    if (r == 0)
        r = mirror_fill(from_fd, to_fd);
    if (r == 0)
        r = folder_copy_owner(from_fd, to_fd);
    if (r == 0 && futimens(to_fd, (struct timespec[]){st.st_atim, st.st_mtim}))
        r = -errno;
    snprintf(link, sizeof link, "/proc/self/fd/%d", to_fd);
    if (r == 0 && linkat(AT_FDCWD, link, layer_fd, name, AT_SYMLINK_FOLLOW))
        r = -errno;
    if (r == 0)
        room->bytes -= (uint64_t)st.st_size;
    return r;
}

/* The layer gets what the host has at a name that the layer does not have: a file, or nothing. What is no file is never
 * replaced. */
static int keep_name(int layer_fd, int dir_fd, const char *name, struct outputs_room *room) {
    struct stat st;
    const bool stands = fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
    if (stands && !S_ISREG(st.st_mode))
        return 0;
    if (room->names == 0)
        return -EDQUOT;
    room->names--;
    auto_fd fd = stands ? system_open_beneath(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0) : -1;
    return fd >= 0 && copy(fd, layer_fd, name, room) == 0 ? 0 : put_whiteout(layer_fd, name);
}

/* Puts the host's folder of a name, -1 where it has none any more, and the layer's, in the place of those above. 1; 0
 * where the layer hides what is in it; or -errno. */
static int enter(int *layer_fd, int *dir_fd, const char *name, struct outputs_room *room) {
    auto_fd next = open_inner(*dir_fd, name);
    if (faccessat(*layer_fd, name, F_OK, AT_SYMLINK_NOFOLLOW)) {
        if (next < 0)
            return keep_name(*layer_fd, *dir_fd, name, room);
        auto_fd made = make_folder(next, *layer_fd, name);
        if (made < 0)
            return made;
    }
    int r = tree_go(layer_fd, name);
    if (r)
        return r == -ENOTDIR || r == -ELOOP ? 0 : r;
    close_fd(dir_fd);
    *dir_fd = steal_fd(&next);
    return 1;
}

int outputs_keep_seen(int layer_fd, int folder_fd, const char *path, struct outputs_room *room) {
    char name[NAME_MAX + 1];
    auto_fd in_layer = tree_open(layer_fd, ".");
    auto_fd in_folder = system_open_beneath(folder_fd, ".", O_RDONLY | O_DIRECTORY, 0);
    int r = in_layer < 0 ? in_layer : in_folder < 0 ? in_folder : 1;
    for (const char *slash; r > 0 && (slash = strchr(path, '/')); path = slash + 1) {
        if (slash - path > NAME_MAX)
            return -ENAMETOOLONG;
        snprintf(name, sizeof name, "%.*s", (int)(slash - path), path);
        r = enter(&in_layer, &in_folder, name, room);
    }
    const bool stands = r > 0 && faccessat(in_layer, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    return r <= 0 || stands ? (r < 0 ? r : 0) : keep_name(in_layer, in_folder, path, room);
}
