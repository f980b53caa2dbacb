/*
 * install.h - kernelspecs, by which Jupyter finds petri.
 *
 * See: jupyter_client, "Kernel specs".
 */
#ifndef PETRI_INSTALL_H
#define PETRI_INSTALL_H

#include "base/cleanup.h"

#include <jansson.h>
#include <stdbool.h>

struct kernelspec {
    const char *name; /* of its folder */
    const char *display_name;
    const char *profile;
    const char *logos;  /* their folder, below the one of all files that are shown */
    const char *config; /* the file that the kernel is to use, absolute; NULL for the one that it finds */
    bool writable;      /* cells' changes are written to the notebook's folder */
};

enum { KERNELSPEC_N = 3 };
extern const struct kernelspec kernelspecs[KERNELSPEC_N];

/*
 * The content of kernel.json: the program and the interpreter as Jupyter is to start
 * them; python may be NULL, for the one that the program finds. The caller's; NULL on
 * ENOMEM.
 */
json_t *kernelspec_json(const struct kernelspec *spec, const char *program, const char *python);

/*
 * Writes spec's folder below kernels, with kernel.json, the page of all kernels and
 * the logos of this one from the folder files. Existing files of these names are replaced; links too, which are
 * not followed. 0, or -errno: -ELOOP or -ENOTDIR where the folder is a link.
 */
int kernelspec_write(const struct kernelspec *spec, const char *kernels, const char *files,
                     const json_t *json) MUST_CHECK;

#endif
