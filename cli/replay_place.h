/*
 * replay_place.h - the folder and the interpreter for a replay.
 *
 * Another user may have changed a record, and the folder and the interpreter
 * decide which files cells of the replay see and which code runs before them. So
 * those of a record are only used if they are absolute paths and belong to the
 * user or root. Those of the command line are used as they are.
 */
#ifndef PETRI_REPLAY_PLACE_H
#define PETRI_REPLAY_PLACE_H

#include "base/cleanup.h"
#include "base/error.h"

#include <jansson.h>

/* From the command line; NULL where not given. */
struct replay_named {
    const char *folder;
    const char *python;
};

/*
 * Changes to the folder, and writes it and the interpreter to standard error.
 * ret_python is the interpreter, or NULL for petri's default; it is borrowed from
 * named or run. 0, or -EINVAL with a clause in ret_error that says what to do.
 */
int replay_enter(const struct replay_named *named, const json_t *run, const char **ret_python,
                 struct error *ret_error) MUST_CHECK;

#endif
