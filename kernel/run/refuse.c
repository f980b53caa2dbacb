#include "refuse.h"

#include "kernel/base/pattern.h"
#include "kernel/policy/config.h"
#include "kernel/policy/imports.h"
#include "kernel/run/runner.h"
#include "protocol/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* What is looked for, and what was found. */
struct search {
    const json_t *refused;
    char module[IMPORTS_NAME_BYTES];
    int line; /* 0 while nothing is found */
};

/* os refuses os and os.path, not osmium. */
static bool names(const char *refused, const char *module) {
    size_t n = strlen(refused);
    return strncmp(refused, module, n) == 0 && (module[n] == '\0' || module[n] == '.');
}

static bool look_at_import(void *arg, const char *module, int line) {
    struct search *search = arg;
    size_t i;
    json_t *refused;
    json_array_foreach(search->refused, i, refused) {
        if (!names(json_string_value(refused), module))
            continue;
        snprintf(search->module, sizeof search->module, "%s", module);
        search->line = line;
        return false;
    }
    return true;
}

/* Magics of a whole cell whose rest is Python; the rest of others is not. */
static bool is_python(const char *code) {
    static const char *const magics[] = {"%%time", "%%timeit", "%%capture", "%%prun", "%%limits"};
    bool python = strncmp(code, "%%", 2) != 0;
    for (size_t i = 0; i < sizeof magics / sizeof magics[0]; i++)
        python = python || strncmp(code, magics[i], strlen(magics[i])) == 0;
    return python;
}

static int line_of(const char *code, size_t at) {
    int line = 1;
    for (size_t i = 0; i < at; i++)
        line += code[i] == '\n';
    return line;
}

/* The line as a traceback shows it, from which the report takes its number. */
static void refuse(struct run *run, int line, const char *why, const char *code) {
    const char *at = code;
    run_set_outcome(run, OUTCOME_REFUSED, why);
    for (int i = 1; i < line && strchr(at, '\n'); i++)
        at = strchr(at, '\n') + 1;
    json_auto_t *text = text_to_json(at, strcspn(at, "\n"));
    run->facts.history = json_array();
    json_array_append_new(run->facts.history, json_sprintf("Cell In[%d], line %d", run->execution_count, line));
    json_array_append_new(run->facts.history, json_sprintf("    %s", json_string_value(text)));
}

static void check_imports(struct runner *runner, struct run *run, const char *code, size_t bytes) {
    char why[sizeof run->facts.detail];
    struct search search = {.refused = runner->config->refuse.imports};
    if (!search.refused || !is_python(code))
        return;
    imports_scan(code, bytes, look_at_import, &search);
    if (search.line == 0)
        return;
    snprintf(why, sizeof why, "line %d imports %s, which the configuration refuses (\"refuse\", \"imports\")",
             search.line, search.module);
    refuse(run, search.line, why, code);
}

static void check_pattern(struct runner *runner, struct run *run, size_t which, struct pattern_pass *pass) {
    char why[sizeof run->facts.detail];
    size_t start = 0, end = 0;
    const char *pattern = json_string_value(json_array_get(runner->config->refuse.patterns, which));
    int r = patterns_next(runner->refused, which, pass, &start, &end);
    if (r == 0)
        return;
    int line = line_of(pass->text, r > 0 ? start : pass->at);
    if (r > 0)
        snprintf(why, sizeof why,
                 "line %d has what the configuration refuses (\"refuse\", \"patterns\"): it matches %.120s", line,
                 pattern);
    else
        snprintf(why, sizeof why, "it takes too long to find out whether its line %d matches %.120s", line, pattern);
    refuse(run, line, why, pass->text);
}

void refuse_check(struct runner *runner, struct run *run, const json_t *code) {
    const char *text = json_string_value(code);
    size_t bytes = json_string_length(code);
    int64_t deadline_us = pattern_deadline();
    check_imports(runner, run, text, bytes);
    for (size_t i = 0; i < patterns_n(runner->refused) && run->outcome == OUTCOME_OK; i++) {
        struct pattern_pass pass = {.text = text, .bytes = bytes, .deadline_us = deadline_us};
        check_pattern(runner, run, i, &pass);
    }
}
