/*
 * records_command.h - functions shared by the commands on run records.
 */
#ifndef PETRI_RECORDS_COMMAND_H
#define PETRI_RECORDS_COMMAND_H

#include "base/cleanup.h"
#include "kernel/records/records.h"

struct arguments;

/* Opens the records that kernels with this configuration write. 0, or -errno after a sentence on standard error;
 * records_close(). */
int records_command_open(const struct arguments *arguments, struct records *ret_records) MUST_CHECK;

/* The same, and finds the run that the command line names first: both are the caller's. 0, or -errno after a sentence
 * on standard error. */
int records_command_find(const struct arguments *arguments, struct records *ret_records, json_t **ret_run) MUST_CHECK;

#endif
