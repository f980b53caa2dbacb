/*
 * records_command.h - what the commands on run records have in common.
 */
#ifndef PETRI_RECORDS_COMMAND_H
#define PETRI_RECORDS_COMMAND_H

#include "kernel/records.h"

struct arguments;

/* Opens the records that kernels with this configuration write. 0, or -errno after a sentence on standard error;
 * records_close(). log is borrowed for as long. */
int records_command_open(const struct arguments *arguments, const struct log *log,
                         struct records *ret_records) KERNEL_MUST_CHECK;

/* The run that a command line names. 0, or -errno after a sentence on standard error. ret_run is the caller's. */
int records_command_find(struct records *records, const char *name, json_t **ret_run) KERNEL_MUST_CHECK;

#endif
