/*
 * fuzz_travel.c - cells that may be a line such as "%undo 3".
 *
 * Whatever a client sends: what is taken has the numbers and names that the headers
 * promise, and the same line read again, from text made of it, is the same.
 */
#include "fuzz.h"

#include "kernel/base/image_name.h"
#include "kernel/timeline/travel_line.h"
#include "protocol/utf8.h"

#include <stdbool.h>
#include <string.h>

static const char *const words[TRAVEL_N] = {
    [TRAVEL_UNDO] = "%undo",        [TRAVEL_REDO] = "%redo", [TRAVEL_CHECKPOINT] = "%checkpoint",
    [TRAVEL_RESTORE] = "%restore",  [TRAVEL_DIFF] = "%diff", [TRAVEL_FORGET] = "%forget",
    [TRAVEL_TIMELINE] = "%timeline"};

static void check_arguments(const struct travel_line *line) {
    const bool counts = line->travel == TRAVEL_UNDO || line->travel == TRAVEL_REDO;
    const bool names = line->travel == TRAVEL_CHECKPOINT || line->travel == TRAVEL_FORGET;
    INVARIANT(counts ? line->n >= 1 && line->n <= TRAVEL_CELLS_MAX : line->n == 0);
    for (int i = 0; i < TRAVEL_ARGUMENTS_MAX; i++)
        if (line->argument[i][0])
            INVARIANT(image_name_text_problem(line->argument[i], strlen(line->argument[i])) == NULL);
    if (names)
        INVARIANT(image_name_problem(line->argument[0]) == NULL);
    INVARIANT(line->argument[0][0] || !names);
}

static void check_again(const struct travel_line *line) {
    char text[512], number[16];
    struct travel_line again;
    snprintf(number, sizeof number, "%u", line->n);
    snprintf(text, sizeof text, "%s %s %s %s", words[line->travel], line->n > 0 ? number : "", line->argument[0],
             line->argument[1]);
    if (travel_line_asks(text, strlen(text)))
        return; /* a comment stood behind an argument "?" */
    INVARIANT(travel_line_read(text, strlen(text), &again, NULL) == 0);
    INVARIANT(again.travel == line->travel && again.n == line->n);
    for (int i = 0; i < TRAVEL_ARGUMENTS_MAX; i++)
        INVARIANT(strcmp(again.argument[i], line->argument[i]) == 0);
}

/* The line that is shown is UTF-8, visible, and no longer than its buffer; a greater one begins as it does. */
static void check_shown(const char *text, size_t size) {
    char line[16], longer[4096 * 4];
    const size_t n = strlen(image_name_line(text, size, line, sizeof line));
    INVARIANT(n < sizeof line);
    INVARIANT(utf8_valid((const unsigned char *)line, n) == n);
    for (size_t i = 0; i < n; i++)
        INVARIANT((unsigned char)line[i] >= ' ' && line[i] != 0x7f);
    image_name_line(text, size, longer, sizeof longer);
    if (strcmp(line, longer) != 0)
        INVARIANT(strncmp(line, longer, n - strlen("…")) == 0 && strcmp(line + n - strlen("…"), "…") == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *code = (const char *)data;
    struct travel_line line;
    struct error error;
    check_shown(code, size);
    const int r = travel_line_read(code, size, &line, &error);
    if (r < 0) {
        const size_t n = strlen(error.text);
        INVARIANT(error.err == -r && n > 0 && utf8_valid((const unsigned char *)error.text, n) == n);
        return 0;
    }
    INVARIANT(line.travel < TRAVEL_N);
    check_arguments(&line);
    if (line.travel != TRAVEL_NONE)
        check_again(&line);
    return 0;
}
