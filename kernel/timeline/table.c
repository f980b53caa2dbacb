/*
 * table.c - see table.h.
 */

#include "table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Each byte of UTF-8 that doesn't continue a character begins one. */
size_t table_width(const char *text) {
    size_t width = 0;
    for (; *text; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

void table_add_padded(struct bytes *out, const char *text, size_t width) {
    bytes_append_text(out, text);
    for (size_t n = table_width(text); n < width + 2; n++)
        bytes_append_text(out, " ");
}

void table_end_line(struct bytes *out) {
    while (out->n > 0 && out->data[out->n - 1] == ' ')
        out->n--;
    bytes_append_text(out, "\n");
}

void table_add_escaped(struct bytes *out, const char *text) {
    for (size_t n; *text; text += n) {
        n = strcspn(text, "&<>\"");
        bytes_append(out, text, n);
        if (text[n] == '\0')
            break;
        bytes_append_text(out, text[n] == '&' ? "&amp;" : text[n] == '<' ? "&lt;" : text[n] == '>' ? "&gt;" : "&quot;");
        n++;
    }
}

const char *table_count(uint64_t n, const char *thing, char *buf, size_t size) {
    snprintf(buf, size, "%" PRIu64 " %s%s", n, thing, n == 1 ? "" : "s");
    return buf;
}

const char *table_size(uint64_t bytes, char *buf, size_t size) {
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
    enum { UNIT_N = sizeof units / sizeof units[0] };
    double scaled = (double)bytes / 1024;
    size_t i = 0;
    if (bytes < 1024)
        return table_count(bytes, "byte", buf, size);
    for (; scaled >= 1024 && i + 1 < UNIT_N; i++)
        scaled /= 1024;
    snprintf(buf, size, "%.*f %s", scaled < 10 ? 1 : 0, scaled, units[i]);
    return buf;
}
