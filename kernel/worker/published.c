/*
 * published.c - the table of messages that a worker may publish; writes each message once.
 *
 * The text whose size is measured is the text that is sent, so limits are checked
 * exactly. Values are taken by reference and not changed, because the transcript
 * keeps them too.
 */

#include "published.h"

#include "protocol/json_write.h"

#include <errno.h>

/*
 * Debugging is not offered (docs/debugger.md), so debug_event is not here.
 * See: Jupyter messaging, "Messages on the IOPub (PUB/SUB) channel", "Custom messages".
 */
static const struct published_kind kinds[] = {
    {"stream", {"name", "text"}, .is_output = true, .is_late = true},
    {"display_data",
     {"data", "metadata", "transient"},
     .has_metadata = true,
     .is_output = true,
     .is_late = true,
     .counts = true,
     .replacement = REPLACEMENT_TEXT},
    {"update_display_data",
     {"data", "metadata", "transient"},
     .has_metadata = true,
     .is_output = true,
     .is_late = true,
     .replacement = REPLACEMENT_TEXT},
    {"execute_result",
     {"data", "metadata", "execution_count", "transient"}, /* some libraries give a result a display_id, to update it */
     .has_metadata = true,
     .is_output = true,
     .counts = true,
     .replacement = REPLACEMENT_TEXT},
    {"error", {"ename", "evalue", "traceback"}, .is_output = true, .replacement = REPLACEMENT_ERROR},
    {"clear_output", {"wait"}, .is_output = true, .is_late = true},
    {"comm_open", {"comm_id", "target_name", "target_module", "data"}, .has_metadata = true},
    {"comm_msg", {"comm_id", "data"}, .has_metadata = true},
    {"comm_close", {"comm_id", "data"}, .has_metadata = true},
};

const struct published_kind *published_kind(const char *msg_type) {
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(kinds[i].msg_type, msg_type) == 0)
            return &kinds[i];
    return NULL;
}

/* The fields of content that the kind has, by reference; or, where wanted is false, all others. */
static json_t *pick(const struct published_kind *kind, json_t *content, bool wanted) {
    json_t *picked = json_object();
    const char *key;
    json_t *value;
    json_object_foreach(content, key, value) {
        const char *const *field = kind->fields;
        while (*field && strcmp(*field, key) != 0)
            field++;
        if ((*field != NULL) == wanted)
            json_object_set(picked, key, value);
    }
    return picked;
}

static size_t written_bytes(const json_t *json) {
    auto_bytes text = {0};
    return json_object_size(json) > 0 && json_write(&text, json) == 0 ? text.n : 0;
}

/* Writes content and metadata as they are sent, and measures the message. 0 or -ENOMEM. */
static int write_out(struct published *message) {
    bytes_fini(&message->text);
    int r = json_write(&message->text, message->content);
    message->content_bytes = message->text.n;
    if (r == 0 && message->metadata)
        r = json_write(&message->text, message->metadata);
    message->bytes = message->text.n;
    for (size_t i = 0; i < message->n_buffers; i++)
        message->bytes += message->buffers[i].bytes;
    return r == 0 && bytes_ok(&message->text) ? 0 : -ENOMEM;
}

/* A display's `transient.petri` says that it is the kernel's own (docs/contract.md): no cell may say so. */
static int deny_note(json_t *content) {
    json_t *transient = json_object_get(content, "transient");
    if (!json_object_get(transient, "petri"))
        return 0;
    json_t *rest = json_copy(transient); /* the frame has the other one */
    return rest && json_object_del(rest, "petri") == 0 ? json_object_set_new(content, "transient", rest) : -1;
}

/* Takes what the kind may have, and counts the bytes of the rest. */
static void cut(struct published *message, json_t *content, json_t *metadata) {
    const struct published_kind *kind = message->kind;
    message->content = pick(kind, content, true);
    if (json_object_size(message->content) < json_object_size(content)) {
        json_auto_t *others = pick(kind, content, false);
        message->dropped_bytes += written_bytes(others);
    }
    if (kind->has_metadata) {
        message->metadata = json_incref(metadata);
        return;
    }
    message->dropped_bytes += written_bytes(metadata);
    for (size_t i = 0; i < message->n_buffers; i++)
        message->dropped_bytes += message->buffers[i].bytes;
    message->n_buffers = 0;
}

int published_take(const struct wire_frame *frame, struct published *ret_message) {
    const char *msg_type = json_string_value(json_object_get(frame->json, "msg_type"));
    struct published message = {.kind = published_kind(msg_type), .n_buffers = frame->n_buffers};
    for (size_t i = 0; i < frame->n_buffers; i++)
        message.buffers[i] = (struct frame){frame->buffers[i].data, frame->buffers[i].bytes};
    cut(&message, json_object_get(frame->json, "content"), json_object_get(frame->json, "metadata"));
    int r = message.content && deny_note(message.content) == 0 ? write_out(&message) : -ENOMEM;
    if (r < 0)
        published_fini(&message);
    else
        *ret_message = message;
    return r;
}

void published_fini(struct published *message) {
    json_decref(message->content);
    json_decref(message->metadata);
    bytes_fini(&message->text);
    *message = (struct published){0};
}

int published_replace(struct published *message, json_t *content) {
    json_decref(message->content);
    json_decref(message->metadata);
    message->content = content;
    message->metadata = NULL;
    message->n_buffers = 0;
    return content ? write_out(message) : -ENOMEM;
}

struct message_parts published_parts(const struct published *message) {
    const struct bytes *text = &message->text;
    size_t metadata_bytes = text->n - message->content_bytes;
    return (struct message_parts){
        .msg_type = message->kind->msg_type,
        .content = message->content,
        .content_text = {text->data, message->content_bytes},
        .metadata_text = {metadata_bytes > 0 ? text->data + message->content_bytes : NULL, metadata_bytes},
        .buffers = message->buffers,
        .n_buffers = message->n_buffers,
    };
}
