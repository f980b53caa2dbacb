/*
 * restorer.h - a cell's worker, before it runs, makes the descriptors that its cell is to have.
 *
 * The worker is in its sandbox and has no capability left, so what it makes belongs
 * to the sandbox, and it can make nothing that the cell could not. Calls are queued
 * and made in few batches. What was made then gets its number and flags, and its
 * content from us. Only few descriptors may be open beside those of the cell: the
 * cell may have used up its own, and the worker has a few more and no others.
 *
 * See: inject.h, dup(2).
 */
#ifndef PETRI_SANDBOX_DESCRIPTORS_RESTORER_H
#define PETRI_SANDBOX_DESCRIPTORS_RESTORER_H

#include "base/cleanup.h"
#include "sandbox/inject/inject.h"

struct descriptors;

struct restorer {
    const struct inject_task *task;
    int pidfd;     /* of that task */
    pid_t keeper;  /* of the image: has the originals */
    bool beside;   /* runs beside the session's cell: has no part in its output, nor in a file whose contents would
                      have to be put back */
    bool whole;    /* such a cell, and a whole run: it has copies of those files, and may write what it has mapped */
    int *outputs;  /* such a cell's own pipes: our ends are put here, DESCRIPTORS_OUTPUTS of them; NULL for none */
    bool layered;  /* is always discarded, with a layer of its own (layers.h) */
    uint64_t room; /* bytes of the files that the cell may share with the image where it can't have its own */
    size_t n;
    struct inject_call call[INJECT_MAX_CALLS]; /* queued */
};

/* Queues a call, of which only the success counts; makes those queued where there is no room for it. 0 or -errno. */
int restorer_add(struct restorer *restorer, struct inject_call call) MUST_CHECK;

/* Makes what is queued. 0, or -errno of the first call that failed. */
int restorer_run(struct restorer *restorer) MUST_CHECK;

/* Makes one call at once, after what is queued. 0, whatever its result, or -errno. */
int restorer_call(struct restorer *restorer, struct inject_call *call) MUST_CHECK;

/* The same for one that gives 0, or a descriptor. That, or -errno. */
int restorer_do(struct restorer *restorer, struct inject_call call) MUST_CHECK;
int restorer_make(struct restorer *restorer, struct inject_call call) MUST_CHECK;

/* Puts bytes into the task's scratch memory, at an offset, once nothing that is queued needs what is there. 0 or
 * -errno. */
int restorer_put(struct restorer *restorer, size_t offset, const void *data, size_t bytes) MUST_CHECK;

/* Reads them, once what is queued has been made. 0 or -errno. */
int restorer_get(struct restorer *restorer, size_t offset, void *ret_data, size_t bytes) MUST_CHECK;

/* The address of an offset of the scratch memory. */
uint64_t restorer_at(const struct restorer *restorer, size_t offset);

/* Opens a path as the task sees it; through no link at its end. What the task calls the descriptor, or -errno. */
int restorer_open(struct restorer *restorer, const char *path, int flags) MUST_CHECK;

/* Opens what a descriptor of the task's leads to once more, without waiting: another open file on the same object.
 * O_NONBLOCK of flags is its own; O_DIRECT is left to restorer_place(), for Linux opens no pipe with it. */
int restorer_reopen(struct restorer *restorer, int made, int flags) MUST_CHECK;

/* Queues what puts a descriptor that the task has made under each number that shared the open file of the first-th row.
 * made stays open. */
int restorer_number(struct restorer *restorer, const struct descriptors *list, size_t first, int made) MUST_CHECK;

/* The same, and gives it the status flags that the open file had. */
int restorer_place(struct restorer *restorer, const struct descriptors *list, size_t first, int made) MUST_CHECK;

/* The same with a descriptor that nothing can be done with: there is the number, and each call that uses it fails. */
int restorer_withhold(struct restorer *restorer, const struct descriptors *list, size_t first) MUST_CHECK;

/* Queues the closing of what was only needed on the way. */
int restorer_close(struct restorer *restorer, int made) MUST_CHECK;

/* Our duplicate, close-on-exec, of what the task has made. -errno on failure. */
int restorer_take(struct restorer *restorer, int made) MUST_CHECK;

#endif
