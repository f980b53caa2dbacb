/*
 * strays.h - children of this process that live in a sandbox and that nobody has asked for.
 *
 * There should be none: what a cell could do to leave one is refused by the
 * filter and by each comparison of a driven call. If one is there all the same
 * it is ended, and said. As the first process of its pid namespace this process
 * is also the one to which everything is left that loses its parent.
 *
 * See: pid_namespaces(7), NSpid in proc_pid_status(5).
 */
#ifndef PETRI_SANDBOX_SESSION_STRAYS_H
#define PETRI_SANDBOX_SESSION_STRAYS_H

#include "sandbox/session/session.h"

/*
 * Kills and reaps the children that are in a pid namespace below ours and that
 * the session knows nothing of, and counts them in session->strays. Others are
 * not touched. Some microseconds, at any moment at which no call is being driven.
 */
void strays_end(struct session *session);

#endif
