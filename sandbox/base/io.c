/*
 * io.c - reads and writes that go on where pread(2) and pwrite(2) have done only a part, in slices.
 *
 * They are used on the memory of tasks and on files of cells, none of which may
 * block: so there is no EINTR to begin again after. See: proc_pid_mem(5).
 */
#define _GNU_SOURCE
#include "io.h"

#include "base/slices.h"

#include <errno.h>
#include <unistd.h>

enum { SLICE_BYTES = 1 << 20 };

static size_t next_slice(size_t bytes) {
    slices_step();
    return bytes < SLICE_BYTES ? bytes : SLICE_BYTES;
}

ssize_t io_read(int fd, void *buf, size_t bytes, off_t at) {
    size_t done = 0;
    ssize_t n = 1;
    while (done < bytes && n > 0) {
        n = pread(fd, (char *)buf + done, next_slice(bytes - done), at + (off_t)done);
        if (n < 0)
            return -errno;
        done += (size_t)n;
    }
    return (ssize_t)done;
}

int io_write(int fd, const void *data, size_t bytes, off_t at) {
    for (size_t done = 0; done < bytes;) {
        ssize_t n = pwrite(fd, (const char *)data + done, next_slice(bytes - done), at + (off_t)done);
        if (n <= 0)
            return n < 0 ? -errno : -EIO;
        done += (size_t)n;
    }
    return 0;
}
