/*
 * probes.h - the probes of `petri doctor`: whether this machine has what sandboxes need.
 */
#ifndef PETRI_PROBES_H
#define PETRI_PROBES_H

#include <stddef.h>

/* From best to worst, and doctor's exit status. */
enum finding {
    FINDING_GOOD,
    FINDING_DEGRADED, /* cells run, but something is enforced less strictly or not reported */
    FINDING_UNUSABLE, /* no cell can run */
    FINDING_N,
};

struct probe {
    const char *name;
    const char *needed_for;
    /*
     * Called in a process of its own, because it may enter namespaces. Writes one
     * sentence: what this machine has, or what is missing and how to fix it.
     * python is the interpreter's absolute path, or NULL where there is none.
     */
    enum finding (*run)(const char *python, char *text, size_t size);
};

extern const struct probe probes[];
extern const size_t probes_n;

#endif
