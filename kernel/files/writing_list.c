/*
 * writing_list.c - what a cell has changed, and what earlier cells have left to be written; which of it is refused at
 * once.
 *
 * The list is sorted by path. What is due of earlier cells is added, unless this
 * cell has changed the path, or a folder above it, once more.
 */

#include "kernel/files/writing_inside.h"

#include "base/array.h"
#include "kernel/base/filename.h"
#include "kernel/files/artifact_kind.h"
#include "kernel/files/autorun.h"
#include "kernel/policy/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>

void writing_refuse(struct writing_entry *entry, const char *format, ...) {
    va_list args;
    if (entry->refused[0])
        return;
    va_start(args, format);
    vsnprintf(entry->refused, sizeof entry->refused, format, args);
    va_end(args);
}

void writing_wait(struct writing_entry *entry, const char *path) {
    char shown[FILENAME_PATH_BYTES];
    if (!entry->refused[0])
        entry->awaited = strdup(path);
    entry->due = true;
    writing_refuse(entry, "what is on the disk stays until %s is saved or removed", filename_shown(path, shown, 100));
}

int writing_refuse_closed(struct writing_entry *entry, int r) {
    if (r != -EACCES)
        return r;
    entry->due = true;
    writing_refuse(entry, "its folder is closed: %s", strerror(EACCES));
    return 0;
}

static int add_entry(struct writing *writing, const char *path, const struct cell_file *file) {
    char *copy = array_grow(&writing->entry, writing->n, sizeof writing->entry[0]) == 0 ? strdup(path) : NULL;
    if (!copy)
        return -ENOMEM;
    writing->entry[writing->n++] = (struct writing_entry){.path = copy,
                                                          .change = file->change,
                                                          .mode = file->mode,
                                                          .links = file->links,
                                                          .bytes = file->bytes,
                                                          .cell = writing->options.writeback->cell,
                                                          .since = writing->options.writeback->cell,
                                                          .same = file->same};
    return 0;
}

static int note(void *arg, const struct cell_file *file) {
    struct writing *writing = arg;
    if (writing->n < WRITING_FILES_MAX)
        return add_entry(writing, file->path, file);
    writing->too_many = true;
    return 1;
}

static int by_path(const void *a, const void *b) {
    return strcmp(((const struct writing_entry *)a)->path, ((const struct writing_entry *)b)->path);
}

/* Among the first n. */
static struct writing_entry *find(const struct writing *writing, size_t n, const char *path) {
    const struct writing_entry key = {.path = (char *)path};
    return bsearch(&key, writing->entry, n, sizeof key, by_path);
}

struct writing_entry *writing_find(const struct writing *writing, const char *path) {
    return find(writing, writing->n, path);
}

/* Among the first n that which has removed or replaced a folder that a path was in; NULL where none has. */
static struct writing_entry *find_above(const struct writing *writing, size_t n, const char *path) {
    char above[WRITEBACK_PATH_BYTES];
    for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
        snprintf(above, sizeof above, "%.*s", (int)(slash - path), path);
        struct writing_entry *entry = find(writing, n, above);
        if (entry && (entry->change == CELL_DELETED || !S_ISDIR(entry->mode)))
            return entry;
    }
    return NULL;
}

bool writing_is_folder_gone(const struct writing *writing, const char *path) {
    return find_above(writing, writing->n, path) != NULL;
}

/*
 * Whether a path of which something is due, or a folder above it, has been changed once more. Then that comes in its
 * place, and waits for what the due removal would have had to wait for.
 */
static bool is_overtaken(const struct writing *writing, size_t n, const char *path) {
    int64_t cell;
    struct writing_entry *same = find(writing, n, path), *entry = same ? same : find_above(writing, n, path);
    if (!entry || !writeback_is_over(writing->options.writeback, path, &cell))
        return entry != NULL;
    if (entry->since > cell)
        entry->since = cell;
    entry->over |= same && entry->change != CELL_DELETED;
    return true;
}

/* Adds the changes of earlier cells that could not be written then. */
static int add_due(struct writing *writing) {
    const size_t n = writing->n;
    char buf[WRITEBACK_PATH_BYTES];
    const char *key;
    json_t *own;
    int r = 0;
    json_object_foreach(writing->options.writeback->own, key, own) {
        struct cell_file file;
        struct stat st;
        const char *path = writeback_path(key, buf);
        if (!writeback_is_due(writing->options.writeback, path, &file) || is_overtaken(writing, n, path))
            continue;
        file.links = 1;
        file.mode = S_IFREG;
        auto_fd fd = file.change == CELL_DELETED ? -1 : cell_open_change(writing->options.cell, path);
        if (fd == -EINVAL)
            file.mode = S_IFDIR;
        else if (fd == -EMLINK)
            continue; /* still, and that was told */
        else if (file.change != CELL_DELETED && (fd < 0 || fstat(fd, &st))) {
            writeback_note_saved(writing->options.writeback, path); /* it does not exist any more */
            continue;
        } else if (file.change != CELL_DELETED) {
            file.mode = st.st_mode;
            file.bytes = (uint64_t)st.st_size;
        }
        r = add_entry(writing, path, &file);
        if (r)
            break;
        struct writing_entry *entry = &writing->entry[writing->n - 1];
        entry->earlier = true;
        entry->cell = entry->since = writeback_cell_of(writing->options.writeback, path);
        if (writeback_is_over(writing->options.writeback, path, &entry->since))
            entry->over = file.change != CELL_DELETED;
    }
    return r;
}

int writing_list(struct writing *writing) {
    int r = cell_list_changes(writing->options.cell, CELL_FILES_AND_FOLDERS, note, writing);
    if (r < 0)
        return r;
    if (writing->n > 0)
        qsort(writing->entry, writing->n, sizeof writing->entry[0], by_path);
    r = add_due(writing);
    if (writing->n > 0)
        qsort(writing->entry, writing->n, sizeof writing->entry[0], by_path);
    return r;
}

/* Whether a path is the folder for copies of what is no part of the session, or in it. */
static bool is_aside(const struct writing *writing, const char *path) {
    const char *aside = writing->options.writeback->aside;
    return aside && aside[0] && filename_below(aside, path);
}

bool writing_is_nowhere(const struct writing *writing, const char *path) {
    struct stat st;
    return fstatat(writing->options.writeback->folder_fd, path, &st, AT_SYMLINK_NOFOLLOW) && errno == ENOENT;
}

void writing_judge(const struct writing *writing, struct writing_entry *entry) {
    const int64_t most = writing->options.limits->values[LIMIT_ARTIFACT];
    char why[sizeof entry->refused], size[32], path[WRITEBACK_PATH_BYTES];
    const bool removal = entry->change == CELL_DELETED;
    const bool folder = S_ISDIR(entry->mode);
    char name[FILENAME_PATH_BYTES + 4];
    entry->nowhere = removal && writing_is_nowhere(writing, entry->path);
    if (entry->nowhere)
        return;
    entry->due = !removal && !folder && entry->links != 1; /* it can be written once it has only one hard link */
    snprintf(name, sizeof name, "%.*s%s", FILENAME_PATH_BYTES, entry->path, folder ? "/x" : "");
    if (removal || folder ? artifact_path_is_refused(entry->path, why, sizeof why)
                          : artifact_is_refused(entry->path, entry->mode, entry->links, why, sizeof why))
        writing_refuse(entry, "%s", why);
    else if (is_aside(writing, entry->path))
        writing_refuse(entry, "files of fresh runs and branches are copied there");
    else if (autorun_is_in_work(name, writing->options.writeback->allowed, why, sizeof why))
        writing_refuse(entry, "a name in its path %s; \"allow\" of the configuration's \"writable\" can name it", why);
    else if (!removal && !folder && entry->bytes > (uint64_t)most)
        writing_refuse(entry, "it is larger than the limit of %s (artifact)",
                       limits_text(UNIT_BYTES, most, size, sizeof size));
    const char *awaited = entry->earlier ? writeback_awaited(writing->options.writeback, entry->path, path) : NULL;
    if (awaited && !writing_find(writing, awaited) && !writing_is_folder_gone(writing, awaited))
        writing_wait(entry, awaited);
}
