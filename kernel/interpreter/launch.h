/*
 * launch.h - makes a session with its worker from the command line and the profile.
 */
#ifndef PETRI_LAUNCH_H
#define PETRI_LAUNCH_H

#include "base/cleanup.h"
#include "base/error.h"
#include "kernel/base/paths.h"
#include "kernel/files/workdir.h"
#include "kernel/interpreter/packages.h"
#include "kernel/policy/limits.h"
#include "sandbox/sandbox.h"

struct launch {
    const struct sandbox_host *host; /* from sandbox_enter() */
    const struct paths *paths;
    const struct workdir *workdir;
    const char *python; /* absolute path of the interpreter */
    enum profile_kind profile;
    const struct limits *limits;
    const struct packages *packages; /* what is hidden from cells, or NULL; borrowed for the session's life */
    const json_t *listed;            /* the names of the distributions that cells see, or NULL for all */
    const json_t *variables;         /* config_variables() */
    const json_t *inputs;            /* more folders that cells can read: an array of texts, or NULL */
    const char *outputs;             /* the folder in the notebook's folder that files are copied to, or NULL */
    bool writable;                   /* files are written to the notebook's folder itself */
};

/* The environment of cells. The caller's: environment_free(); NULL on ENOMEM. */
char **launch_environment(const struct launch *launch);

/* 0: ret_session is the caller's; or -errno with a sentence in ret_error. */
int launch_session(const struct launch *launch, struct session **ret_session, struct error *ret_error) MUST_CHECK;

#endif
