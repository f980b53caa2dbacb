/*
 * writing.h - one cell's changes of the notebook's folder, on their way to the host's folder.
 *
 * Between the end of a cell and its answer, as for artifacts, in slices:
 *
 *     listed -> locked -> removals and folders planned -> files staged -> decided -> made -> told
 *
 * Until it is decided a failure or an interrupt means that nothing is written,
 * and the next cell tries again. What is left out by itself is named with the
 * reason: what is no plain file, what is larger than `artifact`, what programs of
 * the host look for (autorun.h) unless it is allowed, and what another program
 * has changed meanwhile. Where all together are more than `artifacts`, or more
 * than WRITING_FILES_MAX, nothing is written.
 */
#ifndef PETRI_WRITING_H
#define PETRI_WRITING_H

#include "base/cleanup.h"
#include "kernel/files/artifacts.h"
#include "kernel/files/writeback.h"

#include <jansson.h>

struct limits;
struct writing;

enum { WRITING_FILES_MAX = 100000 };

/* What a writing is made of; borrowed until it is destroyed. */
struct writing_options {
    struct cell *cell; /* frozen */
    struct writeback *writeback;
    const struct limits *limits;
};

/* 0 with ret the caller's: writing_destroy(), NULL where there is nothing to write; or -errno. */
int writing_begin(const struct writing_options *options, struct writing **ret) MUST_CHECK;

/* Goes on until clock_us() is until_us or a little longer. True once all is done. */
bool writing_step(struct writing *writing, int64_t until_us);

/* When to call it again, at the earliest: 0 for at once. */
int64_t writing_due_us(const struct writing *writing);

/* What is not decided is not written by this cell, with this reason. */
void writing_cancel(struct writing *writing, const char *why);

/*
 * Says in rows of the report (artifacts.h) what came of each file: "copied_to",
 * "removed" or "refused", and "conflict" where another program has changed the
 * file. Adds rows for files of earlier cells, and for folders that could not be
 * made; ret_more is how many there are beyond the rows. Once all is done.
 */
void writing_tell(const struct writing *writing, json_t *rows, struct artifacts_more *ret_more);

/* NULL is allowed. */
void writing_destroy(struct writing *writing);

#endif
