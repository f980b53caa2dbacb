/*
 * ask_parts.h - the parts of metadata.petri that have parts of their own; ask.c's alone.
 */
#ifndef PETRI_ASK_PARTS_H
#define PETRI_ASK_PARTS_H

#include "kernel/policy/ask_object.h"

/* The keys "files" and "expect". As a parser of struct ask_key. */
int ask_files(const struct ask_reading *reading, const json_t *json);
int ask_expect(const struct ask_reading *reading, const json_t *json);

#endif
