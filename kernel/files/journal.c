/*
 * journal.c - writes changes as JSON rows, and reads them with a check of every field.
 *
 * A journal may not have been written by petri: paths have to pass
 * filename_problem() and must not be in `.petri`, and staged files have to have
 * petri's names. One wrong row makes the whole journal invalid (-EBADMSG),
 * because a partial transaction is worse than none.
 */

#include "journal.h"

#include "base/array.h"
#include "kernel/base/clock.h"
#include "kernel/base/filename.h"
#include "protocol/text.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum { VERSION = 2, MAX_DEPTH = 4, VALUES_PER_CHANGE = 32 };

static const char *const kinds[] = {
    [JOURNAL_PUT] = "put",
    [JOURNAL_REMOVE] = "remove",
    [JOURNAL_MAKE_FOLDER] = "make_folder",
    [JOURNAL_REMOVE_FOLDER] = "remove_folder",
};
_Static_assert(sizeof kinds / sizeof kinds[0] == JOURNAL_KIND_N, "one name a kind");

void journal_cut(struct journal *journal, size_t n) {
    while (journal->n > n) {
        struct journal_change *change = &journal->change[--journal->n];
        free(change->path);
        free(change->placed);
    }
}

void journal_fini(struct journal *journal) {
    journal_cut(journal, 0);
    free(journal->change);
    *journal = (struct journal){0};
}

int journal_add(struct journal *journal, enum journal_kind kind, const char *path, struct journal_change **ret_change) {
    char *copy = array_grow(&journal->change, journal->n, sizeof *journal->change) == 0 ? strdup(path) : NULL;
    if (!copy)
        return -ENOMEM;
    *ret_change = &journal->change[journal->n];
    **ret_change = (struct journal_change){.kind = kind, .path = copy};
    journal->n++;
    return 0;
}

struct journal_version journal_version_of(const struct stat *st) {
    if (!st)
        return (struct journal_version){0};
    return (struct journal_version){.there = true,
                                    .inode = st->st_ino,
                                    .size = st->st_size,
                                    .mtime_ns = clock_ns(&st->st_mtim),
                                    .mode = st->st_mode};
}

/* The size and time of a folder are not compared: the transaction itself changes them when it removes names in it. */
bool journal_is(const struct journal_version *version, const struct stat *st) {
    if (!version->there || version->inode != st->st_ino || version->mode != st->st_mode)
        return false;
    return S_ISDIR(st->st_mode) || (version->size == st->st_size && version->mtime_ns == clock_ns(&st->st_mtim));
}

static json_t *version_json(const struct journal_version *version) {
    if (!version->there)
        return json_null();
    return json_pack("[I, I, I, I]", (json_int_t)version->inode, (json_int_t)version->size,
                     (json_int_t)version->mtime_ns, (json_int_t)version->mode);
}

int journal_write(const struct journal *journal, char **ret_text, size_t *ret_bytes) {
    json_t *changes = json_array();
    for (size_t i = 0; changes && i < journal->n; i++) {
        const struct journal_change *change = &journal->change[i];
        if (change->left_out)
            continue;
        json_t *row = json_pack("[s, s, s, o, o]", kinds[change->kind], change->path, change->stage,
                                version_json(&change->staged), version_json(&change->before));
        if (json_array_append_new(changes, row)) {
            json_decref(changes);
            changes = NULL;
        }
    }
    json_auto_t *json = changes ? json_pack("{s:i, s:o}", "version", VERSION, "changes", changes) : NULL;
    char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
    if (!text)
        return -ENOMEM;
    *ret_text = text;
    *ret_bytes = strlen(text);
    return 0;
}

bool journal_is_stage(const char *text) {
    size_t n = strlen(JOURNAL_STAGE_NAME);
    if (strncmp(text, JOURNAL_STAGE_NAME, n) != 0 || strlen(text) >= JOURNAL_STAGE_BYTES)
        return false;
    return text[n] != '\0' && text[n + strspn(text + n, "0123456789")] == '\0';
}

static bool read_version(json_t *json, struct journal_version *ret_version) {
    json_int_t inode, size, mtime_ns, mode;
    if (json_is_null(json))
        return true;
    if (json_unpack(json, "[I, I, I, I!]", &inode, &size, &mtime_ns, &mode) || mode < 0 || mode > UINT32_MAX)
        return false;
    *ret_version = (struct journal_version){
        .there = true, .inode = (uint64_t)inode, .size = size, .mtime_ns = mtime_ns, .mode = (uint32_t)mode};
    return true;
}

static bool find_kind(const char *name, enum journal_kind *ret_kind) {
    for (int i = 0; i < JOURNAL_KIND_N; i++)
        if (strcmp(kinds[i], name) == 0) {
            *ret_kind = (enum journal_kind)i;
            return true;
        }
    return false;
}

/* Reads a row of journal_write(). */
static int read_change(json_t *row, struct journal *journal) {
    const char *name, *path, *stage;
    size_t path_bytes;
    json_t *staged, *before;
    enum journal_kind kind;
    struct journal_change *change;
    if (json_unpack(row, "[s, s%, s, o, o!]", &name, &path, &path_bytes, &stage, &staged, &before) ||
        !find_kind(name, &kind) || filename_problem(path, path_bytes) || filename_has(path, JOURNAL_FOLDER, false))
        return -EBADMSG;
    const bool staging = kind != JOURNAL_REMOVE_FOLDER, makes = kind == JOURNAL_PUT || kind == JOURNAL_MAKE_FOLDER;
    if (staging ? !journal_is_stage(stage) : stage[0] != '\0')
        return -EBADMSG;
    if (journal_add(journal, kind, path, &change))
        return -ENOMEM;
    snprintf(change->stage, sizeof change->stage, "%s", stage);
    return read_version(staged, &change->staged) && read_version(before, &change->before) &&
                   change->staged.there == makes
               ? 0
               : -EBADMSG;
}

int journal_read(const char *text, size_t bytes, struct journal *ret_journal) {
    json_t *parsed = NULL;
    struct journal journal = {0};
    size_t i;
    json_t *row;
    int version;
    json_t *changes;
    int r = text_parse_capped(text, bytes, MAX_DEPTH, (size_t)JOURNAL_CHANGES_MAX * VALUES_PER_CHANGE, &parsed);
    json_auto_t *json = r ? NULL : parsed;
    if (r == 0 && (json_unpack(json, "{s:i, s:o!}", "version", &version, "changes", &changes) || version != VERSION ||
                   !json_is_array(changes) || json_array_size(changes) > JOURNAL_CHANGES_MAX))
        r = -EBADMSG;
    if (r == 0)
        json_array_foreach(changes, i, row) {
            r = read_change(row, &journal);
            if (r)
                break;
        }
    if (r) {
        journal_fini(&journal);
        return r == -ENOMEM ? r : -EBADMSG;
    }
    *ret_journal = journal;
    return 0;
}
