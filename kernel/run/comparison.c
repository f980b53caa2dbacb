/*
 * comparison.c - see comparison.h.
 *
 * What a worker says of its names is only shown. It is asked with limits that don't depend on the session's, and
 * one that does not answer in time is given up.
 */

#include "comparison.h"

#include "kernel/base/clock.h"
#include "kernel/timeline/difference.h"
#include "protocol/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { MAX_FRAME_BYTES = 1 << 20, CPU_MS = 5000, WALL_MS = 15000, FILES_MAX = 2000 };

static const struct limits limits_of_look = {
    .values = {[LIMIT_MEMORY] = INT64_C(512) << 20, [LIMIT_CPU] = CPU_MS, [LIMIT_PROCESSES] = 64, [LIMIT_CPUS] = 1}};

void comparison_init(struct comparison *comparison) {
    *comparison = (struct comparison){0};
    exchange_init(&comparison->exchange);
}

static void end_cell(struct comparison *comparison) {
    exchange_close(&comparison->exchange);
    cell_discard(steal_pointer(comparison->cell));
}

void comparison_fini(struct comparison *comparison) {
    end_cell(comparison);
    for (int i = 0; i < 2; i++)
        json_decref(steal_pointer(comparison->names[i]));
    comparison->is_on = false;
}

void comparison_begin(struct comparison *comparison, const struct timeline_node *before,
                      const struct timeline_node *after, const char *title) {
    snprintf(comparison->title, sizeof comparison->title, "%s", title);
    memcpy(comparison->id[0], before->id, TIMELINE_ID_BYTES);
    memcpy(comparison->id[1], after->id, TIMELINE_ID_BYTES);
    comparison->next = 0;
    comparison->is_on = true;
}

void comparison_cancel(struct comparison *comparison, const char *why) {
    end_cell(comparison);
    snprintf(comparison->why, sizeof comparison->why, "%s", why);
    comparison->next = 2;
}

static struct kept_image *image_of(const struct comparison *comparison, const struct timeline *timeline, int which) {
    const struct timeline_node *node = timeline_find_id(timeline, comparison->id[which]);
    return node ? node->image : NULL;
}

/* Asks the next state. */
static void ask(struct comparison *comparison, struct session *session, struct kept_image *image) {
    const struct cell_options options = {.source = CELL_FROM_KEPT, .kept = image, .role = CELL_EPHEMERAL};
    const struct exchange_options exchange = {.max_frame_bytes = MAX_FRAME_BYTES,
                                              .due_us = clock_us() + WALL_MS * CLOCK_MS,
                                              .limits = &limits_of_look,
                                              .is_watched = session_is_watched(session)};
    json_auto_t *frame = json_pack("{s:s}", "type", "names");
    struct error cause = {0};
    int r = image ? cell_create(session, &options, &comparison->cell, &cause) : -1;
    if (r == 0)
        r = exchange_start(&comparison->exchange, comparison->cell, frame, &exchange);
    if (r < 0)
        comparison_cancel(comparison, image ? "there is no sandbox to look at them" : "a state is gone meanwhile");
}

static void take_reply(struct comparison *comparison) {
    json_t *names = json_object_get(comparison->exchange.reply, "names");
    comparison->is_cut |= json_is_true(json_object_get(comparison->exchange.reply, "cut"));
    if (comparison->exchange.state == EXCHANGE_DONE && json_is_array(names))
        comparison->names[comparison->next++] = json_incref(names);
    else
        comparison_cancel(comparison, "the Python of one state does not answer");
    end_cell(comparison);
}

bool comparison_step(struct comparison *comparison, struct session *session, const struct timeline *timeline,
                     int64_t now_us) {
    exchange_tick(&comparison->exchange, now_us);
    if (comparison->cell && exchange_has_ended(&comparison->exchange))
        take_reply(comparison);
    if (!comparison->cell && comparison->next < 2)
        ask(comparison, session, image_of(comparison, timeline, (int)comparison->next));
    return comparison->next == 2;
}

void comparison_watch(struct comparison *comparison, struct poll_set *set) {
    exchange_watch(&comparison->exchange, set);
    if (!comparison->cell)
        poll_set_deadline(set, 0);
}

static int add_file(void *arg, const struct cell_file *file) {
    static const char *const signs[] = {[CELL_CREATED] = "+", [CELL_CHANGED] = "~", [CELL_DELETED] = "-"};
    json_t *files = arg;
    if (json_array_size(files) == FILES_MAX)
        return 1;
    return json_array_append_new(files,
                                 json_pack("{s:o, s:s, s:I}", "path", text_to_json(file->path, strlen(file->path)),
                                           "change", signs[file->change], "bytes", (json_int_t)file->bytes)) < 0
               ? -ENOMEM
               : 0;
}

static json_t *compare_files(const struct comparison *comparison, struct session *session,
                             const struct timeline *timeline) {
    struct kept_image *const before = image_of(comparison, timeline, 0), *const after =
                                                                             image_of(comparison, timeline, 1);
    json_auto_t *files = json_array();
    if (!before || !after || session_compare_files(session, before, after, add_file, files) < 0)
        return NULL;
    return steal_pointer(files);
}

json_t *comparison_end(struct comparison *comparison, struct session *session, const struct timeline *timeline) {
    json_auto_t *files = compare_files(comparison, session, timeline);
    const struct difference difference = {.title = comparison->title,
                                          .names = {comparison->names[0], comparison->names[1]},
                                          .why = comparison->why,
                                          .is_cut = comparison->is_cut || json_array_size(files) == FILES_MAX,
                                          .files = files};
    json_t *data = difference_show(&difference);
    comparison_fini(comparison);
    return data;
}
