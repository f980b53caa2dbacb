/*
 * start.h - starts and runs a kernel.
 */
#ifndef PETRI_START_H
#define PETRI_START_H

#include <stdbool.h>

/* NULL where an option is not given. All borrowed. */
struct start_options {
    const char *connection_file; /* required */
    const char *python;          /* a path, or the name of an interpreter */
    const char *profile;
    const char *config;    /* a file */
    const char *artifacts; /* the folder that files of cells are copied to */
    bool writable;         /* writes cells' changes to the notebook's folder */
};

enum { START_EXIT_USAGE = 2 };

/* Runs a kernel until it is told to stop. Returns an exit status; START_EXIT_USAGE where the options, or the
 * connection file, are wrong. With a configuration that can't be used it runs, and refuses every cell. Errors are
 * logged. */
int start_kernel(const struct start_options *options);

#endif
