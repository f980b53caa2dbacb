/*
 * filter.h - the seccomp policy of cells, as a table and as a program.
 *
 * The table (filter_table.c) is the only truth. A system call that it does not
 * name is answered with ENOSYS, so that libraries fall back. The first row of
 * a call whose test matches decides. Compiled, it is a binary search over the
 * numbers.
 *
 * The filter is installed once, in the keeper of image 0, and every later task
 * inherits it: to install one costs more than everything else about a cell. The few
 * calls that build a cell go to the tracer (SECCOMP_RET_TRACE), so we can make them.
 * While a cell runs it has no tracer, and then Linux answers ENOSYS.
 *
 * Compiled here, because what libseccomp is told of one call has no order, and
 * here the first row holds; the calls' numbers are libseccomp's.
 *
 * See: seccomp(2), seccomp_filter.rst.
 */
#ifndef PETRI_SANDBOX_FILTER_FILTER_H
#define PETRI_SANDBOX_FILTER_FILTER_H

#include <linux/filter.h>
#include <stddef.h>
#include <stdint.h>

enum filter_kind {
    FILTER_ALLOW,
    FILTER_ERRNO,  /* answered with an errno; normal life for libraries */
    FILTER_NOOP,   /* answered with 0 and not done: it is for a machine's sake, and a cell has none */
    FILTER_DENY,   /* the same, but worth telling: forbidden, not just missing */
    FILTER_NOTIFY, /* let through, but told: what tries to reach the network, or makes memory */
    FILTER_TRACE,  /* made only by us in the image's memory, while we trace it; ENOSYS for code of cells */
};

/* Matches where (argument & mask) == value. mask 0 matches always. */
struct filter_test {
    int argument;  /* 0 to 5 */
    uint32_t mask; /* on the low 32 bits: the calls tested take 32-bit arguments */
    uint32_t value;
};

struct filter_row {
    const char *name; /* of the system call */
    enum filter_kind kind;
    int err;
    struct filter_test test;
    const char *why;
};

extern const struct filter_row filter_rows[];
extern const size_t filter_n_rows;

/* In an argument that Linux doesn't look at: the call is one of those that only we make. */
enum { FILTER_OURS = 0x6f757273 };

/* What a filter decides of calls that no row names. */
enum { FILTER_DEFAULT_ERRNO = 38 };

struct filter {
    struct sock_filter *program; /* owned */
    size_t n;
};

/* deny_action: what FILTER_DENY becomes: SECCOMP_RET_ERRNO, or SECCOMP_RET_USER_NOTIF. 0, -ENOMEM, or -E2BIG. */
int filter_compile(uint32_t deny_action, struct filter *ret_filter);
void filter_fini(struct filter *filter);

/* What a program returns for a call: runs it here, installs nothing. For tests. */
uint32_t filter_simulate(const struct filter *filter, uint32_t arch, int number, const uint64_t arguments[6]);

#endif
