/*
 * inputs.h - the files that a request brings, put into its cell before the code runs.
 */
#ifndef PETRI_INPUTS_H
#define PETRI_INPUTS_H

#include "base/cleanup.h"
#include "base/error.h"
#include "kernel/policy/spec.h"

struct cell;

/* The `inputs` of the run report. All zero is empty. */
struct inputs {
    json_t *rows;  /* [{"path", "bytes", "sha256"}], owned; NULL for none */
    bool complete; /* rows has every file of the folder that the cell has read: inputs_read.h */
};

/* Adds a row, which is stolen. */
void inputs_add(struct inputs *inputs, json_t *row);

/*
 * Puts the files of spec into a cell that has not started, and notes them. 0, or
 * -errno with one sentence without a full stop in ret_error.
 */
int inputs_put(struct cell *cell, const struct spec *spec, struct inputs *inputs, struct error *ret_error) MUST_CHECK;

#endif
