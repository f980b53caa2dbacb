/*
 * secrets_view.h - a text as people see it and as a copy of it reads, and where each byte of that stands in the text.
 *
 * Inside a key there may be what is not seen: colours and other escape sequences,
 * characters without width, a line that goes on behind a backslash, tags and
 * comments of HTML. A view leaves them out. It also reads characters that are
 * spelled, as repr() and JSON do with what is not seen ("\x1b", "\u200b", "\n"),
 * and HTML with all ("&#8203;"). In each view a text is read once, from its
 * beginning to its end.
 *
 * See: ECMA-48, 5.4 and 5.6; HTML, 13.2.5 "Tokenization"; protocol/unseen.h.
 */
#ifndef PETRI_SECRETS_VIEW_H
#define PETRI_SECRETS_VIEW_H

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a view does beside leaving out what is not seen. */
enum {
    SECRETS_VIEW_HTML = 1 << 0,      /* no tags, no comments, references are characters; what begins a line ends one */
    SECRETS_VIEW_OVERWRITE = 1 << 1, /* backspace and carriage return go back, and what follows takes the place */
    SECRETS_VIEW_N = 1 << 2,         /* combinations of them */
};

struct secrets_view {
    char *text; /* n bytes; never more than the text has */
    size_t n;
    uint32_t *start, *end; /* of each byte: what it stands for in the text */
};

/*
 * Makes the view of a text with some of the flags above. 1; 0 where it has nothing
 * that other flags, or for 0 the text itself, don't have: then there is none;
 * -ENOMEM, also for texts over 4 GiB.
 */
int secrets_view_make(const char *text, size_t n, unsigned flags, struct secrets_view *ret_view) MUST_CHECK;

/* Frees what secrets_view_make() made; an empty one (all 0) has nothing. */
void secrets_view_fini(struct secrets_view *view);

/* What the bytes from start to end (not included, greater) of a view stand for. Without a view (n 0) the text is meant.
 */
void secrets_view_range(const struct secrets_view *view, size_t *start, size_t *end);

/* Whether something was left out before the byte at at. */
static inline bool secrets_view_gap(const struct secrets_view *view, size_t at) {
    return at > 0 && at < view->n && view->start[at] != view->end[at - 1];
}

#define auto_secrets_view __attribute__((cleanup(secrets_view_fini))) struct secrets_view

#endif
