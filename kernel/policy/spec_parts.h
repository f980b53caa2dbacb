/*
 * spec_parts.h - the keys of metadata.petri whose values are objects; used by spec.c only.
 */
#ifndef PETRI_SPEC_PARTS_H
#define PETRI_SPEC_PARTS_H

#include "kernel/policy/spec_object.h"

/* The keys "files" and "expect". As a parser of struct spec_key. */
int spec_files(const struct spec_reading *reading, const json_t *json);
int spec_expect(const struct spec_reading *reading, const json_t *json);

#endif
