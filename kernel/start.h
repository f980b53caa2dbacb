/*
 * start.h - a kernel, from its options to its end.
 */
#ifndef PETRI_START_H
#define PETRI_START_H

#include <stdbool.h>

/* NULL where nothing was said. All borrowed. */
struct start_options {
    const char *connection_file; /* required */
    const char *python;          /* a path, or the name of an interpreter */
    const char *profile;
    const char *config;    /* a file */
    const char *artifacts; /* the folder that files of cells are copied to */
    bool writable;         /* what cells change is written to the notebook's folder */
};

enum { START_EXIT_USAGE = 2 };

/* Runs a kernel until it is told to stop. Returns an exit status; START_EXIT_USAGE where the options, or a file that
 * they name, are wrong. What is wrong is said in the log. */
int start_kernel(const struct start_options *options);

#endif
