/*
 * control.h - interrupt, shutdown, connect: answered whatever a cell does.
 *
 * See: Jupyter messaging, "Kernel interrupt", "Kernel shutdown", "Connect".
 */
#ifndef PETRI_CONTROL_H
#define PETRI_CONTROL_H

#include "kernel/request.h"

struct kernel;

void control_interrupt(struct kernel *kernel, const struct request *request);
void control_shutdown(struct kernel *kernel, const struct request *request);
void control_connect(struct kernel *kernel, const struct request *request);

#endif
