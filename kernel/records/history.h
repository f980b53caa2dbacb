/*
 * history.h - the code of cells, on disk, across restarts: history_request.
 *
 * One SQLite file holds the sessions of all of a user's kernels, without what
 * looks like a secret, and the last HISTORY_CELLS_MAX cells of HISTORY_BYTES_MAX
 * at most: for a new one the oldest go. It is opened when it is first needed; where that fails, or the configuration
 * says so, there is no history, and everything else goes on.
 *
 * See: Jupyter messaging, "History".
 */
#ifndef PETRI_HISTORY_H
#define PETRI_HISTORY_H

#include "base/cleanup.h"
#include "kernel/base/log.h"
#include "kernel/jupyter/request.h"

#include <limits.h>

struct jupyter;
struct patterns;
struct sqlite3;

enum {
    HISTORY_CELLS_MAX = 100000,
    HISTORY_BYTES_MAX = 64 << 20,     /* of all code together */
    HISTORY_CELL_BYTES_MAX = 4 << 20, /* a longer one is not kept: it would take the place of many */
};

struct history {
    char path[PATH_MAX];           /* "" where there is none */
    const struct patterns *redact; /* the operator's; NULL for none */
    const struct log *log;
    int64_t cells_max, bytes_max;
    struct sqlite3 *db;
    bool failed;
    int64_t session; /* this kernel's, once something of it is stored; else 0 */
};

/*
 * $XDG_DATA_HOME/petri/history.sqlite, else ~/.local/share/petri/history.sqlite.
 * 0, or -ENOENT where there is no home, or -ENAMETOOLONG.
 */
int history_default_path(char *buf, size_t size) MUST_CHECK;

/* path "" means no history. All are borrowed: redact (NULL for none) and log for life, path for the call. Touches no
 * file yet. */
void history_init(struct history *history, const char *path, const struct patterns *redact, const struct log *log);
void history_fini(struct history *history);

/* Stores a cell's code under its number, in this kernel's session, redacted as in its record. What can't be is a line
 * in the log. */
void history_store(struct history *history, int number, const json_t *code);

/* The entries that a history_request's content asks for, as the reply has them; NULL where it asks for nothing that
 * there is, then ret_why says what (static). The caller's. */
json_t *history_find(struct history *history, const json_t *content, const char **ret_why);

/* history_request. */
void history_request(struct history *history, struct jupyter *jupyter, const struct request *request);

#endif
