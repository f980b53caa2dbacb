/*
 * travel_line.c - finds the one line of a cell, its word in a table, and reads its arguments as the table says.
 *
 * A cell with more code than the line is left to the worker, whose magic of that
 * name says that it has to stand alone: to undo cells in the middle of a cell can't
 * be done. There are the words without their "%", too, and questions such as "%undo?".
 */

#include "travel_line.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

/* What a line's arguments are. */
enum kind {
    NOTHING,
    COUNT,  /* of cells; 1 where it is left out */
    NAME,   /* of a checkpoint */
    STATES, /* whatever timeline_find() finds */
};

static const struct row {
    const char *word; /* "%" and letters */
    enum kind kind;
    size_t least, most; /* arguments */
    const char *takes;  /* completes "%undo takes …" */
} rows[] = {
    [TRAVEL_UNDO] = {"%undo", COUNT, 0, 1, "a number of cells from 1 to 1000000, such as %undo 3"},
    [TRAVEL_REDO] = {"%redo", COUNT, 0, 1, "a number of cells from 1 to 1000000, such as %redo 3"},
    [TRAVEL_CHECKPOINT] = {"%checkpoint", NAME, 1, 1, "a name without spaces, such as %checkpoint clean"},
    [TRAVEL_RESTORE] = {"%restore", STATES, 1, 1,
                        "the name of a checkpoint or the number of a cell, such as %restore 3"},
    [TRAVEL_TIMELINE] = {"%timeline", NOTHING, 0, 0, "nothing behind it"},
    [TRAVEL_DIFF] = {"%diff", STATES, 1, 2,
                     "one or two names of checkpoints or numbers of cells, such as %diff 3 clean"},
    [TRAVEL_FORGET] = {"%forget", NAME, 1, 1, "the name of a checkpoint, such as %forget clean"},
};

_Static_assert(sizeof rows / sizeof rows[0] == TRAVEL_N, "each travel has a row");
_Static_assert(TRAVEL_CELLS_MAX == 1000000, "two sentences say 1000000");

/* A run of bytes in the code. */
struct span {
    const char *at;
    size_t n;
};

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\f'; /* as Python has it within a line */
}

/* Takes the next line out of rest, without the blanks around it; Python ends lines with "\r" alone, too. */
static struct span take_line(struct span *rest) {
    struct span line = {rest->at, 0};
    while (line.n < rest->n && line.at[line.n] != '\n' && line.at[line.n] != '\r')
        line.n++;
    const size_t taken = line.n < rest->n ? line.n + 1 : line.n;
    *rest = (struct span){rest->at + taken, rest->n - taken};
    while (line.n > 0 && is_blank(line.at[0]))
        line = (struct span){line.at + 1, line.n - 1};
    while (line.n > 0 && is_blank(line.at[line.n - 1]))
        line.n--;
    return line;
}

/* Takes the next word out of a line that has no blanks around it. */
static struct span take_word(struct span *line) {
    struct span word = {line->at, 0};
    while (word.n < line->n && !is_blank(word.at[word.n]))
        word.n++;
    *line = (struct span){line->at + word.n, line->n - word.n};
    while (line->n > 0 && is_blank(line->at[0]))
        *line = (struct span){line->at + 1, line->n - 1};
    return word;
}

/* The next line with code on it; an empty span where there is none. */
static struct span take_code(struct span *rest) {
    struct span line = {rest->at, 0};
    while (rest->n > 0 && (line.n == 0 || line.at[0] == '#'))
        line = take_line(rest);
    return line.n > 0 && line.at[0] == '#' ? (struct span){line.at, 0} : line;
}

/* Takes the word of a row out of a line, and the blanks after it. TRAVEL_NONE, and line is as it was, where it begins
 * with none. What stands at the word may only be no part of a name, of another magic then. */
static enum travel take_travel(struct span *line) {
    for (int i = TRAVEL_NONE + 1; i < TRAVEL_N; i++) {
        const size_t n = strlen(rows[i].word);
        if (line->n < n || memcmp(rows[i].word, line->at, n) != 0)
            continue;
        struct span rest = {line->at + n, line->n - n};
        if (rest.n > 0 && !is_blank(rest.at[0]) && (!ispunct((unsigned char)rest.at[0]) || rest.at[0] == '_'))
            continue;
        while (rest.n > 0 && is_blank(rest.at[0]))
            rest = (struct span){rest.at + 1, rest.n - 1};
        *line = rest;
        return (enum travel)i;
    }
    return TRAVEL_NONE;
}

/* Takes the question marks at the line's beginning, two at most, or at its end. Whether there are any. */
static bool take_question(struct span *line, bool at_end) {
    size_t n = 0;
    while (n < 2 && n < line->n && line->at[at_end ? line->n - 1 - n : n] == '?')
        n++;
    *line = (struct span){at_end ? line->at : line->at + n, line->n - n};
    return n > 0;
}

bool travel_line_asks(const char *code, size_t bytes) {
    struct span rest = {code, bytes}, line = take_code(&rest);
    const bool asks = take_question(&line, false) || take_question(&line, true);
    const bool ends_there = line.n > 0 && !is_blank(line.at[line.n - 1]);
    return asks && ends_there && take_travel(&line) != TRAVEL_NONE && line.n == 0 && take_code(&rest).n == 0;
}

/* 0 where it is no number from 1 to TRAVEL_CELLS_MAX. */
static unsigned count_of(struct span word) {
    unsigned n = 0;
    for (size_t i = 0; i < word.n; i++) {
        if (word.at[i] < '0' || word.at[i] > '9')
            return 0;
        n = 10 * n + (unsigned)(word.at[i] - '0');
        if (n > TRAVEL_CELLS_MAX)
            return 0;
    }
    return n;
}

/* word is the one that is not taken. */
static int refuse(const struct row *row, struct span word, struct error *ret_error) {
    char text[IMAGE_NAME_BYTES + 1];
    if (word.n == 0)
        return error_set(ret_error, EINVAL, "%s takes %s", row->word, row->takes);
    return error_set(ret_error, EINVAL, "%s takes %s; '%s' is not taken", row->word, row->takes,
                     image_name_line(word.at, word.n, text, sizeof text));
}

/* The number i of the arguments of a line of this row. */
static int read_argument(const struct row *row, struct span word, size_t i, struct travel_line *line,
                         struct error *ret_error) {
    char name[IMAGE_NAME_BYTES + 1];
    if (row->kind == COUNT) {
        line->n = count_of(word);
        return line->n > 0 ? 0 : refuse(row, word, ret_error);
    }
    const char *problem = image_name_text_problem(word.at, word.n);
    if (!problem) {
        memcpy(line->argument[i], word.at, word.n);
        line->argument[i][word.n] = '\0';
        problem = row->kind == NAME ? image_name_problem(line->argument[i]) : NULL;
    }
    if (!problem)
        return 0;
    return error_set(ret_error, EINVAL, "%s takes %s; the name '%s' %s", row->word, row->takes,
                     image_name_line(word.at, word.n, name, sizeof name), problem);
}

/* Whether a comment begins, where there are n arguments already: what has to be a name may begin with "#", too. */
static bool is_comment(const struct row *row, struct span line, size_t n) {
    return line.at[0] == '#' && n >= row->least;
}

int travel_line_read(const char *code, size_t bytes, struct travel_line *ret_line, struct error *ret_error) {
    struct span rest = {code, bytes}, line = take_code(&rest);
    struct travel_line read = {.travel = travel_line_asks(code, bytes) ? TRAVEL_NONE : take_travel(&line)};
    const struct row *row = &rows[read.travel];
    size_t n = 0;
    if (read.travel == TRAVEL_NONE || take_code(&rest).n > 0) {
        *ret_line = (struct travel_line){.travel = TRAVEL_NONE};
        return 0;
    }
    read.n = row->kind == COUNT ? 1 : 0;
    for (; line.n > 0 && !is_comment(row, line, n); n++) {
        const struct span word = take_word(&line);
        int r = n < row->most ? read_argument(row, word, n, &read, ret_error) : refuse(row, word, ret_error);
        if (r < 0)
            return r;
    }
    if (n < row->least)
        return refuse(row, (struct span){0}, ret_error);
    *ret_line = read;
    return 0;
}
