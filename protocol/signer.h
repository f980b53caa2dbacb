/*
 * signer.h - signatures of messages, and the memory of those seen before.
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

/* Whether signature is that of n frames, found in constant time. With an empty key every signature is. */
bool signer_verify(const struct signer *signer, const struct frame *frames, size_t n, const struct frame *signature);

/*
 * Whether a verified signature was seen before; remembers it if not. Where
 * SIGNER_REMEMBERED are known the oldest tenth is forgotten. With an empty key
 * nothing is ever a replay.
 */
bool signer_seen(struct signer *signer, const struct frame *signature);

/*
 * A fresh session id: a UUID of which only the holder of this key can tell that
 * it was made by this function. With an empty key one like any other.
 */
void signer_new_session(const struct signer *signer, char ret_id[37]);

/* Whether signer_new_session() has made it, with this key. With an empty key it never has. */
bool signer_is_session(const struct signer *signer, const char *id);

#endif
