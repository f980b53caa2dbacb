/*
 * message_decode.c - decodes frames, with cheap checks first, so that hostile frames cost little.
 *
 * First the number of frames and bytes are checked, then the delimiter, then the
 * signature, then whether the signature was seen before; JSON is parsed only
 * after all of these. A signature is remembered before the message is parsed, so
 * a malformed signed message is a replay the second time. Buffers are not signed:
 * the protocol's signature covers the four JSON frames alone. What takes long, of a
 * large message, is done by a thread, while others are served: they may decode
 * messages, too, so the thread changes nothing of the signer's.
 *
 * The message owns copies, because the frames belong to libzmq. On failure
 * everything is freed, and the caller's struct is not changed.
 *
 * See: Jupyter messaging, "The wire protocol".
 */

#include "message.h"

#include "base/errand.h"
#include "signer.h"
#include "text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The frames after the delimiter. */
enum { SIGNATURE, HEADER, PARENT, METADATA, CONTENT, N_FIXED };

static const char delimiter[] = "<IDS|MSG>";

/* A message on its way. */
struct decoding {
    const struct signer *signer;
    const struct message_caps *caps;
    const struct frame *frames;
    const struct frame *fixed; /* the first frame after the delimiter */
    size_t n;                  /* frames */
    bool is_signed;
    enum message_problem problem;
    struct message message;
};

static enum message_problem check_caps(const struct message_caps *caps, const struct frame *frames, size_t n) {
    if (n > caps->max_frames)
        return MESSAGE_TOO_MANY_FRAMES;
    size_t left = caps->max_bytes;
    for (size_t i = 0; i < n; i++) {
        if (frames[i].bytes > left)
            return MESSAGE_TOO_LARGE;
        left -= frames[i].bytes;
    }
    return MESSAGE_OK;
}

static bool is_delimiter(const struct frame *frame) {
    return frame->bytes == sizeof delimiter - 1 && memcmp(frame->data, delimiter, frame->bytes) == 0;
}

static enum message_problem find_fixed(const struct frame *frames, size_t n, size_t *ret_n_identities) {
    size_t i = 0;
    while (i < n && !is_delimiter(&frames[i]))
        i++;
    if (i == n)
        return MESSAGE_NO_DELIMITER;
    if (n - i - 1 < N_FIXED)
        return MESSAGE_TOO_SHORT;
    *ret_n_identities = i;
    return MESSAGE_OK;
}

static void verify(void *arg) {
    struct decoding *decoding = arg;
    const struct frame *fixed = decoding->fixed;
    decoding->is_signed = signer_verify(decoding->signer, &fixed[HEADER], N_FIXED - HEADER, &fixed[SIGNATURE]);
}

static enum message_problem parse_object(const struct frame *frame, const struct message_caps *caps, json_t **ret) {
    json_t *json;
    int r = text_parse_capped(frame->data, frame->bytes, caps->max_depth, caps->max_values, &json);
    if (r < 0)
        return r == -ENOMEM ? MESSAGE_NO_MEMORY : MESSAGE_BAD_JSON;
    if (!json_is_object(json)) {
        json_decref(json);
        return MESSAGE_BAD_JSON;
    }
    *ret = json;
    return MESSAGE_OK;
}

static enum message_problem parse_parts(const struct frame *fixed, const struct message_caps *caps,
                                        struct message *message) {
    json_t **parts[N_FIXED] = {
        [HEADER] = &message->header,
        [PARENT] = &message->parent,
        [METADATA] = &message->metadata,
        [CONTENT] = &message->content,
    };
    enum message_problem problem = MESSAGE_OK;
    for (size_t i = HEADER; i < N_FIXED && problem == MESSAGE_OK; i++)
        problem = parse_object(&fixed[i], caps, parts[i]);
    return problem;
}

/* A string that can be used as a C string, or NULL. */
static const char *header_text(const json_t *header, const char *key, size_t max_bytes) {
    const json_t *json = json_object_get(header, key);
    size_t bytes = json_string_length(json);
    const char *text = json_string_value(json);
    return bytes > 0 && bytes <= max_bytes && memchr(text, '\0', bytes) == NULL ? text : NULL;
}

static enum message_problem check_header(struct message *message) {
    message->msg_id = header_text(message->header, "msg_id", MESSAGE_MAX_ID_BYTES);
    message->msg_type = header_text(message->header, "msg_type", MESSAGE_MAX_TYPE_BYTES);
    return message->msg_id != NULL && message->msg_type != NULL ? MESSAGE_OK : MESSAGE_BAD_HEADER;
}

static size_t count_bytes(const struct frame *frames, size_t n) {
    size_t bytes = 0;
    for (size_t i = 0; i < n; i++)
        bytes += frames[i].bytes;
    return bytes;
}

/* Copies frames into one block of memory: the array, then the bytes. */
static enum message_problem copy_frames(const struct frame *frames, size_t n, struct frame **ret) {
    const size_t bytes = n * sizeof *frames + count_bytes(frames, n);
    struct frame *copies = malloc(bytes > 0 ? bytes : 1);
    if (!copies)
        return MESSAGE_NO_MEMORY;
    char *at = (char *)(copies + n);
    for (size_t i = 0; i < n; i++) {
        copies[i] = (struct frame){.data = at, .bytes = frames[i].bytes};
        if (frames[i].bytes > 0)
            memcpy(at, frames[i].data, frames[i].bytes);
        at += frames[i].bytes;
    }
    *ret = copies;
    return MESSAGE_OK;
}

static uint64_t memory_of(const struct message *message) {
    return text_memory(message->header) + text_memory(message->parent) + text_memory(message->metadata) +
           text_memory(message->content) + count_bytes(message->buffers, message->n_buffers);
}

static void build(void *arg) {
    struct decoding *decoding = arg;
    struct message *message = &decoding->message;
    message->n_identities = (size_t)(decoding->fixed - decoding->frames) - 1;
    message->n_buffers = decoding->n - message->n_identities - 1 - N_FIXED;
    enum message_problem problem = parse_parts(decoding->fixed, decoding->caps, message);
    if (problem == MESSAGE_OK)
        problem = check_header(message);
    if (problem == MESSAGE_OK)
        problem = copy_frames(decoding->frames, message->n_identities, &message->identities);
    if (problem == MESSAGE_OK)
        problem = copy_frames(decoding->fixed + N_FIXED, message->n_buffers, &message->buffers);
    decoding->problem = problem;
    if (problem == MESSAGE_OK)
        message->bytes = memory_of(message);
    else
        message_fini(message);
}

/* By a thread if it takes long. */
static void perform(struct decoding *decoding, void (*work)(void *arg)) {
    if (count_bytes(decoding->frames, decoding->n) < MESSAGE_LONG_BYTES)
        work(decoding);
    else
        errand_do(work, decoding);
}

enum message_problem message_decode(struct signer *signer, const struct message_caps *caps, const struct frame *frames,
                                    size_t n_frames, struct message *ret) {
    size_t n_identities = 0;
    enum message_problem problem = check_caps(caps, frames, n_frames);
    if (problem == MESSAGE_OK)
        problem = find_fixed(frames, n_frames, &n_identities);
    if (problem != MESSAGE_OK)
        return problem;
    struct decoding decoding = {
        .signer = signer, .caps = caps, .frames = frames, .fixed = frames + n_identities + 1, .n = n_frames};
    perform(&decoding, verify);
    if (!decoding.is_signed)
        return MESSAGE_BAD_SIGNATURE;
    if (signer_seen(signer, &decoding.fixed[SIGNATURE]))
        return MESSAGE_REPLAYED;
    perform(&decoding, build);
    if (decoding.problem == MESSAGE_OK)
        *ret = decoding.message;
    return decoding.problem;
}
