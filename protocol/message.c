/*
 * message.c - the default caps, the texts of problems, and functions that free messages.
 *
 * See: RFC 9562, 5.4, "UUID Version 4".
 */

#include "message.h"

#include "base/errand.h"

#include <sodium.h>
#include <stdlib.h>

const struct message_caps message_default_caps = {
    .max_frames = 300, /* the buffers that a frame to the worker may have, the parts, and some identities */
    .max_bytes = (size_t)256 << 20,
    .max_depth = 256,
    .max_values = (size_t)4 << 20, /* some 400 MB at most */
};

static const char *const problem_texts[] = {
    [MESSAGE_OK] = "The message is well formed.",
    [MESSAGE_NO_DELIMITER] = "The message has no <IDS|MSG> frame.",
    [MESSAGE_TOO_SHORT] = "The message has fewer than five frames after <IDS|MSG>.",
    [MESSAGE_TOO_MANY_FRAMES] = "The message has more frames than allowed.",
    [MESSAGE_TOO_LARGE] = "The message is larger than allowed.",
    [MESSAGE_BAD_SIGNATURE] = "The message's signature is not the one its frames have under this kernel's key.",
    [MESSAGE_REPLAYED] = "The message was received before.",
    [MESSAGE_REFLECTED] = "The message is one that a kernel with this key has sent.",
    [MESSAGE_BAD_JSON] =
        "The header, parent header, metadata or content is not a JSON object, is nested too deeply, or has too many values.",
    [MESSAGE_BAD_HEADER] = "The header has no valid msg_id or msg_type.",
    [MESSAGE_NO_MEMORY] = "There was not enough memory for the message.",
};
_Static_assert(sizeof problem_texts / sizeof problem_texts[0] == MESSAGE_N_PROBLEMS, "a sentence for each problem");

const char *message_problem_text(enum message_problem problem) {
    return problem_texts[problem];
}

static void free_parts(void *arg) {
    const struct message *message = arg;
    free(message->identities);
    free(message->buffers);
    json_decref(message->header);
    json_decref(message->parent);
    json_decref(message->metadata);
    json_decref(message->content);
}

void message_fini(struct message *message) {
    if (message->bytes < MESSAGE_LONG_BYTES)
        free_parts(message);
    else
        errand_do(free_parts, message);
    *message = (struct message){0};
}

void message_out_fini(struct message_out *out) {
    free(out->frames);
    free(out->memory);
    *out = (struct message_out){0};
}

void message_new_id(char ret_id[37]) {
    unsigned char random[16];
    char hex[33];
    randombytes_buf(random, sizeof random);
    random[6] = (unsigned char)(0x40 | (random[6] & 0x0F)); /* RFC 9562: version 4 */
    random[8] = (unsigned char)(0x80 | (random[8] & 0x3F)); /* and its variant */
    sodium_bin2hex(hex, sizeof hex, random, sizeof random);
    size_t at = 0;
    for (size_t i = 0; i < 32; i++) {
        if (i == 8 || i == 12 || i == 16 || i == 20)
            ret_id[at++] = '-';
        ret_id[at++] = hex[i];
    }
    ret_id[at] = '\0';
}
