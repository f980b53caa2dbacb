/*
 * control.h - interrupt, shutdown, connect, subshells, debugger: requests that are answered while a cell runs.
 *
 * See: Jupyter messaging, "Kernel interrupt", "Kernel shutdown", "Connect", "Kernel subshells".
 */
#ifndef PETRI_CONTROL_H
#define PETRI_CONTROL_H

#include "kernel/jupyter/request.h"

struct kernel;

void control_interrupt(struct kernel *kernel, const struct request *request);
void control_shutdown(struct kernel *kernel, const struct request *request);
void control_connect(struct kernel *kernel, const struct request *request);

/* Replies to each request about subshells that there are none. */
void control_subshell(struct kernel *kernel, const struct request *request);

/* Replies that there is no debugger: docs/debugger.md. */
void control_debug(struct kernel *kernel, const struct request *request);

/* The images of the session, and naming one; at once, also while a cell runs. */
void control_timeline(struct kernel *kernel, const struct request *request);
void control_checkpoint(struct kernel *kernel, const struct request *request);
void control_forget(struct kernel *kernel, const struct request *request);

/* Going back to one. Takes the request over: while the session's own run is under way it waits until that is over, and
 * control_restore_waiting() is for the loop to call then. */
void control_restore(struct kernel *kernel, struct request *request);
void control_restore_waiting(struct kernel *kernel);

#endif
