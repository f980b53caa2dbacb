/*
 * writing.c - the phases of a writing, in slices; copies files into the transaction.
 *
 * Phases only go forward. Before WRITING_COMMITTED, give_up() ends each of them
 * in the same way: nothing is written. Removals are planned before folders and
 * folders before files, so that each change finds its path free. Files that
 * earlier cells could not write are added to the list before it is checked. Files
 * are copied from the frozen cell, without their holes.
 */

#include "kernel/files/writing_inside.h"

#include "base/array.h"
#include "kernel/base/clock.h"
#include "kernel/base/filename.h"
#include "kernel/base/host_file.h"
#include "kernel/files/artifact_kind.h"
#include "kernel/files/autorun.h"
#include "kernel/policy/limits.h"
#include "protocol/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

enum { CHUNK_BYTES = 256 << 10, LOCK_MS = 5000, RETRY_MS = 10, SKEW_MS = 20 };

static int add_entry(struct writing *writing, const char *path, const struct cell_file *file) {
    char *copy = array_grow(&writing->entry, writing->n, sizeof writing->entry[0]) == 0 ? strdup(path) : NULL;
    if (!copy)
        return -ENOMEM;
    writing->entry[writing->n++] = (struct writing_entry){.path = copy,
                                                          .change = file->change,
                                                          .mode = file->mode,
                                                          .links = file->links,
                                                          .bytes = file->bytes,
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

static bool is_listed(const struct writing *writing, size_t n, const char *path) {
    const struct writing_entry key = {.path = (char *)path};
    return bsearch(&key, writing->entry, n, sizeof key, by_path) != NULL;
}

/* Adds the changes of earlier cells that could not be written then. */
static int add_due(struct writing *writing) {
    const size_t n = writing->n;
    const char *path;
    json_t *own;
    int r = 0;
    json_object_foreach(writing->options.writeback->own, path, own) {
        struct cell_file file;
        struct stat st;
        if (!writeback_is_due(writing->options.writeback, path, &file) || is_listed(writing, n, path))
            continue;
        file.links = 1;
        file.mode = S_IFREG;
        auto_fd fd = file.change == CELL_DELETED ? -1 : cell_open_change(writing->options.cell, path);
        if (fd == -EINVAL)
            file.mode = S_IFDIR;
        else if (file.change != CELL_DELETED && (fd < 0 || fstat(fd, &st)))
            continue; /* it does not exist any more */
        else if (file.change != CELL_DELETED) {
            file.mode = st.st_mode;
            file.bytes = (uint64_t)st.st_size;
        }
        r = add_entry(writing, path, &file);
        if (r)
            break;
        writing->entry[writing->n - 1].earlier = true;
    }
    return r;
}

/* Whether a path is the folder for copies of what is no part of the session, or in it. */
static bool is_aside(const struct writing *writing, const char *path) {
    const char *aside = writing->options.writeback->aside;
    const size_t n = aside ? strlen(aside) : 0;
    return n > 0 && strncmp(path, aside, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

static void judge(const struct writing *writing, struct writing_entry *entry) {
    const int64_t most = writing->options.limits->values[LIMIT_ARTIFACT];
    char why[sizeof entry->refused], size[32];
    const bool removal = entry->change == CELL_DELETED;
    const bool folder = S_ISDIR(entry->mode);
    char name[FILENAME_PATH_BYTES + 4];
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
}

/* Refuses all entries, for this reason or the one that they have already. again: the next cell tries again. */
static void give_up(struct writing *writing, const char *why, bool again) {
    for (size_t i = 0; i < writing->n; i++) {
        struct writing_entry *entry = &writing->entry[i];
        entry->due |= again && !entry->refused[0];
        writing_refuse(entry, "%s", why);
    }
    transaction_drop(writing->transaction, &writing->copy.file);
    transaction_close(steal_pointer(writing->transaction));
    writing->phase = WRITING_MADE;
}

/* Checks the limits of all files together. 0, or -E2BIG or -EFBIG with a sentence in ret_error. */
static int check_excess(const struct writing *writing, struct error *ret_error) {
    const int64_t most = writing->options.limits->values[LIMIT_ARTIFACTS];
    char size[32];
    uint64_t total = 0;
    for (size_t i = 0; i < writing->n; i++)
        if (!writing->entry[i].refused[0] && writing->entry[i].change != CELL_DELETED)
            total += writing->entry[i].bytes;
    if (writing->too_many)
        return error_set(ret_error, E2BIG, "nothing is written, because the cell has changed more than %d files",
                         WRITING_FILES_MAX);
    if (total > (uint64_t)most)
        return error_set(ret_error, EFBIG,
                         "nothing is written, because the cell's files are more than the limit of %s (artifacts)",
                         limits_text(UNIT_BYTES, most, size, sizeof size));
    return 0;
}

static void judge_all(struct writing *writing) {
    struct error error;
    for (size_t i = 0; i < writing->n; i++)
        judge(writing, &writing->entry[i]);
    int r = check_excess(writing, &error);
    if (writing->too_many)
        writeback_lose_track(writing->options.writeback);
    if (r < 0)
        give_up(writing, error.text, false);
}

int writing_begin(const struct writing_options *options, struct writing **ret) {
    struct writing *writing = calloc(1, sizeof *writing);
    if (!writing)
        return -ENOMEM;
    writing->options = *options;
    writing->copy.fd = writing->copy.file.fd = -1;
    writing->folders = json_object();
    writing->touched = json_object();
    int r = writing->folders && writing->touched
                ? cell_list_changes(options->cell, CELL_FILES_AND_FOLDERS, note, writing)
                : -ENOMEM;
    if (r >= 0) {
        qsort(writing->entry, writing->n, sizeof writing->entry[0], by_path);
        r = add_due(writing);
        qsort(writing->entry, writing->n, sizeof writing->entry[0], by_path);
    }
    if (r < 0)
        writeback_lose_track(options->writeback);
    if (r < 0 || (writing->n == 0 && json_object_size(options->writeback->own) == 0)) {
        if (r >= 0)
            writeback_look_at_held(options->writeback, options->cell);
        writing_destroy(writing);
        writing = NULL;
    } else {
        judge_all(writing);
    }
    if (r >= 0)
        *ret = writing;
    return r < 0 ? r : 0;
}

static void end_copy(struct writing *writing) {
    if (writing->copy.fd >= 0)
        close(writing->copy.fd);
    if (writing->transaction)
        transaction_drop(writing->transaction, &writing->copy.file);
    writing->copy.fd = writing->copy.file.fd = -1;
}

void writing_destroy(struct writing *writing) {
    if (!writing)
        return;
    end_copy(writing);
    transaction_close(writing->transaction);
    for (size_t i = 0; i < writing->n; i++) {
        free(writing->entry[i].path);
        free(writing->entry[i].placed);
    }
    for (size_t i = 0; i < writing->n_folders; i++)
        free(writing->folder[i].path);
    free(writing->entry);
    free(writing->folder);
    free(writing->chunk);
    json_decref(writing->folders);
    json_decref(writing->touched);
    free(writing);
}

/*
 * Measures the difference between the clocks: that of a file server may differ
 * from ours; that of a local disk differs by a tick at most.
 */
static int find_skew(struct writing *writing) {
    struct transaction_file file;
    struct timespec before, after;
    struct stat st;
    clock_gettime(CLOCK_REALTIME, &before);
    int r = transaction_stage(writing->transaction, &file);
    if (r < 0)
        return r;
    clock_gettime(CLOCK_REALTIME, &after);
    r = fstat(file.fd, &st) ? -errno : 0;
    transaction_drop(writing->transaction, &file);
    const double made_s = (double)st.st_ctim.tv_sec + (double)st.st_ctim.tv_nsec / 1e9;
    const double before_s = (double)before.tv_sec + (double)before.tv_nsec / 1e9;
    const double after_s = (double)after.tv_sec + (double)after.tv_nsec / 1e9;
    if (r == 0 && (made_s < before_s - SKEW_MS / 1e3 || made_s > after_s + SKEW_MS / 1e3))
        writing->skew_ns = (int64_t)((made_s - before_s) * 1e9);
    return r;
}

static bool has_work(const struct writing *writing) {
    for (size_t i = 0; i < writing->n; i++)
        if (!writing->entry[i].refused[0])
            return true;
    return false;
}

/* Opens the folder. False while another kernel writes. */
static bool open_folder(struct writing *writing) {
    size_t recovered;
    char why[200];
    const int64_t now_us = clock_us();
    if (!has_work(writing)) {
        writing->phase = WRITING_MADE;
        return true;
    }
    int r = transaction_open(writing->options.writeback->folder_fd, &writing->transaction, &recovered);
    if (writing->lock_until_us == 0)
        writing->lock_until_us = now_us + LOCK_MS * CLOCK_MS;
    if (r == -EAGAIN && now_us < writing->lock_until_us) {
        writing->due_us = now_us + RETRY_MS * CLOCK_MS;
        return false;
    }
    if (r == 0)
        r = find_skew(writing);
    writing->phase = WRITING_REMOVALS;
    snprintf(why, sizeof why, "the folder can't be written: %s", transaction_problem(r));
    if (r < 0)
        give_up(writing, why, true);
    return true;
}

/* Opens the file and stages one. */
static int begin_copy(struct writing *writing, struct writing_entry *entry) {
    struct writing_copy *copy = &writing->copy;
    if (!writing->chunk && !(writing->chunk = malloc(CHUNK_BYTES)))
        return -ENOMEM;
    copy->fd = cell_open_change(writing->options.cell, entry->path);
    if (copy->fd < 0)
        return copy->fd;
    copy->at = 0;
    return fstat(copy->fd, &copy->content) ? -errno : transaction_stage(writing->transaction, &copy->file);
}

/* Copies a piece of the file and skips holes. 1, 0 at its end, or -errno. */
static int copy_piece(struct writing *writing) {
    struct writing_copy *copy = &writing->copy;
    off_t data = lseek(copy->fd, copy->at, SEEK_DATA);
    if (data < 0 && errno == ENXIO)
        return ftruncate(copy->file.fd, copy->content.st_size) ? -errno : 0;
    ssize_t n = data < 0 ? -1 : pread(copy->fd, writing->chunk, CHUNK_BYTES, data);
    if (n <= 0)
        return n < 0 ? -errno : -EIO;
    copy->at = data + n;
    int r = lseek(copy->file.fd, data, SEEK_SET) < 0 ? -errno : host_write(copy->file.fd, writing->chunk, (size_t)n);
    return r < 0 ? r : 1;
}

/* The mode without execute permission, unless the host's file that it replaces has it. */
static mode_t mode_for(mode_t mode, const struct stat *before) {
    return (mode & 0666) | (before && S_ISREG(before->st_mode) ? before->st_mode & 0111 : 0);
}

static int end_file(struct writing *writing, struct writing_entry *entry) {
    struct writing_copy *copy = &writing->copy;
    struct stat before;
    const bool replaces = writing_plan_put(writing, entry, &before);
    copy->content.st_mode = mode_for(copy->content.st_mode, replaces ? &before : NULL);
    entry->first = transaction_n(writing->transaction);
    int r =
        transaction_add_file(writing->transaction, &copy->file, entry->path, replaces ? &before : NULL, &copy->content);
    entry->n = r == 0;
    end_copy(writing);
    return r;
}

/* Copies on the current file. 0 once it is staged, 1 before, or -errno. */
static int copy_on(struct writing *writing, struct writing_entry *entry) {
    int r = writing->copy.fd < 0 ? begin_copy(writing, entry) : 0;
    if (r == 0)
        r = copy_piece(writing);
    return r == 0 ? end_file(writing, entry) : r;
}

static void step_files(struct writing *writing) {
    char why[96];
    struct writing_entry *entry = &writing->entry[writing->at];
    const bool file = entry->change != CELL_DELETED && !S_ISDIR(entry->mode) && !entry->refused[0];
    int r = file ? copy_on(writing, entry) : 0;
    snprintf(why, sizeof why, "nothing is written: %s", strerror(r < 0 ? -r : 0));
    if (r < 0)
        give_up(writing, why, true);
    else if (r == 0)
        writing->at++;
}

static void commit(struct writing *writing) {
    char why[96];
    writing_plan_touched(writing);
    int r = transaction_n(writing->transaction) ? transaction_commit(writing->transaction) : 0;
    snprintf(why, sizeof why, "nothing is written: %s", strerror(-r));
    writing->phase = WRITING_COMMITTED;
    if (r < 0)
        give_up(writing, why, true);
}

/* Whether the phase has another entry; otherwise begins the next phase. */
static bool goes_through(struct writing *writing, enum writing_phase next) {
    if (writing->at < writing->n)
        return true;
    writing->at = 0;
    writing->phase = next;
    return false;
}

/* Does one step. False where it has to wait. */
static bool step(struct writing *writing, int64_t until_us) {
    char why[96];
    int r = 0;
    switch (writing->phase) {
    case WRITING_LISTED:
        return open_folder(writing);
    case WRITING_REMOVALS:
        if (goes_through(writing, WRITING_FOLDERS))
            r = writing_plan_removal(writing, &writing->entry[writing->at++]);
        break;
    case WRITING_FOLDERS:
        if (goes_through(writing, WRITING_FILES))
            r = writing_plan_folders(writing, &writing->entry[writing->at++]);
        break;
    case WRITING_FILES:
        if (goes_through(writing, WRITING_STAGED))
            step_files(writing);
        break;
    case WRITING_STAGED:
        commit(writing);
        break;
    case WRITING_COMMITTED:
        if (transaction_step(writing->transaction, until_us))
            writing->phase = WRITING_MADE;
        break;
    case WRITING_MADE:
        writing_settle(writing);
        writing->phase = WRITING_DONE;
        break;
    case WRITING_DONE:
        break;
    }
    snprintf(why, sizeof why, "nothing is written: %s", strerror(r < 0 ? -r : 0));
    if (r < 0)
        give_up(writing, why, true);
    return true;
}

bool writing_step(struct writing *writing, int64_t until_us) {
    writing->due_us = 0;
    while (writing->phase != WRITING_DONE)
        if (!step(writing, until_us) || clock_us() >= until_us)
            break;
    return writing->phase == WRITING_DONE;
}

int64_t writing_due_us(const struct writing *writing) {
    return writing->due_us;
}

void writing_cancel(struct writing *writing, const char *why) {
    if (writing->phase < WRITING_COMMITTED)
        give_up(writing, why, true);
    writing->due_us = 0;
}
