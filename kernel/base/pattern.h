/*
 * pattern.h - the operator's regular expressions, applied to text that may be hostile.
 *
 * PCRE2 is used because its matches can be bounded, and POSIX regexec() has no
 * bounds. A pattern is applied to one line at a time, in windows of
 * PATTERN_WINDOW_BYTES; backtracking from each start is bounded, and one pass
 * over a text has PATTERN_PASS_MS of the processor. A pass that runs out of time says so,
 * so that the caller can refuse the rest of the text.
 *
 * See: pcre2api(3), pcre2_set_match_limit(3).
 */
#ifndef PETRI_PATTERN_H
#define PETRI_PATTERN_H

#include "base/cleanup.h"
#include "base/error.h"
#include "kernel/base/work_time.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PATTERN_MAX = 64,            /* patterns of one kind */
    PATTERN_BYTES_MAX = 1000,    /* of one pattern */
    PATTERN_WINDOW_BYTES = 8192, /* a match of up to half of it is always found */
    PATTERN_PASS_MS = 100,       /* of the processor, for all patterns over one text */
};

struct patterns;

/* Whether text is a pattern. 0, or -EINVAL with a clause of what is wrong in ret_error. */
int pattern_check(const char *text, struct error *ret_error) MUST_CHECK;

/* texts: an array of strings that pattern_check() has accepted, or NULL for none; borrowed for the call.
 * ret_patterns is the caller's: patterns_destroy(). 0, -EINVAL or -ENOMEM. */
int patterns_create(const json_t *texts, struct patterns **ret_patterns) MUST_CHECK;
void patterns_destroy(struct patterns *patterns);

/* How many there are; NULL has none. */
size_t patterns_n(const struct patterns *patterns);

/* One pass over a text with one pattern. */
struct pattern_pass {
    const char *text; /* borrowed */
    size_t bytes;
    size_t at;              /* where to continue */
    struct work_time *time; /* pattern_time(), borrowed */
};

struct work_time pattern_time(void);

/*
 * Finds the next match that is not empty, from pass->at on, and sets pass->at
 * after it. 1 with ret_start and ret_end (offsets in the text); 0 where there is
 * no other match; -ETIME where the bounds were reached: the text after pass->at
 * was not searched.
 */
int patterns_next(const struct patterns *patterns, size_t which, struct pattern_pass *pass, size_t *ret_start,
                  size_t *ret_end) MUST_CHECK;

#endif
