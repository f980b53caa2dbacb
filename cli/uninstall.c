/*
 * uninstall.c - `petri uninstall`: removes what `petri install` has written, and nothing else.
 *
 * A folder in which others have put something stays, without petri's files.
 */

#include "base/cleanup.h"
#include "cli/commands.h"
#include "cli/install.h"
#include "cli/labextension.h"
#include "cli/options.h"
#include "kernel/base/terminal.h"
#include "kernel/interpreter/python.h"
#include "kernel/policy/limits.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What has been done below a folder of Jupyter's. */
struct removal {
    const char *data;
    unsigned n;  /* of folders removed */
    bool failed; /* one could not be removed */
};

/* result: of one folder, as the functions that remove one return it. */
static void note(struct removal *removal, const char *folder, const char *name, int result) {
    if (result == 1)
        terminal_print("petri: %s/%s/%s is removed\n", removal->data, folder, name);
    else if (result < 0)
        terminal_complain("%s/%s/%s: %s", removal->data, folder, name, strerror(-result));
    removal->n += result == 1;
    removal->failed = removal->failed || result < 0;
}

/* The kernel of a profile of the configuration's, whose name is no path. */
static void remove_profile(struct removal *removal, const char *kernels, const char *profile) {
    char name[PROFILE_NAME_BYTES + 16];
    snprintf(name, sizeof name, "petri-%s", profile);
    note(removal, "kernels", name, kernelspec_remove(kernels, name));
}

static int remove_all(const char *data, const char *profile) {
    struct removal removal = {.data = data};
    char kernels[PATH_MAX];
    snprintf(kernels, sizeof kernels, "%s/kernels", data);
    for (size_t i = 0; i < KERNELSPEC_N; i++)
        note(&removal, "kernels", kernelspecs[i].name, kernelspec_remove(kernels, kernelspecs[i].name));
    if (profile)
        remove_profile(&removal, kernels, profile);
    note(&removal, "labextensions", LABEXTENSION_NAME, labextension_remove(data));
    if (removal.n == 0 && !removal.failed)
        terminal_print("petri: nothing of petri is in %s\n", data);
    return removal.failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* The environment of the interpreter, which is asked only where that matters. 0, or -errno after a sentence. */
static int find_sys_prefix(const struct arguments *arguments, struct python *ret_python) {
    struct error error;
    *ret_python = (struct python){0};
    if (!arguments->values[OPTION_SYS_PREFIX])
        return 0;
    int r = python_ask(python_name(arguments->values[OPTION_PYTHON]), ret_python, &error);
    if (r < 0)
        terminal_complain("%s", error.text);
    return r;
}

int command_uninstall(const struct arguments *arguments) {
    const char *profile = arguments->values[OPTION_PROFILE];
    char data[PATH_MAX - sizeof "/kernels"];
    struct python python;
    if (profile && (strchr(profile, '/') || strlen(profile) >= PROFILE_NAME_BYTES)) {
        terminal_complain("no profile can be called %s", profile);
        return EXIT_USAGE;
    }
    if (find_sys_prefix(arguments, &python) < 0)
        return EXIT_FAILURE;
    int r = install_choose_data(arguments, python.prefix, data, sizeof data);
    if (r < 0) {
        terminal_complain("%s", r == -ENOENT ? "there is no HOME; use --prefix" : strerror(-r));
        return EXIT_FAILURE;
    }
    return remove_all(data, profile);
}
