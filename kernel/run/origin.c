/*
 * origin.c - looks at the runs under way and at the requests that wait, each for what it may leave.
 *
 * Where a text means nothing yet, it may be the name or the id of what any of them
 * leaves. Where it does, only one that gives or takes that name can change it.
 */

#include "origin.h"

#include "kernel/policy/spec.h"
#include "kernel/run/runner.h"
#include "kernel/timeline/travel_line.h"

#include <stdlib.h>
#include <string.h>

static const json_t *petri_of(const struct request *request) {
    return json_object_get(request->message.metadata, "petri");
}

/* "%checkpoint name", or "%forget name". */
static bool is_line_about(const struct request *request, const char *name) {
    const json_t *code = json_object_get(request->message.content, "code");
    struct travel_line line;
    struct error error;
    return json_is_string(code) &&
           travel_line_read(json_string_value(code), json_string_length(code), &line, &error) == 0 &&
           (line.travel == TRAVEL_CHECKPOINT || line.travel == TRAVEL_FORGET) && strcmp(line.argument[0], name) == 0;
}

/* Whether a request that has not ended may change what the text means, which is something already or isn't. */
static bool may_change(const struct request *other, const char *text, bool known) {
    const char *name = spec_checkpoint_of(petri_of(other));
    if (!spec_may_leave(petri_of(other)))
        return false;
    return !known || (name && strcmp(name, text) == 0) || is_line_about(other, text);
}

static bool queue_may_change(const struct request_queue *queue, const struct request *request, const char *text,
                             bool known) {
    const struct request *other = queue->first;
    while (other && other->order < request->order && !may_change(other, text, known))
        other = other->next;
    return other && other->order < request->order;
}

/* Whether it means a state that only a name given anew can take from it: a number beyond the session's last cell is
 * that of the newest one that has it. */
static bool is_known(const struct runner *runner, const char *text) {
    const struct timeline *timeline = &runner->timeline;
    const bool is_number = text[0] && strspn(text, "0123456789") == strlen(text);
    return timeline_find(timeline, text) && (!is_number || atoll(text) <= timeline->current->execution_count);
}

bool origin_is_settled(const struct runner *runner, const struct request *request) {
    const char *text = spec_from(petri_of(request));
    if (!text)
        return true;
    const bool known = is_known(runner, text);
    for (size_t i = 0; i < runner->n_runs; i++)
        if (runner->runs[i]->request->order < request->order && may_change(runner->runs[i]->request, text, known))
            return false;
    return !queue_may_change(&runner->waiting.own, request, text, known) &&
           !queue_may_change(&runner->waiting.beside, request, text, known);
}
