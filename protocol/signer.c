/*
 * signer.c - HMAC-SHA256 of messages, and the set of digests that were seen.
 *
 * The set is a ring buffer in the order of arrival, and a hash table of positions
 * in the ring, with open addressing and linear probing, at most half full.
 * Nothing is deleted from the table: a full ring drops its oldest tenth, and the
 * table is rebuilt, once in some 6,500 messages. A digest is its own hash,
 * because it can't be chosen without the key.
 *
 * The keyed state is made once and copied for each signature. It is as secret as
 * the key, so it is withheld from forked processes.
 */

#include "signer.h"

#include "secret.h"

#include <sodium.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define DIGEST_BYTES crypto_auth_hmacsha256_BYTES
#define CULLED (SIGNER_REMEMBERED / 10)
#define SLOTS (2 * SIGNER_REMEMBERED) /* a power of two, at most half full */

_Static_assert(SIGNER_HEX_BYTES == 2 * DIGEST_BYTES, "a digest in hex");
_Static_assert((SLOTS & (SLOTS - 1)) == 0, "SLOTS is a mask plus one");

/*
 * See above. Pages of the arrays that are not used take no memory.
 */
struct signer {
    crypto_auth_hmacsha256_state *keyed; /* after init: each signature begins with a copy; of secret_alloc() */
    bool has_key;
    size_t oldest, n;
    unsigned char digests[SIGNER_REMEMBERED][DIGEST_BYTES];
    uint32_t slots[SLOTS]; /* place in digests plus one; 0 is free */
};

struct signer *signer_create(const void *key, size_t key_bytes) {
    if (sodium_init() < 0)
        return NULL;
    struct signer *signer = calloc(1, sizeof *signer);
    if (!signer)
        return NULL;
    signer->has_key = key_bytes > 0;
    if (signer->has_key) {
        signer->keyed = secret_alloc(sizeof *signer->keyed);
        if (!signer->keyed || secret_withhold(signer->keyed, sizeof *signer->keyed) < 0) {
            signer_destroy(signer);
            return NULL;
        }
        crypto_auth_hmacsha256_init(signer->keyed, key, key_bytes);
    }
    return signer;
}

void signer_destroy(struct signer *signer) {
    if (signer) {
        secret_free(signer->keyed, sizeof *signer->keyed);
        free(signer);
    }
}

size_t signer_sign(const struct signer *signer, const struct frame *frames, size_t n, char ret_hex[SIGNER_HEX_BYTES]) {
    if (!signer->has_key)
        return 0;
    crypto_auth_hmacsha256_state state = *signer->keyed;
    for (size_t i = 0; i < n; i++)
        crypto_auth_hmacsha256_update(&state, frames[i].data, frames[i].bytes);
    unsigned char digest[DIGEST_BYTES];
    char hex[SIGNER_HEX_BYTES + 1];
    crypto_auth_hmacsha256_final(&state, digest);
    sodium_bin2hex(hex, sizeof hex, digest, sizeof digest);
    memcpy(ret_hex, hex, SIGNER_HEX_BYTES);
    sodium_memzero(&state, sizeof state);
    return SIGNER_HEX_BYTES;
}

bool signer_verify(const struct signer *signer, const struct frame *frames, size_t n, const struct frame *signature) {
    char hex[SIGNER_HEX_BYTES];
    size_t bytes = signer_sign(signer, frames, n, hex);
    return bytes == 0 || (signature->bytes == bytes && sodium_memcmp(signature->data, hex, bytes) == 0);
}

/* The slot of digest, or the free one where it would go. */
static uint32_t *find_slot(struct signer *signer, const unsigned char *digest) {
    uint64_t hash;
    memcpy(&hash, digest, sizeof hash); /* a digest is evenly spread, and made with a key */
    size_t i = hash & (SLOTS - 1);
    while (signer->slots[i] != 0 && memcmp(signer->digests[signer->slots[i] - 1], digest, DIGEST_BYTES) != 0)
        i = (i + 1) & (SLOTS - 1);
    return &signer->slots[i];
}

static void forget_oldest(struct signer *signer) {
    signer->oldest = (signer->oldest + CULLED) % SIGNER_REMEMBERED;
    signer->n -= CULLED;
    memset(signer->slots, 0, sizeof signer->slots);
    for (size_t i = 0; i < signer->n; i++) {
        size_t place = (signer->oldest + i) % SIGNER_REMEMBERED;
        *find_slot(signer, signer->digests[place]) = (uint32_t)place + 1;
    }
}

bool signer_seen(struct signer *signer, const struct frame *signature) {
    if (!signer->has_key)
        return false;
    unsigned char digest[DIGEST_BYTES] = {0};
    (void)sodium_hex2bin(digest, sizeof digest, signature->data, signature->bytes, NULL, NULL, NULL);
    if (*find_slot(signer, digest) != 0)
        return true;
    if (signer->n == SIGNER_REMEMBERED)
        forget_oldest(signer);
    size_t place = (signer->oldest + signer->n) % SIGNER_REMEMBERED;
    memcpy(signer->digests[place], digest, DIGEST_BYTES);
    *find_slot(signer, digest) = (uint32_t)place + 1;
    signer->n++;
    return false;
}

/*
 * The second half of a session id is the beginning of a signature of the first
 * half. It can't be used as the signature of a header, because each header begins
 * with a brace.
 */
enum { SESSION_CHARS = 36, SESSION_SIGNED = 20, SESSION_REST = 3, SESSION_DIGITS = 12 };

static void sign_session(const struct signer *signer, char id[SESSION_CHARS + 1]) {
    static const char purpose[] = "session";
    char hex[SIGNER_HEX_BYTES];
    const struct frame frames[] = {{purpose, sizeof purpose}, {id, SESSION_SIGNED}};
    if (signer_sign(signer, frames, 2, hex) == 0)
        return;
    memcpy(id + SESSION_SIGNED, hex, SESSION_REST);
    memcpy(id + SESSION_CHARS - SESSION_DIGITS, hex + SESSION_REST, SESSION_DIGITS);
}

void signer_new_session(const struct signer *signer, char ret_id[37]) {
    message_new_id(ret_id);
    sign_session(signer, ret_id);
}

bool signer_is_session(const struct signer *signer, const char *id) {
    char own[SESSION_CHARS + 1];
    if (!signer->has_key || strlen(id) != SESSION_CHARS)
        return false;
    memcpy(own, id, sizeof own);
    sign_session(signer, own);
    return sodium_memcmp(own, id, SESSION_CHARS) == 0;
}
