/*
 * config_file.h - finds, checks and reads the files of a configuration: the operator's, and the user's own.
 *
 * The operator's is /etc/petri/config.json, and is read wherever it is. The
 * user's own is the one of --config, else the first of
 * $XDG_CONFIG_HOME/petri/config.json and ~/.config/petri/config.json.
 */
#ifndef PETRI_CONFIG_FILE_H
#define PETRI_CONFIG_FILE_H

#include "base/cleanup.h"
#include "base/error.h"

#include <limits.h>
#include <stddef.h>

#define CONFIG_POLICY_PATH "/etc/petri/config.json"

/* A file that has been read. All zero where there is none. */
struct config_file {
    char path[PATH_MAX];
    char *text; /* owned, not terminated; NULL where there is no file */
    size_t bytes;
};

struct config_files {
    struct config_file policy; /* the operator's */
    struct config_file own;    /* the user's; there is none where it is the same file */
};

/*
 * Reads them; path is the value of --config, or NULL. A file that is there and
 * can't be read, or not be trusted, is an error, so that no policy is lost. 0 with
 * ret_files, the caller's: config_files_fini(); or -errno with one sentence in
 * ret_error.
 */
int config_files_read(const char *path, struct config_files *ret_files, struct error *ret_error) MUST_CHECK;

void config_files_fini(struct config_files *files);

#endif
