/*
 * travel_line.c - finds the one line of a cell, its word in a table, and reads its arguments as the table says.
 *
 * A cell with more code than the line is left to the worker, where IPython says
 * that it has no such magic: to undo cells in the middle of a cell can't be done.
 */

#include "travel_line.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* What a line's arguments are. */
enum kind {
    NOTHING,
    COUNT,  /* of cells; 1 where it is left out */
    NAME,   /* of a checkpoint */
    STATES, /* whatever timeline_find() finds */
};

static const struct row {
    const char *word;
    enum kind kind;
    size_t least, most; /* arguments */
    const char *takes;  /* completes "%undo takes …" */
} rows[] = {
    [TRAVEL_UNDO] = {"%undo", COUNT, 0, 1, "a number of cells, such as %undo 3"},
    [TRAVEL_REDO] = {"%redo", COUNT, 0, 1, "a number of cells, such as %redo 3"},
    [TRAVEL_CHECKPOINT] = {"%checkpoint", NAME, 1, 1, "a name without spaces, such as %checkpoint clean"},
    [TRAVEL_RESTORE] = {"%restore", STATES, 1, 1,
                        "the name of a checkpoint or the number of a cell, such as %restore 3"},
    [TRAVEL_TIMELINE] = {"%timeline", NOTHING, 0, 0, "nothing behind it"},
    [TRAVEL_DIFF] = {"%diff", STATES, 1, 2,
                     "one or two names of checkpoints or numbers of cells, such as %diff 3 clean"},
    [TRAVEL_FORGET] = {"%forget", NAME, 1, 1, "the name of a checkpoint, such as %forget clean"},
};

_Static_assert(sizeof rows / sizeof rows[0] == TRAVEL_N, "each travel has a row");

/* A run of bytes in the code. */
struct span {
    const char *at;
    size_t n;
};

static bool is_blank(char c) {
    return c == ' ' || c == '\t';
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

static enum travel find_row(struct span word) {
    for (int i = TRAVEL_NONE + 1; i < TRAVEL_N; i++)
        if (strlen(rows[i].word) == word.n && memcmp(rows[i].word, word.at, word.n) == 0)
            return (enum travel)i;
    return TRAVEL_NONE;
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

static int refuse(const struct row *row, struct error *ret_error) {
    return error_set(ret_error, EINVAL, "%s takes %s", row->word, row->takes);
}

/* The number i of the arguments of a line of this row. */
static int read_argument(const struct row *row, struct span word, size_t i, struct travel_line *line,
                         struct error *ret_error) {
    char name[IMAGE_NAME_BYTES + 1];
    if (row->kind == COUNT) {
        line->n = count_of(word);
        return line->n > 0 ? 0 : refuse(row, ret_error);
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

int travel_line_read(const char *code, size_t bytes, struct travel_line *ret_line, struct error *ret_error) {
    struct span rest = {code, bytes}, line = take_code(&rest);
    struct travel_line read = {.travel = find_row(take_word(&line))};
    const struct row *row = &rows[read.travel];
    size_t n = 0;
    if (read.travel == TRAVEL_NONE || take_code(&rest).n > 0) {
        *ret_line = (struct travel_line){.travel = TRAVEL_NONE};
        return 0;
    }
    read.n = row->kind == COUNT ? 1 : 0;
    for (; line.n > 0; n++) {
        if (n == row->most)
            return refuse(row, ret_error);
        int r = read_argument(row, take_word(&line), n, &read, ret_error);
        if (r < 0)
            return r;
    }
    if (n < row->least)
        return refuse(row, ret_error);
    *ret_line = read;
    return 0;
}
