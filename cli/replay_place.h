/*
 * replay_place.h - where a recorded run is run again: in which folder, and by which interpreter.
 *
 * A record is not trusted: it would choose what cells of the replay see, and what
 * code runs before the first one. So what a record names is used only if it is
 * absolute and the user's or root's; what the command line names is used as it
 * is.
 */
#ifndef PETRI_REPLAY_PLACE_H
#define PETRI_REPLAY_PLACE_H

#include "base/cleanup.h"
#include "base/error.h"

#include <jansson.h>

/* What the command line says of it; NULL where it says nothing. */
struct replay_named {
    const char *folder;
    const char *python;
};

/*
 * Makes the folder the working one, and says on standard error what it is and by
 * which interpreter the run is run: that goes to ret_python, NULL for petri's own
 * choice; borrowed from named and run. 0, or -EINVAL with a clause in ret_error, which
 * says what to do.
 */
int replay_enter(const struct replay_named *named, const json_t *run, const char **ret_python,
                 struct error *ret_error) MUST_CHECK;

#endif
