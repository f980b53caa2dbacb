/*
 * outputs.c - two buffers, each flushed when it is full or its first byte is 50 ms old.
 *
 * Pipes are also read over the limit, and the bytes are dropped, so that a cell
 * that writes more does not block. Draining asks how many bytes a pipe has
 * (FIONREAD) and reads no more than these, so that a process that writes all the
 * time can't keep the kernel busy. An incomplete character at the end of a buffer
 * is kept for the next read, except in outputs_flush().
 */

#include "outputs.h"

#include "kernel/base/clock.h"
#include "kernel/policy/limits.h"
#include "protocol/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

static const char *const output_names[] = {[OUTPUT_STDOUT] = "stdout", [OUTPUT_STDERR] = "stderr"};
_Static_assert(sizeof output_names / sizeof output_names[0] == OUTPUT_N, "one name an output");

int outputs_init(struct outputs *outputs, int stdout_fd, int stderr_fd) {
    const int fds[OUTPUT_N] = {[OUTPUT_STDOUT] = stdout_fd, [OUTPUT_STDERR] = stderr_fd};
    char *data = malloc((size_t)OUTPUT_N * OUTPUTS_CHUNK);
    if (!data)
        return -ENOMEM;
    *outputs = (struct outputs){0};
    for (int i = 0; i < OUTPUT_N; i++) {
        outputs->streams[i].fd = fds[i];
        outputs->streams[i].data = data + (size_t)i * OUTPUTS_CHUNK;
    }
    return 0;
}

void outputs_fini(struct outputs *outputs) {
    free(outputs->streams[0].data);
    *outputs = (struct outputs){0};
}

/* Reads and discards the bytes that are in a pipe now, but none that are written meanwhile. */
static void discard(struct output_stream *stream) {
    int waiting = 0;
    if (ioctl(stream->fd, FIONREAD, &waiting) < 0)
        return;
    for (size_t left = (size_t)waiting; left > 0;) {
        ssize_t n = read(stream->fd, stream->data, left < OUTPUTS_CHUNK ? left : OUTPUTS_CHUNK);
        if (n <= 0)
            break;
        left -= (size_t)n;
    }
}

void outputs_begin(struct outputs *outputs, uint64_t limit_bytes, outputs_sink *sink, void *arg) {
    for (int i = 0; i < OUTPUT_N; i++) {
        discard(&outputs->streams[i]);
        outputs->streams[i].ended = false;
        outputs->streams[i].bytes = 0;
        outputs->streams[i].total_bytes = 0;
    }
    outputs->limit_bytes = limit_bytes;
    outputs->taken_bytes = 0;
    outputs->dropped_bytes = 0;
    outputs->sink = sink;
    outputs->arg = arg;
}

/* Passes the first bytes of a buffer to the sink, and keeps the rest. */
static void flush_bytes(struct outputs *outputs, int output, size_t bytes) {
    struct output_stream *stream = &outputs->streams[output];
    if (bytes > 0)
        outputs->sink(outputs->arg, output_names[output], stream->data, bytes);
    stream->bytes -= bytes;
    memmove(stream->data, stream->data + bytes, stream->bytes);
    stream->since_us = clock_us(); /* the delay starts again for the rest, even if that is one incomplete character */
}

static void flush_characters(struct outputs *outputs, int output) {
    const struct output_stream *stream = &outputs->streams[output];
    flush_bytes(outputs, output, text_whole_utf8(stream->data, stream->bytes));
}

/* Counts bytes of output; returns how many of them are within the limit. */
static size_t count_output(struct outputs *outputs, size_t bytes) {
    uint64_t left = outputs->limit_bytes - outputs->taken_bytes;
    size_t kept = bytes < left ? bytes : (size_t)left;
    outputs->taken_bytes += kept;
    outputs->dropped_bytes += bytes - kept;
    return kept;
}

/* Called once the first byte was dropped: flushes the output before it, and writes a line that says so. */
static void tell_dropped(struct outputs *outputs) {
    char limit[32];
    char line[128];
    for (int i = 0; i < OUTPUT_N; i++) {
        flush_characters(outputs, i);
        outputs->streams[i].bytes = 0; /* an incomplete character, the rest of which was dropped */
    }
    limits_text(UNIT_BYTES, (int64_t)outputs->limit_bytes, limit, sizeof limit);
    int n = snprintf(line, sizeof line,
                     "petri: the cell has written %s, its limit of output; what comes now is counted and dropped.\n",
                     limit);
    outputs->sink(outputs->arg, output_names[OUTPUT_STDERR], line, (size_t)n);
}

size_t outputs_admit(struct outputs *outputs, size_t bytes) {
    bool told = outputs->dropped_bytes > 0;
    size_t kept = count_output(outputs, bytes);
    if (kept < bytes && !told)
        tell_dropped(outputs);
    return kept;
}

/* Returns the number of bytes read; 0 where there are none now, or the pipe has ended. */
static size_t read_some(struct outputs *outputs, int output, size_t at_most) {
    struct output_stream *stream = &outputs->streams[output];
    size_t room = OUTPUTS_CHUNK - stream->bytes;
    ssize_t n = read(stream->fd, stream->data + stream->bytes, at_most < room ? at_most : room);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        stream->ended = true;
    if (n <= 0)
        return 0;
    if (stream->bytes == 0)
        stream->since_us = clock_us();
    bool told = outputs->dropped_bytes > 0;
    stream->bytes += count_output(outputs, (size_t)n);
    stream->total_bytes += (uint64_t)n;
    if (outputs->dropped_bytes > 0 && !told)
        tell_dropped(outputs);
    if (stream->bytes == OUTPUTS_CHUNK)
        flush_characters(outputs, output);
    return (size_t)n;
}

void outputs_read(struct outputs *outputs, enum output output) {
    read_some(outputs, (int)output, OUTPUTS_CHUNK);
}

void outputs_drain(struct outputs *outputs) {
    for (int i = 0; i < OUTPUT_N; i++) {
        int waiting = 0;
        if (ioctl(outputs->streams[i].fd, FIONREAD, &waiting) < 0)
            continue;
        for (size_t left = (size_t)waiting; left > 0;) {
            size_t n = read_some(outputs, i, left);
            if (n == 0)
                break;
            left -= n;
        }
    }
    outputs_flush(outputs);
}

void outputs_end(struct outputs *outputs) {
    outputs_drain(outputs);
    for (int i = 0; i < OUTPUT_N; i++) {
        outputs->streams[i].fd = -1;
        outputs->streams[i].ended = true;
    }
}

void outputs_flush(struct outputs *outputs) {
    for (int i = 0; i < OUTPUT_N; i++)
        flush_bytes(outputs, i, outputs->streams[i].bytes);
}

void outputs_tick(struct outputs *outputs, int64_t now_us) {
    for (int i = 0; i < OUTPUT_N; i++)
        if (outputs->streams[i].bytes && now_us - outputs->streams[i].since_us >= OUTPUTS_DELAY_MS * CLOCK_MS)
            flush_characters(outputs, i);
}

int64_t outputs_deadline(const struct outputs *outputs) {
    int64_t deadline_us = CLOCK_NEVER;
    for (int i = 0; i < OUTPUT_N; i++)
        if (outputs->streams[i].bytes)
            deadline_us = clock_sooner(deadline_us, outputs->streams[i].since_us + OUTPUTS_DELAY_MS * CLOCK_MS);
    return deadline_us;
}

static void stdout_ready(void *arg, short events) {
    (void)events;
    outputs_read(arg, OUTPUT_STDOUT);
}

static void stderr_ready(void *arg, short events) {
    (void)events;
    outputs_read(arg, OUTPUT_STDERR);
}

void outputs_watch(struct outputs *outputs, struct poll_set *set) {
    static poll_handler *const ready[OUTPUT_N] = {[OUTPUT_STDOUT] = stdout_ready, [OUTPUT_STDERR] = stderr_ready};
    for (int i = 0; i < OUTPUT_N; i++)
        if (!outputs->streams[i].ended)
            poll_set_add_fd(set, outputs->streams[i].fd, ZMQ_POLLIN, ready[i], outputs);
    poll_set_deadline(set, outputs_deadline(outputs));
}
