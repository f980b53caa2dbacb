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

#endif
