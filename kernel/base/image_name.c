/*
 * image_name.c - looks at each character of a text once, with its neighbours.
 *
 * A name has to be what it looks like, because people choose by it which state a
 * session goes back to. So spaces of any width are refused too.
 */

#include "image_name.h"

#include "protocol/unseen.h"
#include "protocol/utf8.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define CUT_MARK "…"

_Static_assert(IMAGE_NAME_BYTES == 64, "a sentence below says 64");

/* White space of any script. See: The Unicode Standard 15.1, PropList.txt, White_Space. */
static bool is_space(uint32_t code) {
    return code == ' ' || (code >= '\t' && code <= '\r') || code == 0x85 || code == 0xa0 || code == 0x1680 ||
           (code >= 0x2000 && code <= 0x200a) || code == 0x2028 || code == 0x2029 || code == 0x202f || code == 0x205f ||
           code == 0x3000;
}

const char *image_name_text_problem(const char *text, size_t bytes) {
    const unsigned char *at = (const unsigned char *)text;
    uint32_t before = 0;
    size_t n;
    if (bytes == 0)
        return "is empty";
    if (bytes > IMAGE_NAME_BYTES)
        return "is longer than 64 bytes";
    if (utf8_valid(at, bytes) < bytes)
        return "is not UTF-8";
    for (size_t i = 0; i < bytes; i += n) {
        uint32_t code = unseen_decode(at + i, bytes - i, &n);
        if (is_space(code))
            return "has a space in it";
        if (unseen_look(at + i, bytes - i, before, &n) != UNSEEN_NOT)
            return "has a character in it that can't be seen";
        before = code;
    }
    return NULL;
}

/* As run ids are written: a UUID of any kind. */
static bool is_run_id(const char *name) {
    static const char shape[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
    if (strlen(name) != strlen(shape))
        return false;
    for (size_t i = 0; shape[i]; i++)
        if (shape[i] == '-' ? name[i] != '-' : !isxdigit((unsigned char)name[i]))
            return false;
    return true;
}

const char *image_name_problem(const char *name) {
    const char *problem = image_name_text_problem(name, strnlen(name, IMAGE_NAME_BYTES + 1));
    if (problem)
        return problem;
    if (name[strspn(name, "0123456789")] == '\0')
        return "is a number, which stands for a cell";
    if (strcmp(name, "first") == 0)
        return "stands for the state at the beginning";
    if (is_run_id(name))
        return "is the id of a run, which stands for its state";
    return NULL;
}

/* As strchr(3), which finds a NUL in every text. */
static bool is_one_of(char c, const char *set) {
    return c != '\0' && strchr(set, c);
}

/* How the character at `at` is shown; its length is that of what is shown. */
static const char *shown(const char *at, size_t n, uint32_t before, size_t *ret_bytes, size_t *ret_shown_bytes) {
    const unsigned char *text = (const unsigned char *)at;
    size_t bytes;
    bool visible = utf8_next(text, n, ret_bytes) == UTF8_WHOLE && unseen_look(text, n, before, &bytes) == UNSEEN_NOT;
    *ret_shown_bytes = visible ? *ret_bytes : 1;
    return visible ? at : *at == '\t' ? " " : "?";
}

const char *image_name_line(const char *text, size_t bytes, char *buf, size_t size) {
    const char *end = text + bytes, *line_end;
    size_t used = 0, fits = 0, piece_bytes, shown_bytes, decoded_bytes;
    uint32_t before = 0;
    while (text < end && is_one_of(*text, " \t\r\n\f\v"))
        text++;
    for (line_end = text; line_end < end && !is_one_of(*line_end, "\r\n"); line_end++)
        ;
    while (line_end > text && is_one_of(line_end[-1], " \t\f\v"))
        line_end--;
    for (; text < line_end; text += piece_bytes) {
        const char *piece = shown(text, (size_t)(line_end - text), before, &piece_bytes, &shown_bytes);
        before = unseen_decode((const unsigned char *)text, (size_t)(line_end - text), &decoded_bytes);
        if (used + shown_bytes >= size) {
            memcpy(buf + fits, CUT_MARK, strlen(CUT_MARK));
            used = fits + strlen(CUT_MARK);
            break;
        }
        memcpy(buf + used, piece, shown_bytes);
        used += shown_bytes;
        if (used + strlen(CUT_MARK) < size)
            fits = used;
    }
    buf[used] = '\0';
    return buf;
}
