/*
 * signer.h - signs and verifies messages, and remembers signatures that were seen.
 *
 * See: Jupyter messaging, "The wire protocol"; RFC 2104; libsodium,
 * crypto_auth_hmacsha256.
 */
#ifndef PETRI_SIGNER_H
#define PETRI_SIGNER_H

#include "message.h"

#include <stdbool.h>
#include <stddef.h>

#define SIGNER_HEX_BYTES 64      /* of a signature on the wire */
#define SIGNER_REMEMBERED 65536u /* digests kept against replays */

/*
 * The signature of n frames, one after the other, as lower-case hex without a
 * NUL. Returns its bytes: SIGNER_HEX_BYTES, or 0 where the key is empty.
 */
size_t signer_sign(const struct signer *signer, const struct frame *frames, size_t n, char ret_hex[SIGNER_HEX_BYTES]);

/* Whether signature is that of n frames; compares in constant time. With an empty key every signature is. */
bool signer_verify(const struct signer *signer, const struct frame *frames, size_t n, const struct frame *signature);

/*
 * Whether a verified signature was seen before; remembers it if not. At
 * SIGNER_REMEMBERED the oldest tenth is dropped. With an empty key nothing is a
 * replay.
 */
bool signer_seen(struct signer *signer, const struct frame *signature);

/*
 * A new session id: a UUID that signer_is_session() recognizes with the same key,
 * and that looks random without it. With an empty key a random UUID.
 */
void signer_new_session(const struct signer *signer, char ret_id[37]);

/* Whether signer_new_session() has made this id with the same key. Always false with an empty key. */
bool signer_is_session(const struct signer *signer, const char *id);

#endif
