#define _GNU_SOURCE
#include "hide.h"

#include "cleanup.h"
#include "error.h"
#include "system.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define PLACE "/.petri/hide"
enum { PLACE_SIZE = 48 };

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
    for (size_t i = 0; fd >= 0 && names && names[i]; i++)
        if (mknodat(fd, names[i], S_IFCHR, makedev(0, 0)))
            return error_set(error, STEP_TEMPLATE_FILE, errno, "hiding %s", names[i]);
    return fd < 0 ? error_set(error, STEP_TEMPLATE_FILE, errno, "%s", folder) : 0;
}

static int build(size_t i, const struct session_hide *hide, const char *old, struct sandbox_error *error) {
    char white[PLACE_SIZE], place[PLACE_SIZE], data[160];
    place_of(i, ".white", white);
    place_of(i, "", place);
    int r = make_folder(white, error);
    if (r == 0)
        r = make_folder(place, error);
    if (r == 0)
        r = make_whiteouts(white, hide->names, error);
    if (r)
        return r;
    auto_fd fd = system_open_in_root(old, hide->folder);
    if (fd < 0)
        return error_set(error, STEP_MOUNT_OVERLAY, -fd, "%s", hide->folder);
    snprintf(data, sizeof data, "userxattr,lowerdir=%s:/proc/self/fd/%d", white, fd);
    if (mount("petri", place, "overlay", MS_RDONLY | MS_NOSUID | MS_NODEV, data))
        return error_set(error, STEP_MOUNT_OVERLAY, errno, "%s", hide->folder);
    return 0;
}

int hide_build(const struct session_options *options, const char *old, struct sandbox_error *ret_error) {
    int r = options->n_hide > 0 ? make_folder(PLACE, ret_error) : 0;
    for (size_t i = 0; r == 0 && i < options->n_hide; i++)
        r = build(i, &options->hide[i], old, ret_error);
    return r;
}

/* A place where the folder is not seen needs nothing. */
static int put(size_t i, const char *target, struct sandbox_error *error) {
    char place[PLACE_SIZE];
    struct stat st;
    place_of(i, "", place);
    if (stat(target, &st) || !S_ISDIR(st.st_mode))
        return 0;
    return mount(place, target, NULL, MS_BIND, NULL) ? error_set(error, STEP_MOUNT_BIND, errno, "%s", target) : 0;
}

/* The folder's place below /work, where it lies in the notebook's folder. */
static int put_in_work(size_t i, const char *path, const char *folder, struct sandbox_error *error) {
    char target[PATH_MAX + 8];
    size_t n = strlen(folder);
    if (strncmp(path, folder, n) != 0 || path[n] != '/')
        return 0;
    snprintf(target, sizeof target, "/work%s", path + n);
    return put(i, target, error);
}

int hide_show(const struct session_options *options, struct sandbox_error *ret_error) {
    int r = 0;
    for (size_t i = 0; r == 0 && i < options->n_hide; i++) {
        const struct session_hide *hide = &options->hide[i];
        const char *const paths[] = {hide->folder, hide->named};
        for (size_t k = 0; r == 0 && k < 2 && (k == 0 || strcmp(paths[0], paths[1]) != 0); k++) {
            r = put(i, paths[k], ret_error);
            if (r == 0)
                r = put_in_work(i, paths[k], options->folder, ret_error);
        }
    }
    return r;
}
