#include "kernel/worker/failure.h"
#include "kernel/worker/outcome.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define STAYS "; the session is as it was before the cell."

/* One row a file in golden/: what a reader sees. */
static const struct {
    const char *file;
    enum outcome outcome;
    struct outcome_facts facts;
} rows[] = {
    {"interrupted", OUTCOME_INTERRUPTED, {.limit = "2 s"}},
    {"timeout", OUTCOME_TIMEOUT, {.limit = "5 s", .more = "%%limits timeout=10s, or more up to 1m"}},
    {"timeout_at_ceiling", OUTCOME_TIMEOUT, {.limit = "3600 s"}},
    {"timeout_with_stack",
     OUTCOME_TIMEOUT,
     {.limit = "5 s",
      .more = "%%limits timeout=10s, or more up to 1m",
      .where = {.text = "Stack (most recent call first):\n"
                        "  File \"/usr/lib/python3.11/statistics.py\", line 430 in mean\n"
                        "  File \"<ipython-input-3-b16dc615ea65>\", line 2 in slow\n"
                        "  File \"<ipython-input-4-0123456789ab>\", line 1 in <module>\n"
                        "  File \"/x/IPython/core/interactiveshell.py\", line 1 in run_code\n"}}},
    {"unanswered", OUTCOME_UNANSWERED, {.limit = "5 m", .more = "%%limits input_wait=10m, or more up to 1h"}},
    {"cpu", OUTCOME_CPU, {.limit = "5 s", .more = "%%limits cpu=10s"}},
    {"memory", OUTCOME_MEMORY, {.limit = "2 GiB", .more = "%%limits memory=3G, the most that there is"}},
    {"common_memory", OUTCOME_COMMON_MEMORY, {.limit = "16 GiB"}},
    {"crash_signal", OUTCOME_CRASH, {.end = {.signaled = true, .signal = SIGSEGV}}},
    {"crash_exit", OUTCOME_CRASH, {.end = {.exited = true, .code = 3}}},
    {"crash_unknown", OUTCOME_CRASH, {.detail = ""}},
    {"crash_detail", OUTCOME_CRASH, {.detail = "was replaced by another program (exec).\n"}},
    {"refused", OUTCOME_REFUSED, {.detail = "timeout 7200 s is over the ceiling of 3600 s in profile notebook"}},
    {"budget", OUTCOME_BUDGET, {.detail = "the task has made 3 runs, its limit"}},
    {"unknown", OUTCOME_UNKNOWN, {.detail = "no checkpoint is called \"base\"; %timeline lists them"}},
    {"sandbox", OUTCOME_SANDBOX, {.detail = "making a user namespace failed. Allow them."}},
    {"lost",
     OUTCOME_LOST,
     {.detail = "the process that held its memory was killed, by hand or by Linux for want of memory"}},
};
enum { N_ROWS = sizeof rows / sizeof rows[0] };

static json_t *error_of(size_t row) {
    struct outcome_facts facts = rows[row].facts;
    facts.where.bytes = strlen(facts.where.text);
    json_t *content = outcome_error(rows[row].outcome, &facts);
    assert_non_null(content);
    return content;
}

/* As the files have it: the traceback without colours, a line each. */
static void write_plain(const json_t *content, char *buf, size_t size) {
    json_t *plain = failure_json(content, &(struct failure_source){.code = ""});
    size_t i, n = 0;
    json_t *line;
    buf[0] = '\0';
    json_array_foreach(json_object_get(plain, "traceback"), i, line) n +=
        (size_t)snprintf(buf + n, size - n, "%s\n", json_string_value(line));
    json_decref(plain);
}

static void read_golden(const char *name, char *buf, size_t size) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s.txt", GOLDEN, name);
    FILE *file = fopen(path, "re");
    if (!file)
        fail_msg("%s: %s", path, strerror(errno));
    buf[fread(buf, 1, size - 1, file)] = '\0';
    fclose(file);
}

static void test_outcome_errors_are_golden(void **state) {
    char expected[4096], text[4096];
    (void)state;
    for (size_t i = 0; i < N_ROWS; i++) {
        json_t *content = error_of(i);
        write_plain(content, text, sizeof text);
        read_golden(rows[i].file, expected, sizeof expected);
        assert_string_equal(text, expected);
        json_decref(content);
    }
}

static void test_outcome_error_of_a_lost_session_says_what_it_is_now(void **state) {
    static const char is[] = "; the session is back before [3]: 1 cell.";
    char sentence[1024];
    (void)state;
    for (int i = 0; i < OUTCOME_N; i++) {
        const struct outcome_facts facts = {
            .session = "back before [3]: 1 cell", .mend = "Run it again.", .more = "%%limits cpu=2s"};
        if (!outcome_row((enum outcome)i)->rolled_back)
            continue;
        outcome_sentence((enum outcome)i, &facts, sentence, sizeof sentence);
        assert_null(strstr(sentence, "as it was"));
        assert_string_equal(sentence + strlen(sentence) - strlen(is), is);
        json_auto_t *error = outcome_error((enum outcome)i, &facts);
        const json_t *traceback = json_object_get(error, "traceback");
        bool mends = false;
        for (size_t k = 0; k < json_array_size(traceback); k++)
            mends |= strcmp(json_string_value(json_array_get(traceback, k)), facts.mend) == 0;
        assert_int_equal(mends, outcome_row((enum outcome)i)->hint != NULL);
    }
}

static void test_outcome_errors_end_with_the_state_of_the_session(void **state) {
    char sentence[1024];
    (void)state;
    for (size_t i = 0; i < N_ROWS; i++) {
        json_t *content = error_of(i);
        const char *evalue = json_string_value(json_object_get(content, "evalue"));
        assert_string_equal(evalue, outcome_sentence(rows[i].outcome, &rows[i].facts, sentence, sizeof sentence));
        assert_string_equal(evalue + strlen(evalue) - strlen(STAYS), STAYS);
        json_decref(content);
    }
}

static void test_every_outcome_that_fails_has_a_golden_file(void **state) {
    (void)state;
    for (int outcome = 0; outcome < OUTCOME_N; outcome++) {
        size_t n = 0;
        for (size_t i = 0; i < N_ROWS; i++)
            n += (int)rows[i].outcome == outcome;
        assert_int_equal(n > 0, outcome_row((enum outcome)outcome)->ename != NULL);
    }
}

static void test_every_failure_has_a_name_and_is_rolled_back(void **state) {
    (void)state;
    for (int i = 0; i < OUTCOME_N; i++) {
        const struct outcome_row *row = outcome_row((enum outcome)i);
        bool code_ended = i == OUTCOME_OK || i == OUTCOME_ERROR;
        assert_int_equal(row->ename == NULL, code_ended);
        assert_int_equal(row->rolled_back, !code_ended);
        assert_true(row->name[0] != '\0');
    }
}

static void test_outcome_detail_that_is_too_long_is_cut(void **state) {
    struct outcome_facts facts = {0};
    char text[64];
    (void)state;
    memset(facts.detail, 'x', sizeof facts.detail - 1);
    outcome_sentence(OUTCOME_REFUSED, &facts, text, sizeof text);
    assert_int_equal(strlen(text), sizeof text - 1);
}

static void test_detail_cut_inside_a_character_is_still_shown(void **state) {
    (void)state;
    json_t *content = outcome_error(OUTCOME_REFUSED, &(struct outcome_facts){.detail = "there is no \xc3"});
    assert_non_null(content);
    assert_string_equal(json_string_value(json_object_get(content, "evalue")),
                        "The cell was not run: there is no \xef\xbf\xbd" STAYS);
    assert_int_equal(json_array_size(json_object_get(content, "traceback")), 1);
    json_decref(content);
}

static size_t traceback_lines(const struct outcome_facts *facts) {
    json_t *error = outcome_error(OUTCOME_TIMEOUT, facts);
    size_t n = json_array_size(json_object_get(error, "traceback"));
    json_decref(error);
    return n;
}

static void test_stack_is_whole_once_the_first_frame_of_ipython_has_come(void **state) {
    static const char *const pieces[] = {
        "Stack (most recent call first):\n",
        "  File \"<ipython-input-4-0123456789ab>\", line 1 in <module>\n",
        "  File \"/x/IPython/core/interactiveshell.py\", line 1 in run_code\n",
    };
    struct outcome_facts facts = {0};
    size_t without = traceback_lines(&facts);
    (void)state;
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        memcpy(facts.where.text + facts.where.bytes, pieces[i], strlen(pieces[i]));
        facts.where.bytes += strlen(pieces[i]);
        assert_int_equal(outcome_where_is_whole(&facts.where), i == 2);
        /* Where no frame has come nothing says that the code was somewhere. */
        assert_int_equal(traceback_lines(&facts), i == 0 ? without : without + 2);
    }
    memset(facts.where.text, 'x', sizeof facts.where.text);
    facts.where.bytes = sizeof facts.where.text;
    assert_true(outcome_where_is_whole(&facts.where));
}

/* The code waits in input(), say: what it has called of what runs the cell stands before its own frames. */
static void test_stack_begins_with_the_cells_own_frames(void **state) {
    static const char text[] = "Stack (most recent call first):\n"
                               "  File \"/x/petri_worker/wire.py\", line 106 in _wait\n"
                               "  File \"/x/petri_worker/shell.py\", line 200 in raw_input\n"
                               "  File \"<ipython-input-4-0123456789ab>\", line 3 in <module>\n"
                               "  File \"/x/IPython/core/interactiveshell.py\", line 1 in run_code\n";
    struct outcome_facts facts = {0};
    (void)state;
    facts.where.bytes = (size_t)(strstr(text, "  File \"<") - text);
    memcpy(facts.where.text, text, sizeof text);
    assert_false(outcome_where_is_whole(&facts.where));
    facts.where.bytes = strlen(text);
    assert_true(outcome_where_is_whole(&facts.where));
    json_t *error = outcome_error(OUTCOME_UNANSWERED, &facts);
    assert_string_equal(json_string_value(json_array_get(json_object_get(error, "traceback"), 1)),
                        "  Cell In[4], line 3 in <module>");
    json_decref(error);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_outcome_errors_are_golden),
        cmocka_unit_test(test_outcome_error_of_a_lost_session_says_what_it_is_now),
        cmocka_unit_test(test_outcome_errors_end_with_the_state_of_the_session),
        cmocka_unit_test(test_every_outcome_that_fails_has_a_golden_file),
        cmocka_unit_test(test_every_failure_has_a_name_and_is_rolled_back),
        cmocka_unit_test(test_outcome_detail_that_is_too_long_is_cut),
        cmocka_unit_test(test_detail_cut_inside_a_character_is_still_shown),
        cmocka_unit_test(test_stack_is_whole_once_the_first_frame_of_ipython_has_come),
        cmocka_unit_test(test_stack_begins_with_the_cells_own_frames),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
