/*
 * config.h - the configuration file: what the operator has decided.
 *
 *     {"profiles": {"notebook": {"timeout": "5m", "disk": "1G"}}, "packages": ["numpy", "pandas"],
 *      "records": {"keep_days": 30}, "history": false}
 *
 * /etc/petri/config.json is the operator's and holds for every user. The user's
 * own file (config_file.h) is read over it: it may set each key anew, but those that
 * the operator's names in "locked", and no limit or ceiling over a ceiling that
 * the operator's sets, nor a bound of "kernels" over the operator's. An unknown key, or a value of the wrong type, over
 * its ceiling or locked, is an error, and the kernel runs no cell. The keys are rows of config_keys.c.
 */
#ifndef PETRI_CONFIG_H
#define PETRI_CONFIG_H

#include "base/cleanup.h"
#include "base/error.h"
#include "kernel/policy/config_file.h"
#include "kernel/policy/limits.h"

#include <limits.h>
#include <stdbool.h>

enum { CONFIG_VARIABLES_MAX = 64, CONFIG_VARIABLE_BYTES = 128 }; /* how many, and the room for the name of one */

/* Bounds of all kernels of a user together. 0 for none. */
struct config_kernels {
    int64_t number; /* at once */
    int64_t memory_bytes;
    int64_t processes;
};

/* Arrays are of strings; JSON is owned, and NULL where no file has it. */
struct config {
    struct profile profile; /* the one that was asked for */
    struct limits limits;   /* its defaults */
    int64_t grace_ms;       /* from an interrupt until a cell that goes on is ended */
    bool history;           /* whether the code of cells is kept on disk */
    json_t *environment;    /* names of variables that a request may set */
    json_t *inputs;         /* more folders that cells can read, absolute */
    json_t *packages;       /* the distributions that cells can see; NULL: all */
    json_t *variables;      /* an object: of each of cells' environment variables a text, or true for petri's own */
    json_t *redact;         /* patterns of what must not be stored; pattern.h */
    json_t *locked;         /* keys that only the operator's file may set; true: all; config_locks() */
    struct {
        json_t *imports;  /* modules that code must not import */
        json_t *patterns; /* patterns that code must not have */
    } refuse;
    struct {
        bool on;
        char path[PATH_MAX]; /* "": records_default_path() */
        int64_t keep_days;
        int64_t max_bytes; /* of the database */
    } records;
    struct {
        int64_t ttl_ms; /* 0: no cache */
    } cache;
    struct config_kernels kernels;
    struct config_kernels operators_kernels; /* what the operator's file sets of them, which no other file can raise */
    struct {
        bool on;                  /* what cells change in the notebook's folder is written there */
        json_t *allow;            /* patterns of names that are written although programs of the host look for them */
    } writable;                   /* in profile notebook */
    char artifacts[NAME_MAX + 1]; /* the folder beside the notebook that cells' files are copied to; "": none are */
};

void config_fini(struct config *config);

/* What holds where the file can't be used and so no cell runs: the defaults, but nothing is stored. The caller's. */
void config_closed(struct config *ret_config);

/* Whether the operator has locked a key of the file, "records". */
bool config_locks(const struct config *config, const char *key);

/*
 * The environment variables that cells get of it, an object of texts: those of
 * petri's own that it does not have are left out. NULL in profile strict, whose code
 * is nobody's that they were meant for. The caller's.
 */
json_t *config_variables(const struct config *config);

/*
 * Reads the texts of the files; profile is the name of the one to choose, NULL for
 * "notebook". 0, or -EINVAL with one sentence in ret_error, about the first thing
 * that is wrong, which begins with file and line. ret_config is the caller's:
 * config_fini().
 */
int config_parse(const struct config_files *files, const char *profile, struct config *ret_config,
                 struct error *ret_error) MUST_CHECK;

/* Finds and reads the files; path is the value of --config, or NULL. 0, also where there are none, or -errno with one
 * sentence in ret_error. */
int config_load(const char *path, const char *profile, struct config *ret_config, struct error *ret_error) MUST_CHECK;

/* What a check finds. Functions may be NULL; texts are borrowed for the call. */
struct config_listener {
    /* Something is wrong with a file: its line, from 1, and one sentence. */
    void (*problem)(void *arg, const char *path, unsigned line, const char *sentence);
    void *arg;
};

/*
 * Checks the texts of the files, for all profiles. 0 where they are good; -EINVAL
 * where something is wrong, and all of it has been told.
 */
int config_check(const struct config_files *files, const struct config_listener *listener) MUST_CHECK;

/* The JSON Schema of the file, made of the same rows that parse it. The caller's; NULL on ENOMEM.
 * See: JSON Schema, draft 2020-12. */
json_t *config_schema(void);

#endif
