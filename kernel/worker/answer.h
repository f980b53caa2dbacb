/*
 * answer.h - the fields of a worker's reply that are passed on to a client.
 *
 * A reply keeps the fields of its kind that have the right JSON type; all others
 * are dropped. The fields of an execute_reply have the limits of displays,
 * measured as they are sent. Payloads, which make a front end do something, have
 * a table: at most one of each source is kept, with its known keys.
 */
#ifndef PETRI_ANSWER_H
#define PETRI_ANSWER_H

#include "kernel/policy/limits.h"

#include <jansson.h>
#include <stdint.h>

enum answer_kind { ANSWER_EXECUTE, ANSWER_COMPLETE, ANSWER_INSPECT, ANSWER_IS_COMPLETE };

/* A new object with the fields of reply that belong to the kind, by reference. The caller's. */
json_t *answer_fields(enum answer_kind kind, const json_t *reply);

struct answer_terms {
    const struct limits *limits;
    enum profile_kind profile;
    const json_t *expressions; /* the request's user_expressions, or NULL; results of others are dropped */
};

/*
 * The content of an execute_reply. The caller's; NULL on ENOMEM. A field over its
 * limit is replaced by a note, a payload without a note is dropped, and so are
 * unknown fields; ret_dropped_bytes counts all of them.
 */
json_t *answer_execute(const struct answer_terms *terms, const json_t *reply, uint64_t *ret_dropped_bytes);

#endif
