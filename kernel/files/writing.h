/*
 * writing.h - writes one cell's changes of the notebook's folder to the host's folder.
 *
 * It runs between the end of a cell and its reply, in slices, as artifacts.h
 * does:
 *
 *     listed -> locked -> room and folders planned -> files staged -> removals planned -> committed -> made -> told
 *
 * If a step before the commit fails, or is interrupted, nothing is written, and
 * the next cell tries again. If a change can't be made after it, all are taken
 * back, and made once more without it. Single files that are not written are listed with
 * the reason: those that are not regular files, that are larger than `artifact`,
 * whose names programs of the host look for (autorun.h) unless they are allowed,
 * and that another program has changed meanwhile. What would take the only copy of
 * something from the folder waits (writing_hold.c). Where all files together are
 * more than `artifacts`, or more than WRITING_FILES_MAX, nothing is written.
 */
#ifndef PETRI_WRITING_H
#define PETRI_WRITING_H

#include "base/cleanup.h"
#include "kernel/files/artifacts.h"
#include "kernel/files/writeback.h"

#include <jansson.h>

struct limits;
struct writing;

/* All borrowed until writing_destroy(). */
struct writing_options {
    struct cell *cell; /* frozen */
    struct writeback *writeback;
    const struct limits *limits;
};

/* 0 with ret the caller's: writing_destroy(), NULL where there is nothing to write; or -errno. */
int writing_begin(const struct writing_options *options, struct writing **ret) MUST_CHECK;

/* Continues until clock_us() is about until_us. True once all is done. */
bool writing_step(struct writing *writing, int64_t until_us);

/* When to call it again, at the earliest: 0 for at once. */
int64_t writing_due_us(const struct writing *writing);

/* Refuses all changes that are not committed, for this reason. */
void writing_cancel(struct writing *writing, const char *why);

/*
 * Adds the result of each file to the rows of the report (artifacts.h):
 * "copied_to", "removed" or "refused", and "conflict" where another program has
 * changed the file. Adds rows for folders that could not be made, and to earlier
 * rows for what was not the cell's to make: earlier cells or a branch had left it to be
 * written. ret_more counts those without a row. Called once all is done.
 */
void writing_tell(const struct writing *writing, json_t *rows, json_t *earlier, struct artifacts_more *ret_more);

/* NULL is allowed. */
void writing_destroy(struct writing *writing);

#endif
