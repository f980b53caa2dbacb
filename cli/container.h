/*
 * container.h - which runtime has made the container that petri runs in, if any, and what petri needs of it.
 */
#ifndef PETRI_CLI_CONTAINER_H
#define PETRI_CLI_CONTAINER_H

/* One that petri knows. */
struct container {
    const char *name;    /* as it calls itself */
    const char *options; /* what a container has to be started with, or be given, for cells to run; NULL: not known */
};

/*
 * Finds the runtime, by what it leaves below root ("" but in a test) and in the
 * environment. A row of a constant table, or NULL where this looks like no container.
 * See: docs/containers.md; os-release of systemd, "The Container Interface".
 */
const struct container *container_find(const char *root);

#endif
