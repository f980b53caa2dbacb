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
    int64_t kept_since_us; /* struct export_place's */
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

/* {path: true} of those rows whose file, or one of that name, the notebook's folder on the host has. Borrowed. */
const json_t *artifacts_on_disk(const struct artifacts *artifacts);

/* The number of files without a row. */
size_t artifacts_omitted(const struct artifacts *artifacts);

/* NULL is allowed. */
void artifacts_destroy(struct artifacts *artifacts);

/* How many files there are of each kind without a row. */
struct artifacts_more {
    size_t saved, removed, refused;
};

/* All borrowed. */
struct artifacts_note {
    struct artifacts_more more;
    const char *folder;    /* the export folder as copied_to has it; NULL where files are written to the notebook's
                              folder itself */
    bool off;              /* nothing is copied: so it is not said of each file */
    const json_t *on_disk; /* artifacts_on_disk(); NULL for none */
    bool explains;         /* adds what a restart forgets, and which kernel writes to the folder itself */
    bool strict;           /* there is no such kernel, and cells see no copies after a restart either */
    bool beside;           /* the files are not the session's: those of a fresh run, or a branch */
};

/*
 * A text about such rows for people, {"text/plain", "text/markdown"}: files that
 * were copied, with links; files that were removed; files that were not copied,
 * with the reasons; and files that only this session has changed or removed. The
 * caller's; NULL where there is nothing to say.
 */
json_t *artifacts_make_note(json_t *rows, const struct artifacts_note *about);

#endif
