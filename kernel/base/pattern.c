/*
 * pattern.c - applies PCRE2 patterns to one window of the text after the other.
 *
 * A window is a line, or a piece of a long line that overlaps the next piece by
 * half, so that a match of up to half a window is always whole in one of them. A
 * match at the end of a piece may go on after it; then the next window begins
 * where the match does. The match context bounds backtracking and memory of each
 * call. The clock is only checked between windows, so a pass may be one window
 * late.
 *
 * Patterns match bytes, without UTF mode, because the text may not be UTF-8.
 */

#define PCRE2_CODE_UNIT_WIDTH 8
#include "pattern.h"

#include "base/cleanup.h"
#include "kernel/base/clock.h"

#include <errno.h>
#include <pcre2.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum {
    STEPS_MAX = 2000,   /* of backtracking, from one start */
    HEAP_KIB_MAX = 256, /* for one match */
    OPTIONS = PCRE2_NEVER_BACKSLASH_C | PCRE2_NEVER_UTF | PCRE2_NEVER_UCP,
};

struct patterns {
    pcre2_match_context *bounds;
    pcre2_match_data *match;
    size_t n;
    pcre2_code *codes[PATTERN_MAX];
};

static pcre2_code *compile(const char *text, struct error *ret_error) {
    int error = 0;
    size_t at = 0;
    char said[200] = "";
    if (strlen(text) == 0 || strlen(text) > PATTERN_BYTES_MAX) {
        error_set(ret_error, EINVAL, "a pattern has between 1 and %d bytes", PATTERN_BYTES_MAX);
        return NULL;
    }
    pcre2_code *code = pcre2_compile((PCRE2_SPTR)text, strlen(text), OPTIONS, &error, &at, NULL);
    if (!code) {
        pcre2_get_error_message(error, (PCRE2_UCHAR *)said, sizeof said);
        error_set(ret_error, EINVAL, "%s at byte %zu of the pattern", said, at);
    }
    return code;
}

int pattern_check(const char *text, struct error *ret_error) {
    pcre2_code *code = compile(text, ret_error);
    pcre2_code_free(code);
    return code ? 0 : -EINVAL;
}

void patterns_destroy(struct patterns *patterns) {
    if (!patterns)
        return;
    for (size_t i = 0; i < patterns->n; i++)
        pcre2_code_free(patterns->codes[i]);
    pcre2_match_data_free(patterns->match);
    pcre2_match_context_free(patterns->bounds);
    free(patterns);
}

static int add_all(struct patterns *patterns, const json_t *texts) {
    size_t i;
    json_t *text;
    json_array_foreach(texts, i, text) {
        pcre2_code *code =
            patterns->n < PATTERN_MAX && json_is_string(text) ? compile(json_string_value(text), NULL) : NULL;
        if (!code)
            return -EINVAL;
        patterns->codes[patterns->n++] = code;
    }
    return 0;
}

int patterns_create(const json_t *texts, struct patterns **ret_patterns) {
    struct patterns *patterns = calloc(1, sizeof *patterns);
    if (!patterns)
        return -ENOMEM;
    patterns->bounds = pcre2_match_context_create(NULL);
    patterns->match = pcre2_match_data_create(1, NULL);
    int r = patterns->bounds && patterns->match ? add_all(patterns, texts) : -ENOMEM;
    if (r < 0) {
        patterns_destroy(patterns);
        return r;
    }
    pcre2_set_match_limit(patterns->bounds, STEPS_MAX);
    pcre2_set_heap_limit(patterns->bounds, HEAP_KIB_MAX);
    *ret_patterns = patterns;
    return 0;
}

size_t patterns_n(const struct patterns *patterns) {
    return patterns ? patterns->n : 0;
}

struct work_time pattern_time(void) {
    return work_time_for(PATTERN_PASS_MS * CLOCK_MS);
}

/* A line, or a piece of a long one. */
struct window {
    size_t start, end;
    bool first, last; /* of its line */
};

static struct window window_at(const struct pattern_pass *pass) {
    const char *from = pass->text + pass->at;
    const char *newline = memchr(from, '\n', pass->bytes - pass->at);
    size_t line_end = newline ? (size_t)(newline - pass->text) : pass->bytes;
    struct window window = {.start = pass->at, .end = line_end};
    window.first = pass->at == 0 || pass->text[pass->at - 1] == '\n';
    if (window.end - window.start > PATTERN_WINDOW_BYTES)
        window.end = window.start + PATTERN_WINDOW_BYTES;
    window.last = window.end == line_end;
    return window;
}

/* 1 with the match's position in the text, 0, or -ETIME. */
static int match_in(const struct patterns *patterns, size_t which, const struct pattern_pass *pass,
                    const struct window *window, size_t *ret_start, size_t *ret_end) {
    uint32_t options = PCRE2_NOTEMPTY | (window->first ? 0 : PCRE2_NOTBOL) | (window->last ? 0 : PCRE2_NOTEOL);
    int r = pcre2_match(patterns->codes[which], (PCRE2_SPTR)pass->text + window->start, window->end - window->start, 0,
                        options, patterns->match, patterns->bounds);
    if (r == PCRE2_ERROR_NOMATCH)
        return 0;
    if (r < 0)
        return -ETIME;
    const size_t *place = pcre2_get_ovector_pointer(patterns->match);
    if (place[1] <= place[0])
        return 0; /* \K can make a match end before it begins */
    *ret_start = window->start + place[0];
    *ret_end = window->start + place[1];
    return 1;
}

int patterns_next(const struct patterns *patterns, size_t which, struct pattern_pass *pass, size_t *ret_start,
                  size_t *ret_end) {
    while (pass->at < pass->bytes) {
        size_t start, end;
        struct window window = window_at(pass);
        if (work_time_over(pass->time))
            return -ETIME;
        int r = match_in(patterns, which, pass, &window, &start, &end);
        if (r < 0)
            return r;
        bool cut = r > 0 && end == window.end && !window.last && start > window.start;
        if (cut) {
            pass->at = start; /* it may go on after the window */
        } else if (r > 0) {
            pass->at = end;
            *ret_start = start;
            *ret_end = end;
            return 1;
        } else {
            pass->at = window.last ? window.end + 1 : window.start + PATTERN_WINDOW_BYTES / 2;
        }
    }
    pass->at = pass->bytes;
    return 0;
}
