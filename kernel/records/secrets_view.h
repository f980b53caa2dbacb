/*
 * secrets_view.h - a text as it is displayed, with the position in the text for each byte.
 *
 * A key may have invisible text in it: colours and other escape sequences,
 * characters without width, a backslash at a line's end, tags and comments of
 * HTML. A view leaves them out. It also decodes escaped characters, of repr() and
 * JSON ("\x1b", "\u200b", "\n") and of HTML ("&#8203;"). A view is made in one
 * pass over the text.
 *
 * See: ECMA-48, 5.4 and 5.6; HTML, 13.2.5 "Tokenization"; protocol/unseen.h.
 */
#ifndef PETRI_SECRETS_VIEW_H
#define PETRI_SECRETS_VIEW_H

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a view does besides leaving out invisible text. */
enum {
    SECRETS_VIEW_HTML = 1 << 0,      /* leaves out tags and comments, decodes references; block tags end lines */
    SECRETS_VIEW_OVERWRITE = 1 << 1, /* backspace and carriage return go back, and the text after them overwrites */
    SECRETS_VIEW_N = 1 << 2,         /* combinations of them */
};

struct secrets_view {
    char *text; /* n bytes; never more than the text has */
    size_t n;
    uint32_t *start, *end; /* for each byte: its range in the text */
};

/*
 * Makes the view of a text with some of the flags above. 1; 0 where it has nothing
 * that other flags, or for 0 the text itself, don't have: then there is none;
 * -ENOMEM, also for texts over 4 GiB.
 */
int secrets_view_make(const char *text, size_t n, unsigned flags, struct secrets_view *ret_view) MUST_CHECK;

/* Frees what secrets_view_make() made; an empty one (all 0) has nothing. */
void secrets_view_fini(struct secrets_view *view);

/* Converts a range of a view, from start to end (exclusive, greater), to one of the text. An empty view (n 0) is
 * the text itself. */
void secrets_view_range(const struct secrets_view *view, size_t *start, size_t *end);

/* Whether something was left out before the byte at at. */
static inline bool secrets_view_gap(const struct secrets_view *view, size_t at) {
    return at > 0 && at < view->n && view->start[at] != view->end[at - 1];
}

#define auto_secrets_view __attribute__((cleanup(secrets_view_fini))) struct secrets_view

#endif
