/*
 * travel_lines.h - cells that consist of a line such as "%undo": the kernel process does what they say.
 *
 * See: docs/time-travel.md, "In a notebook"; kernel/timeline/travel_line.h.
 */
#ifndef PETRI_TRAVEL_LINES_H
#define PETRI_TRAVEL_LINES_H

#include "kernel/run/run.h"

/* Whether a cell consists of such a line, right or wrong. code: a string, or anything else, or NULL. */
bool travel_is_line(const json_t *code);

/* Does what the line says: the run has a reply then, or an outcome. */
void travel_line(struct run *run, const json_t *code);

/* Whether a cell only asks what such a line does ("%undo?"). */
bool travel_is_question(const json_t *code);

/* It runs, as the session's Python has the answer, and leaves nothing, as the line would be no step either. Its spec
 * has been read. Sets an outcome where that asks for what it leaves. */
void travel_question(struct run *run);

#endif
