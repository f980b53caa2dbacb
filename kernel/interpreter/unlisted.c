/*
 * unlisted.c - walks an area and its trees together, and decides for each entry: show, hide, or look into.
 *
 * A folder is looked into where hidden distributions name something in it and
 * others, too; one in which nothing is shown then is hidden as a whole, and the
 * names in it are taken back. What can't be opened, or lies too deep, is hidden; a
 * folder that can't be read to its end fails, for what was not read would be seen.
 * No link is looked into.
 */

#include "unlisted.h"

#include "base/cleanup.h"
#include "base/directory.h"
#include "kernel/base/filename.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define CACHES "__pycache__"

enum { ENTRIES_MAX = 100000, DEPTH_MAX = 64 };

/* One area while it is looked through. */
struct look {
    const struct area *area;
    const char *interpreter;
    const json_t *listed;
    struct session_mask *hide;
    size_t n_names, n_seen;
};

/* A folder of the area, and what the trees have for it: NULL for nothing, or an object. */
struct level {
    int fd;
    int depth;
    bool lenient;     /* shown is what is not named by hidden distributions alone, not only what shown ones name */
    const char *path; /* below the area, with a / behind, or "" */
    const json_t *shown;
    const json_t *hidden;
};

enum fate { FATE_SHOW, FATE_HIDE, FATE_ENTER, FATE_ENTER_LENIENT };

static bool begins(const char *text, const char *with) {
    return strncmp(text, with, strlen(with)) == 0;
}

/* A module that is listed without its ending may be a folder or a file: name.py, name.cpython-311-x86_64-linux-gnu.so.
 */
static bool is_loose(const json_t *loose, const char *name) {
    auto_free char *stem = strndup(name, strcspn(name, "."));
    if (json_object_get(loose, name))
        return true;
    return stem && json_object_get(loose, stem) &&
           (strcmp(name + strlen(stem), ".py") == 0 || strcmp(name + strlen(stem), ".pyi") == 0 ||
            filename_ends(name, ".so"));
}

/* python, python3.13t, python3-config, pypy3: the interpreter's own, also if a distribution lists it. */
static bool is_interpreters(const char *name) {
    const char *rest = begins(name, "python") ? name + 6 : begins(name, "pypy") ? name + 4 : NULL;
    if (!rest)
        return false;
    rest += strspn(rest, "0123456789.");
    rest += *rest == 't';
    return !*rest || strcmp(rest, "-config") == 0;
}

/* What the folders of a prefix, as bin and lib, have of the interpreter and of a virtual environment. */
static bool is_interpreters_own(const struct look *look, const char *name) {
    char path[PATH_MAX], real[PATH_MAX];
    if (is_interpreters(name))
        return true;
    if (look->area->kind == AREA_VENV && (begins(name, "activate") || strcmp(name, "Activate.ps1") == 0))
        return true;
    return snprintf(path, sizeof path, "%s/%s", look->area->path, name) < (int)sizeof path && realpath(path, real) &&
           strcmp(real, look->interpreter) == 0;
}

/* A distribution as one file: NAME-VERSION-py3-none-any.whl. */
static bool is_wheel_shown(const struct look *look, const char *name) {
    auto_free char *normal = distributions_normal_name(name, strcspn(name, "-"));
    return !filename_ends(name, ".whl") || (normal && json_object_get(look->listed, normal));
}

/* What is known of an entry of the area itself, besides the lists of files. */
static enum fate fate_at_top(const struct look *look, const char *name, enum fate fate) {
    const struct area *area = look->area;
    switch (area->kind) {
    case AREA_SITE:
        if (is_loose(area->loose, name))
            return json_object_get(area->hidden, name) ? FATE_ENTER_LENIENT : FATE_SHOW;
        break;
    case AREA_WHEELS:
        return fate == FATE_HIDE && is_wheel_shown(look, name) ? FATE_SHOW : fate;
    case AREA_VENV:
    case AREA_SYSTEM:
        return fate != FATE_SHOW && is_interpreters_own(look, name) ? FATE_SHOW : fate;
    case AREA_OTHER:
        break;
    }
    return fate;
}

static enum fate fate_of(const struct look *look, const struct level *level, const char *name) {
    const json_t *shown = json_object_get(level->shown, name), *hidden = json_object_get(level->hidden, name);
    bool leads_on = json_is_object(shown) || (level->lenient && !shown && json_is_object(hidden));
    enum fate fate;
    if (!hidden)
        fate = shown || level->lenient ? FATE_SHOW : FATE_HIDE;
    else if (leads_on)
        fate = level->lenient ? FATE_ENTER_LENIENT : FATE_ENTER;
    else
        fate = shown ? FATE_SHOW : FATE_HIDE;
    return level->depth == 0 ? fate_at_top(look, name, fate) : fate;
}

static int add_name(struct look *look, const struct level *level, const char *name) {
    struct session_mask *hide = look->hide;
    char **names = reallocarray(hide->names, look->n_names + 2, sizeof *names);
    if (!names)
        return -ENOMEM;
    hide->names = names;
    names[look->n_names + 1] = NULL;
    if (asprintf(&names[look->n_names], "%s%s", level->path, name) < 0) {
        names[look->n_names] = NULL;
        return -ENOMEM;
    }
    look->n_names++;
    return 0;
}

/* Takes the last names back, for the folder that they are in is hidden itself. */
static void take_back(struct look *look, size_t n_names) {
    while (look->n_names > n_names) {
        free(look->hide->names[--look->n_names]);
        look->hide->names[look->n_names] = NULL;
    }
}

/* Whether a cache, module.cpython-311.pyc, belongs to what is shown of the folder above. */
static bool is_cache_shown(const struct look *look, const struct level *above, const char *name) {
    char module[NAME_MAX + 8];
    if (json_object_get(json_object_get(above->shown, CACHES), name))
        return true;
    if (json_object_get(json_object_get(above->hidden, CACHES), name))
        return false;
    snprintf(module, sizeof module, "%.*s.py", (int)strcspn(name, "."), name);
    return fate_of(look, above, module) == FATE_SHOW;
}

static int look_through(struct look *look, const struct level *level, const struct level *caches_of);

/* Looks into a folder; where nothing of it is shown, neither is it. 1 where something is, 0, or -errno. */
static int look_into(struct look *look, const struct level *level, const char *name, bool lenient, bool is_caches) {
    auto_free char *path = NULL;
    size_t n_names = look->n_names;
    const json_t *shown = json_object_get(level->shown, name), *hidden = json_object_get(level->hidden, name);
    auto_fd fd = openat(level->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 && (errno == ENOTDIR || errno == ELOOP) && (shown || lenient))
        return 1; /* a file or a link where the lists have a folder; what it leads to is no part of the area */
    if (fd < 0 || level->depth == DEPTH_MAX)
        return add_name(look, level, name);
    if (asprintf(&path, "%s%s/", level->path, name) < 0)
        return -ENOMEM;
    const struct level inner = {fd, level->depth + 1, lenient, path, shown, hidden};
    int r = look_through(look, &inner, is_caches ? level : NULL);
    if (r != 0)
        return r;
    take_back(look, n_names);
    return add_name(look, level, name);
}

/* 1 where something of an entry is shown, 0 where it is hidden, or -errno. */
static int look_at(struct look *look, const struct level *level, const char *name, const struct level *caches_of) {
    if (++look->n_seen > ENTRIES_MAX)
        return -E2BIG;
    if (caches_of)
        return is_cache_shown(look, caches_of, name) ? 1 : add_name(look, level, name);
    if (strcmp(name, CACHES) == 0)
        return look_into(look, level, name, level->lenient, true);
    switch (fate_of(look, level, name)) {
    case FATE_SHOW:
        return 1;
    case FATE_ENTER:
        return look_into(look, level, name, false, false);
    case FATE_ENTER_LENIENT:
        return look_into(look, level, name, true, false);
    case FATE_HIDE:
        break;
    }
    return add_name(look, level, name);
}

/* All entries of a folder, which is where the caches of modules of the level caches_of are, or NULL. 1 where something
 * is shown, 0 where nothing is, or -errno. */
static int look_through(struct look *look, const struct level *level, const struct level *caches_of) {
    const struct dirent *entry;
    bool any = false;
    int r = 0;
    auto_dir dir = directory_open(level->fd);
    if (!dir)
        return -errno;
    while (r >= 0 && (errno = 0, entry = readdir(dir)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            r = look_at(look, level, entry->d_name, caches_of);
            any = any || r > 0;
        }
    if (r >= 0 && errno)
        r = -errno; /* what could not be read would not be hidden */
    return r < 0 ? r : any;
}

int unlisted_find(const struct area *area, const char *interpreter, const json_t *listed,
                  struct session_mask *ret_hide) {
    struct session_mask hide = {.folder = strdup(area->path)};
    struct look look = {area, interpreter, listed, &hide, 0, 0};
    bool is_lenient = area->kind == AREA_SYSTEM;
    bool is_all = area->kind == AREA_OTHER && json_object_size(area->shown) == 0;
    int r = hide.folder ? 0 : -ENOMEM;
    if (r == 0 && !is_all && !(is_lenient && json_object_size(area->hidden) == 0)) {
        auto_fd fd = open(area->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        const struct level top = {fd, 0, is_lenient, "", area->shown, area->hidden};
        r = fd < 0 ? -errno : look_through(&look, &top, NULL);
    }
    if (r < 0 || (!hide.names && !is_all)) {
        unlisted_fini(&hide);
        return r < 0 ? r : 0;
    }
    *ret_hide = hide;
    return 1;
}

void unlisted_fini(struct session_mask *hide) {
    for (size_t i = 0; hide->names && hide->names[i]; i++)
        free(hide->names[i]);
    free(hide->names);
    free(hide->folder);
    *hide = (struct session_mask){0};
}
