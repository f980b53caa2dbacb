/*
 * image.h - the state after a cell: a keeper task with the memory, and the records beside it.
 *
 * A keeper is a task that owns an address space, a file table and signal
 * dispositions, and stays in a ptrace stop for life.
 */
#ifndef PETRI_SANDBOX_IMAGE_IMAGE_H
#define PETRI_SANDBOX_IMAGE_IMAGE_H

#include "base/cleanup.h"
#include "sandbox/descriptors/descriptors.h"
#include "sandbox/image/shared.h"
#include "sandbox/image/threads.h"
#include "sandbox/image/zombies.h"

#include <limits.h>

/* Our ends of pipes, which an image has in common with those that are made of it. */
struct image_outputs {
    unsigned references;
    int fd[DESCRIPTORS_OUTPUTS];
};

struct image {
    unsigned references;
    pid_t keeper;  /* a child of ours */
    int memory_fd; /* of its address space */
    mode_t file_mask;
    char folder[PATH_MAX]; /* working directory, as a cell sees it */
    struct threads threads;
    struct zombies zombies;
    struct descriptors descriptors;
    struct shared shared;
    bool may_hide;                 /* private mappings may hold memory: a cell has made some, or may have */
    struct image_outputs *outputs; /* a reference; NULL: those of the session's first image */
    unsigned
        times_restored; /* how often the session has gone back to it; from the second time on its cells are copies */
    int broken; /* -errno where what a rolled-back cell has changed could not be put back; then no cell is made of it */
};

/*
 * Makes an image of a keeper and recorded threads; steals both, and memory_fd.
 * Has one reference. NULL on ENOMEM, then nothing is stolen.
 */
struct image *image_create(pid_t keeper, int memory_fd, struct threads *threads);

struct image *image_ref(struct image *image);

/* Gives an image pipes of its own, whose ends are stolen. 0, or -ENOMEM and none is. */
int image_take_outputs(struct image *image, int outputs[DESCRIPTORS_OUTPUTS]) MUST_CHECK;

/* Gives an image the pipes of another one, that it is made of. */
void image_share_outputs(struct image *image, const struct image *of);

/* Gives up a reference; with the last the keeper is killed and *ret_killed is its pid, to be reaped; otherwise 0. */
void image_unref(struct image *image, pid_t *ret_killed);

/*
 * A copy-on-write copy of an image's address space: a new keeper, stopped, with
 * the memory descriptor, for a cell that is thrown away. Both are the caller's. 0, -EUCLEAN or -errno.
 */
int image_copy_keeper(const struct image *image, const struct inject_area *area, pid_t *ret_keeper, int *ret_memory_fd);

/*
 * The other way round: the image goes on with the copy, and the caller gets the keeper and the memory that it had, to
 * make the session's own cell of. So each image that is kept is a copy of the one memory in which cells run: were cells
 * the copies, each copy would be one of all those before it, and Linux looks at all of them for each mapping that it
 * copies. 0, -EUCLEAN or -errno.
 *
 * See: anon_vma_clone() in Linux.
 */
int image_leave_copy(struct image *image, const struct inject_area *area, pid_t *ret_keeper, int *ret_memory_fd);

/* image_copy_keeper() of such a copy. */
int image_copy_task(pid_t tid, int of_memory_fd, const struct inject_area *area, pid_t *ret_keeper, int *ret_memory_fd);

/*
 * Finds what of a stopped process a copy can't simply share: its descriptors,
 * shared memory. Paths can be told only while its sandbox's mounts are there: viewer, stopped, is in it.
 * before: the image that its cell was made of, or NULL; outputs: our ends of the session's pipes; files: the snapshot
 * of the session's files, or NULL.
 * 0; -ENOTSUP where something can't be carried on (ret_error->detail says what); or -errno.
 */
int image_find_shared(struct image *image, pid_t viewer, const struct image *before,
                      const int outputs[DESCRIPTORS_OUTPUTS], const struct snapshot *files,
                      struct error *ret_error) MUST_CHECK;

/* Saves what a cell of this image could change in it, before the cell starts. 0 or -errno. */
int image_save_shared(struct image *image) MUST_CHECK;

/* What its records take of our own memory, with what waits in its pipes and sockets, without what is saved of its
 * files. */
uint64_t image_bytes(const struct image *image);

/* Whether cells can be made of it. 0, or -errno with the step in ret_error, where it is broken or its keeper has ended.
 */
int image_check(const struct image *image, struct error *ret_error) MUST_CHECK;

/* Puts it back after the cell was rolled back; where that fails, the image is broken. */
void image_put_back_shared(struct image *image);

/* Reads working directory and umask of a stopped process into the image. 0 or -errno. */
int image_read_place(struct image *image, pid_t pid);

#endif
