/*
 * message.h - decodes and encodes Jupyter messages.
 *
 * A message on the wire is a list of frames:
 *
 *     [identity..., "<IDS|MSG>", hex HMAC, header, parent_header, metadata, content, buffer...]
 *
 * Frames are counted and the signature is checked before anything is parsed.
 * See: Jupyter messaging, "The wire protocol".
 */
#ifndef PETRI_MESSAGE_H
#define PETRI_MESSAGE_H

#include "base/cleanup.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A run of bytes; each use says who owns it. */
struct frame {
    const void *data;
    size_t bytes;
};

enum message_problem {
    MESSAGE_OK,
    MESSAGE_NO_DELIMITER, /* no <IDS|MSG> frame */
    MESSAGE_TOO_SHORT,    /* fewer than five frames after it */
    MESSAGE_TOO_MANY_FRAMES,
    MESSAGE_TOO_LARGE,
    MESSAGE_BAD_SIGNATURE,
    MESSAGE_REPLAYED,
    MESSAGE_REFLECTED,  /* set by channels_receive(), not by message_decode() */
    MESSAGE_BAD_JSON,   /* one of the four parts is not a JSON object */
    MESSAGE_BAD_HEADER, /* no msg_id or msg_type, or not strings */
    MESSAGE_NO_MEMORY,
    MESSAGE_N_PROBLEMS,
};
const char *message_problem_text(enum message_problem problem); /* one sentence, static */

/*
 * A key, and the signatures seen with it; one per kernel. key is copied. NULL
 * on ENOMEM or where libsodium can't start.
 */
struct signer;
struct signer *signer_create(const void *key, size_t key_bytes);
void signer_destroy(struct signer *signer);

/* The bounds of a message. */
struct message_caps {
    size_t max_frames;
    size_t max_bytes;  /* all frames together */
    size_t max_depth;  /* nesting of JSON, at most TEXT_DEPTH_LIMIT of text.h */
    size_t max_values; /* in each of the four parts, as text_parse_capped() counts */
};
extern const struct message_caps message_default_caps;

/* The longest msg_id and msg_type in bytes; neither is empty or has a NUL. */
#define MESSAGE_MAX_ID_BYTES 1024
#define MESSAGE_MAX_TYPE_BYTES 128

struct message {
    size_t n_identities;
    struct frame *identities; /* copies, owned */
    json_t *header;           /* objects, owned */
    json_t *parent;
    json_t *metadata;
    json_t *content;
    size_t n_buffers;
    struct frame *buffers; /* copies, owned */
    const char *msg_id;    /* inside header */
    const char *msg_type;  /* inside header */
    uint64_t bytes;        /* of memory, as text_memory() has it */
};

/*
 * Decodes frames, which are borrowed. On MESSAGE_OK ret is the caller's:
 * message_fini(). A message whose signature was seen before is MESSAGE_REPLAYED
 * (65,536 are remembered). Text that is not UTF-8, lone surrogates (raw or in \u
 * escapes) become U+FFFD; NUL inside strings is kept. With an empty key every
 * signature is accepted and nothing is a replay. Doesn't block: while a thread decodes a message of
 * MESSAGE_LONG_BYTES or more, others are served (slices.h), who may decode with this signer.
 *
 * See: Jupyter messaging, "The wire protocol"; text.h.
 */
enum message_problem message_decode(struct signer *signer, const struct message_caps *caps, const struct frame *frames,
                                    size_t n_frames, struct message *ret) MUST_CHECK;

/* Of a message of MESSAGE_LONG_BYTES or more a thread frees the memory, and others are served meanwhile. */
void message_fini(struct message *message);

/* From so many on it takes more than a few milliseconds to read a message. */
enum { MESSAGE_LONG_BYTES = 1 << 20 };

/* The frames of a message to send: frames[i] point into memory that message_out_fini() frees. */
struct message_out {
    size_t n_frames;
    struct frame *frames;
    void *memory;
};

/* The parts of a message. Everything is borrowed; NULL JSON means {}. */
struct message_parts {
    const struct frame *identities;
    size_t n_identities;
    const char *msg_id; /* NULL for a fresh one */
    const char *msg_type;
    const char *session; /* header.session: the same for all messages of a kernel */
    const char *username;
    const json_t *parent; /* the parent's header, or NULL */
    const json_t *metadata;
    const json_t *content;
    struct frame metadata_text; /* metadata as JSON text, sent unchanged; data NULL: it is written here */
    struct frame content_text;
    const struct frame *buffers;
    size_t n_buffers;
};

/*
 * Builds and signs: a header with a msg_id, date (ISO 8601, UTC,
 * microseconds, "Z") and version. The text is UTF-8 for all values. 0, -ENOMEM,
 * or -EINVAL: no msg_type or session, or a part that is no object or nested too
 * deeply. *ret is the caller's: message_out_fini().
 *
 * See: Jupyter messaging, "Message header".
 */
int message_encode(struct signer *signer, const struct message_parts *parts, struct message_out *ret) MUST_CHECK;

/*
 * The same for the content {"name": name, "text": text}, directly from bytes of
 * output; bytes that are not UTF-8 become U+FFFD. parts->content is ignored.
 *
 * See: Jupyter messaging, "Streams (stdout, stderr, etc)".
 */
int message_encode_stream(struct signer *signer, const struct message_parts *parts, const char *name, const void *text,
                          size_t bytes, struct message_out *ret) MUST_CHECK;
void message_out_fini(struct message_out *out);

/* A fresh random UUID as 36 characters and NUL (libsodium's generator). */
void message_new_id(char ret_id[37]);

#define MESSAGE_PROTOCOL_VERSION "5.6"

#endif
