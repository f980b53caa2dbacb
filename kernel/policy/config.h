/*
 * config.h - the configuration file: what the operator has decided.
 *
 *     {"profiles": {"notebook": {"timeout": "5m", "disk": "1G"}}, "packages": ["numpy", "pandas"],
 *      "records": {"keep_days": 30}, "history": false}
 *
 * The first of --config, $XDG_CONFIG_HOME/petri/config.json (else
 * ~/.config/petri/config.json) and /etc/petri/config.json that there is. One that
 * was not named but found has to be the user's or root's, and so has its folder:
 * else it is an error. It is a regular file of less than 1 MiB. An unknown key,
 * or a value of the wrong type or over its ceiling, is an error, and the kernel
 * runs no cell. The keys are rows of config_keys.c.
 */
#ifndef PETRI_CONFIG_H
#define PETRI_CONFIG_H

#include "base/cleanup.h"
#include "base/error.h"
#include "kernel/policy/limits.h"

#include <limits.h>
#include <stdbool.h>

/* Arrays are of strings, owned, and NULL where the file does not have them. */
struct config {
    struct profile profile; /* the one that was asked for */
    struct limits limits;   /* its defaults */
    int64_t grace_ms;       /* from an interrupt until a cell that goes on is ended */
    bool history;           /* whether the code of cells is kept on disk */
    json_t *environment;    /* names of variables that a request may set */
    json_t *inputs;         /* more folders that cells can read, absolute */
    json_t *packages;       /* the distributions that cells can see; NULL: all */
    json_t *redact;         /* patterns of what must not be stored; pattern.h */
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
    struct {
        bool on;                  /* what cells change in the notebook's folder is written there */
        json_t *allow;            /* patterns of names that are written although programs of the host look for them */
    } writable;                   /* in profile notebook */
    char artifacts[NAME_MAX + 1]; /* the folder beside the notebook that cells' files are copied to; "": none are */
};

void config_fini(struct config *config);

/* What holds where the file can't be used and so no cell runs: the defaults, but nothing is stored. The caller's. */
void config_closed(struct config *ret_config);

/* Parses the text of a file; profile is the name of the one to choose, NULL for "notebook". 0, or -EINVAL with one
 * sentence in ret_error. ret_config is the caller's: config_fini().
 */
int config_parse(const char *text, size_t bytes, const char *profile, struct config *ret_config,
                 struct error *ret_error) MUST_CHECK;

/*
 * Finds and reads the file; path is the value of --config, or NULL. 0 (also
 * where there is none and path is NULL), or -errno with one sentence in ret_error.
 */
int config_load(const char *path, const char *profile, struct config *ret_config, struct error *ret_error) MUST_CHECK;

/* Called for each thing that is wrong with a file: its line, from 1, and one sentence. */
typedef void config_problem(void *arg, unsigned line, const char *sentence);

/*
 * Checks the file that config_load() would read, for all profiles. 0 where it is
 * good, or where there is none; -EINVAL where something is wrong, and all of it
 * has been told; another -errno, with one sentence in ret_error, where it can't be read.
 */
int config_check(const char *path, config_problem *tell, void *arg, struct error *ret_error) MUST_CHECK;

/* The file that config_load() would read: 1, or 0 where there is none and the defaults hold. */
int config_find(const char *path, char ret_path[PATH_MAX]);

/* The JSON Schema of the file, made of the same rows that parse it. The caller's; NULL on ENOMEM.
 * See: JSON Schema, draft 2020-12. */
json_t *config_schema(void);

#endif
