/*
 * unlisted.c - walks an area and its trees together, and decides for each entry: show, hide, or look into.
 *
 * A folder is read where both shown and hidden distributions name something in
 * it. If nothing in it is shown, the folder is hidden as a whole, and the names
 * in it are removed from the list. A folder that can't be opened, or is too deep,
 * is hidden. A folder that can't be read to its end makes this fail, because
 * entries that were not read would be visible. Symbolic links are not followed.
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

/* An area while it is walked. */
struct look {
    const struct area *area;
    const char *interpreter;
    const json_t *listed;
    struct session_mask *hide;
    size_t n_names, n_seen;
};

/* A folder of the area, and its entries in the trees: NULL for none, or an object. */
struct level {
    int fd;
    int depth;
    bool lenient; /* everything is shown but what only hidden distributions name; otherwise only what shown ones name */
    const char *path; /* below the area, with a / at its end, or "" */
    const json_t *shown;
    const json_t *hidden;
};

enum verdict { VERDICT_SHOW, VERDICT_HIDE, VERDICT_ENTER, VERDICT_ENTER_LENIENT };

static bool begins(const char *text, const char *with) {
    return strncmp(text, with, strlen(with)) == 0;
}

/* A module that is listed without an extension may be a folder or a file: name.py,
 * name.cpython-311-x86_64-linux-gnu.so. */
static bool is_loose(const json_t *loose, const char *name) {
    auto_free char *stem = strndup(name, strcspn(name, "."));
    if (json_object_get(loose, name))
        return true;
    return stem && json_object_get(loose, stem) &&
           (strcmp(name + strlen(stem), ".py") == 0 || strcmp(name + strlen(stem), ".pyi") == 0 ||
            filename_ends(name, ".so"));
}

/* python, python3.13t, python3-config, pypy3: belong to the interpreter, also if a distribution names them. */
static bool is_interpreters(const char *name) {
    const char *rest = begins(name, "python") ? name + 6 : begins(name, "pypy") ? name + 4 : NULL;
    if (!rest)
        return false;
    rest += strspn(rest, "0123456789.");
    rest += *rest == 't';
    return !*rest || strcmp(rest, "-config") == 0;
}

/* Entries of bin, lib and so on that belong to the interpreter or the virtual environment itself. */
static bool is_interpreters_own(const struct look *look, const char *name) {
    char path[PATH_MAX], real[PATH_MAX];
    if (is_interpreters(name))
        return true;
    if (look->area->kind == AREA_VENV && (begins(name, "activate") || strcmp(name, "Activate.ps1") == 0))
        return true;
    return snprintf(path, sizeof path, "%s/%s", look->area->path, name) < (int)sizeof path && realpath(path, real) &&
           strcmp(real, look->interpreter) == 0;
}

/* Whether an archive NAME-VERSION-py3-none-any.whl belongs to a shown distribution. */
static bool is_wheel_shown(const struct look *look, const char *name) {
    auto_free char *normal = distributions_normal_name(name, strcspn(name, "-"));
    return !filename_ends(name, ".whl") || (normal && json_object_get(look->listed, normal));
}

/* The verdict of an entry of the area itself, by other rules than the lists of files. */
static enum verdict verdict_at_top(const struct look *look, const char *name, enum verdict verdict) {
    const struct area *area = look->area;
    switch (area->kind) {
    case AREA_SITE:
        if (is_loose(area->loose, name))
            return json_object_get(area->hidden, name) ? VERDICT_ENTER_LENIENT : VERDICT_SHOW;
        break;
    case AREA_WHEELS:
        return verdict == VERDICT_HIDE && is_wheel_shown(look, name) ? VERDICT_SHOW : verdict;
    case AREA_VENV:
    case AREA_SYSTEM:
        return verdict != VERDICT_SHOW && is_interpreters_own(look, name) ? VERDICT_SHOW : verdict;
    case AREA_OTHER:
        break;
    }
    return verdict;
}

static enum verdict verdict_of(const struct look *look, const struct level *level, const char *name) {
    const json_t *shown = json_object_get(level->shown, name), *hidden = json_object_get(level->hidden, name);
    bool leads_on = json_is_object(shown) || (level->lenient && !shown && json_is_object(hidden));
    enum verdict verdict;
    if (!hidden)
        verdict = shown || level->lenient ? VERDICT_SHOW : VERDICT_HIDE;
    else if (leads_on)
        verdict = level->lenient ? VERDICT_ENTER_LENIENT : VERDICT_ENTER;
    else
        verdict = shown ? VERDICT_SHOW : VERDICT_HIDE;
    return level->depth == 0 ? verdict_at_top(look, name, verdict) : verdict;
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

/* Removes the last names from the list, because their folder itself is hidden. */
static void take_back(struct look *look, size_t n_names) {
    while (look->n_names > n_names) {
        free(look->hide->names[--look->n_names]);
        look->hide->names[look->n_names] = NULL;
    }
}

/* Whether a cache, module.cpython-311.pyc, belongs to a module that is shown in the folder above. */
static bool is_cache_shown(const struct look *look, const struct level *above, const char *name) {
    char module[NAME_MAX + 8];
    if (json_object_get(json_object_get(above->shown, CACHES), name))
        return true;
    if (json_object_get(json_object_get(above->hidden, CACHES), name))
        return false;
    snprintf(module, sizeof module, "%.*s.py", (int)strcspn(name, "."), name);
    return verdict_of(look, above, module) == VERDICT_SHOW;
}

static int look_through(struct look *look, const struct level *level, const struct level *caches_of);

/* Reads a folder, and hides it where nothing in it is shown. 1 where something is, 0, or -errno. */
static int look_into(struct look *look, const struct level *level, const char *name, bool lenient, bool is_caches) {
    auto_free char *path = NULL;
    size_t n_names = look->n_names;
    const json_t *shown = json_object_get(level->shown, name), *hidden = json_object_get(level->hidden, name);
    auto_fd fd = openat(level->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 && (errno == ENOTDIR || errno == ELOOP) && (shown || lenient))
        return 1; /* a file or a link where the lists have a folder; a link's target is not part of the area */
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
    switch (verdict_of(look, level, name)) {
    case VERDICT_SHOW:
        return 1;
    case VERDICT_ENTER:
        return look_into(look, level, name, false, false);
    case VERDICT_ENTER_LENIENT:
        return look_into(look, level, name, true, false);
    case VERDICT_HIDE:
        break;
    }
    return add_name(look, level, name);
}

/*
 * Decides for all entries of a folder. caches_of: the folder whose modules'
 * caches are in it, or NULL. 1 where something is shown, 0 where nothing is,
 * or -errno.
 */
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
