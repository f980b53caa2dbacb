/*
 * load.h - whether the machine has a processor to spare.
 */
#ifndef PETRI_LOAD_H
#define PETRI_LOAD_H

#include <stdbool.h>

/* Whether fewer tasks want to run, ours among them, than there are processors that we may use; true where that can't
 * be told. See: proc_loadavg(5). */
bool load_leaves_processor(void);

#endif
