/*
 * control_travel.c - the requests in a table; those that wait are in a queue of the runner's.
 *
 * While the session's own run is under way its cell is of the image that a request wants to
 * leave: it is finished and kept first, and then the session goes where the request says, before
 * any other request begins. What can't be meant is refused before it waits.
 */

#include "control_travel.h"

#include "kernel/jupyter/reply.h"
#include "kernel/kernel.h"
#include "kernel/run/travel.h"
#include "kernel/timeline/timeline_show.h"
#include "kernel/timeline/travel_line.h"

#include <errno.h>
#include <string.h>

static void send_unknown(struct kernel *kernel, const struct request *request, const struct error *error) {
    reply_error(&kernel->jupyter, request, "UnknownImage", error->text);
}

static void timeline(struct kernel *kernel, const struct request *request) {
    const struct timeline *timeline = &kernel->runner.timeline;
    json_t *images = timeline_json(timeline);
    if (!images)
        return;
    reply_send(&kernel->jupyter, request, "petri_timeline_reply", NULL,
               json_pack("{s:s, s:o, s:s?, s:s?, s:I}", "status", "ok", "images", images, "current",
                         timeline->current ? timeline_shown(timeline->current)->id : NULL, "state",
                         timeline->current ? timeline->current->id : NULL, "bytes_kept",
                         timeline->current ? (json_int_t)travel_kept_bytes(&kernel->runner) : 0));
}

static void checkpoint(struct kernel *kernel, const struct request *request) {
    const char *name = request_string(request, "name", "");
    struct error error;
    if (travel_name(&kernel->runner, name, &error) < 0)
        reply_error(&kernel->jupyter, request, "BadName", error.text);
    else
        reply_send(
            &kernel->jupyter, request, "petri_checkpoint_reply", NULL,
            json_pack("{s:s, s:s, s:s}", "status", "ok", "name", name, "image", kernel->runner.timeline.current->id));
}

static void forget(struct kernel *kernel, const struct request *request) {
    const char *name = request_string(request, "name", "");
    struct error error;
    if (timeline_unname(&kernel->runner.timeline, name) == 0) {
        reply_send(&kernel->jupyter, request, "petri_forget_reply", NULL, json_pack("{s:s}", "status", "ok"));
        return;
    }
    (void)error_set(&error, ENOENT, "no checkpoint is called \"%.64s\"", name);
    send_unknown(kernel, request, &error);
}

static void restore(struct kernel *kernel, const struct request *request) {
    struct runner *runner = &kernel->runner;
    struct error error;
    struct timeline_node *node = travel_find_asked(runner, request->message.content, &error);
    char told[TRAVEL_TOLD_BYTES];
    preload_cancel(&kernel->preload);
    if (node)
        travel_tell(runner, node, told);
    if (!node)
        send_unknown(kernel, request, &error);
    else if (travel_go(runner, node, &error) < 0)
        reply_error(&kernel->jupyter, request, "SandboxError", error.text);
    else
        reply_send(&kernel->jupyter, request, "petri_restore_reply", NULL,
                   json_pack("{s:s, s:s, s:i, s:s}", "status", "ok", "image", timeline_shown(node)->id,
                             "execution_count", node->state.execution_count, "detail", told));
}

static bool is_text(const json_t *json) {
    return json_is_string(json) && strlen(json_string_value(json)) == json_string_length(json);
}

static int check_name(const json_t *content, struct error *ret_error) {
    return is_text(json_object_get(content, "name"))
               ? 0
               : error_set(ret_error, EINVAL, "\"name\" has to be a text without NUL");
}

static int check_to(const json_t *to, struct error *ret_error) {
    const json_int_t number = json_integer_value(to);
    const char *problem = is_text(to) ? image_name_text_problem(json_string_value(to), json_string_length(to)) : NULL;
    if (problem)
        return error_set(ret_error, EINVAL, "the text of \"to\" %s", problem);
    return is_text(to) || number > 0 ? 0
                                     : error_set(ret_error, EINVAL,
                                                 "\"to\" has to be a checkpoint, the number of a cell, the id of a run "
                                                 "or \"first\"");
}

static int check_place(const json_t *content, struct error *ret_error) {
    const json_t *to = json_object_get(content, "to"), *undo = json_object_get(content, "undo");
    const json_int_t n = json_integer_value(undo ? undo : json_object_get(content, "redo"));
    if (json_object_size(content) != 1)
        return error_set(ret_error, EINVAL, "it has to have one of \"to\", \"undo\" and \"redo\", and only one");
    if (to)
        return check_to(to, ret_error);
    return n >= 1 && n <= TRAVEL_CELLS_MAX
               ? 0
               : error_set(ret_error, EINVAL, "\"%s\" has to be a number of cells from 1 to %d", undo ? "undo" : "redo",
                           TRAVEL_CELLS_MAX);
}

enum { KEYS_MAX = 3 };
static const struct row {
    const char *msg_type;
    void (*answer)(struct kernel *kernel, const struct request *request);
    const char *keys[KEYS_MAX + 1];                               /* of its content, up to NULL */
    int (*check)(const json_t *content, struct error *ret_error); /* of their values; or NULL */
    bool waits;                                                   /* for the session's own run to be over */
} rows[] = {
    {"petri_checkpoint_request", checkpoint, {"name"}, check_name, false},
    {"petri_forget_request", forget, {"name"}, check_name, false},
    {"petri_restore_request", restore, {"to", "undo", "redo"}, check_place, true},
    {"petri_timeline_request", timeline, {NULL}, NULL, false},
};

/* Whether what the content asks for can be meant. 0, or -EINVAL with a sentence. */
static int check(const struct row *row, const json_t *content, struct error *ret_error) {
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)content, key, value) {
        const char *const *known = row->keys;
        while (*known && strcmp(*known, key) != 0)
            known++;
        if (!*known)
            return error_set(ret_error, EINVAL, "a %s has no \"%.40s\"", row->msg_type, key);
    }
    return row->check ? row->check(content, ret_error) : 0;
}

/* The table of routes has no other types. */
static const struct row *find(const struct request *request) {
    size_t i = 0;
    while (i + 1 < sizeof rows / sizeof rows[0] && strcmp(rows[i].msg_type, request->message.msg_type) != 0)
        i++;
    return &rows[i];
}

static bool may_be_answered(const struct runner *runner, const struct request *request) {
    return runner->state != RUNNER_WARMING && !runner->is_serving && (!runner->own || !find(request)->waits);
}

/* Steals the request. */
static void answer(struct kernel *kernel, struct request *request) {
    find(request)->answer(kernel, request);
    reply_idle(&kernel->jupyter, request);
}

void control_travel(struct kernel *kernel, struct request *request) {
    struct error error;
    reply_busy(&kernel->jupyter, request);
    if (check(find(request), request->message.content, &error) < 0) {
        reply_error(&kernel->jupyter, request, "BadRequest", error.text);
        reply_idle(&kernel->jupyter, request);
    } else if (may_be_answered(&kernel->runner, request))
        answer(kernel, request);
    else
        request_queue_push(&kernel->runner.travels, request);
}

void control_travel_waiting(struct kernel *kernel) {
    struct request_queue waiting = kernel->runner.travels;
    struct request *request;
    kernel->runner.travels = (struct request_queue){0};
    while ((request = request_queue_pop(&waiting)))
        if (may_be_answered(&kernel->runner, request))
            answer(kernel, request);
        else
            request_queue_push(&kernel->runner.travels, request);
}
