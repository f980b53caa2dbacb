/*
 * writing_settle.c - the results of a cell's changes, for the session and for the report.
 *
 * A path that has been written is released, so that cells see the host's file
 * from then on. A file that cells have open can't be released; it is noted with
 * the host's stat(2). Of a change that was not made the session keeps its own
 * version, and the report has the reason.
 */

#include "kernel/files/writing_inside.h"

#include "kernel/files/artifact_kind.h"
#include "protocol/text.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

/* Why a change was not made, as a clause. */
static const char *problem(int r) {
    return r == -ESTALE      ? WRITING_CONFLICT
           : r == -ENOTEMPTY ? "something else is in it"
           : r == -EXDEV     ? "another file system is mounted there"
           : r == -ELOOP     ? "a folder on its way is a link"
           : r == -ENOTDIR   ? "something stands in the place of its folder"
                             : strerror(-r);
}

/* Takes the results of an entry's changes from the transaction. */
static void take_result(const struct writing *writing, struct writing_entry *entry) {
    const char *path;
    for (size_t i = entry->first; writing->transaction && i < entry->first + entry->n; i++) {
        int r = transaction_result(writing->transaction, i, &path);
        if (r == -EEXIST && entry->change != CELL_DELETED && !S_ISDIR(entry->mode)) {
            entry->placed = strdup(path);
            entry->conflict = entry->conflict ? entry->conflict : WRITING_CONFLICT;
        } else if (r < 0) {
            entry->conflict = r == -ESTALE || r == -ENOTEMPTY ? WRITING_CONFLICT : NULL;
            entry->due = !entry->conflict;
            writing_refuse(entry, "%s", problem(r));
        }
    }
}

/*
 * Makes cells see the host's file, once the cell is committed. 1, 0 where the
 * session keeps its own version, or -errno.
 */
static int release(const struct writing *writing, const char *path) {
    int r = cell_release_file(writing->options.cell, path);
    if (r == 1)
        writeback_forget(writing->options.writeback, path);
    return r;
}

/* The same for states that are kept, in which the path was due. */
static void settle_states(const struct writing *writing, const struct writing_entry *entry,
                          const struct stat *written) {
    if (entry->earlier || entry->same)
        writeback_note_made(writing->options.writeback, entry->path, written);
    else if (written)
        writeback_note_overtaken(writing->options.writeback, entry->path, written);
}

static void settle_entry(struct writing *writing, struct writing_entry *entry) {
    struct writeback *writeback = writing->options.writeback;
    struct stat st;
    take_result(writing, entry);
    /* The session need not remember that it has removed what is nowhere. A file that was kept because another program
     * has changed it is visible to cells again. */
    const bool gone = entry->change == CELL_DELETED && writing_is_nowhere(writing, entry->path);
    if (entry->refused[0] && !gone && !(entry->change == CELL_DELETED && entry->conflict)) {
        if (!entry->earlier && !entry->same)
            writeback_note_changed(writeback, entry->path);
        writeback_note_own(writeback, entry->path, entry->change, entry->due, entry->cell);
        if (entry->over)
            writeback_note_over(writeback, entry->path, entry->since);
        if (entry->awaited)
            writeback_note_waits(writeback, entry->path, entry->awaited);
        if (writing_is_unsaved(entry))
            writeback_note_unsaved(writeback, entry->path, writing_unsaved_bytes(entry));
        return;
    }
    const bool written =
        !entry->conflict && writing->transaction && transaction_look(writing->transaction, entry->path, &st) == 0;
    if (written && !S_ISDIR(st.st_mode))
        writeback_note_host(writeback, entry->path, &st);
    settle_states(writing, entry, written ? &st : NULL);
    if (release(writing, entry->path) == 1)
        return;
    if (entry->conflict)
        writeback_note_conflict(writeback, entry->path);
    else if (written)
        writeback_note_written(writeback, entry->path, &st);
    else
        writeback_note_own(writeback, entry->path, entry->change, false, entry->cell);
}

/* Releases files that are written, and that an earlier cell had open, but no cell any more. */
static void release_closed(const struct writing *writing) {
    const char *path;
    void *next;
    json_t *own;
    json_object_foreach_safe(writing->options.writeback->own, next, path, own) {
        if (writeback_is_settled(writing->options.writeback, path))
            (void)release(writing, path);
    }
}

/* What was unsaved in a folder that the cell has removed or replaced is nowhere any more. */
static void forget_unsaved(const struct writing *writing) {
    char buf[WRITEBACK_PATH_BYTES];
    const char *key;
    json_t *own;
    uint64_t bytes;
    json_object_foreach(writing->options.writeback->own, key, own) {
        const char *path = writeback_path(key, buf);
        if (writeback_is_unsaved(writing->options.writeback, path, &bytes) && !writing_find(writing, path) &&
            writing_is_folder_gone(writing, path))
            writeback_note_saved(writing->options.writeback, path);
    }
}

/* Notes what the changes have made of a folder, where that is the one of before, or was made by them. */
static void settle_folder(const struct writing *writing, const struct writing_folder *folder) {
    struct writeback *writeback = writing->options.writeback;
    struct stat st;
    if (!folder->path || transaction_look(writing->transaction, folder->path, &st) || !S_ISDIR(st.st_mode))
        return;
    if (folder->made && transaction_is_staged(writing->transaction, folder->made - 1, &st))
        writeback_note_folder(writeback, folder->path, NULL, &st);
    else if (S_ISDIR(folder->before.st_mode) && folder->before.st_ino == st.st_ino)
        writeback_note_folder(writeback, folder->path, &folder->before, &st);
}

void writing_settle_taken_back(struct writing *writing) {
    struct stat st;
    for (size_t i = 0; i < writing->n_folders; i++)
        settle_folder(writing, &writing->folder[i]);
    for (size_t i = 0; i < transaction_n(writing->transaction); i++) {
        const struct journal_change *change = transaction_change(writing->transaction, i);
        if (change->left_out || !change->before.there || transaction_look(writing->transaction, change->path, &st))
            continue;
        if (S_ISDIR(st.st_mode) && change->kind == JOURNAL_REMOVE_FOLDER)
            writeback_note_folder(writing->options.writeback, change->path, NULL, &st);
        else if (journal_is(&change->before, &st))
            writeback_note_host(writing->options.writeback, change->path, &st);
    }
}

void writing_settle(struct writing *writing) {
    for (size_t i = 0; writing->transaction && i < writing->n_folders; i++)
        settle_folder(writing, &writing->folder[i]);
    for (size_t i = 0; i < writing->n; i++)
        settle_entry(writing, &writing->entry[i]);
    release_closed(writing);
    forget_unsaved(writing);
    writeback_look_at_held(writing->options.writeback, writing->options.cell);
    transaction_close(steal_pointer(writing->transaction));
}

static void tell_row(const struct writing_entry *entry, json_t *row) {
    const char *to = entry->placed ? entry->placed : entry->path;
    json_object_del(row, "refused");
    if (entry->refused[0])
        json_object_set_new(row, "refused", text_format("%s", entry->refused));
    else if (entry->change == CELL_DELETED && !entry->nowhere)
        json_object_set_new(row, "removed", json_true());
    else if (entry->change == CELL_DELETED)
        return;
    else
        json_object_set_new(row, "copied_to", text_to_json(to, strlen(to)));
    if (entry->conflict && entry->placed)
        json_object_set_new(row, "conflict", json_string(entry->conflict));
}

static void add_row(const struct writing_entry *entry, json_t *rows) {
    json_t *row = json_pack("{s:o, s:s}", "path", text_to_json(entry->path, strlen(entry->path)), "action",
                            artifact_action(entry->change));
    tell_row(entry, row);
    json_array_append_new(rows, row);
}

/* Adds a row for what an earlier cell has left or a folder that could not be made, or counts what has no row. */
static void tell_more(const struct writing_entry *entry, json_t *rows, struct artifacts_more *more) {
    const bool folder = S_ISDIR(entry->mode) && entry->change != CELL_DELETED;
    if (((folder || entry->same) && !entry->due) || entry->nowhere)
        return;
    if (entry->earlier && entry->awaited && entry->change == CELL_DELETED)
        return; /* that was told once, and of what it waits for it was told why it is not saved */
    if ((folder || entry->same || entry->earlier) && json_array_size(rows) < ARTIFACTS_ROWS)
        add_row(entry, rows);
    else if (entry->refused[0])
        more->refused++;
    else if (entry->change == CELL_DELETED)
        more->removed++;
    else
        more->saved++;
}

void writing_tell(const struct writing *writing, json_t *rows, json_t *earlier, struct artifacts_more *ret_more) {
    json_auto_t *by_path = json_object();
    size_t i;
    json_t *row;
    *ret_more = (struct artifacts_more){0};
    json_array_foreach(rows, i, row) {
        json_object_set(by_path, json_string_value(json_object_get(row, "path")), row);
    }
    for (i = 0; i < writing->n; i++) {
        const struct writing_entry *entry = &writing->entry[i];
        json_auto_t *shown = text_to_json(entry->path, strlen(entry->path));
        row = json_object_get(by_path, json_string_value(shown));
        if (row)
            tell_row(entry, row);
        else
            tell_more(entry, entry->earlier ? earlier : rows, ret_more);
    }
}
