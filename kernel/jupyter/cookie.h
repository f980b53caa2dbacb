/*
 * cookie.h - a number that identifies the socket behind a descriptor.
 *
 * See: SO_COOKIE in socket(7).
 */
#ifndef PETRI_COOKIE_H
#define PETRI_COOKIE_H

#include <stdint.h>

/*
 * The socket's number, which is unique until the machine restarts; descriptors
 * are reused, cookies are not. 0 where fd is no socket.
 */
uint64_t cookie_of(int fd);

#endif
