/*
 * filter.c - compiling the table into a program for seccomp.
 *
 * The rows of each call are collected and sorted by the call's number; neighbours
 * with the same answer become one segment, and so do the numbers that no row
 * names. A binary search over the segments is emitted, so that a call costs some
 * twenty instructions of BPF, whichever it is. Calls of another machine and of the
 * x32 ABI end the process before the search.
 */
#define _GNU_SOURCE
#include "filter.h"

#include "base/cleanup.h"
#include "sandbox/sandbox.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(FILTER_DEFAULT_ERRNO == ENOSYS, "the header has it as a number");

enum { MAX_INSTRUCTIONS = 4096, X32_BIT = 0x40000000 };

/* The rows of one system call: count rows from first on. */
struct call {
    int number;
    size_t first, count;
};

/* A run of numbers with one answer; row SIZE_MAX is the default. */
struct segment {
    uint32_t low;
    size_t first, count;
};

struct builder {
    struct filter filter;
    size_t size;
    uint32_t deny_action;
    int err;
};

static void emit(struct builder *b, uint16_t code, uint8_t jt, uint8_t jf, uint32_t k) {
    if (b->filter.n == MAX_INSTRUCTIONS)
        b->err = -E2BIG;
    if (!b->err && b->filter.n == b->size) {
        size_t size = b->size ? b->size * 2 : 256;
        struct sock_filter *program = realloc(b->filter.program, size * sizeof *program);
        if (program) {
            b->filter.program = program;
            b->size = size;
        } else {
            b->err = -ENOMEM;
        }
    }
    if (!b->err)
        b->filter.program[b->filter.n++] = (struct sock_filter){code, jt, jf, k};
}

static uint32_t verdict(const struct builder *b, const struct filter_row *row) {
    switch (row->kind) {
    case FILTER_ALLOW:
        return SECCOMP_RET_ALLOW;
    case FILTER_ERRNO:
    case FILTER_NOOP: /* the errno is 0 */
        return SECCOMP_RET_ERRNO | (uint32_t)row->err;
    case FILTER_NOTIFY:
        return b->deny_action == SECCOMP_RET_ERRNO ? SECCOMP_RET_ALLOW : b->deny_action;
    case FILTER_TRACE:
        return SECCOMP_RET_TRACE;
    case FILTER_DENY:
        return b->deny_action == SECCOMP_RET_ERRNO ? SECCOMP_RET_ERRNO | (uint32_t)row->err : b->deny_action;
    }
    return SECCOMP_RET_KILL_PROCESS;
}

static void emit_row(struct builder *b, const struct filter_row *row) {
    if (row->test.mask) {
        uint32_t offset =
            (uint32_t)(offsetof(struct seccomp_data, args) + sizeof(uint64_t) * (size_t)row->test.argument);
        emit(b, BPF_LD | BPF_W | BPF_ABS, 0, 0, offset); /* the low half: x86-64 is little-endian */
        emit(b, BPF_ALU | BPF_AND | BPF_K, 0, 0, row->test.mask);
        emit(b, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, row->test.value);
    }
    emit(b, BPF_RET | BPF_K, 0, 0, verdict(b, row));
}

static void emit_segment(struct builder *b, const struct segment *segment) {
    for (size_t i = 0; i < segment->count; i++)
        emit_row(b, &filter_rows[segment->first + i]);
    if (segment->count == 0)
        emit(b, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | FILTER_DEFAULT_ERRNO);
}

/* Binary search: left of the middle falls through, right of it is jumped to. */
static void emit_search(struct builder *b, const struct segment *segments, size_t n) {
    if (n == 1) {
        emit_segment(b, segments);
        return;
    }
    size_t middle = n / 2;
    emit(b, BPF_JMP | BPF_JGE | BPF_K, 0, 1, segments[middle].low);
    size_t jump = b->filter.n;
    emit(b, BPF_JMP | BPF_JA, 0, 0, 0);
    emit_search(b, segments, middle);
    if (!b->err)
        b->filter.program[jump].k = (uint32_t)(b->filter.n - jump - 1);
    emit_search(b, segments + middle, n - middle);
}

static int by_number(const void *a, const void *b) {
    int x = ((const struct call *)a)->number, y = ((const struct call *)b)->number;
    return (x > y) - (x < y);
}

/* The calls that the rows name, in order of their numbers; those this libseccomp does not know are left out. */
static size_t collect(struct call *calls) {
    size_t n = 0;
    for (size_t i = 0; i < filter_n_rows; i++) {
        if (n > 0 && i > 0 && strcmp(filter_rows[i].name, filter_rows[i - 1].name) == 0) {
            if (calls[n - 1].first + calls[n - 1].count == i)
                calls[n - 1].count++;
            continue;
        }
        int number = seccomp_syscall_resolve_name_arch(SCMP_ARCH_X86_64, filter_rows[i].name);
        if (number >= 0)
            calls[n++] = (struct call){.number = number, .first = i, .count = 1};
    }
    qsort(calls, n, sizeof *calls, by_number);
    return n;
}

static bool same_answer(const struct segment *segment, const struct call *call) {
    const struct filter_row *a = &filter_rows[segment->first], *b = &filter_rows[call->first];
    return segment->count == 1 && call->count == 1 && !a->test.mask && !b->test.mask && a->kind == b->kind &&
           a->err == b->err;
}

static size_t make_segments(const struct call *calls, size_t n, struct segment *segments) {
    size_t count = 0;
    uint32_t next = 0; /* the first number that no segment covers yet */
    for (size_t i = 0; i < n; i++) {
        uint32_t number = (uint32_t)calls[i].number;
        if (number > next || count == 0)
            if (number > 0)
                segments[count++] = (struct segment){.low = next};
        if (count == 0 || segments[count - 1].count == 0 || !same_answer(&segments[count - 1], &calls[i]))
            segments[count++] = (struct segment){number, calls[i].first, calls[i].count};
        next = number + 1;
    }
    segments[count++] = (struct segment){.low = next};
    return count;
}

int filter_compile(uint32_t deny_action, struct filter *ret_filter) {
    auto_free struct call *calls = calloc(filter_n_rows, sizeof *calls);
    auto_free struct segment *segments = calloc(2 * filter_n_rows + 1, sizeof *segments);
    struct builder b = {.deny_action = deny_action};
    if (!calls || !segments)
        return -ENOMEM;
    size_t n = make_segments(calls, collect(calls), segments);
    emit(&b, BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, arch));
    emit(&b, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, AUDIT_ARCH_X86_64);
    emit(&b, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_PROCESS);
    emit(&b, BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr));
    emit(&b, BPF_JMP | BPF_JGE | BPF_K, 0, 1, X32_BIT);
    emit(&b, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_PROCESS);
    emit_search(&b, segments, n);
    if (b.err)
        filter_fini(&b.filter);
    else
        *ret_filter = b.filter;
    return b.err;
}

void filter_fini(struct filter *filter) {
    free(filter->program);
    *filter = (struct filter){0};
}

char *sandbox_policy(void) {
    char *text = NULL;
    size_t n = 0;
    FILE *file = open_memstream(&text, &n);
    if (!file)
        return NULL;
    for (size_t i = 0; i < filter_n_rows; i++) {
        const struct filter_row *row = &filter_rows[i];
        fprintf(file, "%s %d %d %d %x %x\n", row->name, (int)row->kind, row->err, row->test.argument, row->test.mask,
                row->test.value);
    }
    fprintf(file, "otherwise %d\n", (int)FILTER_DEFAULT_ERRNO);
    if (fclose(file) == 0)
        return text;
    free(text);
    return NULL;
}

static uint32_t load(const struct seccomp_data *data, uint32_t offset) {
    uint32_t word;
    memcpy(&word, (const char *)data + offset, sizeof word);
    return word;
}

uint32_t filter_simulate(const struct filter *filter, uint32_t arch, int number, const uint64_t arguments[6]) {
    struct seccomp_data data = {.nr = number, .arch = arch};
    uint32_t a = 0;
    memcpy(data.args, arguments, sizeof data.args);
    for (size_t pc = 0; pc < filter->n; pc++) {
        const struct sock_filter *i = &filter->program[pc];
        switch (i->code) {
        case BPF_LD | BPF_W | BPF_ABS:
            a = load(&data, i->k);
            break;
        case BPF_ALU | BPF_AND | BPF_K:
            a &= i->k;
            break;
        case BPF_JMP | BPF_JA:
            pc += i->k;
            break;
        case BPF_JMP | BPF_JEQ | BPF_K:
            pc += a == i->k ? i->jt : i->jf;
            break;
        case BPF_JMP | BPF_JGE | BPF_K:
            pc += a >= i->k ? i->jt : i->jf;
            break;
        case BPF_RET | BPF_K:
            return i->k;
        default:
            return SECCOMP_RET_KILL_PROCESS;
        }
    }
    return SECCOMP_RET_KILL_PROCESS;
}
