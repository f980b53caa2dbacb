/*
 * strays.h - children of this process that are in a sandbox and that the session did not start.
 *
 * There should be none: the filter and the comparison of each checked call refuse
 * whatever could leave one. If there is one all the same, it is killed, counted and
 * logged. As pid 1 of its pid namespace this process is also the parent of whatever
 * loses its own.
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
