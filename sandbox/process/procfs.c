/*
 * procfs.c - takes what it expects from the front of a text, and nothing else.
 *
 * Each parser takes pieces off a text (pointer and length); the first that does
 * not fit makes it fail, with the results untouched. Nothing looks beyond the
 * length, and nothing depends on the order of lines.
 */

#include "procfs.h"

#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>

#define DELETED " (deleted)"

enum { NS_PER_S = 1000000000 };

static bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

static void skip(struct procfs_text *text, size_t n) {
    text->at += n;
    text->n -= n;
}

static void skip_blanks(struct procfs_text *text) {
    while (text->n > 0 && is_blank(text->at[0]))
        skip(text, 1);
}

static bool begins_with(struct procfs_text text, const char *with) {
    const size_t n = strlen(with);
    return text.n >= n && memcmp(text.at, with, n) == 0;
}

static bool ends_with(struct procfs_text text, const char *with) {
    const size_t n = strlen(with);
    return text.n >= n && memcmp(text.at + text.n - n, with, n) == 0;
}

static bool is(struct procfs_text name, const char *what) {
    return name.n == strlen(what) && begins_with(name, what);
}

/* Takes what a text must go on with, blanks in front of it aside. */
static bool take(struct procfs_text *text, const char *what) {
    struct procfs_text rest = *text;
    skip_blanks(&rest);
    if (!begins_with(rest, what))
        return false;
    skip(&rest, strlen(what));
    *text = rest;
    return true;
}

/* The value of a digit, or more than any has. */
static unsigned digit_of(char c) {
    if (c >= '0' && c <= '9')
        return (unsigned)(c - '0');
    return c >= 'a' && c <= 'f' ? 10 + (unsigned)(c - 'a') : UINT_MAX;
}

/* Takes the digits that a text begins with; there must be one, and their number must fit. */
static bool take_digits(struct procfs_text *text, unsigned base, uint64_t *ret) {
    uint64_t number = 0;
    size_t n = 0;
    unsigned digit;
    for (; n < text->n && (digit = digit_of(text->at[n])) < base; n++)
        if (__builtin_mul_overflow(number, (uint64_t)base, &number) ||
            __builtin_add_overflow(number, (uint64_t)digit, &number))
            return false;
    if (n == 0)
        return false;
    skip(text, n);
    *ret = number;
    return true;
}

/* The same for a word, which ends with a blank or the text. */
static bool take_number(struct procfs_text *text, unsigned base, uint64_t *ret) {
    struct procfs_text rest = *text;
    uint64_t number;
    skip_blanks(&rest);
    if (!take_digits(&rest, base, &number) || (rest.n > 0 && !is_blank(rest.at[0])))
        return false;
    *text = rest;
    *ret = number;
    return true;
}

static bool take_signed(struct procfs_text *text, int64_t *ret) {
    struct procfs_text rest = *text;
    const bool negative = take(&rest, "-");
    uint64_t size;
    if ((negative && rest.n > 0 && is_blank(rest.at[0])) || !take_number(&rest, 10, &size) ||
        size > (uint64_t)INT64_MAX)
        return false;
    *text = rest;
    *ret = negative ? -(int64_t)size : (int64_t)size;
    return true;
}

/* Takes a word off a line. */
static struct procfs_text take_word(struct procfs_text *line) {
    struct procfs_text word = *line;
    const char *end = line->n ? memchr(line->at, ' ', line->n) : NULL;
    if (end)
        word.n = (size_t)(end - line->at);
    skip(line, end ? word.n + 1 : word.n);
    return word;
}

bool procfs_next_line(struct procfs_text *text, struct procfs_text *ret_line) {
    const char *end = text->n ? memchr(text->at, '\n', text->n) : NULL;
    if (!end)
        return false;
    *ret_line = (struct procfs_text){text->at, (size_t)(end - text->at)};
    skip(text, ret_line->n + 1);
    return true;
}

bool procfs_get_value(struct procfs_text line, const char *name, struct procfs_text *ret_value) {
    const size_t n = strlen(name);
    if (!begins_with(line, name) || line.n == n || line.at[n] != ':')
        return false;
    skip(&line, n + 1);
    skip_blanks(&line);
    *ret_value = line;
    return true;
}

bool procfs_find(struct procfs_text text, const char *name, struct procfs_text *ret_value) {
    struct procfs_text line;
    while (procfs_next_line(&text, &line))
        if (procfs_get_value(line, name, ret_value))
            return true;
    return false;
}

bool procfs_find_number(struct procfs_text text, const char *name, unsigned base, uint64_t *ret_number) {
    struct procfs_text value;
    return procfs_find(text, name, &value) && take_number(&value, base, ret_number);
}

bool procfs_find_signed(struct procfs_text text, const char *name, int64_t *ret_number) {
    struct procfs_text value;
    return procfs_find(text, name, &value) && take_signed(&value, ret_number);
}

bool procfs_find_bytes(struct procfs_text text, const char *name, uint64_t *ret_bytes) {
    struct procfs_text value;
    uint64_t number;
    if (!procfs_find(text, name, &value) || !take_number(&value, 10, &number) || !take(&value, "kB") || value.n > 0 ||
        __builtin_mul_overflow(number, (uint64_t)1024, &number))
        return false;
    *ret_bytes = number;
    return true;
}

bool procfs_find_time(struct procfs_text text, const char *name, int64_t *ret_s, int64_t *ret_ns) {
    struct procfs_text value;
    uint64_t s, ns;
    if (!procfs_find(text, name, &value) || !take(&value, "(") || !take_digits(&value, 10, &s) || !take(&value, ","))
        return false;
    skip_blanks(&value);
    if (!take_digits(&value, 10, &ns) || !take(&value, ")") || value.n > 0 || s > (uint64_t)INT64_MAX || ns >= NS_PER_S)
        return false;
    *ret_s = (int64_t)s;
    *ret_ns = (int64_t)ns;
    return true;
}

/* The last number of a value that has so many at least. */
static bool find_id(struct procfs_text text, const char *name, size_t least, pid_t *ret_id) {
    struct procfs_text value;
    uint64_t id = 0;
    size_t n = 0;
    if (!procfs_find(text, name, &value))
        return false;
    for (; value.n > 0 && take_number(&value, 10, &id); n++)
        skip_blanks(&value);
    if (value.n > 0 || n < least || id == 0 || id > INT_MAX)
        return false;
    *ret_id = (pid_t)id;
    return true;
}

bool procfs_find_last_id(struct procfs_text text, const char *name, pid_t *ret_id) {
    return find_id(text, name, 1, ret_id);
}

bool procfs_find_inner_id(struct procfs_text text, const char *name, pid_t *ret_id) {
    return find_id(text, name, 2, ret_id);
}

bool procfs_has_word(struct procfs_text value, const char *word) {
    while (value.n > 0)
        if (is(take_word(&value), word))
            return true;
    return false;
}

bool procfs_get_number(struct procfs_text text, size_t index, uint64_t *ret_number) {
    struct procfs_text line;
    uint64_t number;
    if (!procfs_next_line(&text, &line))
        return false;
    for (size_t i = 0; take_number(&line, 10, &number); i++)
        if (i == index) {
            *ret_number = number;
            return true;
        }
    return false;
}

bool procfs_parse_id(const char *name, int *ret_id) {
    struct procfs_text text = {name, strlen(name)};
    uint64_t id;
    if (!take_digits(&text, 10, &id) || text.n > 0 || id > INT_MAX)
        return false;
    *ret_id = (int)id;
    return true;
}

/* The fields behind the name: of those in front of the times one is a letter, and some may be negative. */
enum { FIELDS_TO_FAULTS = 6, FIELDS_TO_TIMES = 2, FIELDS_TO_THREADS = 2 };

static bool skip_fields(struct procfs_text *text, int n) {
    int64_t ignored;
    while (n > 0 && take_signed(text, &ignored))
        n--;
    return n == 0;
}

/* The name ends with the last bracket, whatever is in it: behind it are only numbers, and a newline at the end. */
bool procfs_parse_stat(struct procfs_text text, struct procfs_stat *ret) {
    struct procfs_stat stat;
    uint64_t pid;
    const char *name_end = text.n ? memrchr(text.at, ')', text.n) : NULL;
    struct procfs_text rest = {name_end, name_end ? (size_t)(text.at + text.n - name_end) : 0}, line;
    if (!name_end || !take_digits(&text, 10, &pid) || !begins_with(text, " (") || !procfs_next_line(&rest, &line) ||
        rest.n > 0)
        return false;
    if (line.n < 4 || line.at[1] != ' ' || line.at[3] != ' ')
        return false;
    stat.state = line.at[2];
    skip(&line, 3);
    if (!skip_fields(&line, FIELDS_TO_FAULTS) || !take_number(&line, 10, &stat.faults) ||
        !take_number(&line, 10, &stat.child_faults) || !skip_fields(&line, FIELDS_TO_TIMES) ||
        !take_number(&line, 10, &stat.user_ticks) || !take_number(&line, 10, &stat.system_ticks) ||
        !take_number(&line, 10, &stat.children_user_ticks) || !take_number(&line, 10, &stat.children_system_ticks) ||
        !skip_fields(&line, FIELDS_TO_THREADS) || !take_number(&line, 10, &stat.threads))
        return false;
    *ret = stat;
    return true;
}

/* One letter of a mapping's mode, or a dash. */
static bool take_mode(char c, char letter, int value, int *protection) {
    *protection |= c == letter ? value : 0;
    return c == letter || c == '-';
}

static bool take_modes(struct procfs_text *line, struct procfs_mapping *mapping) {
    if (line->n < 6 || line->at[0] != ' ' || line->at[5] != ' ')
        return false;
    const char *at = line->at + 1;
    mapping->protection = 0;
    mapping->shared = at[3] == 's';
    skip(line, 5);
    return take_mode(at[0], 'r', PROT_READ, &mapping->protection) &&
           take_mode(at[1], 'w', PROT_WRITE, &mapping->protection) &&
           take_mode(at[2], 'x', PROT_EXEC, &mapping->protection) && (at[3] == 's' || at[3] == 'p');
}

static bool take_device(struct procfs_text *line, dev_t *ret) {
    uint64_t major, minor;
    skip_blanks(line);
    if (!take_digits(line, 16, &major) || line->n == 0 || line->at[0] != ':' || !take(line, ":") ||
        !take_number(line, 16, &minor) || major > UINT_MAX || minor > UINT_MAX)
        return false;
    *ret = makedev((unsigned)major, (unsigned)minor);
    return true;
}

bool procfs_parse_mapping(struct procfs_text line, struct procfs_mapping *ret) {
    struct procfs_mapping mapping;
    if (!take_digits(&line, 16, &mapping.start) || line.n == 0 || line.at[0] != '-')
        return false;
    skip(&line, 1);
    if (!take_digits(&line, 16, &mapping.end) || !take_modes(&line, &mapping) ||
        !take_number(&line, 16, &mapping.offset) || !take_device(&line, &mapping.device) ||
        !take_number(&line, 10, &mapping.inode))
        return false;
    uint64_t end_in_file;
    if (mapping.start >= mapping.end || (mapping.start | mapping.end | mapping.offset) % PROCFS_PAGE ||
        __builtin_add_overflow(mapping.offset, mapping.end - mapping.start, &end_in_file))
        return false;
    skip_blanks(&line);
    mapping.name = line;
    *ret = mapping;
    return true;
}

bool procfs_is_deleted(struct procfs_text name) {
    return ends_with(name, DELETED);
}

bool procfs_is_watch(struct procfs_text line) {
    return begins_with(line, "tfd:");
}

bool procfs_parse_watch(struct procfs_text line, struct procfs_watch *ret) {
    uint64_t fd, events, data, inode;
    int64_t position;
    if (!take(&line, "tfd:") || !take_number(&line, 10, &fd) || !take(&line, "events:") ||
        !take_number(&line, 16, &events) || !take(&line, "data:") || !take_number(&line, 16, &data) ||
        !take(&line, "pos:") || !take_signed(&line, &position) || !take(&line, "ino:") ||
        !take_number(&line, 16, &inode) || fd > INT_MAX || events > UINT32_MAX)
        return false;
    *ret = (struct procfs_watch){.fd = (int)fd, .events = (uint32_t)events, .data = data, .inode = inode};
    return true;
}

/* Takes a byte off a word: Linux writes blanks, newlines and backslashes as a backslash and three octal digits. */
static bool take_escaped(struct procfs_text *word, char *ret) {
    unsigned value = 0;
    if (word->at[0] != '\\') {
        *ret = word->at[0];
        skip(word, 1);
        return *ret != 0;
    }
    for (size_t i = 1; i <= 3; i++) {
        const unsigned digit = i < word->n ? digit_of(word->at[i]) : UINT_MAX;
        if (digit >= 8)
            return false;
        value = 8 * value + digit;
    }
    skip(word, 4);
    *ret = (char)value;
    return value > 0 && value <= UCHAR_MAX;
}

bool procfs_parse_mount_point(struct procfs_text line, char *ret_path, size_t size) {
    enum { IN_FRONT = 4 }; /* ids, the device, the root */
    for (int i = 0; i < IN_FRONT; i++)
        if (take_word(&line).n == 0)
            return false;
    struct procfs_text word = take_word(&line), rest = word;
    char byte;
    size_t n = 0;
    for (; rest.n > 0; n++)
        if (!take_escaped(&rest, &byte))
            return false;
    if (n == 0 || n >= size || word.at[0] != '/')
        return false;
    for (n = 0; word.n > 0 && take_escaped(&word, &byte); n++)
        ret_path[n] = byte;
    ret_path[n] = 0;
    return true;
}

bool procfs_read_ids(struct procfs_ids *reader, struct procfs_text piece, pid_t *ids, size_t max, size_t *n) {
    for (; piece.n > 0; skip(&piece, 1)) {
        const unsigned digit = digit_of(piece.at[0]);
        if (digit < 10) {
            reader->id = reader->id * 10 + digit;
            reader->inside = true;
            if (reader->id > INT_MAX)
                return false;
            continue;
        }
        if (!is_blank(piece.at[0]) && piece.at[0] != '\n')
            return false;
        if (reader->inside && reader->id > 0 && *n < max)
            ids[(*n)++] = (pid_t)reader->id;
        *reader = (struct procfs_ids){0};
    }
    return true;
}
