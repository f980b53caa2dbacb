/*
 * shared.h - memory that a copy of an image would share with it, and the contents of files without a name.
 *
 * A copy of an address space has the very pages of a MAP_SHARED mapping. So each
 * cell gets memory of its own instead: a memfd with the same content, mapped at the
 * same addresses, and under the numbers that a memfd had. Files that have a name
 * are in mapped_files.h.
 *
 * An unlinked file on a disk stays the same file for all cells. Its contents are
 * saved before a cell starts and put back when the cell is rolled back (saved.h),
 * also where it is open for reading only: its owner can open it for writing through
 * /proc.
 *
 * See: mmap(2), MAP_SHARED; memfd_create(2).
 */
#ifndef PETRI_SANDBOX_IMAGE_SHARED_H
#define PETRI_SANDBOX_IMAGE_SHARED_H

#include "base/cleanup.h"
#include "sandbox/descriptors/descriptors.h"
#include "sandbox/files/saved.h"
#include "sandbox/image/mapped_files.h"

/* The most of it in all: a cell must not wait for gigabytes to be copied. */
#define SHARED_MAX_BYTES (256ULL << 20)

/*
 * The most pieces, and mappings of them: each costs every later cell some tens
 * of microseconds. And how far from Linux' limit of mappings a process must be
 * that has some, for its cells replace them.
 */
enum { SHARED_MAX_PIECES = 1024, SHARED_MAX_MAPPINGS = 4096, SHARED_MAPPINGS_LEFT = 64 };

/* The most names that are looked at for files that have lost the one they were mapped by: some milliseconds. */
enum { SHARED_MAX_NAMES = 8192 };

/* One file or memory. */
struct shared_piece {
    uint64_t inode;
    bool is_memory;      /* and no unlinked file */
    size_t descriptor;   /* the row of its object, or SHARED_NO_DESCRIPTOR */
    uint64_t bytes;      /* how long it is */
    bool is_saved_by_us; /* an unlinked file: its contents are saved and put back */
    bool is_only_read;   /* it is not open or mapped for writing: a cell would have to open it once more */
    bool is_constant;    /* no cell can write to it: its contents are not saved */
    int seals;           /* of a memfd */
    struct saved saved;
    bool is_emptied; /* shared_free_room() has looked at it */
    void *contents;  /* of an unlinked file that is mapped and not open, once the image is kept; owned */
};
#define SHARED_NO_DESCRIPTOR SIZE_MAX

struct shared_mapping {
    uint64_t start, end, offset;
    int protection;
    size_t piece; /* or SHARED_NO_PIECE: it is private, of memory that is not open */
};
#define SHARED_NO_PIECE SIZE_MAX

struct shared {
    size_t n;
    struct shared_piece *piece;
    size_t n_mappings;
    struct shared_mapping *mapping;
    struct mapped_files mapped; /* files that have a name */
};

/* Memory that we have made for a cell, that is not open there, and has no more than what was mapped of it. */
struct shared_own {
    uint64_t inode, bytes;
};
struct shared_made {
    size_t n;
    struct shared_own *own;
};

/* What is known of the session's files before one looks. */
struct shared_known {
    const struct snapshot *files;      /* NULL before there is one */
    const struct mapped_files *before; /* what the image before had mapped, or NULL */
    pid_t viewer;                      /* a process that sees them */
    bool may_hide;                     /* there may be private mappings of memory */
};

void shared_fini(struct shared *shared);

/*
 * Finds the pieces of a stopped process whose descriptors are list, in which
 * those are marked that no cell may have. known is borrowed for the call, ret is the caller's. 0; -ENOTSUP where they
 * are too many bytes, or such as can't be copied (then error->text says what); or -errno.
 */
int shared_find(pid_t pid, struct descriptors *list, const struct shared_known *known, struct shared *ret,
                struct error *ret_error) MUST_CHECK;

/* Has a restorer's task make its own copies, of files that have a name only where it is thrown away; memory_fd is the
 * image's. made, whose rows are the caller's to free, takes what was made. 0 or -errno. */
int shared_restore(const struct shared *shared, const struct descriptors *list, int memory_fd,
                   struct restorer *restorer, struct shared_made *made) MUST_CHECK;

/*
 * Has a frozen task put memory of its own in the place of what is mapped of memory that is not open, but for what we
 * had made: a page that is mapped of it holds all of it, and nobody can tell how much that is. Private mappings become
 * anonymous. memory_fd is the task's; the restorer needs its task alone. 0; -ENOMEM where there is no room; or
 * -errno.
 */
int shared_settle(struct shared *shared, const struct shared_made *made, int memory_fd,
                  struct restorer *restorer) MUST_CHECK;

/*
 * Saves the contents of what cells share with an image: unlinked files, and
 * those that could not be opened anew. pid: its keeper. 0 or -errno.
 */
int shared_save(struct shared *shared, const struct descriptors *list, pid_t pid) MUST_CHECK;

/* Puts back what is saved. 0 or -errno of the first piece that could not be. */
int shared_put_back(struct shared *shared, const struct descriptors *list, pid_t pid);

/*
 * An image is kept: what it has mapped of unlinked files is kept by us from now on, for in an earlier image such a file
 * may have its name still, and be written by the cells of that. memory_fd is the image's. 0 or -errno.
 */
int shared_keep(struct shared *shared, int memory_fd) MUST_CHECK;

/* Empties the files without a name whose contents are saved, but for those that another image has, too: they take no
 * room until they are put back. list and pid: as in shared_save(). */
void shared_free_room(struct shared *shared, const struct descriptors *list, pid_t pid, const struct shared *other);

/* What is saved and kept by us of an image. */
uint64_t shared_bytes(const struct shared *shared);

/* The shared memory of an image: each has its own, and so has each cell. list and pid: as in shared_save(). */
uint64_t shared_memory_bytes(const struct shared *shared, const struct descriptors *list, pid_t pid);

/* What the lists take of our own memory, without what is saved. */
uint64_t shared_list_bytes(const struct shared *shared);

/* Frees what is saved: the cell has been committed. */
void shared_forget(struct shared *shared);

#endif
