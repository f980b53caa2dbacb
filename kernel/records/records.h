/*
 * records.h - run records in SQLite.
 *
 * Each run is stored in one transaction before its reply is sent. The database is
 * in WAL mode with synchronous = NORMAL: if a kernel is killed, no run whose
 * reply was sent is lost, and none is incomplete; if the machine loses power, the
 * last runs may be lost as a whole. If the database can't be used, that is
 * logged, and cells run all the same. To keep the database within its size, the
 * oldest runs are dropped for new ones. The caller has redacted what is stored,
 * except a task's name, the paths of inputs and the working folder.
 *
 * See: SQLite, "Write-Ahead Logging", "PRAGMA synchronous".
 */
#ifndef PETRI_RECORDS_H
#define PETRI_RECORDS_H

#include "base/cleanup.h"
#include "base/error.h"
#include "kernel/base/digest.h"
#include "kernel/base/log.h"
#include "kernel/records/database.h"

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct records_options {
    const char *path; /* "" for none at all */
    int64_t keep_days;
    int64_t max_bytes; /* of the database's used pages; between runs its WAL file has at most 16 MiB more */
};

/* All zero stores and finds nothing. */
struct records {
    char path[PATH_MAX];
    const struct log *log;
    sqlite3 *db;
    struct database_files files;
    int64_t keep_days;
    int64_t max_bytes;
    int64_t used_bytes;  /* when it was looked last */
    unsigned since_tidy; /* runs stored */
    int wal_pages;       /* pages of the WAL file that are not in the database file yet */
};

/* A file that a run was given. */
struct record_input {
    const char *path;
    const char *sha256; /* of the file that the run got */
    const void *data;   /* NULL where it is not kept */
    size_t bytes;
};

/* One run; everything is borrowed, and redacted. */
struct record {
    const char *run_id;
    const char *session_id;
    const char *task; /* "" for none */
    const char *outcome;
    const char *started; /* ISO 8601, UTC */
    int64_t started_ms;  /* since 1970 */
    int64_t wall_ms;
    int64_t artifact_bytes;
    const char *summary;   /* the code's first line */
    const char *cache_key; /* "" where the run can't be cached */
    const char *environment_sha256;
    const json_t *environment;
    const json_t *body; /* the run as `petri show --json` gives it */
    const struct record_input *inputs;
    size_t n_inputs;
    bool ran; /* it counts for its task */
};

/* What a task has used, in its stored runs. */
struct record_totals {
    int64_t runs;
    int64_t wall_ms;
    int64_t artifact_bytes;
};

/* $XDG_DATA_HOME/petri/records.sqlite, else ~/.local/share/petri/records.sqlite. 0, -ENOENT where there is no home,
 * or -ENAMETOOLONG. */
int records_default_path(char *buf, size_t size) MUST_CHECK;

/*
 * Opens the database, and makes it where there is none; forgets what is too
 * old or too much. Where that fails it is logged, and nothing is stored. log
 * is borrowed for life.
 */
void records_open(struct records *records, const struct records_options *options, const struct log *log);

/* Opens an existing database to read it. 0, or -errno with one sentence in ret_error. */
int records_open_existing(struct records *records, const char *path, const struct log *log,
                          struct error *ret_error) MUST_CHECK;
void records_close(struct records *records);

/*
 * Stores a run, whole or not at all, and forgets the oldest where there is no room for it.
 * If somebody has removed the database's files it goes to a new one. 0; -ENOENT where
 * there is no database; -EIO, or -EFBIG where it is larger than max_bytes, with a line in the log.
 */
int records_store(struct records *records, const struct record *record) MUST_CHECK;

/*
 * The same if nothing has to be waited for: another kernel that writes, the disk,
 * older runs that must go. -EAGAIN where something has to: then records_store() does it.
 */
int records_store_at_once(struct records *records, const struct record *record) MUST_CHECK;

/*
 * Work that can be done after a reply: moves the WAL file into the database,
 * drops runs that are too old, makes room.
 */
void records_tidy(struct records *records);

/* Whether there is such work, as far as the runs tell that were stored here. */
bool records_are_untidy(const struct records *records);

/* Which runs records_list() gives; NULL or "" for any. */
struct records_filter {
    const char *task;
    const char *outcome;
    const char *session_id;
    int64_t limit;
};

/* The newest first: [{"run_id", "session_id", "task", "outcome", "started", "wall_ms", "summary"}]. The caller's; NULL
 * where the database can't be read. */
json_t *records_list(struct records *records, const struct records_filter *filter);

/*
 * The runs of a session by its id or the beginning of one, in the order in which they were stored, the newest limit of
 * them: what records_list() gives of each, and "execution_count", "image", "parent", "committed", "checkpoint" and
 * "fresh" of its record, null where that has none. ret_runs is the caller's, and empty where there is no such session.
 * 0; -ENOTUNIQ where several begin like that; -EIO.
 */
int records_of_session(struct records *records, const char *prefix, int64_t limit, json_t **ret_runs) MUST_CHECK;

/* A run by its id or the beginning of one: body with "environment". 1 with ret_run, the caller's; 0 where there is
 * none; -ENOTUNIQ where several begin like that; -EBADMSG where what is stored is no record; -EIO. */
int records_find(struct records *records, const char *prefix, json_t **ret_run) MUST_CHECK;

/* The newest run with this key that began at since_ms or later: its body, the caller's; NULL for none. */
json_t *records_find_cached(struct records *records, const char *cache_key, int64_t since_ms);

/* Bytes of an input by their digest. 1 with ret_data (malloc'ed), 0 where they were not kept, or -EIO. */
int records_find_input(struct records *records, const char *sha256, void **ret_data, size_t *ret_bytes) MUST_CHECK;

/* All zero for an unknown task, or where there is no database. */
void records_totals(struct records *records, const char *task, struct record_totals *ret_totals);

/* The SHA-256 of a large file that is hashed again and again, as an interpreter's library: true with ret_hex if it is
 * remembered of the file as it is now, which digest_file() tells. */
bool records_find_digest(struct records *records, const char *file, char ret_hex[DIGEST_HEX]);

/* Remembers one, if there is a database and nobody keeps it locked. */
void records_store_digest(struct records *records, const char *file, const char *hex);

#endif
