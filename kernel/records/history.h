/*
 * history.h - the code of cells, on disk, across restarts: history_request.
 *
 * One SQLite file has the sessions of all of a user's kernels, with secrets
 * redacted. It has at most HISTORY_CELLS_MAX cells and HISTORY_BYTES_MAX bytes of
 * code; the oldest cells are dropped. It is opened when it is first needed; where
 * that fails, or the configuration turns it off, there is no history, and
 * everything else works.
 *
 * See: Jupyter messaging, "History".
 */
#ifndef PETRI_HISTORY_H
#define PETRI_HISTORY_H

#include "base/cleanup.h"
#include "kernel/base/log.h"
#include "kernel/jupyter/request.h"
#include "kernel/records/database.h"

#include <limits.h>

struct jupyter;
struct redaction;

enum {
    HISTORY_CELLS_MAX = 100000,
    HISTORY_BYTES_MAX = 64 << 20,     /* of all code together */
    HISTORY_CELL_BYTES_MAX = 4 << 20, /* a longer cell is not stored, because many would be dropped for it */
};

struct history {
    char path[PATH_MAX]; /* "" where there is none */
    const struct redaction *redaction;
    const struct log *log;
    int64_t cells_max, bytes_max;
    sqlite3 *db;
    struct database_files files;
    unsigned failures; /* to open it, one after the other */
    int64_t session;   /* this kernel's number, once it has stored a cell; else 0 */
};

/*
 * $XDG_DATA_HOME/petri/history.sqlite, else ~/.local/share/petri/history.sqlite.
 * 0, or -ENOENT where there is no home, or -ENAMETOOLONG.
 */
int history_default_path(char *buf, size_t size) MUST_CHECK;

/* path "" means no history. All are borrowed: redaction and log for life, path for the call. Touches no file yet. */
void history_init(struct history *history, const char *path, const struct redaction *redaction, const struct log *log);
void history_fini(struct history *history);

/* Stores a cell's code with its number as the last one of this kernel's session, redacted as in its record. Others of
 * the same number stay. A failure is logged. */
void history_store(struct history *history, int number, const json_t *code);

/*
 * The `history` of the reply to a history_request with this content. The
 * caller's; NULL where the content is not valid, then ret_why says why
 * (static).
 */
json_t *history_find(struct history *history, const json_t *content, const char **ret_why);

/* history_request. */
void history_request(struct history *history, struct jupyter *jupyter, const struct request *request);

#endif
