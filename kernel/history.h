/*
 * history.h - the code of cells, on disk, across restarts: history_request.
 *
 * One SQLite file holds the sessions of all of a user's kernels. It is opened
 * when it is first needed; where that fails, or the configuration says so,
 * there is no history, and everything else goes on.
 *
 * See: Jupyter messaging, "History".
 */
#ifndef PETRI_HISTORY_H
#define PETRI_HISTORY_H

#include "kernel/cleanup.h"
#include "kernel/log.h"
#include "kernel/request.h"

#include <limits.h>

struct kernel;
struct sqlite3;

struct history {
    char path[PATH_MAX]; /* "" where there is none */
    const struct log *log;
    struct sqlite3 *db;
    bool failed;
    int64_t session; /* this kernel's, once something of it is stored; else 0 */
};

/*
 * $XDG_DATA_HOME/petri/history.sqlite, else ~/.local/share/petri/history.sqlite.
 * 0, or -ENOENT where there is no home, or -ENAMETOOLONG.
 */
int history_default_path(char *buf, size_t size) KERNEL_MUST_CHECK;

/* path "" means no history. Both are borrowed: log for life, path for the call. Touches no file yet. */
void history_init(struct history *history, const char *path, const struct log *log);
void history_fini(struct history *history);

/* Stores a cell's code under its number, in this kernel's session. */
void history_store(struct history *history, int number, const json_t *code);

/* The entries that a history_request's content asks for, as the reply has them; NULL where it asks for nothing that
 * there is, then ret_why says what (static). The caller's. */
json_t *history_find(struct history *history, const json_t *content, const char **ret_why);

/* history_request. */
void history_request(struct kernel *kernel, const struct request *request);

#endif
