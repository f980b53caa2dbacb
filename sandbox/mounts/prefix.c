/*
 * prefix.c - follows the links from the path of the interpreter, and adds a prefix at each step.
 *
 * Each name counts, also one in the middle of a chain of links, for Python takes
 * sys.prefix from the name that it was started by. What stands in no prefix is
 * remembered as a link of its own. No code of the interpreter runs: it is not
 * trusted.
 */
#define _GNU_SOURCE
#include "prefix.h"

#include "base/cleanup.h"
#include "sandbox/base/system.h"
#include "sandbox/files/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_LINKS = 40 };

const char *const prefix_parts[] = {"bin",     "lib",     "lib32", "lib64",      "libx32",
                                    "libexec", "include", "share", "pyvenv.cfg", NULL};

/* lib/python3*'s os.py. No glob(3): what is in path is no pattern. */
static bool has_library(const char *path) {
    char name[PATH_MAX + NAME_MAX + 16];
    struct dirent *entry;
    bool r = false;
    snprintf(name, sizeof name, "%s/lib", path);
    auto_dir dir = opendir(name);
    while (dir && !r && (entry = readdir(dir))) {
        snprintf(name, sizeof name, "%s/os.py", entry->d_name);
        r = strncmp(entry->d_name, "python3", strlen("python3")) == 0 && faccessat(dirfd(dir), name, F_OK, 0) == 0;
    }
    return r;
}

/* Whether a folder is an interpreter's: ~/bin/python must not make all of ~ one. See: PEP 405. */
static bool is_prefix(const char *path) {
    char name[PATH_MAX + 16];
    snprintf(name, sizeof name, "%s/pyvenv.cfg", path);
    return access(name, F_OK) == 0 || has_library(path);
}

/* Whether what a prefix would show is shown anyway. */
static bool is_shown(const struct prefix_list *list, const char *path) {
    if (folder_rest("/usr", path))
        return true;
    for (int i = 0; i < list->n; i++)
        if (folder_rest(list->path[i], path))
            return true;
    return false;
}

static int add(struct prefix_list *list, const char *path) {
    if (!path[0] || strcmp(path, "/") == 0 || is_shown(list, path) || !is_prefix(path))
        return 0;
    if (list->n == PREFIX_MAX)
        return -EOVERFLOW;
    memcpy(list->path[list->n++], path, strlen(path) + 1);
    return 0;
}

/* Cuts the last component off; "" where there is none left. */
static void cut(char *path) {
    char *slash = strrchr(path, '/');
    *(slash ? slash : path) = 0;
}

/* The value of "home" in a pyvenv.cfg: the folder of the base interpreter. 0 where there is none. */
static int venv_home(const char *prefix, char home[PATH_MAX]) {
    char path[PATH_MAX + 16], text[4096];
    snprintf(path, sizeof path, "%s/pyvenv.cfg", prefix);
    if (system_read_file(AT_FDCWD, path, text, sizeof text) < 0)
        return 0;
    for (char *save, *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        char *value = strchr(line, '=');
        if (value && strncmp(line, "home", 4) == 0 && strspn(line + 4, " \t=") > 0) {
            value += 1 + strspn(value + 1, " \t");
            snprintf(home, PATH_MAX, "%s", value);
            return 1;
        }
    }
    return 0;
}

/* Follows one symbolic link of path in place. 1, 0 where it is none, or -errno. */
static int follow(char path[PATH_MAX]) {
    char target[PATH_MAX];
    ssize_t n = readlink(path, target, sizeof target - 1);
    if (n < 0)
        return errno == EINVAL ? 0 : -errno;
    target[n] = 0;
    if (target[0] == '/') {
        memcpy(path, target, (size_t)n + 1);
        return 1;
    }
    cut(path);
    size_t used = strlen(path);
    if (used + 1 + (size_t)n >= PATH_MAX)
        return -ENAMETOOLONG;
    path[used] = '/';
    memcpy(path + used + 1, target, (size_t)n + 1);
    return 1;
}

/* A prefix by its name, by each name that the links at its end lead to, and resolved. 0 or -errno. */
static int add_by_all_names(struct prefix_list *list, const char *prefix) {
    char path[PATH_MAX], resolved[PATH_MAX];
    memcpy(path, prefix, strlen(prefix) + 1);
    int r = add(list, path);
    for (int links = 0; r == 0 && links < MAX_LINKS && follow(path) > 0; links++)
        r = add(list, path);
    if (r == 0 && realpath(prefix, resolved))
        r = add(list, resolved);
    return r;
}

/* The prefix of an interpreter named PREFIX/bin/python, and a virtual environment's base. */
static int add_prefix_of(struct prefix_list *list, const char *executable) {
    char prefix[PATH_MAX], home[PATH_MAX];
    snprintf(prefix, sizeof prefix, "%s", executable);
    cut(prefix);
    cut(prefix);
    int r = add_by_all_names(list, prefix);
    if (r == 0 && venv_home(prefix, home)) {
        cut(home);
        r = add_by_all_names(list, home);
    }
    return r;
}

/* Remembers a link that no prefix shows, before it is followed. 0 or -errno. */
static int add_link(struct prefix_list *list, const char *path) {
    struct prefix_link *link = &list->link[list->n_links];
    if (is_shown(list, path))
        return 0;
    if (list->n_links == PREFIX_MAX)
        return -ELOOP;
    ssize_t n = readlink(path, link->target, sizeof link->target - 1);
    if (n < 0)
        return errno == EINVAL ? 0 : -errno;
    link->target[n] = 0;
    memcpy(link->path, path, strlen(path) + 1);
    list->n_links++;
    return 0;
}

int prefix_collect(const char *python, struct prefix_list *ret_list) {
    char path[PATH_MAX];
    struct prefix_list *list = ret_list;
    list->n = list->n_links = 0;
    if (strlen(python) >= sizeof path)
        return -ENAMETOOLONG;
    memcpy(path, python, strlen(python) + 1);
    for (int links = 0; links < MAX_LINKS; links++) {
        int r = add_prefix_of(list, path);
        if (r == 0)
            r = add_link(list, path);
        if (r == 0)
            r = follow(path);
        if (r <= 0)
            return r;
    }
    return -ELOOP;
}
