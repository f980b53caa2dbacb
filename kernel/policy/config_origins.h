/*
 * config_origins.h - which file each key of the configuration comes from, for `petri config check`.
 */
#ifndef PETRI_CONFIG_ORIGINS_H
#define PETRI_CONFIG_ORIGINS_H

#include "kernel/policy/config.h"

/* One key that is set or locked. All borrowed. */
struct config_origin {
    const char *key;      /* "profiles.strict.ceilings.timeout" */
    const char *path;     /* of the file that sets it; NULL where the default holds */
    const char *standing; /* what the operator has said about it, a clause: "locked"; or "" */
};

typedef void config_tell_origin(void *arg, const struct config_origin *origin);

/* Tells the keys of files that config_check() has found to be good: the operator's in their order, then the others. */
void config_origins(const struct config_files *files, config_tell_origin *tell, void *arg);

#endif
