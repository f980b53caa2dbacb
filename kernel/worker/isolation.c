/* isolation.c - rows that are the same for every cell that ran, and two that depend on the session. */

#include "isolation.h"

#include "sandbox/sandbox.h"

/*
 * Where one of these is not available, no cell is made (sandbox.h,
 * cell_create()), so they are true for every cell that ran.
 */
static const struct {
    const char *kind;
    const char *how;
} always[] = {
    {"user", "namespace of the cell's own, without capabilities"},
    {"pid", "namespace of the cell's own, which ends with it"},
    {"mount", "namespace of the cell's own; read-only, but for layers of the session's"},
    {"network", "namespace of the cell's own, which reaches nothing outside of it"},
    {"ipc", "namespace of the cell's own"},
    {"uts", "namespace of the cell's own"},
    {"cgroup", "namespace of the cell's own"},
};

static const char *seccomp(const struct session *session) {
    return session_denied_fd(session) >= 0 ? "filter that allows what is listed; refused calls are reported"
                                           : "filter that allows what is listed; refused calls go unreported";
}

json_t *isolation_json(const struct session *session) {
    json_t *json = json_object();
    if (!session)
        return json;
    for (size_t i = 0; i < sizeof always / sizeof always[0]; i++)
        json_object_set_new(json, always[i].kind, json_string(always[i].how));
    json_object_set_new(json, "seccomp", json_string(seccomp(session)));
    json_object_set_new(json, "memory", json_string(session_memory_backend(session)));
    return json;
}
