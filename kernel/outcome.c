#include "outcome.h"

#include <stdio.h>
#include <string.h>

#define AS_BEFORE "; the session is as it was before the cell."

static const struct outcome_row rows[] = {
    [OUTCOME_OK] = {"ok", NULL, false, FACT_NONE, "", ""},
    [OUTCOME_ERROR] = {"error", NULL, false, FACT_NONE, "", ""},
    [OUTCOME_INTERRUPTED] = {"interrupted", "CellInterrupted", true, FACT_LIMIT, "The cell did not stop within ",
                             " of the interrupt and was ended" AS_BEFORE},
    [OUTCOME_TIMEOUT] = {"timeout", "CellTimeout", true, FACT_LIMIT, "The cell ran longer than its time limit of ",
                         " and was ended" AS_BEFORE},
    [OUTCOME_CPU] = {"cpu", "CellCpuLimit", true, FACT_LIMIT, "The cell used more CPU time than its limit of ",
                     " and was ended" AS_BEFORE},
    [OUTCOME_MEMORY] = {"memory", "CellMemoryLimit", true, FACT_LIMIT, "The cell held more memory than its limit of ",
                        " and was ended" AS_BEFORE},
    [OUTCOME_CRASH] = {"crash", "CellCrashed", true, FACT_END, "The cell's process ", AS_BEFORE},
    [OUTCOME_REFUSED] = {"refused", "CellRefused", true, FACT_DETAIL, "The cell was not run: ", AS_BEFORE},
    [OUTCOME_BUDGET] = {"refused", "BudgetExceeded", true, FACT_DETAIL, "The cell was not run: ", AS_BEFORE},
    [OUTCOME_SANDBOX] = {"sandbox", "SandboxError", true, FACT_DETAIL,
                         "There is no sandbox for the cell, so it was not run: ", AS_BEFORE},
};
_Static_assert(sizeof rows / sizeof rows[0] == OUTCOME_N, "one row an outcome");

const struct outcome_row *outcome_row(enum outcome outcome) {
    return &rows[outcome];
}

/* Fits into a longer sentence: without a full stop, line ends or spaces at its end. */
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
    snprintf(buf, size, "%s%s%s", rows[outcome].before, fact, rows[outcome].after);
    return buf;
}

json_t *outcome_error(enum outcome outcome, const struct outcome_facts *facts) {
    char sentence[1024];
    const char *ename = rows[outcome].ename;
    outcome_sentence(outcome, facts, sentence, sizeof sentence);
    json_t *line = json_sprintf("\x1b[0;31m%s\x1b[0m: %s", ename, sentence);
    return json_pack("{s:s, s:s, s:[o]}", "ename", ename, "evalue", sentence, "traceback", line);
}
