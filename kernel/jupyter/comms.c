/*
 * comms.c - a map of open comms, copied when a cell first changes it.
 *
 * Until a cell changes it, `open` and `before` are the same object; a rollback
 * restores `before`. comm_info is answered from the map, without the session.
 */

#include "comms.h"

#include "kernel/jupyter/reply.h"

#include <errno.h>
#include <string.h>

enum { MAX_NAME_BYTES = 256 }; /* as for a worker's comm_id and target_name: wire_check.c; a client's may be longer */

int comms_init(struct comms *comms) {
    *comms = (struct comms){.open = json_object()};
    return comms->open ? 0 : -ENOMEM;
}

void comms_fini(struct comms *comms) {
    json_decref(comms->open);
    json_decref(comms->before);
    *comms = (struct comms){0};
}

void comms_begin(struct comms *comms) {
    json_decref(comms->before);
    comms->before = json_incref(comms->open);
    comms->told = false;
}

void comms_end(struct comms *comms, bool rolled_back) {
    if (rolled_back && comms->before) {
        json_decref(comms->open);
        comms->open = comms->before;
    } else {
        json_decref(comms->before);
    }
    comms->before = NULL;
}

void comms_set(struct comms *comms, json_t *open) {
    json_incref(open);
    json_decref(comms->open);
    comms->open = open;
    if (!comms->before)
        return;
    json_decref(comms->before);
    comms->before = json_incref(open);
}

/* The map to change. It is copied only then, because most cells open no comm and the map may have thousands. */
static json_t *to_change(struct comms *comms) {
    json_t *copy = comms->open == comms->before ? json_copy(comms->open) : NULL;
    if (copy) {
        json_decref(comms->open);
        comms->open = copy;
    }
    return comms->open;
}

static bool note_open(struct comms *comms, const char *id, json_t *target) {
    if (!json_object_get(comms->open, id) && json_object_size(comms->open) >= COMMS_MAX)
        return false;
    const bool is_name = json_is_string(target) && json_string_length(target) <= MAX_NAME_BYTES;
    json_object_set_new(to_change(comms), id, is_name ? json_incref(target) : json_string(""));
    return true;
}

bool comms_note(struct comms *comms, const char *msg_type, const json_t *content) {
    const json_t *id = json_object_get(content, "comm_id");
    if (!json_is_string(id) || json_string_length(id) > MAX_NAME_BYTES)
        return true;
    if (strcmp(msg_type, "comm_open") == 0)
        return note_open(comms, json_string_value(id), json_object_get(content, "target_name"));
    if (strcmp(msg_type, "comm_close") == 0 && json_object_get(comms->open, json_string_value(id)))
        json_object_del(to_change(comms), json_string_value(id));
    return true;
}

bool comms_has(const struct comms *comms, const json_t *content) {
    const char *id = json_string_value(json_object_get(content, "comm_id"));
    return id && json_object_get(comms->open, id);
}

void comms_request(const struct comms *comms, struct jupyter *jupyter, const struct request *request) {
    const char *wanted = request_string(request, "target_name", NULL);
    json_t *found = json_object();
    const char *id;
    json_t *comm;
    json_object_foreach(comms->open, id, comm) {
        if (!wanted || strcmp(wanted, json_string_value(comm)) == 0)
            json_object_set_new(found, id, json_pack("{s:O}", "target_name", comm));
    }
    reply_send(jupyter, request, "comm_info_reply", NULL, json_pack("{s:s, s:o}", "status", "ok", "comms", found));
}
