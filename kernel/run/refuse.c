/*
 * refuse.c - finds the line that is refused, and shows it as a traceback does.
 *
 * What a worker says about an import is checked as far as possible: the module
 * has to be one that the configuration refuses, and the line has to exist in the
 * code. All patterns share a bound of time; code that can't be searched within it is
 * refused.
 */

#include "refuse.h"

#include "base/errand.h"
#include "kernel/base/pattern.h"
#include "kernel/policy/config.h"
#include "protocol/text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* The longest name of a module that a worker may report. */
enum { MODULE_BYTES = 256 };

static int line_of(const char *code, size_t at) {
    int line = 1;
    for (size_t i = 0; i < at; i++)
        line += code[i] == '\n';
    return line;
}

/* Shows the line as a traceback does; the report reads the line's number from that text. */
static void refuse(struct run *run, int line, const char *why, const char *code) {
    const char *at = code;
    run_set_outcome(run, OUTCOME_REFUSED, why);
    for (int i = 1; i < line && strchr(at, '\n'); i++)
        at = strchr(at, '\n') + 1;
    json_auto_t *text = text_to_json(at, strcspn(at, "\n"));
    run->result.facts.history = json_array();
    json_array_append_new(run->result.facts.history,
                          json_sprintf("Cell In[%d], line %d", run->asked.shown_number, line));
    json_array_append_new(run->result.facts.history, json_sprintf("    %s", json_string_value(text)));
}

/* What is looked for in a cell, and what was found. */
struct look {
    const struct patterns *refused;
    const json_t *code;
    int r; /* as of patterns_next() */
    int line;
    size_t which; /* of the patterns */
};

/* Work of an errand's: a text may be long, and made so that patterns take long on it. */
static void look_for_all(void *arg) {
    struct look *look = arg;
    struct work_time time = pattern_time();
    size_t start = 0, end = 0;
    for (; look->which < patterns_n(look->refused); look->which++) {
        struct pattern_pass pass = {
            .text = json_string_value(look->code), .bytes = json_string_length(look->code), .time = &time};
        look->r = patterns_next(look->refused, look->which, &pass, &start, &end);
        if (look->r == 0)
            continue;
        look->line = line_of(pass.text, look->r > 0 ? start : pass.at);
        return;
    }
}

void refuse_check(const struct config *config, struct patterns *refused, struct run *run, const json_t *code) {
    struct look look = {.refused = refused, .code = code};
    char why[sizeof run->result.facts.detail];
    if (patterns_n(refused) > 0)
        errand_do(look_for_all, &look);
    if (look.r == 0)
        return;
    const char *pattern = json_string_value(json_array_get(config->refuse.patterns, look.which));
    if (look.r > 0)
        snprintf(why, sizeof why,
                 "line %d has what the configuration refuses (\"refuse\", \"patterns\"): it matches %.120s", look.line,
                 pattern);
    else
        snprintf(why, sizeof why, "it takes too long to find out whether its line %d matches %.120s", look.line,
                 pattern);
    refuse(run, look.line, why, json_string_value(code));
}

const json_t *refuse_modules(const struct config *config) {
    return json_array_size(config->refuse.imports) > 0 ? config->refuse.imports : NULL;
}

static bool is_module(const char *text, size_t bytes) {
    bool good = bytes > 0 && bytes < MODULE_BYTES;
    for (size_t i = 0; good && i < bytes; i++)
        good = isalnum((unsigned char)text[i]) || text[i] == '_' || text[i] == '.' || (unsigned char)text[i] >= 0x80;
    return good;
}

/* os refuses os and os.path, not osmium. */
static bool names(const char *refused, const char *module) {
    size_t n = strlen(refused);
    return strncmp(refused, module, n) == 0 && (module[n] == '\0' || module[n] == '.');
}

static bool is_refused(const struct config *config, const json_t *module) {
    size_t i;
    json_t *refused;
    if (!is_module(json_string_value(module), json_string_length(module)))
        return false;
    json_array_foreach(config->refuse.imports, i, refused) {
        if (names(json_string_value(refused), json_string_value(module)))
            return true;
    }
    return false;
}

bool refuse_check_reply(const struct config *config, struct run *run, const json_t *reply) {
    char why[sizeof run->result.facts.detail];
    const char *code = json_string_value(run->asked.code);
    const char *status = json_string_value(json_object_get(reply, "status"));
    const json_t *module = json_object_get(reply, "module");
    json_int_t line = json_integer_value(json_object_get(reply, "line"));
    if (!code || !status || strcmp(status, "refused") != 0 || !is_refused(config, module) || line < 1 ||
        line > line_of(code, json_string_length(run->asked.code)) - run->asked.skipped_lines)
        return false;
    line += run->asked.skipped_lines;
    snprintf(why, sizeof why, "line %d imports %s, which the configuration refuses (\"refuse\", \"imports\")",
             (int)line, json_string_value(module));
    refuse(run, (int)line, why, code);
    return true;
}
