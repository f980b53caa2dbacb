/*
 * probes.h - the probes of `petri doctor`: whether this machine has what sandboxes need.
 */
#ifndef PETRI_PROBES_H
#define PETRI_PROBES_H

#include "cli/remedies.h"

#include <stddef.h>

/* From best to worst, and doctor's exit status. */
enum finding {
    FINDING_GOOD,
    FINDING_DEGRADED, /* cells run, but something is enforced less strictly or not reported */
    FINDING_UNUSABLE, /* no cell can run */
    FINDING_N,
};

enum { DIAGNOSIS_TEXT_BYTES = 900 };

/* What a probe has found. */
struct diagnosis {
    enum finding finding;
    enum remedy remedy;              /* REMEDY_NONE where it is good, or nobody can do more than the text says */
    char text[DIAGNOSIS_TEXT_BYTES]; /* what this machine has, or what is missing: sentences */
};

struct probe {
    const char *name;
    const char *needed_for;
    /*
     * Called in a process of its own, because it may enter namespaces, with a diagnosis that is all zero.
     * python is the interpreter's absolute path, or NULL where there is none.
     */
    void (*run)(const char *python, struct diagnosis *diagnosis);
};

extern const struct probe probes[];
extern const size_t probes_n;

#endif
