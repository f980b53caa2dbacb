/*
 * outputs.h - what a cell writes to descriptors 1 and 2, on its way to stream messages.
 *
 * Bytes are collected and handed on in large pieces, at most every 50 ms, cut
 * at whole UTF-8 characters; a flush hands on everything. What is over the limit
 * of both outputs together is read, counted and dropped, and one line says so.
 */
#ifndef PETRI_OUTPUTS_H
#define PETRI_OUTPUTS_H

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum output { OUTPUT_STDOUT, OUTPUT_STDERR, OUTPUT_N };

/* Takes bytes of one output; they are borrowed for the call. name is "stdout" or "stderr". */
typedef void outputs_sink(void *arg, const char *name, const char *data, size_t bytes);

struct output_stream {
    int fd;               /* a pipe's read end, non-blocking; borrowed */
    bool ended;           /* every writer is gone: there is nothing to wait for */
    char *data;           /* OUTPUTS_CHUNK bytes */
    size_t bytes;         /* collected so far */
    int64_t since_us;     /* when the first of them came */
    uint64_t total_bytes; /* read since outputs_begin() */
};

struct outputs {
    struct output_stream streams[OUTPUT_N];
    uint64_t limit_bytes;   /* of both outputs together */
    uint64_t taken_bytes;   /* of it, so far */
    uint64_t dropped_bytes; /* what came after that */
    outputs_sink *sink;
    void *arg;
};

enum { OUTPUTS_CHUNK = 1 << 19, OUTPUTS_DELAY_MS = 50 };

/* Descriptors are borrowed until outputs_fini(). 0 or -ENOMEM. */
int outputs_init(struct outputs *outputs, int stdout_fd, int stderr_fd) MUST_CHECK;
void outputs_fini(struct outputs *outputs);

/*
 * Starts counting from zero; from now on everything up to the limit goes to this
 * sink. What is in the pipes by then belongs to no run, and is discarded.
 */
void outputs_begin(struct outputs *outputs, uint64_t limit_bytes, outputs_sink *sink, void *arg);

/*
 * Counts output that comes another way than through the pipes. Returns how
 * much of it is still within the limit; the first time that this is not all of
 * it, what was collected is handed on, and a line that says why.
 */
size_t outputs_admit(struct outputs *outputs, size_t bytes);

/* Reads once from one pipe, without waiting. */
void outputs_read(struct outputs *outputs, enum output output);

/* Reads what stood in both pipes when it was called: bounded also where a writer never pauses. Then flushes. */
void outputs_drain(struct outputs *outputs);

/* Hands on all that was collected, a character that is cut off at its end too. */
void outputs_flush(struct outputs *outputs);

/* Hands on what has waited for its 50 ms. */
void outputs_tick(struct outputs *outputs, int64_t now_us);

/* When outputs_tick() is due; CLOCK_NEVER where nothing is collected. */
int64_t outputs_deadline(const struct outputs *outputs);

#endif
