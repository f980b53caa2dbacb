/*
 * config_keys.h - the keys of the configuration file: one row a key, for the parser and for the schema.
 */
#ifndef PETRI_CONFIG_KEYS_H
#define PETRI_CONFIG_KEYS_H

#include "base/cleanup.h"
#include "kernel/policy/config.h"
#include "kernel/policy/config_lines.h"

#include <stddef.h>

/* What a key's value is, and what it becomes in struct config. */
enum config_kind {
    CONFIG_BOOL,      /* bool */
    CONFIG_TEXT,      /* char[room] */
    CONFIG_DURATION,  /* "500ms": int64_t, milliseconds */
    CONFIG_SIZE,      /* "512M" or a number: int64_t, bytes */
    CONFIG_COUNT,     /* int64_t */
    CONFIG_TEXTS,     /* json_t *, an array of strings */
    CONFIG_OBJECT,    /* its members' */
    CONFIG_PROFILES,  /* limits */
    CONFIG_VARIABLES, /* json_t *, an object of texts and true */
    CONFIG_LOCKED,    /* json_t *, true or an array of strings, of the operator's file alone */
    CONFIG_KIND_N,
};

struct config_key {
    const char *name;
    const char *help;
    enum config_kind kind;
    size_t at;   /* offset in struct config; of an object that can be false: of the bool that says so */
    size_t room; /* of a text */
    bool or_false;
    bool is_bound; /* of a number: what the operator's file sets, another file can lower and not raise */
    /* Of a text, or of each of several: 0, or -EINVAL with what is wrong in ret_error, a clause. NULL takes all. */
    int (*check)(const char *text, struct error *ret_error);
    const char *form; /* what check() takes, for the schema: a regular expression, or NULL */
    const struct config_key *members;
    size_t n_members;
};

/* The file as a whole: an object. */
extern const struct config_key config_root;

/* What is told of each thing that is wrong: all borrowed for the call. */
typedef void config_wrong(void *arg, const struct config_place *place, const char *sentence);

struct config_wrongs {
    config_wrong *tell;
    void *arg;
};

/* A file that is read. All borrowed. */
struct config_source {
    const json_t *json;   /* the whole of it */
    const json_t *policy; /* the operator's file, that it is read over; NULL where it is that file, or alone */
    const char *profile;  /* the one whose limits the configuration gets; NULL for none, as others are read over it */
    bool is_policy;       /* whether it is the operator's */
};

/*
 * Reads a file into config, which keeps what it already has of a key that is
 * missing or wrong. 0, or -EINVAL after all that is wrong was told. config must have read the
 * operator's file before another is read over it.
 */
int config_read(const struct config_source *source, const struct config_wrongs *wrongs,
                struct config *config) MUST_CHECK;

/* Whether a key of the file has this name, of those that can be locked: all but "locked". */
bool config_is_key(const char *name);

#endif
