/*
 * limits_change.c - reads limits in three forms, all of which end in set().
 *
 * Only set() compares with the ceiling and with what the asker may change, so the
 * same rules hold for every form. A first line is recognised by its first word,
 * before IPython gets the code, and is made a comment, so that lines keep their
 * numbers in tracebacks. Where a cell magic follows, the line is removed instead,
 * with those above it, because a cell magic has to come first. Blank lines and
 * comments may stand above it.
 */

#include "limits_change.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    enum limit_unit unit;
    const char *suffix;
    int64_t factor;
} suffixes[] = {
    {UNIT_MS, "ms", 1},
    {UNIT_MS, "s", 1000},
    {UNIT_MS, "m", INT64_C(60000)},
    {UNIT_MS, "h", INT64_C(3600000)},
    {UNIT_BYTES, "", 1},
    {UNIT_BYTES, "B", 1},
    {UNIT_BYTES, "K", 1 << 10},
    {UNIT_BYTES, "KB", 1 << 10},
    {UNIT_BYTES, "KiB", 1 << 10},
    {UNIT_BYTES, "M", 1 << 20},
    {UNIT_BYTES, "MB", 1 << 20},
    {UNIT_BYTES, "MiB", 1 << 20},
    {UNIT_BYTES, "G", 1 << 30},
    {UNIT_BYTES, "GB", 1 << 30},
    {UNIT_BYTES, "GiB", 1 << 30},
    {UNIT_COUNT, "", 1},
};

/* Values as people write them, in ascending order; a message names those that the ceiling allows. */
static const struct {
    enum limit_unit unit;
    const char *text;
} examples[] = {{UNIT_MS, "500ms"},  {UNIT_MS, "10s"},     {UNIT_MS, "5m"},      {UNIT_MS, "1h"},
                {UNIT_BYTES, "64K"}, {UNIT_BYTES, "512K"}, {UNIT_BYTES, "512M"}, {UNIT_BYTES, "2G"}};

/* A number without a unit that is less was meant to have one. */
enum { LEAST_BARE_BYTES = 1 << 10 };

static __attribute__((format(printf, 2, 3))) int refuse(const struct limits_change *change, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int r = error_vset(change->ret_error, EINVAL, format, args);
    va_end(args);
    return r;
}

int limits_parse(enum limit_unit unit, const char *text, int64_t *ret_value) {
    char *end;
    if (!isdigit((unsigned char)text[0]))
        return -EINVAL;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (errno || number <= 0)
        return -EINVAL;
    while (*end == ' ')
        end++;
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        if (suffixes[i].unit != unit || strcmp(suffixes[i].suffix, end) != 0)
            continue;
        return __builtin_mul_overflow(number, suffixes[i].factor, ret_value) ? -EINVAL : 0;
    }
    return -EINVAL;
}

/* How values of a limit are written: "a duration such as 500ms or 10s". Returns buf. */
static const char *forms_of(const struct limits_change *change, enum limit limit, char *buf, size_t size) {
    enum { N = sizeof examples / sizeof examples[0] };
    static const char *const kinds[] = {
        [UNIT_COUNT] = "a whole number", [UNIT_MS] = "a duration such as ", [UNIT_BYTES] = "a size such as "};
    const enum limit_unit unit = limit_rows[limit].unit;
    const int64_t ceiling = limits_ceiling(change->profile, limit);
    const char *fit[N];
    size_t n_fit = 0, used = (size_t)snprintf(buf, size, "%s", kinds[unit]);
    int64_t value;
    for (size_t i = 0; i < N; i++)
        if (examples[i].unit == unit && limits_parse(unit, examples[i].text, &value) == 0 && value <= ceiling)
            fit[n_fit++] = examples[i].text;
    for (size_t i = 0; i < n_fit; i++)
        used += (size_t)snprintf(buf + used, size - used, "%s%s", i == 0 ? "" : i + 1 < n_fit ? ", " : " or ", fit[i]);
    return buf;
}

static int refuse_form(const struct limits_change *change, enum limit limit, const char *text) {
    char forms[96];
    return refuse(change, "%s needs %s, not '%.40s'", limit_rows[limit].name,
                  forms_of(change, limit, forms, sizeof forms), text);
}

static int find_limit(const char *name) {
    int i = 0;
    while (i < LIMIT_N && strcmp(limit_rows[i].name, name) != 0)
        i++;
    return i;
}

static int set(const struct limits_change *change, struct limits *limits, int limit, int64_t value) {
    const struct limit_row *row = &limit_rows[limit];
    int64_t ceiling = limits_ceiling(change->profile, (enum limit)limit);
    char asked[32];
    char most[32];
    if (change->asker == ASKER_CELL && row->of_session)
        return refuse(change, "%s is fixed by the configuration when the session starts", row->name);
    if (value > ceiling)
        return refuse(change, "%s %s is over the ceiling of %s in profile %s", row->name,
                      limits_text(row->unit, value, asked, sizeof asked),
                      limits_text(row->unit, ceiling, most, sizeof most), change->profile->name);
    if (change->asker == ASKER_CELL && row->tightens && value > limits->values[limit])
        return refuse(change, "%s can only be lowered, and it is %s", row->name,
                      limits_text(row->unit, limits->values[limit], most, sizeof most));
    limits->values[limit] = value;
    return 0;
}

static int refuse_name(const struct limits_change *change, const char *name) {
    char names[256] = "";
    for (size_t i = 0, n = 0; i < LIMIT_N; i++)
        n += (size_t)snprintf(names + n, sizeof names - n, "%s%s", i ? ", " : "", limit_rows[i].name);
    return refuse(change, "there is no limit '%.40s'; there are %s", name, names);
}

int limits_change_one(const struct limits_change *change, struct limits *limits, const char *name, const char *text) {
    int64_t value;
    int limit = find_limit(name);
    if (limit == LIMIT_N)
        return refuse_name(change, name);
    if (limits_parse(limit_rows[limit].unit, text, &value) < 0)
        return refuse_form(change, (enum limit)limit, text);
    return set(change, limits, limit, value);
}

/* One limit as a line has it: there a number without a unit is of seconds, and of bytes only where there are many. */
static int change_written(const struct limits_change *change, struct limits *limits, const char *name,
                          const char *text) {
    int64_t value;
    int limit = find_limit(name);
    const size_t digits = strspn(text, "0123456789");
    const bool bare = digits > 0 && text[digits] == '\0';
    char seconds[48];
    if (limit == LIMIT_N || !bare || limit_rows[limit].unit == UNIT_COUNT)
        return limits_change_one(change, limits, name, text);
    if (limit_rows[limit].unit == UNIT_BYTES) {
        if (limits_parse(UNIT_BYTES, text, &value) == 0 && value < LEAST_BARE_BYTES)
            return refuse_form(change, (enum limit)limit, text);
        return limits_change_one(change, limits, name, text);
    }
    snprintf(seconds, sizeof seconds, "%.40ss", text);
    return limits_change_one(change, limits, name, seconds);
}

int limits_change_line(const struct limits_change *change, struct limits *limits, const char *line, size_t n) {
    char copy[512];
    char *rest = copy;
    char *word;
    if (n >= sizeof copy)
        return refuse(change, "the line of limits is too long");
    memcpy(copy, line, n);
    copy[n] = '\0';
    while ((word = strsep(&rest, " \t\r"))) {
        char *equals = strchr(word, '=');
        if (word[0] == '\0')
            continue;
        if (!equals)
            return refuse(change, "limits are written name=value, not '%.40s'", word);
        *equals = '\0';
        int r = change_written(change, limits, word, equals + 1);
        if (r < 0)
            return r;
    }
    return 0;
}

static int read_value(const struct limits_change *change, struct limits *limits, const char *name,
                      const json_t *value) {
    int limit = find_limit(name);
    if (json_is_string(value))
        return limits_change_one(change, limits, name, json_string_value(value));
    if (limit == LIMIT_N)
        return refuse_name(change, name);
    char forms[96];
    if (!json_is_integer(value) || json_integer_value(value) <= 0)
        return refuse(change, "%s needs %s", name, forms_of(change, (enum limit)limit, forms, sizeof forms));
    return set(change, limits, limit, json_integer_value(value));
}

int limits_change_json(const struct limits_change *change, struct limits *limits, const json_t *json) {
    const char *name;
    json_t *value;
    int r = 0;
    if (!json)
        return 0;
    if (!json_is_object(json))
        return refuse(change, "limits are an object of names and values");
    json_object_foreach((json_t *)json, name, value) {
        r = read_value(change, limits, name, value);
        if (r < 0)
            break;
    }
    return r;
}

/* A line of limits in a cell's code. */
struct found {
    enum limits_line line;
    const char *magic; /* its first word */
    const char *begin; /* behind it */
    const char *end;
};

/* The code without its line of limits. */
static json_t *without_line(const char *code, size_t bytes, const struct found *found) {
    const char *next = found->end < code + bytes ? found->end + 1 : found->end;
    size_t rest = (size_t)(code + bytes - next), before = (size_t)(found->magic - code);
    if (rest >= 2 && memcmp(next, "%%", 2) == 0)
        return json_stringn(next, rest);
    char *text = malloc(bytes + 2);
    if (!text)
        return NULL;
    memcpy(text, code, before);
    memcpy(text + before, "# ", 2);
    memcpy(text + before + 2, found->magic, bytes - before);
    json_t *json = json_stringn(text, bytes + 2);
    free(text);
    return json;
}

/* The words that a first line may begin with. */
static const struct {
    const char *word;
    enum limits_line line;
} magics[] = {
    {"%%limits", LIMITS_LINE_CELL},
    {"%limits", LIMITS_LINE_SESSION},
};

/* As strchr(3), which finds a NUL in every text. */
static bool is_one_of(char c, const char *set) {
    return c != '\0' && strchr(set, c);
}

/* The end of the line that at is in: its newline, or the end of the text. */
static const char *line_end(const char *at, const char *end) {
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    return newline ? newline : end;
}

/* The first character of the code that is neither white space nor in a comment. */
static const char *skip_comments(const char *at, const char *end) {
    while (at < end && (is_one_of(*at, " \t\r\n") || *at == '#'))
        at = *at == '#' ? line_end(at, end) : at + 1;
    return at;
}

/* Looks at the first line of code. ret_found is complete where it is a line of limits. */
static void find_line(const char *text, size_t bytes, struct found *ret_found) {
    const char *end = text + bytes, *at = skip_comments(text, end);
    *ret_found = (struct found){.line = LIMITS_LINE_NONE};
    for (size_t i = 0; i < sizeof magics / sizeof magics[0]; i++) {
        const char *behind = at + strlen(magics[i].word);
        if (behind <= end && memcmp(at, magics[i].word, strlen(magics[i].word)) == 0 &&
            (behind == end || is_one_of(*behind, " \t\r\n")))
            *ret_found = (struct found){magics[i].line, at, behind, line_end(behind, end)};
    }
}

static bool is_blank(const char *text, size_t n) {
    while (n > 0 && is_one_of(text[n - 1], " \t\r"))
        n--;
    return n == 0;
}

int limits_change_code(const struct limits_change *change, struct limits *limits, json_t *code, json_t **ret_code,
                       enum limits_line *ret_line) {
    const char *text = json_string_value(code);
    size_t bytes = json_string_length(code);
    struct found found;
    find_line(text, bytes, &found);
    if (found.line == LIMITS_LINE_NONE) {
        *ret_code = json_incref(code);
        *ret_line = LIMITS_LINE_NONE;
        return 0;
    }
    const size_t n = (size_t)(found.end - found.begin);
    int r = limits_change_line(change, limits, found.begin, n);
    if (r < 0)
        return r;
    json_t *rest = without_line(text, bytes, &found);
    if (!rest)
        return refuse(change, "there is no memory");
    *ret_code = rest;
    *ret_line = is_blank(found.begin, n) ? LIMITS_LINE_SHOW : found.line;
    return 0;
}
