/*
 * artifacts.h - lists the files that a cell has made, and copies them to the host.
 *
 * Between the end of a cell and its reply, when nothing of the cell runs any
 * more: the files that it has changed in the notebook's folder are listed,
 * hashed, given a MIME type by their content, and copied to the export folder,
 * within the caps. Files that are not copied are listed with the reason. The work
 * is done in slices, so that the kernel answers other requests meanwhile.
 */
#ifndef PETRI_ARTIFACTS_H
#define PETRI_ARTIFACTS_H

#include "base/cleanup.h"
#include "kernel/files/export.h"
#include "kernel/policy/spec.h"

#include <stdbool.h>

enum {
    ARTIFACTS_ROWS = 1000,           /* files that get a row; the others are only counted */
    ARTIFACTS_COUNTED = 100000,      /* files beyond this are not counted */
    ARTIFACTS_INLINE_BYTES = 8 << 20 /* content of all files in one report */
};

struct artifacts;

/* All borrowed until artifacts_destroy(). */
struct artifacts_options {
    struct cell *cell; /* frozen */
    const struct spec *spec;
    const struct limits *limits;
    struct export *export; /* NULL where files are only read, not copied: writing.h may write them */
};

/*
 * Lists the files of a frozen cell. 0 with ret, the caller's
 * (artifacts_destroy()), which is NULL where the cell has made none; or -errno.
 */
int artifacts_begin(const struct artifacts_options *options, struct artifacts **ret) MUST_CHECK;

/* Continues until clock_us() is about until_us. True once all is done. */
bool artifacts_step(struct artifacts *artifacts, int64_t until_us);

/* When to call it again, at the earliest: 0 for at once. */
int64_t artifacts_due_us(const struct artifacts *artifacts);

/* Refuses all files that are not copied yet, for this reason. */
void artifacts_cancel(struct artifacts *artifacts, const char *why);

/*
 * Rows of the report: [{"path", "action", "bytes", "sha256", "mime",
 * "copied_to" or "refused", "data" in base64 where it was asked for}]. Borrowed.
 */
json_t *artifacts_rows(const struct artifacts *artifacts);

/* The number of files without a row. */
size_t artifacts_omitted(const struct artifacts *artifacts);

/* NULL is allowed. */
void artifacts_destroy(struct artifacts *artifacts);

/*
 * A text about such rows for people, {"text/plain", "text/markdown"}: files that
 * were copied, with links, files that were removed, and files that were not
 * copied, with the reasons. more: how many there are of each without a row. The
 * caller's; NULL where there are none.
 */
struct artifacts_more {
    size_t saved, removed, refused;
};
json_t *artifacts_note(json_t *rows, const struct artifacts_more *more);

#endif
