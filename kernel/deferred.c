/*
 * deferred.c - the records and the environment's fingerprint, once and as late as possible.
 *
 * They wait until kernel_info has been answered or the interpreter is warm; the
 * loop does not wait any longer once a run begins. `done` is set first: what fails
 * is not tried again.
 */

#include "deferred.h"

#include "kernel/base/digest.h"
#include "kernel/interpreter/environment.h"
#include "kernel/interpreter/fingerprint.h"
#include "kernel/interpreter/launch.h"
#include "kernel/kernel.h"

#include <string.h>

static void open_records(struct kernel *kernel) {
    const struct config *config = &kernel->config;
    char path[PATH_MAX] = "";
    if (config->records.path[0])
        memcpy(path, config->records.path, sizeof path);
    else if (config->records.on && records_default_path(path, sizeof path) < 0)
        path[0] = '\0';
    const struct records_options options = {.path = config->records.on ? path : "",
                                            .keep_days = config->records.keep_days,
                                            .max_bytes = config->records.max_bytes};
    records_open(&kernel->accounts.records, &options, &kernel->log);
}

/* What cells run in, as it is recorded with each run. Nothing of it is needed to run one. */
static void take_fingerprint(struct kernel *kernel) {
    const struct deferred *deferred = &kernel->deferred;
    struct distributions found;
    const struct launch launch = {
        .paths = deferred->paths, .python = deferred->python, .limits = &kernel->config.limits};
    char **settings = launch_environment(&launch);
    int r = distributions_find(deferred->python, deferred->paths->site, &found);
    if (r == 0) {
        kernel->accounts.environment = fingerprint_make(&found, settings);
        distributions_fini(&found);
    }
    if (kernel->accounts.environment && kernel->config.packages)
        json_object_set(kernel->accounts.environment, "packages", kernel->config.packages);
    environment_free(settings);
    if (!kernel->accounts.environment ||
        digest_json(kernel->accounts.environment, kernel->accounts.environment_sha256) < 0)
        log_write(&kernel->log, LOG_LEVEL_WARNING, "the environment of %s can't be recorded", deferred->python);
}

void deferred_now(struct kernel *kernel) {
    if (kernel->deferred.done)
        return;
    kernel->deferred.done = true;
    open_records(kernel);
    if (kernel->deferred.python)
        take_fingerprint(kernel);
}

void deferred_tick(struct kernel *kernel) {
    if (kernel->jupyter.info.answered || kernel->runner.state != RUNNER_WARMING)
        deferred_now(kernel);
}
