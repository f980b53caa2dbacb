/*
 * secrets_token.c - finds tokens with the formats of secrets_table.c, also if they go over line ends.
 *
 * A row is tried at one place and takes each run as far as it goes; there is no
 * backtracking. After a match, following lines that look like more of the token
 * are taken too, because otherwise the rest of a folded token would stay. This is
 * a guess, and takes rather too much than too little.
 */

#include "kernel/records/secrets_text.h"

enum {
    TAIL_BYTES_MIN = 4,   /* the shortest last line of a folded token */
    TAIL_LONG_BYTES = 12, /* the same where more text follows on that line */
};

/* The position in a token that is being read. */
struct reading {
    size_t start, at;
    unsigned seen; /* classes of the characters that were read in runs */
    bool lines;    /* it goes over a line end */
};

/* Over one character of a class, and of literals (class 0) the one that is given; over line ends before it, too. */
static bool read_one(const struct secrets_text *text, struct reading *reading, unsigned class, char literal) {
    size_t at = reading->at;
    for (int i = 0; i < 2; i++) {
        unsigned classes = secrets_classes(secrets_byte_at(text, at));
        if (at < text->n && (class ? (classes & class) != 0 : text->at[at] == literal)) {
            reading->lines = reading->lines || at > reading->at;
            reading->seen |= class ? classes : 0;
            reading->at = at + 1;
            return true;
        }
        at = reading->at > reading->start ? secrets_skip_lines(text, at) : at;
    }
    return false;
}

/* A run of at least part->min characters, and where there is a most, of no more, unless something was left out there.
 */
static bool read_run(struct secrets_text *text, struct reading *reading, const struct secrets_part *part, bool last) {
    for (size_t i = 0; i < part->min; i++)
        if (!read_one(text, reading, part->class, '\0'))
            return false;
    if (part->max == 0) {
        reading->at = last ? secrets_long_run_end(text, reading->at, part->class, &reading->seen)
                           : secrets_lines_end(text, reading->at, part->class, &reading->seen);
        return true;
    }
    for (size_t i = part->min; i < part->max && read_one(text, reading, part->class, '\0'); i++)
        ;
    return !(secrets_classes(secrets_byte_at(text, reading->at)) & part->class) ||
           secrets_view_gap(text->view, reading->at);
}

static bool fits_row(struct secrets_text *text, size_t at, const struct secrets_row *row, size_t *ret_end) {
    struct reading reading = {.start = at, .at = at};
    for (size_t i = 0; i < SECRETS_PARTS; i++) {
        const struct secrets_part *part = &row->parts[i];
        bool last = i + 1 == SECRETS_PARTS || (!row->parts[i + 1].literal && row->parts[i + 1].min == 0);
        for (const char *c = part->literal; c && *c; c++)
            if (!read_one(text, &reading, 0, *c))
                return false;
        if (!part->literal && part->min > 0 && !read_run(text, &reading, part, last))
            return false;
    }
    *ret_end = reading.at;
    /* Short words on lines of their own are no token. */
    return (reading.seen & row->needs) == row->needs &&
           (!reading.lines || (reading.seen & (SECRETS_DIGIT | SECRETS_UPPER)));
}

/*
 * Whether the piece of a line looks like more of a token: digits and letters, or
 * a capital behind a small letter, long or up to the end of the line; or as wide
 * as the piece before, as where text is folded.
 */
static bool is_tail(const struct secrets_text *text, size_t start, size_t end, size_t width) {
    unsigned seen = 0;
    bool mixed = end - start == width;
    bool whole = end == text->n || strchr("\r\n\"'<\\", text->at[end]) != NULL;
    if (!mixed && end - start < (whole ? TAIL_BYTES_MIN : TAIL_LONG_BYTES))
        return false;
    for (size_t i = start; i < end && !mixed; i++) {
        unsigned now = secrets_classes(secrets_byte_at(text, i));
        mixed = (now & SECRETS_UPPER) != 0 && (seen & SECRETS_LOWER) != 0;
        seen |= now;
    }
    return mixed || ((seen & SECRETS_DIGIT) != 0 && (seen & (SECRETS_LOWER | SECRETS_UPPER)) != 0);
}

/* Over the lines on which a token of the class, which begins at start, goes on that would be whole without them. */
static size_t tail_end(struct secrets_text *text, size_t start, size_t at, unsigned class) {
    size_t line = at;
    while (line > start && (secrets_classes(secrets_byte_at(text, line - 1)) & class) != 0)
        line--;
    for (;;) {
        unsigned ignored = 0;
        size_t next = secrets_skip_lines(text, at);
        size_t end = next > at ? secrets_long_run_end(text, next, class, &ignored) : next;
        if (end <= next || next == at || !is_tail(text, next, end, at - line))
            return at;
        line = next;
        at = end;
    }
}

/* The class of what a row's tokens may go on with, however long they are already; 0 where their length is known. */
static unsigned tail_class(const struct secrets_row *row) {
    static const unsigned url = SECRETS_DIGIT | SECRETS_LOWER | SECRETS_UPPER | SECRETS_UNDERSCORE | SECRETS_DASH;
    size_t i = SECRETS_PARTS;
    while (i > 1 && !row->parts[i - 1].literal && row->parts[i - 1].min == 0)
        i--;
    const struct secrets_part *last = &row->parts[i - 1];
    return last->literal ? url : last->max == 0 ? last->class : 0;
}

bool secrets_find_token(struct secrets_text *text, size_t at, struct secrets_hit *hit) {
    unsigned seen = 0;
    for (size_t i = 0; text->first[(unsigned char)text->at[at]] && i < secrets_n_rows; i++) {
        size_t end;
        const char *first = secrets_rows[i].parts[0].literal;
        if (first[0] != text->at[at] || !fits_row(text, at, &secrets_rows[i], &end))
            continue;
        unsigned class = tail_class(&secrets_rows[i]);
        /* What ends in a literal goes on to the end of its signature, which may be missing. */
        if (text->at[end - 1] == '.')
            end = secrets_lines_end(text, secrets_skip_lines(text, end), class, &seen);
        *hit = (struct secrets_hit){at, class ? tail_end(text, at, end, class) : end, secrets_rows[i].kind};
        return true;
    }
    return false;
}
