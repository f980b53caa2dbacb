/*
 * digest.h - SHA-256 in hexadecimal, as reports and records have it, and what tells that a file is as it was hashed.
 */
#ifndef PETRI_DIGEST_H
#define PETRI_DIGEST_H

#include "base/cleanup.h"

#include <jansson.h>
#include <stddef.h>
#include <sys/stat.h>

enum {
    DIGEST_BYTES = 32,
    DIGEST_HEX = 65, /* and NUL */
    DIGEST_FILE = 160,
};

void digest_to_hex(const unsigned char digest[DIGEST_BYTES], char ret_hex[DIGEST_HEX]);
void digest_bytes(const void *data, size_t bytes, char ret_hex[DIGEST_HEX]);

/* Of a JSON value's text with sorted keys. 0 or -ENOMEM. */
int digest_json(const json_t *json, char ret_hex[DIGEST_HEX]) MUST_CHECK;

/* A file as it is now: its device, inode, size and both times. Every change of its content changes one of them: mtime
 * can be set back, ctime can't. */
void digest_file(const struct stat *st, char ret_file[DIGEST_FILE]);

#endif
