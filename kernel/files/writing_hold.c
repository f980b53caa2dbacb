/*
 * writing_hold.c - holds back what would take the only copy of something from the host's folder.
 *
 * What the session has, and the folder won't have, is unsaved: its name, its kind
 * or its size is refused. A cell that has written such a file may have made it of
 * one that it has removed: renamed, packed, or as the next of a row of which it
 * keeps the last. So what a cell has removed stays on the disk until all that this
 * cell and later ones have written is saved, and is removed then. Whatever replaces
 * or removes a file waits, too, if an unsaved file has the same content,
 * whichever cell wrote it.
 *
 * Files of the same size are compared by BLAKE2b, so that each is read once.
 */

#include "kernel/files/writing_inside.h"

#include "base/array.h"
#include "kernel/base/filename.h"

#include <errno.h>
#include <string.h>

enum {
    ROUNDS = 3, /* after that, all changes that could be held back are */
    DEEP = 39,  /* names in a path, at most as many as sandbox/files/changes.c goes down */
};

/* What Python and numba make again of the sources. */
static bool is_cache(const char *path) {
    static const char *const endings[] = {".pyc", ".nbi", ".nbc"};
    const char *slash = strrchr(path, '/');
    bool is = false;
    for (size_t i = 0; slash && i < sizeof endings / sizeof endings[0]; i++)
        is |= filename_has(path, FILENAME_CACHE, true) && strstr(slash, endings[i]);
    return is;
}

static int add(struct writing_hold *hold, const char *path, int64_t cell, uint64_t bytes) {
    if (is_cache(path))
        return 0;
    char *copy = array_grow(&hold->unsaved, hold->n, sizeof *hold->unsaved) == 0 ? strdup(path) : NULL;
    if (!copy)
        return -ENOMEM;
    hold->unsaved[hold->n++] = (struct writing_unsaved){.path = copy, .cell = cell, .bytes = bytes};
    return 0;
}

static void forget(struct writing_hold *hold) {
    while (hold->n > 0)
        free(hold->unsaved[--hold->n].path);
}

static int by_bytes(const void *a, const void *b) {
    const struct writing_unsaved *one = a, *other = b;
    return (one->bytes > other->bytes) - (one->bytes < other->bytes);
}

/* Whether it is a folder so deep that what is in it is not listed. */
static bool is_deep(const struct writing_entry *entry) {
    int depth = 1;
    for (const char *slash = strchr(entry->path, '/'); slash; slash = strchr(slash + 1, '/'))
        depth++;
    return S_ISDIR(entry->mode) && depth >= DEEP;
}

bool writing_is_unsaved(const struct writing_entry *entry) {
    return entry->refused[0] && entry->change != CELL_DELETED && !entry->same &&
           (S_ISREG(entry->mode) || S_ISLNK(entry->mode) || is_deep(entry));
}

uint64_t writing_unsaved_bytes(const struct writing_entry *entry) {
    return S_ISREG(entry->mode) ? entry->bytes : S_ISLNK(entry->mode) ? 0 : WRITING_UNKNOWN_BYTES;
}

/* Lists them anew. */
static int find_unsaved(struct writing *writing) {
    struct writing_hold *hold = &writing->hold;
    char buf[WRITEBACK_PATH_BYTES];
    const char *key;
    json_t *own;
    uint64_t bytes;
    int r = 0;
    forget(hold);
    json_object_foreach(writing->options.writeback->own, key, own) {
        const char *path = writeback_path(key, buf);
        if (r == 0 && writeback_is_unsaved(writing->options.writeback, path, &bytes) && !writing_find(writing, path) &&
            !writing_is_folder_gone(writing, path))
            r = add(hold, path, writeback_cell_of(writing->options.writeback, path), bytes);
    }
    for (size_t i = 0; r == 0 && i < writing->n; i++) {
        const struct writing_entry *entry = &writing->entry[i];
        if (writing_is_unsaved(entry))
            r = add(hold, entry->path, entry->cell, writing_unsaved_bytes(entry));
    }
    if (hold->n > 0)
        qsort(hold->unsaved, hold->n, sizeof *hold->unsaved, by_bytes);
    hold->newest = 0;
    for (size_t i = 1; i < hold->n; i++)
        if (hold->unsaved[i].cell > hold->unsaved[hold->newest].cell)
            hold->newest = i;
    return r;
}

const char *writing_awaited(const struct writing *writing, int64_t cell) {
    const struct writing_hold *hold = &writing->hold;
    return hold->n > 0 && hold->unsaved[hold->newest].cell >= cell ? hold->unsaved[hold->newest].path : NULL;
}

/* The first unsaved file of this size; NULL for none. */
static struct writing_unsaved *of_size(const struct writing_hold *hold, uint64_t bytes) {
    size_t low = 0, high = hold->n;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (hold->unsaved[middle].bytes < bytes)
            low = middle + 1;
        else
            high = middle;
    }
    return low < hold->n && hold->unsaved[low].bytes == bytes ? &hold->unsaved[low] : NULL;
}

/* A removal waits, and with it that of the folders above, which come later. */
static int hold_removal(struct writing *writing, const char *held, const char *awaited) {
    struct writing_hold *hold = &writing->hold;
    char above[FILENAME_PATH_BYTES + NAME_MAX + 2];
    snprintf(above, sizeof above, "%s", held);
    if (!hold->folders && !(hold->folders = json_object()))
        return -ENOMEM;
    transaction_leave_out(writing->transaction, hold->at);
    for (char *slash = above + strlen(above); slash; slash = strrchr(above, '/')) {
        *slash = '\0';
        struct writing_entry *entry = writing_find(writing, above);
        if (entry && entry->change == CELL_DELETED)
            writing_wait(entry, awaited);
        if (json_object_set_new(hold->folders, above, json_true()))
            return -ENOMEM;
    }
    return 0;
}

/* What needs room waits, and all that needs the same room. */
static void hold_room(struct writing *writing, const char *held, const char *awaited) {
    const struct writing_entry *needs = &writing->entry[writing->room[writing->hold.at]];
    const char *root = filename_below(needs->path, held) ? needs->path : held;
    for (size_t i = 0; i < writing->n_new; i++)
        if (filename_below(root, transaction_change(writing->transaction, i)->path))
            transaction_leave_out(writing->transaction, i);
    for (size_t i = 0; i < writing->n; i++)
        if (writing->entry[i].change != CELL_DELETED && filename_below(root, writing->entry[i].path))
            writing_wait(&writing->entry[i], awaited);
}

/* A change waits for an unsaved file. */
static int hold_change(struct writing *writing, const struct journal_change *change, const char *awaited) {
    struct writing_hold *hold = &writing->hold;
    if (hold->at >= writing->n_new)
        return hold_removal(writing, change->path, awaited);
    hold->again = true; /* what the cells have there is unsaved, too */
    if (hold->at < writing->n_room) {
        hold_room(writing, change->path, awaited);
        return 0;
    }
    struct writing_entry *entry = writing_find(writing, change->path);
    if (entry)
        writing_wait(entry, awaited);
    transaction_leave_out(writing->transaction, hold->at);
    return 0;
}

/* Reads a piece of the file: 1, 0 at its end with ret_digest, or -errno. */
static int digest_piece(struct writing *writing, unsigned char ret_digest[WRITING_DIGEST_BYTES]) {
    struct writing_hold *hold = &writing->hold;
    ssize_t n = read(hold->fd, writing->chunk, WRITING_CHUNK_BYTES);
    if (n > 0) {
        crypto_generichash_update(&hold->digest, (const unsigned char *)writing->chunk, (size_t)n);
        return 1;
    }
    const int r = n < 0 ? -errno : 0;
    crypto_generichash_final(&hold->digest, ret_digest, WRITING_DIGEST_BYTES);
    close(hold->fd);
    hold->fd = -1;
    return r;
}

/* The same of an unsaved file, or of the host's at a path; opens it first. */
static int digest_on(struct writing *writing, const char *path, bool unsaved,
                     unsigned char ret_digest[WRITING_DIGEST_BYTES]) {
    struct writing_hold *hold = &writing->hold;
    if (hold->fd < 0) {
        hold->fd =
            unsaved ? cell_open_change(writing->options.cell, path) : transaction_open_file(writing->transaction, path);
        crypto_generichash_init(&hold->digest, NULL, 0, WRITING_DIGEST_BYTES);
    }
    return hold->fd < 0 ? hold->fd : digest_piece(writing, ret_digest);
}

/*
 * Whether the file that a change takes from the folder has the content of an
 * unsaved one. 1 with ret_path, which is borrowed; 0; or -EAGAIN where there is
 * more to read. What can't be read, as a file with several names, may be the same.
 */
static int is_only_copy(struct writing *writing, const struct journal_change *change, const char **ret_path) {
    struct writing_hold *hold = &writing->hold;
    unsigned char digest[WRITING_DIGEST_BYTES];
    struct writing_unsaved *first = of_size(hold, (uint64_t)change->before.size), *end = hold->unsaved + hold->n;
    if (hold->n > 0 && end[-1].bytes == WRITING_UNKNOWN_BYTES) {
        *ret_path = end[-1].path;
        return 1;
    }
    if (!first)
        return 0;
    for (struct writing_unsaved *file = first; file < end && file->bytes == first->bytes; file++) {
        if (file->looked_at)
            continue;
        file->unread = digest_on(writing, file->path, true, file->digest);
        file->looked_at = file->unread <= 0;
        return -EAGAIN;
    }
    int r = digest_on(writing, change->path, false, digest);
    if (r > 0)
        return -EAGAIN;
    for (struct writing_unsaved *file = first; file < end && file->bytes == first->bytes; file++)
        if (file->unread != -ENOENT &&
            (r < 0 || file->unread < 0 || memcmp(file->digest, digest, sizeof digest) == 0)) {
            *ret_path = file->path;
            return 1;
        }
    return 0;
}

/* Whether a change takes a file from the folder that has something in it. */
static bool takes(const struct writing *writing, const struct journal_change *change) {
    if (change->left_out || !change->before.there || !S_ISREG(change->before.mode) || change->before.size == 0)
        return false;
    const struct writing_entry *entry = change->kind == JOURNAL_PUT ? writing_find(writing, change->path) : NULL;
    return !entry || !entry->same;
}

/* The unsaved file for which a change waits that makes room, or any, after so many rounds; NULL for none. */
static const char *awaited_by_all(const struct writing *writing, const struct journal_change *change) {
    const struct writing_hold *hold = &writing->hold;
    if (hold->at < writing->n_room && change->kind == JOURNAL_REMOVE && !change->left_out)
        return writing_awaited(writing, writing->entry[writing->room[hold->at]].since);
    if (hold->at < writing->n_new && change->kind == JOURNAL_PUT && takes(writing, change)) {
        const struct writing_entry *entry = writing_find(writing, change->path);
        if (entry && entry->over)
            return writing_awaited(writing, entry->since);
    }
    return hold->rounds >= ROUNDS && takes(writing, change) ? writing_awaited(writing, 0) : NULL;
}

/* Looks at the next change. 1, or -errno. */
static int look(struct writing *writing) {
    struct writing_hold *hold = &writing->hold;
    const struct journal_change *change = transaction_change(writing->transaction, hold->at);
    const char *path = awaited_by_all(writing, change);
    int r = path ? 1 : takes(writing, change) ? is_only_copy(writing, change, &path) : 0;
    if (r == -EAGAIN)
        return 1;
    if (change->kind == JOURNAL_REMOVE_FOLDER && json_object_get(hold->folders, change->path))
        transaction_leave_out(writing->transaction, hold->at);
    if (r > 0)
        r = hold_change(writing, change, path);
    hold->at++;
    return r < 0 ? r : 1;
}

int writing_hold_back(struct writing *writing, size_t first) {
    struct writing_hold *hold = &writing->hold;
    if (!hold->known) {
        int r = find_unsaved(writing);
        if (r < 0)
            return r;
        hold->at = first;
        hold->known = true;
        hold->again = false;
    }
    if (hold->n > 0 && hold->at < transaction_n(writing->transaction))
        return look(writing);
    hold->known = false;
    hold->rounds += hold->again;
    return hold->again;
}

void writing_hold_fini(struct writing_hold *hold) {
    if (hold->fd >= 0)
        close(hold->fd);
    forget(hold);
    free(hold->unsaved);
    json_decref(hold->folders);
}
