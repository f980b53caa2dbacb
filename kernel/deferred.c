/*
 * deferred.c - the records and the environment's fingerprint, once and as late as possible.
 *
 * The loop says when. `done` is set first: what fails is not tried again.
 */

#include "deferred.h"

#include "kernel/base/digest.h"
#include "kernel/interpreter/environment.h"
#include "kernel/interpreter/fingerprint.h"
#include "kernel/interpreter/launch.h"
#include "kernel/policy/config.h"
#include "kernel/run/accounts.h"

#include <string.h>

static void open_records(const struct deferred *deferred) {
    const struct config *config = deferred->config;
    char path[PATH_MAX] = "";
    if (config->records.path[0])
        memcpy(path, config->records.path, sizeof path);
    else if (config->records.on && records_default_path(path, sizeof path) < 0)
        path[0] = '\0';
    const struct records_options options = {.path = config->records.on ? path : "",
                                            .keep_days = config->records.keep_days,
                                            .max_bytes = config->records.max_bytes};
    records_open(&deferred->accounts->records, &options, deferred->log);
}

/* What cells run in, as it is recorded with each run. Nothing of it is needed to run one. */
static void take_fingerprint(const struct deferred *deferred) {
    const struct config *config = deferred->config;
    struct accounts *accounts = deferred->accounts;
    struct distributions found;
    const struct launch launch = {.paths = deferred->paths, .python = deferred->python, .limits = &config->limits};
    char **settings = launch_environment(&launch);
    int r = distributions_find(deferred->python, deferred->paths->site, &found);
    if (r == 0) {
        accounts->environment = fingerprint_make(&found, settings, &accounts->records);
        distributions_fini(&found);
    }
    if (accounts->environment && config->packages)
        json_object_set(accounts->environment, "packages", config->packages);
    environment_free(settings);
    if (!accounts->environment || digest_json(accounts->environment, accounts->environment_sha256) < 0)
        log_write(deferred->log, LOG_LEVEL_WARNING, "the environment of %s can't be recorded", deferred->python);
}

void deferred_now(struct deferred *deferred) {
    if (deferred->done)
        return;
    deferred->done = true;
    open_records(deferred);
    if (deferred->python)
        take_fingerprint(deferred);
}
