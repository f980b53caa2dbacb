/*
 * install.h - kernelspecs, by which Jupyter finds petri: written and removed.
 *
 * See: jupyter_client, "Kernel specs".
 */
#ifndef PETRI_INSTALL_H
#define PETRI_INSTALL_H

#include "base/cleanup.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct arguments;

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

/*
 * Removes the folder of a kernelspec that kernelspec_write() has written. 1, 0 where there is none, or -errno:
 * -ENOTEMPTY where others have put something into it, which stays.
 */
int kernelspec_remove(const char *kernels, const char *name) MUST_CHECK;

/*
 * The one of Jupyter's folders of data that the options --prefix, --sys-prefix and --user name; sys_prefix: that of the
 * interpreter, used with the second. 0, -ENOENT where there is no home, or -ENAMETOOLONG.
 */
int install_choose_data(const struct arguments *arguments, const char *sys_prefix, char *buf, size_t size) MUST_CHECK;

#endif
