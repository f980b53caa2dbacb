/*
 * spec.h - what an execute_request asks for beside its code: metadata.petri.
 *
 *     {"limits": {"timeout": "10s"}, "files": [{"path": "in.csv", "text": "a,b\n"}],
 *      "stdin": "yes\n", "env": {"MODE": "fast"}, "task": "T-17", "fresh": true,
 *      "inline_bytes": 65536,
 *      "expect": {"artifacts": [{"path": "out.png", "mime": "image/png", "max_bytes": 100000}],
 *                 "stdout_regex": "^done", "result_json_schema": {"type": "integer"}}}
 *
 * A key that is not known, or a value of the wrong type or over its bound, is
 * refused with a sentence that names it, and nothing of the request runs. See:
 * docs, "The execution contract".
 */
#ifndef PETRI_SPEC_H
#define PETRI_SPEC_H

#include "base/cleanup.h"
#include "kernel/base/image_name.h"
#include "kernel/policy/limits_change.h"

enum {
    SPEC_FILES = 256,            /* files of one request */
    SPEC_FILE_BYTES = 32 << 20,  /* one of them */
    SPEC_FILES_BYTES = 64 << 20, /* all of them */
    SPEC_STDIN_BYTES = 8 << 20,
    SPEC_ENV = 64, /* variables */
    SPEC_ENV_BYTES = 32 << 10,
    SPEC_TASK_BYTES = 128,
    SPEC_EXPECTED = 64, /* artifacts that are expected */
    SPEC_MIME_BYTES = 128,
    SPEC_REGEX_BYTES = 4096,
    SPEC_SCHEMA_BYTES = 256 << 10,
    SPEC_INLINE_BYTES = 1 << 20,
};

/* A file that is to be there before the code runs. */
struct spec_file {
    char *path; /* below the notebook's folder; filename.h holds for it */
    unsigned char *data;
    size_t bytes;
};

/* An artifact that has to be there after the run. */
struct spec_expected {
    char *path;
    char *mime;        /* NULL for any */
    int64_t max_bytes; /* -1 for any */
};

/* All zero asks for nothing. Owns what it points to: spec_fini(). */
struct spec {
    struct spec_file *files;
    size_t n_files;
    json_t *stdin_text; /* a string, or NULL */
    json_t *env;        /* an object of strings, or NULL */
    char task[SPEC_TASK_BYTES + 1];
    bool fresh;                            /* run from image 0, keep nothing */
    bool no_commit;                        /* the session stays as it was */
    bool keeps_branch;                     /* and what the run leaves is kept beside it */
    char checkpoint[IMAGE_NAME_BYTES + 1]; /* the name of what it leaves; "" for none */
    int64_t cache_ms;                      /* how old a cached result may be; 0: not set, -1: no cache */
    int64_t inline_bytes;                  /* the report has the content of artifacts up to this size */
    struct spec_expected *expected;
    size_t n_expected;
    json_t *result_json_schema; /* an object or a boolean, or NULL */
    json_t *stdout_regex;       /* a string, or NULL */
};

/* What a request may ask for. */
struct spec_terms {
    const struct limits_change *limits; /* whose ret_error takes the sentence */
    const json_t *environment;          /* array of the names that env may set; NULL for none */
};

/*
 * Reads metadata.petri; json NULL asks for nothing. 0 with ret_spec, the
 * caller's, and limits changed; or -EINVAL with one sentence without a full
 * stop in terms->limits->ret_error, then limits may be changed in part. Nothing in
 * ret_spec points into json but by reference count.
 */
int spec_parse(const struct spec_terms *terms, const json_t *json, struct limits *limits,
               struct spec *ret_spec) MUST_CHECK;

void spec_fini(struct spec *spec);

/* The image that a request is to begin from, as it has that, or NULL: known before all of it is read. Borrowed; json
 * may be NULL. */
const char *spec_from(const json_t *json);

/* The name that a request gives what it leaves, in the same way. */
const char *spec_checkpoint_of(const json_t *json);

/* Whether a request that asks for this may leave a state: it is committed, or a branch that is kept. The same. */
bool spec_may_leave(const json_t *json);

/* Whether metadata.petri, as a request has it, asks for a run beside the session's own: a fresh one, or one from
 * another image that is not committed. Known before all of it is read. json may be NULL. */
bool spec_goes_beside(const json_t *json);

#endif
