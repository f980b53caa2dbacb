/*
 * fingerprint.h - a description of the environment that cells run in, to compare runs.
 *
 *     {"interpreter": {"named", "path", "version", "sha256", "library_sha256"},
 *      "distributions": {"numpy": "2.1.0", ...},
 *      "linux": {"release", "version", "machine"},
 *      "petri": "0.1.0", "policy_sha256": of the policy on system calls,
 *      "settings": {"PYTHONHASHSEED": "0", "LANG": ..., "TZ": ..., "OMP_NUM_THREADS": ...}}
 *
 * All of it is read from outside of the sandbox, so code in cells can't change
 * it.
 */
#ifndef PETRI_FINGERPRINT_H
#define PETRI_FINGERPRINT_H

#include "kernel/interpreter/distributions.h"

#include <jansson.h>

struct records;

/* settings: the environment of cells, "NAME=value", NULL-ended; records: where digests of the interpreter's files are
 * remembered. The caller's; NULL on ENOMEM or where a file can't be read. Some programs have 100 MiB: to read one takes
 * half a second, once. */
json_t *fingerprint_make(const struct distributions *found, char *const *settings, struct records *records);

#endif
