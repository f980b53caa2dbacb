/*
 * origin.h - whether it is settled which image a request begins in, which it names in metadata.petri.from.
 *
 * What a text means changes with what earlier requests leave, and runs beside each other end in
 * any order. So that an answer does not depend on it, a request waits for those that came
 * before it and may still change what its text means.
 */
#ifndef PETRI_ORIGIN_H
#define PETRI_ORIGIN_H

#include <stdbool.h>

struct request;
struct runner;

/* Whether no request that came before this one, and has not ended, can change which image it begins in. A request that
 * names none always is. */
bool origin_is_settled(const struct runner *runner, const struct request *request);

#endif
