/*
 * masked_paths.c - finds the places before the root changes, makes overlays after that, binds them in each sandbox.
 *
 * A folder may be seen at several places, by links and because prefixes overlap:
 * each place is listed once. A mask on a folder that the notebook's folder is in
 * is bound before that is mounted, or it would cover it; all others come after
 * that.
 */
#define _GNU_SOURCE
#include "masked_paths.h"

#include "base/cleanup.h"
#include "sandbox/base/step.h"
#include "sandbox/base/system.h"
#include "sandbox/files/folder.h"
#include "sandbox/files/overlay.h"
#include "sandbox/mounts/prefix.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

/* From the working folder; see mounts.c. */
#define PLACE "hide"
enum { PLACE_SIZE = 48 };

static bool has(const struct masked_places *places, size_t folder, const char *path) {
    for (size_t i = 0; i < places->n; i++)
        if (places->place[i].folder == folder && strcmp(places->place[i].path, path) == 0)
            return true;
    return false;
}

/* A place of a folder: head, and below it rest. */
static int add(struct masked_places *places, size_t folder, const char *head, const char *rest) {
    auto_free char *path = NULL;
    if (asprintf(&path, "%s%s", head, rest) < 0)
        return -ENOMEM;
    if (has(places, folder, path))
        return 0;
    struct masked_place *grown = reallocarray(places->place, places->n + 1, sizeof *grown);
    if (!grown)
        return -ENOMEM;
    places->place = grown;
    grown[places->n++] = (struct masked_place){folder, path};
    path = NULL;
    return 0;
}

/* The places of the session's folders in what cells see at shown, which on the host is at path. */
static int add_in(struct masked_places *places, const struct session_options *options, const char *path,
                  const char *shown) {
    auto_free char *real = realpath(path, NULL);
    int r = 0;
    for (size_t i = 0; real && r == 0 && i < options->n_masks; i++) {
        const char *rest = folder_rest(real, options->masks[i].folder);
        r = rest ? add(places, i, shown, rest) : 0;
    }
    return r;
}

static bool is_link(const char *path) {
    struct stat st;
    return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

/* Lists only places where cells see the folder itself: a mask must not cover what the template has of its own by that
 * name. */
int masked_paths_find(const struct session_options *options, const struct prefix_list *prefixes,
                      struct masked_places *ret) {
    static const char *const system[] = {"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", NULL};
    char path[PATH_MAX + 16];
    int r = 0;
    for (const char *const *folder = system; r == 0 && *folder; folder++)
        r = is_link(*folder) ? 0 : add_in(ret, options, *folder, *folder); /* cells have the link, too */
    for (int i = 0; i < prefixes->n; i++)
        for (const char *const *part = prefix_parts; r == 0 && *part; part++) {
            snprintf(path, sizeof path, "%s/%s", prefixes->path[i], *part);
            r = add_in(ret, options, path, path);
        }
    for (const char *const *readonly = options->readonly; r == 0 && readonly && *readonly; readonly++)
        r = add_in(ret, options, *readonly, *readonly);
    if (r == 0)
        r = add_in(ret, options, options->folder, options->folder);
    return r ? r : add_in(ret, options, options->folder, "/work");
}

static void place_of(size_t i, const char *end, char buf[PLACE_SIZE]) {
    snprintf(buf, PLACE_SIZE, PLACE "/%zu%s", i, end);
}

static int make_folder(const char *path, struct error *error) {
    if (mkdir(path, 0755) && errno != EEXIST)
        return step_failed(error, STEP_TEMPLATE_FILE, errno, "%s", path);
    return 0;
}

/* A folder of whiteouts lies over the host's, and cells see its mode and owner: so it gets those of the host's, the
 * owner where that can be mapped. */
static int make_like(int host_fd, int white_fd, const char *path) {
    struct stat st;
    if (fstatat(host_fd, path, &st, AT_SYMLINK_NOFOLLOW))
        return -errno;
    if (fchownat(white_fd, path, st.st_uid, st.st_gid, AT_SYMLINK_NOFOLLOW) && errno != EINVAL && errno != EPERM)
        return -errno;
    return fchmodat(white_fd, path, st.st_mode & 0777, 0) ? -errno : 0;
}

static int make_whiteout(int host_fd, int white_fd, const char *name) {
    char path[PATH_MAX];
    int r = 0;
    for (const char *slash = strchr(name, '/'); r == 0 && slash; slash = strchr(slash + 1, '/')) {
        if (snprintf(path, sizeof path, "%.*s", (int)(slash - name), name) >= (int)sizeof path)
            return -ENAMETOOLONG;
        if (mkdirat(white_fd, path, 0700) == 0)
            r = make_like(host_fd, white_fd, path);
        else if (errno != EEXIST)
            r = -errno;
    }
    return r ? r : overlay_put_whiteout(white_fd, name);
}

static int make_whiteouts(int host_fd, const char *folder, char *const *names, struct error *error) {
    auto_fd fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int r = fd < 0 ? -errno : make_like(host_fd, fd, ".");
    if (r)
        return step_failed(error, STEP_TEMPLATE_FILE, -r, "%s", folder);
    for (size_t i = 0; r == 0 && names[i]; i++) {
        r = make_whiteout(host_fd, fd, names[i]);
        if (r == -ENOENT || r == -ENOTDIR) /* gone since it was found */
            r = 0;
        if (r)
            r = step_failed(error, STEP_TEMPLATE_FILE, -r, "hiding %s", names[i]);
    }
    return r;
}

/* Makes the overlay of a mask; a mask without names is an empty folder. */
static int build(size_t i, const struct session_mask *mask, const char *old, struct error *error) {
    char white[PLACE_SIZE], place[PLACE_SIZE], white_at[PATH_MAX + PLACE_SIZE], place_at[PATH_MAX + PLACE_SIZE],
        here[PATH_MAX];
    place_of(i, ".white", white);
    place_of(i, "", place);
    if (!getcwd(here, sizeof here))
        return step_failed(error, STEP_TEMPLATE_FILE, errno, "%s", PLACE);
    snprintf(white_at, sizeof white_at, "%s/%s", here, white);
    snprintf(place_at, sizeof place_at, "%s/%s", here, place);
    int r = make_folder(place, error);
    if (r || !mask->names)
        return r;
    auto_fd fd = system_open_in_root(old, mask->folder, true);
    if (fd < 0)
        return step_failed(error, STEP_MOUNT_OVERLAY, -fd, "%s", mask->folder);
    r = make_folder(white, error);
    if (r == 0)
        r = make_whiteouts(fd, white, mask->names, error);
    if (r)
        return r;
    r = overlay_show(white_at, fd, place_at);
    return r ? step_failed(error, STEP_MOUNT_OVERLAY, -r, "%s", mask->folder) : 0;
}

int masked_paths_build(const struct session_options *options, const char *old, struct error *ret_error) {
    int r = options->n_masks > 0 ? make_folder(PLACE, ret_error) : 0;
    for (size_t i = 0; r == 0 && i < options->n_masks; i++)
        r = build(i, &options->masks[i], old, ret_error);
    return r;
}

/* A place where the folder is not seen needs nothing. */
static int put(const struct masked_place *place, struct error *error) {
    char source[PLACE_SIZE];
    struct stat st;
    place_of(place->folder, "", source);
    if (stat(place->path, &st) || !S_ISDIR(st.st_mode))
        return 0;
    return mount(source, place->path, NULL, MS_BIND, NULL)
               ? step_failed(error, STEP_MOUNT_BIND, errno, "%s", place->path)
               : 0;
}

int masked_paths_show(const struct masked_places *places, const char *folder, bool above, struct error *ret_error) {
    int r = 0;
    for (size_t i = 0; r == 0 && i < places->n; i++) {
        const char *rest = folder_rest(places->place[i].path, folder);
        if ((rest && rest[0]) == above)
            r = put(&places->place[i], ret_error);
    }
    return r;
}
