/*
 * environment.c - the environment variables of cells: constants, a few that depend on the machine, and the
 * configuration's, which may stand instead of others.
 *
 * Only TZ, and what the configuration names, is taken from the kernel's environment,
 * because a user's environment may have tokens that cells must not see.
 */

#include "environment.h"

#include "base/cleanup.h"
#include "kernel/policy/config.h"

#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const constant[] = {
    "HOME=/home/petri",
    "USER=petri",
    "LOGNAME=petri",
    "LANG=C.UTF-8",
    "TERM=xterm-color",
    "MPLBACKEND=module://matplotlib_inline.backend_inline",
    "MPLCONFIGDIR=/home/petri/.config/matplotlib",
    "PYTHONNOUSERSITE=1",
    "PYTHONHASHSEED=0", /* sets have the same order when a run is repeated */
    "JPY_PARENT_PID=1", /* libraries detect a notebook by it (progressbar2); ipykernel does not watch process 1 */
    "PIP_RETRIES=0",    /* there is no network to come back */
    "PIP_DISABLE_PIP_VERSION_CHECK=1",
    "PETRI_TRACE_FD=4", /* where the worker writes its stack when it is asked: cell_trace_fd() */
};

/* The variables that set the size of thread pools: the number of the cell's processors. */
static const char *const pools[] = {
    "OMP_NUM_THREADS",     "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
    "NUMEXPR_MAX_THREADS", "POLARS_MAX_THREADS",   "RAYON_NUM_THREADS",
};

enum { N_CONSTANT = sizeof constant / sizeof constant[0], N_POOLS = sizeof pools / sizeof pools[0], N_OTHERS = 7 };

struct list {
    size_t n;
    char **texts; /* room for all rows and a NULL */
    int failed;
};

__attribute__((format(printf, 2, 3))) static void add_variable(struct list *list, const char *format, ...) {
    va_list args;
    char *text;
    va_start(args, format);
    int n = vasprintf(&text, format, args);
    va_end(args);
    if (n < 0)
        list->failed = 1;
    else
        list->texts[list->n++] = text;
}

/* A virtual environment has pyvenv.cfg above its bin. See: PEP 405. */
static void add_python(struct list *list, const char *python) {
    char bin[PATH_MAX];
    char prefix[PATH_MAX];
    char marker[PATH_MAX + 16];
    snprintf(bin, sizeof bin, "%s", python);
    dirname(bin);
    snprintf(prefix, sizeof prefix, "%s", bin);
    dirname(prefix);
    snprintf(marker, sizeof marker, "%s/pyvenv.cfg", prefix);
    add_variable(list, "PATH=%s:/usr/local/bin:/usr/bin:/bin", bin);
    if (access(marker, F_OK) == 0)
        add_variable(list, "VIRTUAL_ENV=%s", prefix);
}

/* Commands use the same shell as in the user's terminal; cells see the host's /bin. */
static void add_shell(struct list *list) {
    add_variable(list, "SHELL=%s", access("/bin/bash", X_OK) == 0 ? "/bin/bash" : "/bin/sh");
}

/* The name of the time zone: TZ, else the target of the link /etc/localtime; none if that is no link. */
static void add_zone(struct list *list) {
    char link[PATH_MAX];
    const char *zone = getenv("TZ");
    ssize_t n = readlink("/etc/localtime", link, sizeof link - 1);
    link[n < 0 ? 0 : n] = '\0';
    const char *name = strstr(link, "/zoneinfo/");
    if (zone)
        add_variable(list, "TZ=%s", zone);
    else if (name)
        add_variable(list, "TZ=%s", name + strlen("/zoneinfo/"));
    else if (access("/etc/localtime", F_OK) < 0)
        add_variable(list, "TZ=UTC");
}

/* The worker names these packages when a module is not found. */
static void add_packages(struct list *list, const json_t *packages) {
    char names[2000] = "";
    size_t n = 0;
    for (size_t i = 0; i < json_array_size(packages) && n < sizeof names; i++)
        n += (size_t)snprintf(names + n, sizeof names - n, "%s%s", i ? ", " : "",
                              json_string_value(json_array_get(packages, i)));
    if (packages)
        add_variable(list, "PETRI_PACKAGES=%s", names);
}

static void drop_variable(struct list *list, const char *name) {
    const size_t n = strlen(name);
    for (size_t i = 0; i < list->n; i++) {
        if (strncmp(list->texts[i], name, n) != 0 || list->texts[i][n] != '=')
            continue;
        free(list->texts[i]);
        list->texts[i] = list->texts[--list->n];
        list->texts[list->n] = NULL;
        return;
    }
}

/* And their names, so that the worker shows no value where it lists all. */
static void add_configured(struct list *list, const json_t *variables) {
    char names[CONFIG_VARIABLES_MAX * CONFIG_VARIABLE_BYTES + 1] = "";
    size_t n = 0;
    const char *name;
    json_t *variable;
    if (!variables)
        return;
    json_object_foreach((json_t *)variables, name, variable) {
        drop_variable(list, name);
        add_variable(list, "%s=%s", name, json_string_value(variable));
        n += (size_t)snprintf(names + n, sizeof names - n, "%s ", name);
    }
    add_variable(list, "PETRI_VARIABLES=%s", names);
}

char **environment_make(const struct environment_facts *facts) {
    const size_t most = N_CONSTANT + N_POOLS + N_OTHERS + json_object_size(facts->variables);
    struct list list = {.texts = calloc(most + 1, sizeof *list.texts)};
    if (!list.texts)
        return NULL;
    add_python(&list, facts->python);
    for (size_t i = 0; i < N_CONSTANT; i++)
        add_variable(&list, "%s", constant[i]);
    for (size_t i = 0; i < N_POOLS; i++)
        add_variable(&list, "%s=%" PRId64, pools[i], facts->cpus);
    if (facts->site[0])
        add_variable(&list, "PETRI_SITE=%s", facts->site);
    add_packages(&list, facts->packages);
    add_zone(&list);
    add_shell(&list);
    add_configured(&list, facts->variables);
    if (list.failed) {
        environment_free(list.texts);
        return NULL;
    }
    return list.texts;
}

void environment_free(char **environment) {
    for (size_t i = 0; environment && environment[i]; i++)
        free(environment[i]);
    free(environment);
}
