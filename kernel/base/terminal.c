/*
 * terminal.c - all text goes through terminal_append(), character by character, into
 * one buffer that is written at once.
 *
 * The whole output of printf() is made safe, not single arguments, so that no
 * caller can forget one. In JSON only strings can have unsafe characters, and
 * escapes keep their values.
 */

#include "terminal.h"

#include "base/cleanup.h"
#include "protocol/text.h"
#include "protocol/unseen.h"
#include "protocol/utf8.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void terminal_append(struct bytes *out, const char *text, size_t n, bool without_lines) {
    const unsigned char *at = (const unsigned char *)text;
    uint32_t before = 0;
    size_t bytes, seen_bytes;
    for (size_t i = 0; i < n; i += bytes) {
        bool stays = at[i] == '\t' || (at[i] == '\n' && !without_lines);
        bool shown = utf8_next(at + i, n - i, &bytes) == UTF8_WHOLE &&
                     unseen_look(at + i, n - i, before, &seen_bytes) == UNSEEN_NOT;
        if (stays || shown)
            bytes_append(out, text + i, bytes);
        else
            bytes_append_text(out, "?");
        before = unseen_decode(at + i, n - i, &seen_bytes);
    }
}

void terminal_put(const char *text, size_t n) {
    auto_bytes safe = {0};
    size_t bytes = strnlen(text, n);
    terminal_append(&safe, text, bytes < n ? bytes : text_whole_utf8(text, bytes), false);
    fwrite(safe.data ? safe.data : "", 1, safe.n, stdout);
}

void terminal_put_line(const char *text) {
    auto_bytes safe = {0};
    terminal_append(&safe, text, strlen(text), true);
    fwrite(safe.data ? safe.data : "", 1, safe.n, stdout);
}

void terminal_print(const char *format, ...) {
    auto_free char *text = NULL;
    va_list args;
    va_start(args, format);
    if (vasprintf(&text, format, args) < 0)
        text = NULL;
    va_end(args);
    if (text)
        terminal_put(text, SIZE_MAX);
}

void terminal_complain(const char *format, ...) {
    auto_free char *text = NULL;
    auto_bytes line = {0};
    va_list args;
    va_start(args, format);
    if (vasprintf(&text, format, args) < 0)
        text = NULL;
    va_end(args);
    bytes_append_text(&line, "petri: ");
    terminal_append(&line, text ? text : "no memory", strlen(text ? text : "no memory"), true);
    bytes_append_text(&line, "\n");
    fflush(stdout);
    /* Where standard error can't be written, there is no other place for the line. */
    if (write(STDERR_FILENO, line.data ? line.data : "", line.n) < 0)
        return;
}

/* A character of a JSON text, as \u and one or two surrogates. See: RFC 8259, 7. */
static void append_escaped(struct bytes *out, uint32_t code) {
    char text[16];
    if (code < 0x10000)
        snprintf(text, sizeof text, "\\u%04X", (unsigned)code);
    else
        snprintf(text, sizeof text, "\\u%04X\\u%04X", (unsigned)(0xd7c0 + (code >> 10)),
                 (unsigned)(0xdc00 | (code & 0x3ff)));
    bytes_append_text(out, text);
}

/* Appends JSON text, with unsafe characters in its strings as escapes. JSON has line ends only between values. */
static void append_json(struct bytes *out, const char *text, size_t n) {
    const unsigned char *at = (const unsigned char *)text;
    size_t bytes;
    for (size_t i = 0; i < n; i += bytes) {
        size_t plain = i;
        while (plain < n && at[plain] < 0x7f)
            plain++;
        bytes_append(out, text + i, plain - i);
        bytes = plain - i;
        if (plain > i || plain == n)
            continue;
        uint32_t code = unseen_decode(at + i, n - i, &bytes);
        if (unseen_kind(code) != UNSEEN_NOT)
            append_escaped(out, code);
        else
            bytes_append(out, text + i, bytes);
    }
}

int terminal_put_json(const json_t *json) {
    auto_free char *text = json_dumps(json, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
    auto_bytes safe = {0};
    errno = ENOMEM;
    if (text) {
        append_json(&safe, text, strlen(text));
        bytes_append_text(&safe, "\n");
    }
    if (text && bytes_ok(&safe) && fwrite(safe.data, 1, safe.n, stdout) == safe.n && fflush(stdout) == 0)
        return 0;
    terminal_complain("the JSON could not be written: %s", strerror(errno));
    return EXIT_FAILURE;
}
