/*
 * captures.c - counts the outputs that go to a widget and the comm messages that answer them.
 *
 * They are only counted, not matched, because a front end may answer in any
 * order. So this decides how long a reply waits, and never its content. A front
 * end that does not answer causes the full wait once; after that the session
 * waits less.
 */

#include "captures.h"

#include "kernel/base/clock.h"

#include <string.h>

enum { COMMS_OF_RUN = 64, ID_BYTES = 256 };

void captures_fini(struct captures *captures) {
    json_decref(captures->comms);
    *captures = (struct captures){0};
}

/* A widget's state names the request whose output it captures from now on; "" for none. */
static void note_state(struct captures *captures, const json_t *header, const json_t *content) {
    const char *id = json_string_value(json_object_get(content, "comm_id"));
    const json_t *state = json_object_get(json_object_get(content, "data"), "state");
    const char *whose = json_string_value(json_object_get(state, "msg_id"));
    const char *own = json_string_value(json_object_get(header, "msg_id"));
    if (!id || strlen(id) > ID_BYTES || !whose || !own)
        return;
    const bool takes = strcmp(whose, own) == 0, took = json_is_true(json_object_get(captures->comms, id));
    if (takes == took || (json_object_size(captures->comms) == COMMS_OF_RUN && !json_object_get(captures->comms, id)))
        return;
    if (!captures->comms)
        captures->comms = json_object();
    if (json_object_set_new(captures->comms, id, json_boolean(takes)) == 0)
        captures->taking += takes ? 1U : -1U;
}

void captures_note(struct captures *captures, const json_t *header, const char *msg_type, const json_t *content) {
    static const char *const pieces[] = {"stream", "display_data", "execute_result", "error", "clear_output"};
    if (strcmp(msg_type, "comm_msg") == 0)
        note_state(captures, header, content);
    if (captures->taking == 0 || json_is_true(json_object_get(content, "wait")))
        return; /* a clear_output that waits for the next output is answered together with that one */
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++)
        captures->due += strcmp(msg_type, pieces[i]) == 0;
}

void captures_echo(struct captures *captures, const json_t *content) {
    const char *id = json_string_value(json_object_get(content, "comm_id"));
    if (captures->due > 0 && id && json_object_get(captures->comms, id))
        captures->due--;
}

bool captures_wait(struct captures *captures, int64_t now_us, int64_t *hold_us) {
    if (captures->until_us == 0)
        captures->until_us = now_us + *hold_us;
    if (captures->due == 0)
        return false;
    if (now_us < captures->until_us)
        return true;
    if (*hold_us > CAPTURES_HOLD_UNANSWERED_MS * CLOCK_MS)
        *hold_us = CAPTURES_HOLD_UNANSWERED_MS * CLOCK_MS;
    return false;
}

bool captures_waits(const struct captures *captures) {
    return captures->until_us > 0;
}

void captures_watch(const struct captures *captures, struct poll_set *set) {
    poll_set_deadline(set, captures->until_us);
}

void captures_cancel(struct captures *captures) {
    captures->due = 0;
}
