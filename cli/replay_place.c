/*
 * replay_place.c - checks the folder and the interpreter that a record names, before they are used.
 *
 * The folder is opened first; its descriptor is checked and then used for
 * fchdir(2). An interpreter can only be checked by its path: the link, its
 * target, and the folder of the link each have to belong to the user or root.
 */

#include "replay_place.h"

#include "kernel/base/host_file.h"
#include "kernel/base/terminal.h"
#include "kernel/interpreter/python.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>

/* The text if it is an absolute path; else NULL. */
static const char *path_of(const json_t *json) {
    const char *path = json_string_value(json);
    size_t n = json_string_length(json);
    return path && path[0] == '/' && n < PATH_MAX && strlen(path) == n ? path : NULL;
}

static int enter_recorded(const json_t *recorded, struct error *ret_error) {
    static const char advice[] = "name one with --folder";
    const char *folder = path_of(recorded);
    struct stat st;
    if (!folder)
        return error_set(ret_error, EINVAL, "the record names no folder by an absolute path; %s", advice);
    auto_fd fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return error_set(ret_error, EINVAL,
                         "its folder %s is not there any more; %s, an empty one if it was the temporary folder of a "
                         "session without one",
                         folder, advice);
    if (fd < 0 || fstat(fd, &st) < 0)
        return error_set(ret_error, EINVAL, "its folder %s: %s; %s", folder, strerror(errno), advice);
    if (!host_is_trusted(st.st_uid))
        return error_set(ret_error, EINVAL, "its folder %s belongs to another user (uid %u); %s", folder,
                         (unsigned)st.st_uid, advice);
    return fchdir(fd) < 0 ? error_set(ret_error, EINVAL, "its folder %s: %s; %s", folder, strerror(errno), advice) : 0;
}

/*
 * Whether a program, its link and the link's folder can't be changed by other
 * users. In a virtual environment the program is a link, and its folder
 * decides which packages are imported.
 */
static bool is_trusted_program(const char *path) {
    char copy[PATH_MAX];
    struct stat link, program, folder;
    snprintf(copy, sizeof copy, "%s", path);
    return lstat(path, &link) == 0 && stat(path, &program) == 0 && stat(dirname(copy), &folder) == 0 &&
           S_ISREG(program.st_mode) && host_is_trusted(link.st_uid) && host_is_trusted(program.st_uid) &&
           host_is_trusted(folder.st_uid);
}

/* The interpreter in the record; NULL where the record has none, or it does not exist any more. */
static int find_recorded(const json_t *run, const char **ret_python, struct error *ret_error) {
    static const char advice[] = "name one with --python";
    const json_t *interpreter = json_object_get(json_object_get(run, "environment"), "interpreter");
    const json_t *named = json_object_get(interpreter, "named");
    const char *python = path_of(named);
    if (named && !python)
        return error_set(ret_error, EINVAL, "the record names its interpreter by no absolute path; %s", advice);
    if (python && access(python, X_OK) < 0) {
        terminal_complain("%s: %s; replaying with another interpreter", python, strerror(errno));
        python = NULL;
    }
    if (python && !is_trusted_program(python))
        return error_set(ret_error, EINVAL, "its interpreter %s is no program of yours or of root's; %s", python,
                         advice);
    *ret_python = python;
    return 0;
}

int replay_enter(const struct replay_named *named, const json_t *run, const char **ret_python,
                 struct error *ret_error) {
    char folder[PATH_MAX] = "?";
    const char *python = named->python;
    int r = named->python ? 0 : find_recorded(run, &python, ret_error);
    if (r == 0 && !named->folder)
        r = enter_recorded(json_object_get(run, "folder"), ret_error);
    else if (r == 0 && chdir(named->folder) < 0)
        r = error_set(ret_error, EINVAL, "%s: %s", named->folder, strerror(errno));
    if (r < 0)
        return r;
    if (!getcwd(folder, sizeof folder))
        return error_set(ret_error, EINVAL, "its folder: %s", strerror(errno));
    terminal_complain("replaying in %s with %s", folder, python_name(python));
    *ret_python = python;
    return 0;
}
