/*
 * cookie.h - which socket a descriptor is.
 *
 * See: SO_COOKIE in socket(7).
 */
#ifndef PETRI_COOKIE_H
#define PETRI_COOKIE_H

#include <stdint.h>

/* Which socket a descriptor is, whatever number it has: no two of a machine's life are the same. 0 for none. */
uint64_t cookie_of(int fd);

#endif
