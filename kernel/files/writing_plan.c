/*
 * writing_plan.c - plans the changes of the host's folder from a cell's changes.
 *
 * To remove a folder, the host's folder is walked and not the cell's, because it
 * may have files by now that no cell has seen. Files that may not be removed are
 * kept, with the folders above them. The plan has the stat(2) of each file that
 * it replaces or removes, and the transaction compares it again.
 */

#include "kernel/files/writing_inside.h"

#include "base/array.h"
#include "base/directory.h"
#include "kernel/base/filename.h"
#include "kernel/files/artifact_kind.h"
#include "kernel/files/autorun.h"

#include <errno.h>
#include <string.h>

/* Whether a folder above a path may have been moved there since the session has seen what is there. */
static bool is_way_moved(const struct writing *writing, const char *path, const struct stat *of_path) {
    char above[FILENAME_PATH_BYTES + NAME_MAX + 2];
    struct stat st;
    for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
        snprintf(above, sizeof above, "%.*s", (int)(slash - path), path);
        if (transaction_look(writing->transaction, above, &st) == 0 && S_ISDIR(st.st_mode) &&
            writeback_was_moved(writing->options.writeback, above, &st, path, of_path, writing->skew_ns))
            return true;
    }
    return false;
}

static const char of_another_user[] = "it belongs to another user";

/* Why the host's file may not be replaced or removed; NULL where it may. */
static const char *keeps(const struct writing *writing, const char *path, const struct stat *st) {
    if (st->st_uid != geteuid())
        return of_another_user;
    if (!writeback_may_replace(writing->options.writeback, path, st, writing->skew_ns) ||
        is_way_moved(writing, path, st))
        return WRITING_CONFLICT;
    return S_ISREG(st->st_mode) && transaction_is_written(writing->transaction, path) ? WRITING_IN_USE : NULL;
}

/*
 * The path to check for names that programs look for: with a name below it if
 * it is a folder, or a link, which may lead to a folder.
 */
static const char *name_of(const char *path, mode_t mode, char *buf, size_t size) {
    snprintf(buf, size, "%s%s", path, S_ISDIR(mode) || S_ISLNK(mode) ? "/x" : "");
    return buf;
}

/* Whether a file of the host that a cell has removed has to be kept; then why gets the reason, a clause. */
static bool is_to_stay(const struct writing *writing, struct writing_entry *entry, const char *path,
                       const struct stat *st, char *why, size_t size) {
    char name[FILENAME_PATH_BYTES + NAME_MAX + 4];
    const bool cached = filename_has(path, FILENAME_CACHE, true) && !filename_problem(path, strlen(path));
    if ((!cached && artifact_path_is_refused(path, why, size)) ||
        autorun_is_in_work(name_of(path, st->st_mode, name, sizeof name), writing->options.writeback->allowed, why,
                           size))
        return true;
    const char *reason = keeps(writing, path, st);
    if (!reason)
        return false;
    if (reason != of_another_user)
        entry->conflict = reason;
    snprintf(why, size, "%s", reason);
    return true;
}

static int plan_tree(struct writing *writing, struct writing_entry *entry, const char *path, bool *ret_all);

/* Plans to remove a file or folder of the host. Sets *all to false where something is kept. 0 or -errno. */
static int plan_one(struct writing *writing, struct writing_entry *entry, const char *path, bool *all) {
    char why[160], shown[FILENAME_PATH_BYTES];
    struct stat st;
    bool inner = true;
    int r = transaction_look(writing->transaction, path, &st);
    if (r == -ENOENT || r == -ENOTDIR)
        return 0;
    if (r == 0 && transaction_n(writing->transaction) - entry->first >= WRITING_FILES_MAX)
        return -E2BIG;
    if (r == 0)
        r = transaction_check_folder(writing->transaction, path);
    if (r < 0)
        snprintf(why, sizeof why, "%s", r == -EXDEV ? "another file system is mounted there" : strerror(-r));
    entry->due |= r == -EACCES;
    if (r < 0 || is_to_stay(writing, entry, path, &st, why, sizeof why)) {
        *all = false;
        if (strcmp(path, entry->path) == 0)
            writing_refuse(entry, "%s", why);
        else
            writing_refuse(entry, "%s: %s", filename_shown(path, shown, 100), why);
        return 0;
    }
    if (!S_ISDIR(st.st_mode))
        return transaction_add(writing->transaction, JOURNAL_REMOVE, path, &st);
    r = plan_tree(writing, entry, path, &inner);
    if (r == 0 && inner)
        r = transaction_add(writing->transaction, JOURNAL_REMOVE_FOLDER, path, &st);
    *all &= inner;
    return r;
}

/* Plans to remove everything in a folder of the host. */
static int plan_tree(struct writing *writing, struct writing_entry *entry, const char *path, bool *ret_all) {
    char inner[FILENAME_PATH_BYTES + NAME_MAX + 2];
    const int fd = transaction_open_folder(writing->transaction, path);
    auto_dir dir = directory_of(fd);
    int r = 0;
    struct dirent *found;
    if (!dir) {
        *ret_all = false;
        writing_refuse(entry, "it can't be read: %s", strerror(fd < 0 ? -fd : errno));
        return 0;
    }
    while (r == 0 && (found = readdir(dir))) {
        if (strcmp(found->d_name, ".") == 0 || strcmp(found->d_name, "..") == 0)
            continue;
        snprintf(inner, sizeof inner, "%s/%s", path, found->d_name);
        r = plan_one(writing, entry, inner, ret_all);
    }
    return r;
}

/* A removal of too many files is none. */
static int refuse_many(struct writing *writing, struct writing_entry *entry, int r) {
    if (r != -E2BIG)
        return r;
    transaction_forget_from(writing->transaction, entry->first);
    writing_refuse(entry, "more than %d files are in it", WRITING_FILES_MAX);
    return 0;
}

/* Plans to remove a file of the host where the cell has a folder: the first n bytes of the entry's path. */
static int plan_way(struct writing *writing, struct writing_entry *entry, size_t n) {
    char path[FILENAME_PATH_BYTES + 1];
    struct stat st;
    bool all = true;
    snprintf(path, sizeof path, "%.*s", (int)n, entry->path);
    if (json_object_get(writing->folders, path))
        return 0;
    int r = transaction_look(writing->transaction, path, &st);
    if (r || S_ISDIR(st.st_mode))
        return 0;
    r = plan_one(writing, entry, path, &all);
    return r == 0 && all && json_object_set_new(writing->folders, path, json_false()) ? -ENOMEM : r;
}

int writing_plan_room(struct writing *writing, struct writing_entry *entry) {
    struct stat st;
    bool all = true;
    int r = 0;
    if (entry->refused[0] || entry->change == CELL_DELETED)
        return 0;
    entry->first = transaction_n(writing->transaction);
    for (const char *slash = strchr(entry->path, '/'); r == 0 && slash; slash = strchr(slash + 1, '/'))
        r = plan_way(writing, entry, (size_t)(slash - entry->path));
    const bool stands = r == 0 && transaction_look(writing->transaction, entry->path, &st) == 0;
    const bool anew = stands && entry->over && S_ISDIR(entry->mode) && S_ISDIR(st.st_mode);
    if (stands && (anew || S_ISDIR(entry->mode) != S_ISDIR(st.st_mode)))
        r = plan_one(writing, entry, entry->path, &all);
    if (r == 0 && anew && all && json_object_set_new(writing->folders, entry->path, json_false()))
        r = -ENOMEM;
    return refuse_many(writing, entry, r);
}

int writing_plan_removal(struct writing *writing, struct writing_entry *entry) {
    bool all = true;
    if (entry->refused[0] || entry->change != CELL_DELETED)
        return 0;
    const char *awaited = writing_awaited(writing, entry->since);
    if (awaited) {
        writing_wait(entry, awaited);
        return 0;
    }
    entry->first = transaction_n(writing->transaction);
    int r = refuse_many(writing, entry, plan_one(writing, entry, entry->path, &all));
    entry->n = transaction_n(writing->transaction) - entry->first;
    return r;
}

/* Plans to make a folder, unless it exists. */
static int plan_folder(struct writing *writing, const char *path) {
    struct stat st;
    const json_t *known = json_object_get(writing->folders, path);
    if (json_is_true(known))
        return 0;
    const bool goes = json_is_false(known); /* a file at the path is removed before */
    int r = 0;
    const bool is_new = goes || transaction_look(writing->transaction, path, &st) != 0 || !S_ISDIR(st.st_mode);
    if (is_new)
        r = transaction_check_folder(writing->transaction, path);
    if (r == 0 && is_new)
        r = transaction_add(writing->transaction, JOURNAL_MAKE_FOLDER, path, NULL);
    return r == 0 && json_object_set_new(writing->folders, path, json_true()) ? -ENOMEM : r;
}

int writing_plan_folders(struct writing *writing, struct writing_entry *entry) {
    char path[FILENAME_PATH_BYTES + 1];
    int r = 0;
    if (entry->refused[0] || entry->change == CELL_DELETED)
        return 0;
    for (const char *slash = strchr(entry->path, '/'); r == 0 && slash; slash = strchr(slash + 1, '/')) {
        snprintf(path, sizeof path, "%.*s", (int)(slash - entry->path), entry->path);
        r = plan_folder(writing, path);
    }
    entry->first = transaction_n(writing->transaction);
    if (r == 0 && S_ISDIR(entry->mode))
        r = plan_folder(writing, entry->path);
    entry->n = transaction_n(writing->transaction) - entry->first;
    return writing_refuse_closed(entry, r);
}

bool writing_plan_put(const struct writing *writing, struct writing_entry *entry, struct stat *ret_before) {
    struct stat st;
    if (transaction_look(writing->transaction, entry->path, &st) || S_ISDIR(st.st_mode))
        return false;
    entry->conflict = keeps(writing, entry->path, &st);
    if (!entry->conflict)
        *ret_before = st;
    return !entry->conflict;
}

/* The first n bytes of a path are a folder whose names change; made: the change that makes it, counted from 1, or 0. */
static void touch(struct writing *writing, const char *path, size_t n, size_t made) {
    char name[FILENAME_PATH_BYTES + NAME_MAX + 2];
    struct writing_folder folder = {.made = made};
    snprintf(name, sizeof name, "%.*s", (int)n, path);
    const json_t *known = json_object_get(writing->touched, name);
    if (known && made)
        writing->folder[json_integer_value(known)].made = made;
    if (known || array_grow(&writing->folder, writing->n_folders, sizeof *writing->folder) ||
        json_object_set_new(writing->touched, name, json_integer((json_int_t)writing->n_folders)))
        return;
    folder.path = strdup(name);
    if (!folder.path || transaction_look(writing->transaction, name, &folder.before))
        folder.before = (struct stat){0};
    writing->folder[writing->n_folders++] = folder;
}

void writing_plan_touched(struct writing *writing) {
    for (size_t i = 0; i < transaction_n(writing->transaction); i++) {
        const struct journal_change *change = transaction_change(writing->transaction, i);
        const char *slash = strrchr(change->path, '/');
        if (slash && !change->left_out)
            touch(writing, change->path, (size_t)(slash - change->path), 0);
        if (change->kind == JOURNAL_MAKE_FOLDER && !change->left_out)
            touch(writing, change->path, strlen(change->path), i + 1);
    }
}
