/*
 * outputs.h - reads what a cell writes to descriptors 1 and 2, for stream messages.
 *
 * Bytes are collected and passed to a sink in large pieces, at most every 50 ms,
 * which end at whole UTF-8 characters; outputs_flush() passes on everything. Both
 * outputs together have one limit: bytes over it are read, counted and dropped,
 * and one line says so.
 */
#ifndef PETRI_OUTPUTS_H
#define PETRI_OUTPUTS_H

#include "base/cleanup.h"
#include "kernel/base/poll_set.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum output { OUTPUT_STDOUT, OUTPUT_STDERR, OUTPUT_N };

/* Takes bytes of one output; they are borrowed for the call. name is "stdout" or "stderr". */
typedef void outputs_sink(void *arg, const char *name, const char *data, size_t bytes);

struct output_stream {
    int fd;               /* a pipe's read end, non-blocking; borrowed; -1 after outputs_end() */
    bool ended;           /* end of file: all writers have closed the pipe; or outputs_end() */
    char *data;           /* OUTPUTS_CHUNK bytes, in one block for all streams */
    size_t bytes;         /* collected so far */
    int64_t since_us;     /* when the first of them came */
    uint64_t total_bytes; /* read since outputs_begin() */
};

struct outputs {
    struct output_stream streams[OUTPUT_N];
    uint64_t limit_bytes;   /* of both outputs together */
    uint64_t taken_bytes;   /* bytes within the limit, so far */
    uint64_t dropped_bytes; /* bytes over the limit */
    outputs_sink *sink;
    void *arg;
};

enum { OUTPUTS_CHUNK = 1 << 19, OUTPUTS_DELAY_MS = 50 };

/* Descriptors are borrowed until outputs_end() or outputs_fini(). 0 or -ENOMEM. */
int outputs_init(struct outputs *outputs, int stdout_fd, int stderr_fd) MUST_CHECK;
void outputs_fini(struct outputs *outputs);

/*
 * Starts counting from zero, and passes output up to the limit to this sink.
 * Bytes that are in the pipes already belong to no cell and are discarded.
 */
void outputs_begin(struct outputs *outputs, uint64_t limit_bytes, outputs_sink *sink, void *arg);

/*
 * Counts output that does not come through the pipes. Returns how much of it is
 * within the limit. The first time that this is less than all of it, flushes the
 * collected output and writes a line that says why.
 */
size_t outputs_admit(struct outputs *outputs, size_t bytes);

/* Reads once from one pipe, without waiting. */
void outputs_read(struct outputs *outputs, enum output output);

/* Reads the bytes that both pipes have when it is called, but none that are written meanwhile. Then flushes. */
void outputs_drain(struct outputs *outputs);

/* Drains, and reads nothing any more: the pipes may be closed. The sink stays. */
void outputs_end(struct outputs *outputs);

/* Passes on all collected bytes, including an incomplete character at the end. */
void outputs_flush(struct outputs *outputs);

/* Passes on the output that has waited for 50 ms. */
void outputs_tick(struct outputs *outputs, int64_t now_us);

/* When outputs_tick() is due; CLOCK_NEVER where nothing is collected. */
int64_t outputs_deadline(const struct outputs *outputs);

/* Waits for output, and for outputs_tick(). */
void outputs_watch(struct outputs *outputs, struct poll_set *set);

#endif
