/*
 * writing.c - the phases of a writing, in slices; copies files into the transaction.
 *
 * Phases only go forward, but where a change could not be made: then all begins
 * again without it. Before WRITING_COMMITTED, give_up() ends each of them in the
 * same way: nothing is written. What is in the way is removed first, then folders
 * are made, then files, so that each change finds its path free; what cells have
 * removed comes last, when it is known what is not saved. Files are copied from
 * the frozen cell, without their holes.
 */

#include "kernel/files/writing_inside.h"

#include "base/array.h"
#include "kernel/base/clock.h"
#include "kernel/base/filename.h"
#include "kernel/base/host_file.h"
#include "kernel/policy/limits.h"
#include "protocol/text.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>

enum { LOCK_MS = 5000, RETRY_MS = 10, SKEW_MS = 20, FAILURES = 8 };

/* Refuses all entries, for this reason or the one that they have already. again: the next cell tries again. */
static void give_up(struct writing *writing, const char *why, bool again) {
    for (size_t i = 0; i < writing->n; i++) {
        struct writing_entry *entry = &writing->entry[i];
        if (entry->nowhere)
            continue;
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
        writing_judge(writing, &writing->entry[i]);
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
    writing->copy.fd = writing->copy.file.fd = writing->hold.fd = -1;
    writing->folders = json_object();
    writing->touched = json_object();
    int r = writing->folders && writing->touched ? writing_list(writing) : -ENOMEM;
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
    writing_hold_fini(&writing->hold);
    transaction_close(writing->transaction);
    for (size_t i = 0; i < writing->n; i++) {
        free(writing->entry[i].path);
        free(writing->entry[i].awaited);
        free(writing->entry[i].placed);
    }
    for (size_t i = 0; i < writing->n_folders; i++)
        free(writing->folder[i].path);
    free(writing->entry);
    free(writing->folder);
    free(writing->room);
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
    if ((r == -EAGAIN || r == -ESTALE) && now_us < writing->lock_until_us) {
        writing->due_us = now_us + RETRY_MS * CLOCK_MS;
        return false;
    }
    if (r == 0)
        r = find_skew(writing);
    if (r == 0 && !(writing->chunk = malloc(WRITING_CHUNK_BYTES)))
        r = -ENOMEM;
    writing->phase = WRITING_ROOM;
    snprintf(why, sizeof why, "the folder can't be written: %s", transaction_problem(r));
    if (r < 0)
        give_up(writing, why, true);
    return true;
}

/* Opens the file and stages one. */
static int begin_copy(struct writing *writing, struct writing_entry *entry) {
    struct writing_copy *copy = &writing->copy;
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
    ssize_t n = data < 0 ? -1 : pread(copy->fd, writing->chunk, WRITING_CHUNK_BYTES, data);
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

/* Whether the cell has changed nothing of a file that is another program's by now: then there is no version of ours. */
static bool is_theirs_alone(const struct writing *writing, struct writing_entry *entry) {
    struct stat before;
    return entry->same && writing->copy.fd < 0 && !writing_plan_put(writing, entry, &before) && entry->conflict;
}

static void step_files(struct writing *writing) {
    char why[96];
    struct writing_entry *entry = &writing->entry[writing->at];
    const bool file = entry->change != CELL_DELETED && !S_ISDIR(entry->mode);
    int r = file && !entry->refused[0] && writing->copy.fd < 0
                ? writing_refuse_closed(entry, transaction_check_folder(writing->transaction, entry->path))
                : 0;
    if (r == 0 && file && !entry->refused[0] && !is_theirs_alone(writing, entry))
        r = copy_on(writing, entry);
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

/* Plans all anew, in another transaction. */
static void begin_again(struct writing *writing) {
    transaction_close(steal_pointer(writing->transaction));
    for (size_t i = 0; i < writing->n; i++) {
        free(steal_pointer(writing->entry[i].placed));
        writing->entry[i].conflict = NULL;
        writing->entry[i].first = writing->entry[i].n = 0;
    }
    for (size_t i = 0; i < writing->n_folders; i++)
        free(writing->folder[i].path);
    json_object_clear(writing->folders);
    json_object_clear(writing->touched);
    writing->n_folders = writing->n_room = writing->n_new = writing->at = 0;
    writing->hold.rounds = 0;
    free(steal_pointer(writing->chunk));
    writing->phase = WRITING_LISTED;
}

/* Refuses what needs a change of this path: what is there or below it, and the removal or the file that it is in the
 * way of. */
static void refuse_failed(struct writing *writing, const char *path, int r) {
    char shown[FILENAME_PATH_BYTES];
    filename_shown(path, shown, 100);
    for (size_t i = 0; i < writing->n; i++) {
        struct writing_entry *entry = &writing->entry[i];
        const bool same = strcmp(entry->path, path) == 0;
        const bool makes_folder = entry->change != CELL_DELETED && S_ISDIR(entry->mode);
        if (!filename_below(path, entry->path) && (makes_folder || !filename_below(entry->path, path)))
            continue;
        entry->due |= !entry->refused[0];
        writing_refuse(entry, "%s%s%s", same ? "" : shown, same ? "" : ": ", strerror(-r));
    }
}

/* All is made; or one change could not be, so none is. Then all is tried once more without it. */
static void end_making(struct writing *writing) {
    char why[FILENAME_PATH_BYTES + 200], shown[FILENAME_PATH_BYTES];
    const char *path = "";
    const int r = transaction_failed(writing->transaction, &path);
    writing->phase = WRITING_MADE;
    if (r == 0)
        return;
    writing_settle_taken_back(writing);
    const bool again = !transaction_is_stuck(writing->transaction) && ++writing->failures <= FAILURES;
    snprintf(why, sizeof why, "nothing is written, because of %s: %s%s", filename_shown(path, shown, 100), strerror(-r),
             transaction_is_stuck(writing->transaction) ? "; what was there is in " JOURNAL_FOLDER : "");
    if (again) {
        refuse_failed(writing, path, r);
        begin_again(writing);
    } else {
        give_up(writing, why, true);
    }
}

/* Whether the phase has another entry; otherwise begins the next phase. */
static bool goes_through(struct writing *writing, enum writing_phase next) {
    if (writing->at < writing->n)
        return true;
    writing->at = 0;
    writing->phase = next;
    return false;
}

/* Notes for whom room is made. */
static int plan_room(struct writing *writing) {
    int r = writing_plan_room(writing, &writing->entry[writing->at]);
    while (r == 0 && writing->n_room < transaction_n(writing->transaction)) {
        r = array_grow(&writing->room, writing->n_room, sizeof *writing->room);
        if (r == 0)
            writing->room[writing->n_room++] = writing->at;
    }
    writing->at++;
    return r;
}

/* Does one step. False where it has to wait. */
static bool step(struct writing *writing, int64_t until_us) {
    char why[96];
    int r = 0;
    switch (writing->phase) {
    case WRITING_LISTED:
        return open_folder(writing);
    case WRITING_ROOM:
        if (goes_through(writing, WRITING_FOLDERS))
            r = plan_room(writing);
        break;
    case WRITING_FOLDERS:
        if (goes_through(writing, WRITING_FILES))
            r = writing_plan_folders(writing, &writing->entry[writing->at++]);
        break;
    case WRITING_FILES:
        if (goes_through(writing, WRITING_HELD))
            step_files(writing);
        break;
    case WRITING_HELD:
        writing->n_new = transaction_n(writing->transaction);
        r = writing_hold_back(writing, 0);
        writing->phase = r == 0 ? WRITING_REMOVALS : writing->phase;
        break;
    case WRITING_REMOVALS:
        if (goes_through(writing, WRITING_REMOVALS_HELD))
            r = writing_plan_removal(writing, &writing->entry[writing->at++]);
        break;
    case WRITING_REMOVALS_HELD:
        r = writing_hold_back(writing, writing->n_new);
        writing->phase = r == 0 ? WRITING_STAGED : writing->phase;
        break;
    case WRITING_STAGED:
        commit(writing);
        break;
    case WRITING_COMMITTED:
        if (transaction_n(writing->transaction) == 0)
            writing->phase = WRITING_MADE;
        else if (transaction_step(writing->transaction, until_us))
            end_making(writing);
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
