/*
 * ask.h - what an execute_request asks for beside its code: metadata.petri.
 *
 *     {"limits": {"timeout": "10s"}, "files": [{"path": "in.csv", "text": "a,b\n"}],
 *      "stdin": "yes\n", "env": {"MODE": "fast"}, "task": "T-17", "fresh": true,
 *      "inline_bytes": 65536,
 *      "expect": {"artifacts": [{"path": "out.png", "mime": "image/png", "max_bytes": 100000}],
 *                 "stdout_regex": "^done", "result_json_schema": {"type": "integer"}}}
 *
 * A key that is not known, or a value of the wrong kind or over its bound, is
 * refused with a sentence that names it: nothing runs on a request that is
 * half understood. See: docs, "The execution contract".
 */
#ifndef PETRI_ASK_H
#define PETRI_ASK_H

#include "kernel/policy/limits_ask.h"

enum {
    ASK_FILES = 256,            /* files of one request */
    ASK_FILE_BYTES = 32 << 20,  /* one of them */
    ASK_FILES_BYTES = 64 << 20, /* all of them */
    ASK_STDIN_BYTES = 8 << 20,
    ASK_ENV = 64, /* variables */
    ASK_ENV_BYTES = 32 << 10,
    ASK_TASK_BYTES = 128,
    ASK_EXPECTED = 64, /* artifacts that are expected */
    ASK_MIME_BYTES = 128,
    ASK_REGEX_BYTES = 4096,
    ASK_SCHEMA_BYTES = 256 << 10,
    ASK_INLINE_BYTES = 1 << 20,
};

/* A file that is to be there before the code runs. */
struct ask_file {
    char *path; /* below the notebook's folder; filename.h holds for it */
    unsigned char *data;
    size_t bytes;
};

/* An artifact that has to be there after the run. */
struct ask_expected {
    char *path;
    char *mime;        /* NULL for any */
    int64_t max_bytes; /* -1 for any */
};

/* All zero asks for nothing. Owns what it points to: ask_fini(). */
struct ask {
    struct ask_file *files;
    size_t n_files;
    json_t *stdin_text; /* a string, or NULL */
    json_t *env;        /* an object of strings, or NULL */
    char task[ASK_TASK_BYTES + 1];
    bool fresh;           /* run from image 0, keep nothing */
    int64_t cache_ms;     /* how old a result may be that is given again; 0 not said, -1 none */
    int64_t inline_bytes; /* artifacts up to this size stand in the report */
    struct ask_expected *expected;
    size_t n_expected;
    json_t *result_json_schema; /* an object or a boolean, or NULL */
    json_t *stdout_regex;       /* a string, or NULL */
};

/* What a request may ask for, and where what it asks for goes. */
struct asking {
    const struct limits_asking *limits; /* whose why takes the sentence */
    const json_t *environment;          /* array of the names that env may set; NULL for none */
};

/*
 * Reads metadata.petri; json NULL asks for nothing. 0 with ret_ask, the
 * caller's, and limits changed; or -EINVAL with one sentence without a full
 * stop in asking->limits->why, then limits may be changed in part. Nothing in
 * ret_ask points into json but by reference count.
 */
int ask_parse(const struct asking *asking, const json_t *json, struct limits *limits, struct ask *ret_ask)
    __attribute__((warn_unused_result));

void ask_fini(struct ask *ask);

#endif
