/*
 * io.h - reading and writing a file at an offset, as many bytes as were asked for.
 */
#ifndef PETRI_SANDBOX_BASE_IO_H
#define PETRI_SANDBOX_BASE_IO_H

#include <sys/types.h>

/* Reads as much as there is. The number of bytes, fewer than asked for at the file's end only; or -errno. */
ssize_t io_read(int fd, void *buf, size_t bytes, off_t at);

/* 0, or -errno; a part may have been written then. */
int io_write(int fd, const void *data, size_t bytes, off_t at);

#endif
