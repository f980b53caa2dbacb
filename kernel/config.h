/*
 * config.h - the configuration file: the operator's own limits.
 *
 *     {"profiles": {"notebook": {"timeout": "5m", "disk": "1G"}}, "interrupt_grace": "2s",
 *      "history": false}
 *
 * The first of --config, $XDG_CONFIG_HOME/petri/config.json (else
 * ~/.config/petri/config.json) and /etc/petri/config.json that there is. A key
 * that is not known, or a value of the wrong kind or over its ceiling, is an
 * error: nothing starts on a configuration that is half understood.
 */
#ifndef PETRI_CONFIG_H
#define PETRI_CONFIG_H

#include "kernel/limits.h"

#include <stdbool.h>

struct config {
    struct limits limits; /* of the profile that was asked for */
    int64_t grace_ms;     /* from an interrupt until a cell that does not listen is ended */
    bool history;         /* whether the code of cells is kept on disk */
};

/* What holds without a file. */
void config_defaults(enum profile profile, struct config *ret_config);

/* Parses the text of a file. 0, or -EINVAL with one sentence in why. */
int config_parse(const char *text, size_t bytes, enum profile profile, struct config *ret_config, char *why,
                 size_t why_bytes) __attribute__((warn_unused_result));

/*
 * Finds and reads the file; path is the value of --config, or NULL. 0 (also
 * where there is none and path is NULL), or -errno with one sentence in why.
 */
int config_load(const char *path, enum profile profile, struct config *ret_config, char *why, size_t why_bytes)
    __attribute__((warn_unused_result));

#endif
