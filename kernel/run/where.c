/*
 * where.c - reads no more of the pipe than was in it at first, because the cell may go on writing.
 *
 * Several stacks may be in the pipe: those that were asked for while the cell's
 * memory grew, one of a crash, that of a completion that crashed beside the cell.
 * Each begins with a line that ends like HEADER; the last one counts.
 */
#define _GNU_SOURCE
#include "where.h"

#include "sandbox/sandbox.h"

#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define HEADER "(most recent call first):\n"

enum { READ_BYTES = 16 << 10 };

/* Reads what is in the pipe now; what is beyond size bytes is discarded. The number of bytes. */
static size_t read_now(int trace_fd, char *text, size_t size) {
    char rest[4096];
    int waiting = 0;
    size_t bytes = 0;
    if (ioctl(trace_fd, FIONREAD, &waiting) < 0)
        return 0;
    for (size_t left = (size_t)waiting; left > 0;) {
        const size_t room = size - bytes, most = room ? room : sizeof rest;
        ssize_t n = read(trace_fd, room ? text + bytes : rest, left < most ? left : most);
        if (n <= 0)
            break;
        bytes += room ? (size_t)n : 0;
        left -= (size_t)n;
    }
    return bytes;
}

void where_forget(struct run *run) {
    read_now(cell_trace_fd(run->now.cell), NULL, 0);
    run->result.facts.where.bytes = 0;
}

void where_ask(const struct run *run) {
    cell_signal(run->now.cell, SIGRTMAX - 1);
}

bool where_read(struct run *run) {
    struct outcome_where *where = &run->result.facts.where;
    char text[sizeof where->text];
    const size_t n = read_now(cell_trace_fd(run->now.cell), text, sizeof text),
                 room = sizeof where->text - where->bytes;
    memcpy(where->text + where->bytes, text, n < room ? n : room);
    where->bytes += n < room ? n : room;
    return n > 0;
}

/* Where the last stack begins; NULL where there is none. */
static const char *last_stack(const char *text, size_t bytes) {
    const char *found = NULL, *end = text + bytes;
    while ((text = memmem(text, (size_t)(end - text), HEADER, strlen(HEADER)))) {
        text += strlen(HEADER);
        found = text;
    }
    return found;
}

void where_renew(struct run *run) {
    struct outcome_where *where = &run->result.facts.where, now;
    char text[READ_BYTES];
    const size_t n = read_now(cell_trace_fd(run->now.cell), text, sizeof text);
    const char *stack = last_stack(text, n);
    if (!stack)
        return;
    const size_t left = n - (size_t)(stack - text);
    now.bytes = left < sizeof now.text ? left : sizeof now.text;
    memcpy(now.text, stack, now.bytes);
    if (where->bytes == 0 || outcome_where_is_whole(&now))
        *where = now;
}
