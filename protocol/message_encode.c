/*
 * message_encode.c - writes all frames of a message one after the other into one run of bytes.
 *
 * The run may move while it grows, so only the length of a frame is known until
 * the last byte is written; finish() sets the addresses. The signature's frame is
 * reserved before the header and filled at the end, from the four frames after
 * it.
 */

#include "bytes.h"
#include "json_write.h"
#include "message.h"
#include "signer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { N_SIGNED = 4, DATE_BYTES = 40 };

/*
 * Frames in one run of bytes: see above.
 */
struct builder {
    struct bytes out;
    struct frame *frames;
    size_t n_frames;
    size_t begin; /* of the frame being written */
};

static void end_frame(struct builder *builder) {
    builder->frames[builder->n_frames++].bytes = builder->out.n - builder->begin;
    builder->begin = builder->out.n;
}

static void add_frames(struct builder *builder, const struct frame *frames, size_t n) {
    for (size_t i = 0; i < n; i++) {
        bytes_append(&builder->out, frames[i].data, frames[i].bytes);
        end_frame(builder);
    }
}

/* text: json as text, if that exists already; else data is NULL. */
static int add_json(struct builder *builder, const json_t *json, const struct frame *text) {
    if (text->data)
        bytes_append(&builder->out, text->data, text->bytes);
    else if (!json)
        bytes_append_text(&builder->out, "{}");
    else if (!json_is_object(json) || json_write(&builder->out, json) < 0)
        return -EINVAL;
    end_frame(builder);
    return 0;
}

static void format_now(char ret_date[DATE_BYTES]) {
    struct timespec now;
    struct tm utc;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)gmtime_r(&now.tv_sec, &utc);
    size_t bytes = strftime(ret_date, DATE_BYTES, "%Y-%m-%dT%H:%M:%S", &utc);
    (void)snprintf(ret_date + bytes, DATE_BYTES - bytes, ".%06luZ", (unsigned long)now.tv_nsec / 1000);
}

static void add_header(struct builder *builder, const struct message_parts *parts) {
    char id[37];
    char date[DATE_BYTES];
    message_new_id(id);
    format_now(date);
    const char *const fields[][2] = {
        {"{\"msg_id\":", parts->msg_id != NULL ? parts->msg_id : id},
        {",\"msg_type\":", parts->msg_type},
        {",\"username\":", parts->username != NULL ? parts->username : ""},
        {",\"session\":", parts->session},
        {",\"date\":", date},
        {",\"version\":", MESSAGE_PROTOCOL_VERSION},
    };
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        bytes_append_text(&builder->out, fields[i][0]);
        json_write_string(&builder->out, fields[i][1], strlen(fields[i][1]));
    }
    bytes_append_text(&builder->out, "}");
    end_frame(builder);
}

/* The content of a stream message. */
struct stream {
    const char *name;
    const void *text;
    size_t bytes;
};

static void add_stream(struct builder *builder, const struct stream *stream) {
    /* Usually one allocation is enough: some characters of each line need a second byte as escapes. */
    (void)bytes_reserve(&builder->out, stream->bytes + stream->bytes / 16 + 64);
    bytes_append_text(&builder->out, "{\"name\":");
    json_write_string(&builder->out, stream->name, strlen(stream->name));
    bytes_append_text(&builder->out, ",\"text\":");
    json_write_string(&builder->out, stream->text, stream->bytes);
    bytes_append_text(&builder->out, "}");
    end_frame(builder);
}

/* Writes every frame; the signature's is only reserved. */
static int add_message(struct builder *builder, const struct message_parts *parts, const struct stream *stream) {
    static const char delimiter[] = "<IDS|MSG>";
    static const char unsigned_yet[SIGNER_HEX_BYTES];
    add_frames(builder, parts->identities, parts->n_identities);
    add_frames(builder, &(struct frame){delimiter, sizeof delimiter - 1}, 1);
    add_frames(builder, &(struct frame){unsigned_yet, sizeof unsigned_yet}, 1);
    add_header(builder, parts);
    int r = add_json(builder, parts->parent, &(struct frame){0});
    if (r == 0)
        r = add_json(builder, parts->metadata, &parts->metadata_text);
    if (r == 0 && stream != NULL)
        add_stream(builder, stream);
    else if (r == 0)
        r = add_json(builder, parts->content, &parts->content_text);
    if (r < 0)
        return r;
    add_frames(builder, parts->buffers, parts->n_buffers);
    return bytes_ok(&builder->out) ? 0 : -ENOMEM;
}

/* Sets the address of each frame, and writes the signature. */
static void finish(struct builder *builder, const struct signer *signer, size_t n_identities) {
    size_t signature = n_identities + 1;
    char *signature_text = NULL;
    char *at = builder->out.data;
    for (size_t i = 0; i < builder->n_frames; i++) {
        signature_text = i == signature ? at : signature_text;
        builder->frames[i].data = at;
        at += builder->frames[i].bytes;
    }
    builder->frames[signature].bytes = signer_sign(signer, &builder->frames[signature + 1], N_SIGNED, signature_text);
}

static int encode(const struct signer *signer, const struct message_parts *parts, const struct stream *stream,
                  struct message_out *ret) {
    if (!parts->msg_type || !parts->session)
        return -EINVAL;
    struct builder builder = {.frames =
                                  calloc(parts->n_identities + 2 + N_SIGNED + parts->n_buffers, sizeof(struct frame))};
    if (!builder.frames)
        return -ENOMEM;
    int r = add_message(&builder, parts, stream);
    if (r < 0) {
        free(builder.frames);
        bytes_fini(&builder.out);
        return r;
    }
    finish(&builder, signer, parts->n_identities);
    *ret = (struct message_out){.n_frames = builder.n_frames, .frames = builder.frames, .memory = builder.out.data};
    return 0;
}

int message_encode(struct signer *signer, const struct message_parts *parts, struct message_out *ret) {
    return encode(signer, parts, NULL, ret);
}

int message_encode_stream(struct signer *signer, const struct message_parts *parts, const char *name, const void *text,
                          size_t bytes, struct message_out *ret) {
    return encode(signer, parts, &(struct stream){.name = name, .text = text, .bytes = bytes}, ret);
}
