/* launch.c - makes the options of session_create() from the command line and the profile. */

#include "launch.h"

#include "base/cleanup.h"
#include "kernel/base/sandbox_error.h"
#include "kernel/files/export_log.h"
#include "kernel/interpreter/environment.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int create(const struct launch *launch, char **environment, struct session **ret_session,
                  struct error *ret_error) {
    const struct paths *paths = launch->paths;
    struct error cause = {0};
    char main_file[PATH_MAX + 32];
    snprintf(main_file, sizeof main_file, "%s/petri_worker/__main__.py", paths->worker);
    const char *const argv[] = {launch->python, main_file, NULL};
    size_t n = 0;
    auto_free const char **readonly = calloc(json_array_size(launch->inputs) + 3, sizeof *readonly);
    if (!readonly)
        return error_set(ret_error, ENOMEM, "there is no memory");
    readonly[n++] = paths->worker;
    if (paths->site[0])
        readonly[n++] = paths->site;
    for (size_t i = 0; i < json_array_size(launch->inputs); i++)
        readonly[n++] = json_string_value(json_array_get(launch->inputs, i));
    const struct session_options options = {
        .host = launch->host,
        .folder = launch->workdir->path,
        .homes = (const char *const *)launch->workdir->homes,
        .hide_folder_path = launch->profile == PROFILE_STRICT,
        .python = launch->python,
        .readonly = readonly,
        .argv = argv,
        .env = (const char *const *)environment,
        .outputs = launch->outputs,
        .outputs_own = export_own_names,
        .hide_outputs = launch->profile == PROFILE_STRICT || launch->writable,
        .masks = launch->packages ? launch->packages->hide : NULL,
        .n_masks = launch->packages ? launch->packages->n : 0,
        .disk_bytes = (uint64_t)launch->limits->values[LIMIT_DISK],
        .disk_inodes = (uint64_t)launch->limits->values[LIMIT_FILES],
    };
    int r = session_create(&options, ret_session, &cause);
    return r < 0 ? error_set_sandbox(ret_error, r, &cause) : 0;
}

char **launch_environment(const struct launch *launch) {
    return environment_make(&(struct environment_facts){.python = launch->python,
                                                        .site = launch->paths->site,
                                                        .cpus = launch->limits->values[LIMIT_CPUS],
                                                        .packages = launch->listed,
                                                        .variables = launch->variables});
}

int launch_session(const struct launch *launch, struct session **ret_session, struct error *ret_error) {
    char **environment = launch_environment(launch);
    if (!environment)
        return error_set(ret_error, ENOMEM, "there is no memory");
    int r = create(launch, environment, ret_session, ret_error);
    environment_free(environment);
    return r;
}
