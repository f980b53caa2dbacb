/*
 * environment.h - the whole environment of a cell: an explicit list, nothing inherited but TZ.
 */
#ifndef PETRI_ENVIRONMENT_H
#define PETRI_ENVIRONMENT_H

#include <jansson.h>
#include <stdint.h>

struct environment_facts {
    const char *python;      /* path of the interpreter */
    const char *site;        /* petri's own copy of IPython, or "" */
    const json_t *packages;  /* the names of those that cells see; NULL for all */
    const json_t *variables; /* config_variables() */
    int64_t cpus;            /* what thread pools are set to */
};

/* "NAME=value" texts, NULL-ended; NULL on ENOMEM. The caller's: environment_free(). */
char **environment_make(const struct environment_facts *facts);
void environment_free(char **environment);

#endif
