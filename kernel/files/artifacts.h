/*
 * artifacts.h - the files that a cell has made, on their way to the host.
 *
 * Between the end of a cell and its answer, when nothing of the cell runs any
 * more: what it has changed of the notebook's folder is listed, hashed, given a
 * MIME type, and copied to the export, within the caps. What is not copied is
 * listed with the reason. The work is done in slices, so that the kernel answers
 * others meanwhile.
 */
#ifndef PETRI_ARTIFACTS_H
#define PETRI_ARTIFACTS_H

#include "base/cleanup.h"
#include "kernel/files/export.h"
#include "kernel/policy/spec.h"

#include <stdbool.h>

enum {
    ARTIFACTS_ROWS = 1000,           /* files that are looked at; the others are counted */
    ARTIFACTS_COUNTED = 100000,      /* and no longer beyond this */
    ARTIFACTS_INLINE_BYTES = 8 << 20 /* of all that stand in one report */
};

struct artifacts;

/* Whose files, and where to; borrowed until they are dealt with. */
struct artifacts_options {
    struct cell *cell; /* frozen */
    const struct spec *spec;
    const struct limits *limits;
    struct export *export; /* NULL where they are not copied, only read: writing.h may write them */
};

/*
 * Lists the files of a frozen cell. 0 with ret, the caller's
 * (artifacts_destroy()), which is NULL where the cell has made none; or -errno.
 */
int artifacts_begin(const struct artifacts_options *options, struct artifacts **ret) MUST_CHECK;

/* Copies on, at most until clock_us() is until_us or a little longer. True once all is done. */
bool artifacts_step(struct artifacts *artifacts, int64_t until_us);

/* When to call it again, at the earliest: 0 for at once. */
int64_t artifacts_due_us(const struct artifacts *artifacts);

/* What is not copied yet is not copied, with this reason. */
void artifacts_cancel(struct artifacts *artifacts, const char *why);

/*
 * Rows of the report: [{"path", "action", "bytes", "sha256", "mime",
 * "copied_to" or "refused", "data" in base64 where it was asked for}]. Borrowed.
 */
json_t *artifacts_rows(const struct artifacts *artifacts);

/* How many more there were. */
size_t artifacts_omitted(const struct artifacts *artifacts);

/* NULL is allowed. */
void artifacts_destroy(struct artifacts *artifacts);

/*
 * What a person reads of such rows, {"text/plain", "text/markdown"}: what was
 * copied, with links, what was removed, and what was not copied, with the reasons.
 * more: how many there are of each beyond the rows. The caller's; NULL where there
 * is nothing to say.
 */
struct artifacts_more {
    size_t saved, removed, refused;
};
json_t *artifacts_note(json_t *rows, const struct artifacts_more *more);

#endif
