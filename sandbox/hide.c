#define _GNU_SOURCE
#include "hide.h"

#include "cleanup.h"
#include "error.h"
#include "folder.h"
#include "overlay.h"
#include "prefix.h"
#include "system.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

/* From the working folder; see mounts.c. */
#define PLACE "hide"
enum { PLACE_SIZE = 48 };

static bool has(const struct hide_places *places, size_t folder, const char *path) {
    for (size_t i = 0; i < places->n; i++)
        if (places->place[i].folder == folder && strcmp(places->place[i].path, path) == 0)
            return true;
    return false;
}

/* A place of a folder: head, and below it rest. */
static int add(struct hide_places *places, size_t folder, const char *head, const char *rest) {
    auto_free char *path = NULL;
    if (asprintf(&path, "%s%s", head, rest) < 0)
        return -ENOMEM;
    if (has(places, folder, path))
        return 0;
    struct hide_place *grown = reallocarray(places->place, places->n + 1, sizeof *grown);
    if (!grown)
        return -ENOMEM;
    places->place = grown;
    grown[places->n++] = (struct hide_place){folder, path};
    path = NULL;
    return 0;
}

/* The places of the session's folders in what cells see at shown, which on the host is at path. */
static int add_in(struct hide_places *places, const struct session_options *options, const char *path,
                  const char *shown) {
    auto_free char *real = realpath(path, NULL);
    int r = 0;
    for (size_t i = 0; real && r == 0 && i < options->n_hide; i++) {
        const char *rest = folder_rest(real, options->hide[i].folder);
        r = rest ? add(places, i, shown, rest) : 0;
    }
    return r;
}

int hide_find(const struct session_options *options, const struct prefix_list *prefixes, struct hide_places *ret) {
    int r = 0;
    for (size_t i = 0; r == 0 && i < options->n_hide; i++)
        r = add(ret, i, options->hide[i].folder, "");
    for (int i = 0; r == 0 && i < prefixes->n; i++)
        r = add_in(ret, options, prefixes->path[i], prefixes->path[i]);
    for (const char *const *path = options->readonly; r == 0 && path && *path; path++)
        r = add_in(ret, options, *path, *path);
    if (r == 0)
        r = add_in(ret, options, options->folder, options->folder);
    return r ? r : add_in(ret, options, options->folder, "/work");
}

static void place_of(size_t i, const char *end, char buf[PLACE_SIZE]) {
    snprintf(buf, PLACE_SIZE, PLACE "/%zu%s", i, end);
}

static int make_folder(const char *path, struct sandbox_error *error) {
    if (mkdir(path, 0755) && errno != EEXIST)
        return error_set(error, STEP_TEMPLATE_FILE, errno, "%s", path);
    return 0;
}

static int make_whiteouts(const char *folder, char *const *names, struct sandbox_error *error) {
    auto_fd fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int r = fd < 0 ? error_set(error, STEP_TEMPLATE_FILE, errno, "%s", folder) : 0;
    for (size_t i = 0; r == 0 && names && names[i]; i++)
        if ((r = overlay_put_whiteout(fd, names[i])))
            r = error_set(error, STEP_TEMPLATE_FILE, -r, "hiding %s", names[i]);
    return r;
}

static int build(size_t i, const struct session_hide *hide, const char *old, struct sandbox_error *error) {
    char white[PLACE_SIZE], place[PLACE_SIZE], white_at[PATH_MAX + PLACE_SIZE], place_at[PATH_MAX + PLACE_SIZE],
        here[PATH_MAX];
    place_of(i, ".white", white);
    place_of(i, "", place);
    if (!getcwd(here, sizeof here))
        return error_set(error, STEP_TEMPLATE_FILE, errno, "%s", PLACE);
    snprintf(white_at, sizeof white_at, "%s/%s", here, white);
    snprintf(place_at, sizeof place_at, "%s/%s", here, place);
    int r = make_folder(white, error);
    if (r == 0)
        r = make_folder(place, error);
    if (r == 0)
        r = make_whiteouts(white, hide->names, error);
    if (r)
        return r;
    auto_fd fd = system_open_in_root(old, hide->folder, true);
    r = fd < 0 ? fd : overlay_show(white_at, fd, place_at);
    return r ? error_set(error, STEP_MOUNT_OVERLAY, -r, "%s", hide->folder) : 0;
}

int hide_build(const struct session_options *options, const char *old, struct sandbox_error *ret_error) {
    int r = options->n_hide > 0 ? make_folder(PLACE, ret_error) : 0;
    for (size_t i = 0; r == 0 && i < options->n_hide; i++)
        r = build(i, &options->hide[i], old, ret_error);
    return r;
}

/* A place where the folder is not seen needs nothing. */
static int put(const struct hide_place *place, struct sandbox_error *error) {
    char source[PLACE_SIZE];
    struct stat st;
    place_of(place->folder, "", source);
    if (stat(place->path, &st) || !S_ISDIR(st.st_mode))
        return 0;
    return mount(source, place->path, NULL, MS_BIND, NULL) ? error_set(error, STEP_MOUNT_BIND, errno, "%s", place->path)
                                                           : 0;
}

int hide_show(const struct hide_places *places, struct sandbox_error *ret_error) {
    int r = 0;
    for (size_t i = 0; r == 0 && i < places->n; i++)
        r = put(&places->place[i], ret_error);
    return r;
}
