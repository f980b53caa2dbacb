/*
 * load.h - whether the machine has a processor to spare.
 */
#ifndef PETRI_LOAD_H
#define PETRI_LOAD_H

#include <stdbool.h>

/* Whether fewer tasks want to run, beside who asks, than the machine has processors; true where that can't be told. */
bool load_leaves_processor(void);

/* The same for what /proc/loadavg says, on so many processors. See: proc_loadavg(5). */
bool load_is_below(const char *loadavg, unsigned processors);

#endif
