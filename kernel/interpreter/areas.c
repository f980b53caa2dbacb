/*
 * areas.c - finds areas from prefixes, and assigns each path to the innermost area that contains it.
 *
 * All paths are compared by their real paths. Each symbolic link on the way to
 * the program gives a prefix, because cells see the folder of each. An
 * AREA_SYSTEM is not searched: it is added for a folder directly below a prefix
 * once a distribution names something in it. Where there are more than AREAS_MAX
 * areas this fails, because nothing in a missing area would be hidden.
 */

#include "areas.h"

#include "base/cleanup.h"
#include "kernel/base/filename.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

enum { LINKS_MAX = 40 };

/* Folders with the libraries of interpreters, below a prefix; "" is that of old PyPy. */
static const char *const libraries[] = {"/lib", "/lib32", "/lib64", "/libx32", "/local/lib", "/local/lib64", ""};

/* Folders below each of them. */
static const struct {
    const char *name;
    enum area_kind kind;
} in_library[] = {
    {"site-packages", AREA_OTHER},
    {"dist-packages", AREA_OTHER},
    {"ensurepip/_bundled", AREA_WHEELS},
};

/*
 * Folders below a prefix that don't depend on the interpreter. See: Debian's
 * python-wheel-common, and the former python-support.
 */
static const struct {
    const char *name;
    enum area_kind kind;
} in_prefix[] = {
    {"share/python-wheels", AREA_WHEELS},
    {"share/pyshared", AREA_OTHER},
    {"lib/pymodules", AREA_OTHER},
    {"site-packages", AREA_OTHER},
};

/* Other folders of a virtual environment. The interpreter's folder below lib is in the tables above. */
static const char *const in_venv[] = {"bin", "etc", "include", "lib", "lib32", "lib64", "libx32", "libexec", "share"};

/* Prefixes for every interpreter, because cells see all of /usr. */
static const char *const systems[] = {"/usr", "/usr/local"};

/* Names of files are any bytes. */
int area_add(json_t *tree, const char *path) {
    while (*path) {
        size_t n = strcspn(path, "/");
        auto_free char *name = strndup(path, n);
        json_t *inner = name ? json_object_get(tree, name) : NULL;
        path += n + strspn(path + n, "/");
        if (!name || (!inner && json_object_set_new_nocheck(tree, name, json_true())))
            return -ENOMEM;
        if (!*path)
            return 0;
        if (!json_is_object(inner) && json_object_set_new_nocheck(tree, name, json_object()))
            return -ENOMEM;
        tree = json_object_get(tree, name);
    }
    return 0;
}

struct area *areas_at(struct areas *areas, const char *folder) {
    for (size_t i = 0; i < areas->n; i++)
        if (strcmp(areas->all[i].path, folder) == 0)
            return &areas->all[i];
    return NULL;
}

/* Adds a folder by its real path; it must not be an area yet. 0 or -errno. */
static int add_area(struct areas *areas, const char *real, enum area_kind kind) {
    if (areas->n == AREAS_MAX)
        return -E2BIG;
    struct area *all = reallocarray(areas->all, areas->n + 1, sizeof *all);
    if (!all)
        return -ENOMEM;
    areas->all = all;
    struct area *new = &all[areas->n++];
    *new = (struct area){strdup(real), kind, json_object(), json_object(), json_object()};
    return new->path &&new->shown &&new->hidden &&new->loose ? 0 : -ENOMEM;
}

/* The real path of a folder. Returns whether it is one. */
static bool real_folder(const char *path, char real[PATH_MAX]) {
    struct stat st;
    return realpath(path, real) && stat(real, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Adds a folder if it exists and is not an area yet. 0 or -errno. */
static int add_real_area(struct areas *areas, const char *prefix, const char *name, enum area_kind kind) {
    char path[PATH_MAX], real[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s", prefix, name) >= (int)sizeof path)
        return -ENAMETOOLONG;
    return real_folder(path, real) && !areas_at(areas, real) ? add_area(areas, real, kind) : 0;
}

static int add_prefix(struct areas *areas, const char *path) {
    char real[PATH_MAX];
    if (!real_folder(path, real) || strcmp(real, "/") == 0) /* as for /bin/python: cells don't see all of / */
        return 0;
    for (size_t i = 0; i < areas->n_prefixes; i++)
        if (strcmp(areas->prefixes[i], real) == 0)
            return 0;
    if (areas->n_prefixes == AREAS_PREFIXES)
        return -E2BIG;
    areas->prefixes[areas->n_prefixes] = strdup(real);
    return areas->prefixes[areas->n_prefixes] ? (areas->n_prefixes++, 0) : -ENOMEM;
}

/* Cuts the last component off; "" where there is none left. */
static void cut_last_name(char *path) {
    char *slash = strrchr(path, '/');
    *(slash ? slash : path) = '\0';
}

/* The prefix of an interpreter PREFIX/bin/python, and of the one that its environment was made with. */
static int add_prefix_of(struct areas *areas, const char *executable) {
    char prefix[PATH_MAX], home[PATH_MAX];
    snprintf(prefix, sizeof prefix, "%s", executable);
    cut_last_name(prefix);
    cut_last_name(prefix);
    int r = add_prefix(areas, prefix);
    if (r < 0 || !distributions_venv_value(prefix, "home", home, sizeof home))
        return r;
    cut_last_name(home);
    return add_prefix(areas, home);
}

/* Follows one link of path in place. Returns whether it was one. */
static bool follow_link(char path[PATH_MAX]) {
    char target[PATH_MAX], whole[2 * PATH_MAX];
    ssize_t n = readlink(path, target, sizeof target - 1);
    if (n < 0)
        return false;
    target[n] = '\0';
    if (target[0] != '/')
        cut_last_name(path);
    snprintf(whole, sizeof whole, "%s%s%s", target[0] == '/' ? "" : path, target[0] == '/' ? "" : "/", target);
    return snprintf(path, PATH_MAX, "%s", whole) < PATH_MAX;
}

/* Adds the prefix of each symbolic link on the way to the interpreter's program: cells see all of them. */
static int add_prefixes(struct areas *areas, const char *python) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s", python);
    int r = add_prefix_of(areas, path);
    for (int i = 0; r == 0 && i < LINKS_MAX && follow_link(path); i++)
        r = add_prefix_of(areas, path);
    for (size_t i = 0; r == 0 && i < sizeof systems / sizeof systems[0]; i++)
        r = add_prefix(areas, systems[i]);
    return r;
}

/* One library of an interpreter: lib/python3.11. */
static int add_library_folders(struct areas *areas, const char *folder, const char *name) {
    char path[PATH_MAX];
    int r = snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path ? 0 : -ENAMETOOLONG;
    for (size_t i = 0; r == 0 && i < sizeof in_library / sizeof in_library[0]; i++)
        r = add_real_area(areas, path, in_library[i].name, in_library[i].kind);
    return r;
}

static bool is_library(const char *name) {
    return strncmp(name, "python", strlen("python")) == 0 || strncmp(name, "pypy", strlen("pypy")) == 0;
}

/* The libraries of all versions. */
static int add_libraries(struct areas *areas, const char *folder) {
    const struct dirent *entry;
    auto_dir dir = opendir(folder);
    int r = 0;
    while (dir && r == 0 && (entry = readdir(dir)))
        if (is_library(entry->d_name))
            r = add_library_folders(areas, folder, entry->d_name);
    return r;
}

/* A system folder is never a virtual environment, even with a pyvenv.cfg. */
static bool is_venv(const char *prefix) {
    char home[PATH_MAX];
    for (size_t i = 0; i < sizeof systems / sizeof systems[0]; i++)
        if (strcmp(prefix, systems[i]) == 0)
            return false;
    return distributions_venv_value(prefix, "home", home, sizeof home);
}

/* A folder of an environment that is a link to a place outside of it is not the environment's. */
static int add_of_venv(struct areas *areas, const char *prefix, const char *name) {
    char path[PATH_MAX], real[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s", prefix, name) >= (int)sizeof path)
        return -ENAMETOOLONG;
    if (!real_folder(path, real) || areas_at(areas, real))
        return 0;
    const char *rest = filename_below(prefix, real);
    return rest && rest[0] ? add_area(areas, real, AREA_VENV) : 0;
}

static int add_of_prefix(struct areas *areas, const char *prefix) {
    char path[PATH_MAX];
    int r = 0;
    for (size_t i = 0; r == 0 && i < sizeof libraries / sizeof libraries[0]; i++) {
        r = snprintf(path, sizeof path, "%s%s", prefix, libraries[i]) < (int)sizeof path ? 0 : -ENAMETOOLONG;
        if (r == 0)
            r = add_libraries(areas, path);
    }
    for (size_t i = 0; r == 0 && i < sizeof in_prefix / sizeof in_prefix[0]; i++)
        r = add_real_area(areas, prefix, in_prefix[i].name, in_prefix[i].kind);
    for (size_t i = 0; r == 0 && i < sizeof in_venv / sizeof in_venv[0] && is_venv(prefix); i++)
        r = add_of_venv(areas, prefix, in_venv[i]);
    return r;
}

int areas_find(const struct distributions *found, const char *site, struct areas *ret) {
    struct areas areas = {0};
    char own[PATH_MAX] = "";
    bool has_site = site[0] && realpath(site, own);
    int r = 0;
    memcpy(areas.interpreter, found->interpreter, sizeof areas.interpreter);
    for (size_t i = 0; r == 0 && i < found->n_folders; i++)
        if (!has_site || strcmp(found->folders[i], own) != 0)
            r = add_area(&areas, found->folders[i], AREA_SITE);
    if (r == 0)
        r = add_prefixes(&areas, found->named);
    for (size_t i = 0; r == 0 && i < areas.n_prefixes; i++)
        r = add_of_prefix(&areas, areas.prefixes[i]);
    if (r < 0)
        areas_fini(&areas);
    else
        *ret = areas;
    return r;
}

void areas_fini(struct areas *areas) {
    for (size_t i = 0; i < areas->n; i++) {
        free(areas->all[i].path);
        json_decref(areas->all[i].shown);
        json_decref(areas->all[i].hidden);
        json_decref(areas->all[i].loose);
    }
    free(areas->all);
    for (size_t i = 0; i < areas->n_prefixes; i++)
        free(areas->prefixes[i]);
    *areas = (struct areas){0};
}

/* Joins path to folder and removes "." and ".."; does not follow links. Returns whether it fits. */
static bool join(const char *folder, const char *path, char whole[PATH_MAX]) {
    size_t n = path[0] == '/' ? 0 : strlen(folder);
    memcpy(whole, folder, n);
    whole[n] = '\0';
    while (*(path += strspn(path, "/"))) {
        size_t part = strcspn(path, "/");
        bool is_up = part == 2 && path[0] == '.' && path[1] == '.';
        if (is_up)
            cut_last_name(whole);
        else if (part != 1 || path[0] != '.') {
            if (n = strlen(whole), n + part + 2 > PATH_MAX)
                return false;
            whole[n] = '/';
            memcpy(whole + n + 1, path, part);
            whole[n + 1 + part] = '\0';
        }
        path += part;
    }
    return whole[0] != '\0';
}

/* The innermost area that path lies in. */
static struct area *area_of(struct areas *areas, const char *path) {
    struct area *best = NULL;
    for (size_t i = 0; i < areas->n; i++) {
        const char *rest = filename_below(areas->all[i].path, path);
        if (rest && rest[0] && (!best || strlen(areas->all[i].path) > strlen(best->path)))
            best = &areas->all[i];
    }
    return best;
}

/*
 * The folder directly below a prefix that contains path, as a real path; path
 * is changed to that name. Returns whether there is one.
 */
static bool in_prefix_of(const struct areas *areas, char path[PATH_MAX], char folder[PATH_MAX]) {
    char named[PATH_MAX], whole[2 * PATH_MAX];
    const char *rest = NULL;
    for (size_t i = 0; i < areas->n_prefixes; i++) {
        const char *other = filename_below(areas->prefixes[i], path);
        if (other && other[0] && (!rest || other > rest))
            rest = other;
    }
    const char *slash = rest ? strchr(rest + 1, '/') : NULL;
    if (!slash)
        return false;
    snprintf(named, sizeof named, "%.*s", (int)(slash - path), path);
    if (!real_folder(named, folder))
        return false;
    snprintf(whole, sizeof whole, "%s%s", folder, slash);
    return snprintf(path, PATH_MAX, "%s", whole) < PATH_MAX;
}

int areas_name(struct areas *areas, const char *folder, const char *path, bool shown) {
    char whole[PATH_MAX], top[PATH_MAX];
    if (!join(folder, path, whole))
        return 0;
    struct area *area = area_of(areas, whole);
    if (!area && in_prefix_of(areas, whole, top)) {
        area = area_of(areas, whole);
        int r = area ? 0 : add_area(areas, top, AREA_SYSTEM);
        if (r < 0)
            return r;
        area = area ? area : &areas->all[areas->n - 1];
    }
    return area ? area_add(shown ? area->shown : area->hidden, whole + strlen(area->path) + 1) : 0;
}
