#include "terminal.h"

#include "protocol/text.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void terminal_put(const char *text, size_t n) {
    size_t bytes = strnlen(text, n);
    const unsigned char *end = (const unsigned char *)text + text_whole_utf8(text, bytes);
    for (const unsigned char *at = (const unsigned char *)text; at < end; at++) {
        bool c1 = at[0] == 0xc2 && at + 1 < end && at[1] >= 0x80 && at[1] < 0xa0; /* as UTF-8 */
        if (c1)
            at++;
        bool plain = !c1 && *at != 0x7f && (*at >= ' ' || *at == '\n' || *at == '\t');
        putchar(plain ? *at : '?');
    }
}

int terminal_put_json(const json_t *json) {
    if (json_dumpf(json, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(12)) == 0 && puts("") >= 0 && fflush(stdout) == 0)
        return 0;
    fprintf(stderr, "petri: the JSON could not be written: %s\n", strerror(errno));
    return EXIT_FAILURE;
}
