/*
 * limits_change.c - reads limits in three forms, all of which end in set().
 *
 * Only set() compares with the ceiling and with what the asker may change, so the
 * same rules hold for every form. A first line is recognised by its first word,
 * before IPython gets the code, and is made a comment, so that lines keep their
 * numbers in tracebacks. Where a cell magic follows, the line is removed instead,
 * because a cell magic has to come first.
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

/* How values of each unit are written, for error messages. */
static const char *const unit_forms[] = {[UNIT_COUNT] = "a whole number",
                                         [UNIT_MS] = "a duration such as 500ms, 10s, 5m or 1h",
                                         [UNIT_BYTES] = "a size such as 512M or 2G"};

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
                      limits_text(row->unit, ceiling, most, sizeof most), profile_name(change->profile));
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
        return refuse(change, "%s needs %s, not '%.40s'", name, unit_forms[limit_rows[limit].unit], text);
    return set(change, limits, limit, value);
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
        int r = limits_change_one(change, limits, word, equals + 1);
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
    if (!json_is_integer(value) || json_integer_value(value) <= 0)
        return refuse(change, "%s needs %s", name, unit_forms[limit_rows[limit].unit]);
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

/* The code without its line of limits, which ends at line_end. */
static json_t *without_line(const char *code, size_t bytes, const char *line_end) {
    const char *next = line_end < code + bytes ? line_end + 1 : line_end;
    size_t rest = (size_t)(code + bytes - next);
    if (rest >= 2 && memcmp(next, "%%", 2) == 0)
        return json_stringn(next, rest);
    char *text = malloc(bytes + 2);
    if (!text)
        return NULL;
    text[0] = '#';
    text[1] = ' ';
    memcpy(text + 2, code, bytes);
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

/* The word that the code begins with; its length goes to ret_bytes. */
static enum limits_line find_magic(const char *text, size_t bytes, size_t *ret_bytes) {
    for (size_t i = 0; i < sizeof magics / sizeof magics[0]; i++) {
        size_t n = strlen(magics[i].word);
        if (bytes >= n && memcmp(text, magics[i].word, n) == 0 && (bytes == n || is_one_of(text[n], " \t\r\n"))) {
            *ret_bytes = n;
            return magics[i].line;
        }
    }
    return LIMITS_LINE_NONE;
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
    size_t n;
    enum limits_line line = find_magic(text, bytes, &n);
    if (line == LIMITS_LINE_NONE) {
        *ret_code = json_incref(code);
        *ret_line = line;
        return 0;
    }
    const char *line_end = memchr(text, '\n', bytes);
    if (!line_end)
        line_end = text + bytes;
    int r = limits_change_line(change, limits, text + n, (size_t)(line_end - text) - n);
    if (r < 0)
        return r;
    json_t *rest = without_line(text, bytes, line_end);
    if (!rest)
        return refuse(change, "there is no memory");
    *ret_code = rest;
    *ret_line = is_blank(text + n, (size_t)(line_end - text) - n) ? LIMITS_LINE_SHOW : line;
    return 0;
}
