/*
 * answer.h - the part of a worker's reply that a client gets.
 *
 * A reply has the fields of its kind, each of the right JSON type; what else a
 * worker says is dropped. What an execute_reply carries is held to the limits
 * of what a cell shows, measured as it is sent, and a payload, which makes a
 * front end do something, to a table of its own: one of each source, with its
 * known keys.
 */
#ifndef PETRI_ANSWER_H
#define PETRI_ANSWER_H

#include "kernel/policy/limits.h"

#include <jansson.h>
#include <stdint.h>

enum answer_kind { ANSWER_EXECUTE, ANSWER_COMPLETE, ANSWER_INSPECT, ANSWER_IS_COMPLETE };

/* The fields of reply that the kind has, by reference. The caller's. */
json_t *answer_fields(enum answer_kind kind, const json_t *reply);

struct answer_terms {
    const struct limits *limits;
    enum profile profile;
    const json_t *expressions; /* the request's user_expressions: others are not answered; or NULL */
};

/*
 * The content of an execute_reply. The caller's; NULL on ENOMEM. What is over
 * its limit is replaced by something that says so, and a payload for which
 * nothing can stand is dropped; both, and what is no field at all, are counted
 * in ret_dropped_bytes.
 */
json_t *answer_execute(const struct answer_terms *terms, const json_t *reply, uint64_t *ret_dropped_bytes);

#endif
