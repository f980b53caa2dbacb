/*
 * fake_load.h - whether the machine has a processor to spare (kernel/base/load.h), as a test says.
 */
#ifndef PETRI_FAKE_LOAD_H
#define PETRI_FAKE_LOAD_H

#include <stdbool.h>

/* False until now. */
void fake_load_is_high(bool is_high);

#endif
