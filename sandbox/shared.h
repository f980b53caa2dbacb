/*
 * shared.h - what a copy of an image can't have of its own: shared mappings, and open files without a path.
 *
 * A copy of an address space has the very pages of a MAP_SHARED mapping, and an
 * unlinked file has no path to be opened by anew. So their contents are saved
 * before a cell starts and put back when it is rolled back.
 *
 * See: mmap(2), MAP_SHARED; fork(2).
 */
#ifndef PETRI_SANDBOX_SHARED_H
#define PETRI_SANDBOX_SHARED_H

#include "files.h"

/* Beyond this in all, contents are not saved: a cell must not wait for gigabytes to be copied. */
#define SHARED_MAX_BYTES (256ULL << 20)

/* One mapping (fd is -1) or one file. */
struct shared_piece {
    uint64_t address;
    int fd;
    size_t bytes;
    void *saved; /* owned; NULL while nothing is saved */
};

struct shared {
    size_t n;
    struct shared_piece *piece;
};

void shared_fini(struct shared *shared);

/* Finds the pieces of a stopped process whose open files are files. ret is the caller's. 0 or -errno. */
int shared_find(pid_t pid, const struct open_files *files, struct shared *ret);

/* Saves the contents, as far as they fit. 0 or -errno. */
int shared_save(struct shared *shared, pid_t pid, int memory_fd);

/* Puts back what is saved. 0 or -errno of the first piece that could not be. */
int shared_put_back(const struct shared *shared, pid_t pid, int memory_fd);

/* Frees what is saved: the cell has been committed. */
void shared_forget(struct shared *shared);

#endif
