/*
 * fuzz_message.c - the frames of a Jupyter message.
 *
 * The input is a byte of flags, then frames: u16 length, little-endian, bytes.
 * Flag 1: there is a key; flag 2: the frames are signed with it here, where
 * there is a place for a signature. What decodes is encoded and decoded again
 * with the same result; the same signed frames a second time are a replay;
 * unsigned ones are never taken where there is a key.
 */
#include "fuzz.h"

#include "protocol/signer.h"

#include <string.h>

enum { HAS_KEY = 1, SIGN = 2, MAX_FRAMES = 24 };

static const struct message_caps caps = {.max_frames = 20, .max_bytes = 4096, .max_depth = 16, .max_values = 4096};

static size_t split(const uint8_t *data, size_t size, struct frame frames[MAX_FRAMES]) {
    size_t n = 0;
    while (n < MAX_FRAMES && size >= 2) {
        size_t bytes = (size_t)data[0] | (size_t)data[1] << 8;
        bytes = bytes < size - 2 ? bytes : size - 2;
        frames[n++] = (struct frame){.data = data + 2, .bytes = bytes};
        data += 2 + bytes;
        size -= 2 + bytes;
    }
    return n;
}

/* Puts the right signature behind the delimiter, if both are there. */
static void sign(const struct signer *signer, struct frame *frames, size_t n, char hex[SIGNER_HEX_BYTES]) {
    for (size_t i = 0; i + 6 <= n; i++) {
        if (frames[i].bytes == 9 && memcmp(frames[i].data, "<IDS|MSG>", 9) == 0) {
            frames[i + 1] = (struct frame){hex, signer_sign(signer, &frames[i + 2], 4, hex)};
            return;
        }
    }
}

static void check_frames_equal(const struct frame *one, const struct frame *other, size_t n) {
    for (size_t i = 0; i < n; i++) {
        INVARIANT(one[i].bytes == other[i].bytes);
        INVARIANT(one[i].bytes == 0 || memcmp(one[i].data, other[i].data, one[i].bytes) == 0);
    }
}

/* An identity may look like the delimiter only if another comes first, so what was decoded has none. */
static void check_round_trip(struct signer *signer, const struct message *message) {
    const struct message_parts parts = {
        .identities = message->identities,
        .n_identities = message->n_identities,
        .msg_type = message->msg_type,
        .session = "session",
        .parent = message->header,
        .metadata = message->metadata,
        .content = message->content,
        .buffers = message->buffers,
        .n_buffers = message->n_buffers,
    };
    /* The parts may have grown: U+FFFD has three bytes. */
    const struct message_caps larger = {.max_frames = 20, .max_bytes = 65536, .max_depth = 16, .max_values = 4096};
    struct message_out out;
    struct message again;
    INVARIANT(message_encode(signer, &parts, &out) == 0);
    INVARIANT(message_decode(signer, &larger, out.frames, out.n_frames, &again) == MESSAGE_OK);
    message_out_fini(&out);
    INVARIANT(strcmp(again.msg_type, message->msg_type) == 0);
    INVARIANT(json_equal(again.parent, message->header));
    INVARIANT(json_equal(again.metadata, message->metadata));
    INVARIANT(json_equal(again.content, message->content));
    INVARIANT(again.n_identities == message->n_identities && again.n_buffers == message->n_buffers);
    check_frames_equal(again.identities, message->identities, again.n_identities);
    check_frames_equal(again.buffers, message->buffers, again.n_buffers);
    message_fini(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct signer *signers[2];
    if (signers[0] == NULL) {
        signers[0] = signer_create("", 0);
        signers[HAS_KEY] = signer_create("key", 3);
        INVARIANT(signers[0] != NULL && signers[HAS_KEY] != NULL);
    }
    if (size == 0)
        return 0;
    struct frame frames[MAX_FRAMES];
    char hex[SIGNER_HEX_BYTES];
    struct signer *signer = signers[data[0] & HAS_KEY];
    size_t n = split(data + 1, size - 1, frames);
    if ((data[0] & SIGN) != 0)
        sign(signer, frames, n, hex);
    struct message message;
    enum message_problem problem = message_decode(signer, &caps, frames, n, &message);
    INVARIANT(message_problem_text(problem) != NULL && problem != MESSAGE_NO_MEMORY);
    if (problem == MESSAGE_OK) {
        INVARIANT((data[0] & HAS_KEY) == 0 || (data[0] & SIGN) != 0);
        check_round_trip(signer, &message);
        message_fini(&message);
        if ((data[0] & HAS_KEY) != 0)
            INVARIANT(message_decode(signer, &caps, frames, n, &message) == MESSAGE_REPLAYED);
    }
    return 0;
}
