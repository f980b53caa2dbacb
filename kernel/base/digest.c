/*
 * digest.c - libsodium's SHA-256, and a JSON value as one text: compact and with
 * sorted keys, so equal values are equal.
 */

#include "digest.h"

#include "base/cleanup.h"

#include <errno.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

_Static_assert(DIGEST_BYTES == crypto_hash_sha256_BYTES && DIGEST_HEX == 2 * DIGEST_BYTES + 1, "of SHA-256");

void digest_to_hex(const unsigned char digest[DIGEST_BYTES], char ret_hex[DIGEST_HEX]) {
    sodium_bin2hex(ret_hex, DIGEST_HEX, digest, DIGEST_BYTES);
}

void digest_bytes(const void *data, size_t bytes, char ret_hex[DIGEST_HEX]) {
    unsigned char digest[DIGEST_BYTES];
    crypto_hash_sha256(digest, data, bytes);
    digest_to_hex(digest, ret_hex);
}

int digest_json(const json_t *json, char ret_hex[DIGEST_HEX]) {
    auto_free char *text = json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
    if (!text)
        return -ENOMEM;
    digest_bytes(text, strlen(text), ret_hex);
    return 0;
}

void digest_file(const struct stat *st, char ret_file[DIGEST_FILE]) {
    snprintf(ret_file, DIGEST_FILE, "%ju:%ju:%jd:%jd.%09ld:%jd.%09ld", (uintmax_t)st->st_dev, (uintmax_t)st->st_ino,
             (intmax_t)st->st_size, (intmax_t)st->st_mtim.tv_sec, st->st_mtim.tv_nsec, (intmax_t)st->st_ctim.tv_sec,
             st->st_ctim.tv_nsec);
}
