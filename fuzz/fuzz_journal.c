/*
 * fuzz_journal.c - the list of changes that a killed kernel is said to have decided on.
 *
 * Whatever it says: a path stays below the folder and out of petri's own, a staged file
 * has a name of petri's and is in no other folder. What was understood and is
 * written is understood again, and as the same.
 */
#include "fuzz.h"

#include "kernel/base/filename.h"
#include "kernel/files/journal.h"

#include <string.h>

static void check_change(const struct journal_change *change) {
    INVARIANT(filename_problem(change->path, strlen(change->path)) == NULL);
    INVARIANT(!filename_has(change->path, JOURNAL_FOLDER, false));
    INVARIANT(change->path[0] != '/');
    INVARIANT(strchr(change->stage, '/') == NULL);
    const bool staging = change->kind != JOURNAL_REMOVE_FOLDER;
    INVARIANT(change->staged.there == (change->kind == JOURNAL_PUT || change->kind == JOURNAL_MAKE_FOLDER));
    INVARIANT(staging == (strncmp(change->stage, JOURNAL_STAGE_NAME, strlen(JOURNAL_STAGE_NAME)) == 0));
}

static void check_version(const struct journal_version *one, const struct journal_version *other) {
    INVARIANT(one->there == other->there && one->inode == other->inode && one->mode == other->mode);
    INVARIANT(one->size == other->size && one->mtime_ns == other->mtime_ns);
}

static void check_same(const struct journal_change *one, const struct journal_change *other) {
    INVARIANT(one->kind == other->kind);
    INVARIANT(strcmp(one->path, other->path) == 0 && strcmp(one->stage, other->stage) == 0);
    check_version(&one->staged, &other->staged);
    check_version(&one->before, &other->before);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct journal journal, again;
    char *text;
    size_t bytes;
    if (journal_read((const char *)data, size, &journal))
        return 0;
    INVARIANT(journal_write(&journal, &text, &bytes) == 0);
    INVARIANT(journal_read(text, bytes, &again) == 0 && again.n == journal.n);
    for (size_t i = 0; i < journal.n; i++) {
        check_change(&journal.change[i]);
        check_same(&journal.change[i], &again.change[i]);
    }
    free(text);
    journal_fini(&journal);
    journal_fini(&again);
    return 0;
}
