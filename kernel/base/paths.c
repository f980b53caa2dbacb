/*
 * paths.c - tries folders relative to the program, and takes the first that has the worker.
 *
 * The program is found by /proc/self/exe, which no argv[0] can change.
 */

#include "paths.h"

#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Relative to the program's folder; the first that has the worker counts. */
static const char *const roots[] = {
    "../share/petri", /* installed */
    "..",             /* built in CHECKOUT/build */
    "../..",          /* built in CHECKOUT/build/PRESET */
    ".",              /* built elsewhere: the build makes links beside the program */
};

/* The real path of base/name. 0 or -errno. */
static int locate(const char *base, const char *name, char ret_path[PATH_MAX]) {
    char path[PATH_MAX];
    char real[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s", base, name) >= (int)sizeof path)
        return -ENAMETOOLONG;
    if (!realpath(path, real))
        return -errno;
    memcpy(ret_path, real, sizeof real);
    return 0;
}

static int find_root(const char *folder, char ret_root[PATH_MAX]) {
    char root[PATH_MAX];
    char worker[PATH_MAX];
    for (size_t i = 0; i < sizeof roots / sizeof roots[0]; i++) {
        if (locate(folder, roots[i], root) == 0 && locate(root, "worker/petri_worker", worker) == 0) {
            memcpy(ret_root, root, sizeof root);
            return 0;
        }
    }
    return -ENOENT;
}

int paths_find_for(const char *program, struct paths *ret_paths) {
    struct paths paths = {0};
    char copy[PATH_MAX];
    char root[PATH_MAX];
    if (snprintf(paths.program, sizeof paths.program, "%s", program) >= (int)sizeof paths.program)
        return -ENAMETOOLONG;
    memcpy(copy, paths.program, sizeof copy);
    const char *folder = dirname(copy);
    int r = find_root(folder, root);
    if (r == 0)
        r = locate(root, "worker", paths.worker);
    if (r == 0)
        r = locate(root, "kernelspec", paths.kernelspec);
    if (r < 0)
        return r;
    /* In a checkout it is beside its sources. */
    if (locate(root, "labextension", paths.labextension) < 0 &&
        locate(root, "client/lab/labextension", paths.labextension) < 0)
        paths.labextension[0] = '\0';
    if (locate(root, "containers/seccomp.json", paths.seccomp) < 0)
        paths.seccomp[0] = '\0';
    /* In a build it is beside the program; it may be missing. */
    if (locate(root, "site", paths.site) < 0 && locate(folder, "site", paths.site) < 0)
        paths.site[0] = '\0';
    *ret_paths = paths;
    return 0;
}

int paths_find(struct paths *ret_paths) {
    char program[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    if (n < 0)
        return -errno;
    program[n] = '\0';
    return paths_find_for(program, ret_paths);
}

int paths_of_user(const char *variable, const char *otherwise, const char *name, char *buf, size_t size) {
    const char *folder = getenv(variable);
    const char *home = getenv("HOME");
    int n;
    if (folder && folder[0])
        n = snprintf(buf, size, "%s/%s", folder, name);
    else if (home && home[0])
        n = snprintf(buf, size, "%s/%s/%s", home, otherwise, name);
    else
        return -ENOENT;
    return n < (int)size ? 0 : -ENAMETOOLONG;
}

int paths_make_folders(const char *path, mode_t mode) {
    char part[PATH_MAX];
    if (snprintf(part, sizeof part, "%s", path) >= (int)sizeof part)
        return -ENAMETOOLONG;
    for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(part, mode) < 0 && errno != EEXIST)
            return -errno;
        *slash = '/';
    }
    return mkdir(part, mode) < 0 && errno != EEXIST ? -errno : 0;
}

/* The same of one absolute path, as it is written. */
static int is_closed(const char *path, char ret_closed[PATH_MAX]) {
    struct stat st;
    char part[PATH_MAX];
    for (const char *end = path; *end;) {
        end = strchrnul(end + 1, '/');
        snprintf(part, sizeof part, "%.*s", (int)(end - path), path);
        if (stat(part, &st) < 0)
            return 0;
        if ((st.st_mode & S_IXOTH) == 0) {
            memcpy(ret_closed, part, sizeof part);
            return 1;
        }
    }
    return 0;
}

int paths_closed_to_others(const char *path, char ret_closed[PATH_MAX]) {
    char real[PATH_MAX];
    if (path[0] != '/')
        return 0;
    return is_closed(path, ret_closed) || (realpath(path, real) && is_closed(real, ret_closed));
}
