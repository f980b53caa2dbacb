/*
 * isolation.h - how a session's cells are isolated, for the run report.
 */
#ifndef PETRI_ISOLATION_H
#define PETRI_ISOLATION_H

#include <jansson.h>

struct session;

/* {"user": how, "pid": how, ...}; empty where there is no session. The caller's; NULL on ENOMEM. */
json_t *isolation_json(const struct session *session);

#endif
