/*
 * outcome.c - the table of outcomes and their sentences, and the worker's stack as a traceback.
 *
 * A sentence consists of before, fact and after, so that all sentences have the
 * same three parts in the same order. Of the stack only the frames of the cell's
 * own code are shown. Frames of IPython and of the worker are recognized by their
 * paths: inside of the innermost own frame they are what the cell called, outside
 * of the outermost one they run the cell.
 */

#include "outcome.h"

#include "protocol/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SESSION_IS "; the session is "
#define AS_BEFORE SESSION_IS "as it was before the cell."

static const struct outcome_row rows[] = {
    [OUTCOME_OK] = {"ok", NULL, false, FACT_NONE, "", "", NULL},
    [OUTCOME_ERROR] = {"error", NULL, false, FACT_NONE, "", "", NULL},
    [OUTCOME_INTERRUPTED] = {"interrupted", "CellInterrupted", true, FACT_LIMIT, "The cell did not stop within ",
                             " of the interrupt and was ended" AS_BEFORE,
                             "Nothing is lost but this cell's own work. Results of smaller steps stay when the next "
                             "one is interrupted."},
    [OUTCOME_TIMEOUT] = {"timeout", "CellTimeout", true, FACT_LIMIT, "The cell ran longer than its time limit of ",
                         " and was ended" AS_BEFORE, "For more time", true},
    [OUTCOME_UNANSWERED] = {"timeout", "CellTimeout", true, FACT_LIMIT,
                            "Nobody answered the cell's input() within its limit of ",
                            " (input_wait), and it was ended" AS_BEFORE, "To wait longer", true},
    [OUTCOME_CPU] = {"cpu", "CellCpuLimit", true, FACT_LIMIT, "The cell used more CPU time than its limit of ",
                     " and was ended" AS_BEFORE, "For more CPU time", true},
    [OUTCOME_MEMORY] = {"memory", "CellMemoryLimit", true, FACT_LIMIT, "The cell held more memory than its limit of ",
                        " and was ended" AS_BEFORE, "Work on smaller pieces, or for more memory", true},
    [OUTCOME_COMMON_MEMORY] = {"memory", "CellMemoryLimit", true, FACT_LIMIT,
                               "All kernels of this user together held as much memory as they may (",
                               "), and Linux ended "
                               "this cell to free some" AS_BEFORE,
                               "In a terminal, petri ps lists the kernels with their memory: shut down those that are "
                               "not needed, or work on smaller pieces."},
    [OUTCOME_CRASH] = {"crash", "CellCrashed", true, FACT_END, "The cell's process ", AS_BEFORE,
                       "Nothing of earlier cells is lost: change the cell and run it again."},
    [OUTCOME_REFUSED] = {"refused", "CellRefused", true, FACT_DETAIL, "The cell was not run: ", AS_BEFORE, NULL},
    [OUTCOME_BUDGET] = {"refused", "BudgetExceeded", true, FACT_DETAIL, "The cell was not run: ", AS_BEFORE, NULL},
    [OUTCOME_UNKNOWN] = {"refused", "UnknownImage", true, FACT_DETAIL, "The cell was not run: ", AS_BEFORE, NULL},
    [OUTCOME_SANDBOX] = {"sandbox", "SandboxError", true, FACT_DETAIL,
                         "There is no sandbox for the cell, so it was not run: ", AS_BEFORE,
                         "In a terminal, petri doctor says what this machine lacks and how to mend it."},
    [OUTCOME_LOST] = {"sandbox", "SandboxError", true, FACT_DETAIL, "What the cell has done could not be kept: ",
                      AS_BEFORE, "It was not the cell's fault: run it again."},
};
_Static_assert(sizeof rows / sizeof rows[0] == OUTCOME_N, "one row an outcome");

/* Replaces the hint where the limit can't be raised. */
static const char at_ceiling[] =
    "That is the most that a cell of this profile can have on this machine (%limits): do it "
    "in smaller steps, each in a cell of its own.";

const struct outcome_row *outcome_row(enum outcome outcome) {
    return &rows[outcome];
}

/* Copies detail without the full stop and white space at its end, so that the sentence can go on. */
static void write_detail(const char *detail, char *buf, size_t size) {
    snprintf(buf, size, "%s", detail);
    for (size_t n = strlen(buf); n > 0 && strchr(". \r\n", buf[n - 1]); n--)
        buf[n - 1] = '\0';
}

static void write_end(const struct outcome_facts *facts, char *buf, size_t size) {
    if (facts->detail[0])
        write_detail(facts->detail, buf, size);
    else if (facts->end.signaled)
        snprintf(buf, size, "was killed by signal %d (%s)", facts->end.signal, strsignal(facts->end.signal));
    else if (facts->end.exited)
        snprintf(buf, size, "ended itself with exit status %d", facts->end.code);
    else
        snprintf(buf, size, "ended");
}

const char *outcome_sentence(enum outcome outcome, const struct outcome_facts *facts, char *buf, size_t size) {
    char fact[sizeof facts->detail] = "";
    switch (rows[outcome].fact) {
    case FACT_NONE:
        break;
    case FACT_LIMIT:
        snprintf(fact, sizeof fact, "%s", facts->limit);
        break;
    case FACT_DETAIL:
        write_detail(facts->detail, fact, sizeof fact);
        break;
    case FACT_END:
        write_end(facts, fact, sizeof fact);
        break;
    }
    const char *after = rows[outcome].after, *session = facts->session[0] ? strstr(after, SESSION_IS) : NULL;
    const int n_is = session ? (int)(session - after) + (int)strlen(SESSION_IS) : 0;
    if (session)
        snprintf(buf, size, "%s%s%.*s%s.", rows[outcome].before, fact, n_is, after, facts->session);
    else
        snprintf(buf, size, "%s%s%s", rows[outcome].before, fact, after);
    return buf;
}

/* Whether a line is a frame of IPython or of the worker. */
static bool is_inner(const char *line, size_t bytes) {
    static const char *const marks[] = {"/IPython/", "/petri_worker/"};
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++)
        if (memmem(line, bytes, marks[i], strlen(marks[i])))
            return true;
    return false;
}

/* A frame as tracebacks of errors show it: File "<ipython-input-3-0123456789ab>" is Cell In[3]. */
static json_t *frame_line(const char *line, size_t bytes) {
    static const char mark[] = "  File \"<ipython-input-";
    char text[512], shown[sizeof text + 32];
    char *behind;
    snprintf(text, sizeof text, "%.*s", (int)bytes, line);
    char *end = strstr(text, ">\"");
    if (!end || strncmp(text, mark, strlen(mark)) != 0)
        return text_to_json(line, bytes);
    long number = strtol(text + strlen(mark), &behind, 10);
    if (*behind != '-')
        return text_to_json(line, bytes);
    int n = snprintf(shown, sizeof shown, "  Cell In[%ld]%s", number, end + 2);
    return text_to_json(shown, (size_t)n);
}

/* Takes the line at *at, without its newline, and sets *at to the next one; false where there is none. */
static bool next_line(const struct outcome_where *where, const char **at, const char **ret_line, size_t *ret_bytes) {
    const char *line = *at, *end = where->text + where->bytes;
    if (line >= end)
        return false;
    const char *newline = memchr(line, '\n', (size_t)(end - line));
    *ret_line = line;
    *ret_bytes = (size_t)((newline ? newline : end) - line);
    *at = newline ? newline + 1 : end;
    return true;
}

static bool is_frame(const char *line, size_t bytes) {
    return bytes > 2 && memcmp(line, "  ", 2) == 0;
}

enum found {
    FOUND_FRAME,  /* of the cell's own code */
    FOUND_RUNNER, /* of the code that runs the cell: there are no more frames of the cell */
    FOUND_END,    /* the text ends */
};

/*
 * Looks for the next frame of the cell's own code, from the innermost on. Frames
 * of IPython or the worker may come before the first one, if the cell has called
 * them, as with input(). *own says whether an own frame has been found.
 */
static enum found next_own(const struct outcome_where *where, const char **at, bool *own, const char **ret_line,
                           size_t *ret_bytes) {
    while (next_line(where, at, ret_line, ret_bytes)) {
        bool inner = is_inner(*ret_line, *ret_bytes);
        if (inner && *own)
            return FOUND_RUNNER;
        if (!inner && is_frame(*ret_line, *ret_bytes)) {
            *own = true;
            return FOUND_FRAME;
        }
    }
    return FOUND_END;
}

bool outcome_where_is_whole(const struct outcome_where *where) {
    const char *line, *at = where->text;
    size_t bytes;
    bool own = false;
    enum found found;
    do
        found = next_own(where, &at, &own, &line, &bytes);
    while (found == FOUND_FRAME);
    return found == FOUND_RUNNER || where->bytes == sizeof where->text;
}

/* The frames of the cell's own code, the innermost first. */
static void add_where(json_t *traceback, const struct outcome_where *where, const char *heading) {
    const char *line, *at = where->text;
    size_t bytes;
    bool own = false;
    while (next_own(where, &at, &own, &line, &bytes) == FOUND_FRAME) {
        if (json_array_size(traceback) == 0)
            json_array_append_new(traceback, json_string(heading));
        json_array_append_new(traceback, frame_line(line, bytes));
    }
}

/* What the user can do. */
static void add_hint(json_t *traceback, const struct outcome_row *row, const struct outcome_facts *facts) {
    if (row->hint && facts->mend)
        json_array_append_new(traceback, json_string(facts->mend));
    if (!row->hint || (facts->mend && !row->has_limit))
        return;
    if (!row->has_limit)
        json_array_append_new(traceback, json_string(row->hint));
    else if (facts->more[0])
        json_array_append_new(
            traceback, text_format("%s begin the cell with %s; %%limits shows all limits.", row->hint, facts->more));
    else
        json_array_append_new(traceback, json_string(at_ceiling));
}

json_t *outcome_error(enum outcome outcome, const struct outcome_facts *facts) {
    char sentence[1024];
    const char *ename = rows[outcome].ename;
    outcome_sentence(outcome, facts, sentence, sizeof sentence);
    json_t *traceback = json_array();
    add_where(traceback, &facts->where,
              outcome == OUTCOME_MEMORY || outcome == OUTCOME_COMMON_MEMORY
                  ? "The code was last seen here (innermost call first):"
                  : "The code was here (innermost call first):");
    json_array_append_new(traceback, text_format("\x1b[0;31m%s\x1b[0m: %s", ename, sentence));
    json_array_extend(traceback, facts->history);
    add_hint(traceback, &rows[outcome], facts);
    return json_pack("{s:s, s:o, s:o}", "ename", ename, "evalue", text_format("%s", sentence), "traceback", traceback);
}
