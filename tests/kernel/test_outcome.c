#include "kernel/outcome.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define STAYS "; the session is as it was before the cell."

static const struct {
    enum outcome outcome;
    struct outcome_facts facts;
    const char *sentence;
} rows[] = {
    {OUTCOME_INTERRUPTED, {.limit = "2 s"}, "The cell did not stop within 2 s of the interrupt and was ended" STAYS},
    {OUTCOME_TIMEOUT, {.limit = "5 s"}, "The cell ran longer than its time limit of 5 s and was ended" STAYS},
    {OUTCOME_CPU, {.limit = "5 s"}, "The cell used more CPU time than its limit of 5 s and was ended" STAYS},
    {OUTCOME_MEMORY, {.limit = "2 GiB"}, "The cell held more memory than its limit of 2 GiB and was ended" STAYS},
    {OUTCOME_CRASH,
     {.end = {.signaled = true, .signal = SIGKILL}},
     "The cell's process was killed by signal 9 (Killed)" STAYS},
    {OUTCOME_CRASH, {.end = {.exited = true, .code = 3}}, "The cell's process ended itself with exit status 3" STAYS},
    {OUTCOME_CRASH, {.detail = ""}, "The cell's process ended" STAYS},
    {OUTCOME_CRASH, {.detail = "did that.\n"}, "The cell's process did that" STAYS},
    {OUTCOME_REFUSED, {.detail = "too long"}, "The cell was not run: too long" STAYS},
    {OUTCOME_BUDGET, {.detail = "3 runs were made"}, "The cell was not run: 3 runs were made" STAYS},
    {OUTCOME_SANDBOX,
     {.detail = "making a user namespace failed. Mend it."},
     "There is no sandbox for the cell, so it was not run: making a user namespace failed. Mend it" STAYS},
};

static void test_sentences_say_what_happened_and_what_stays(void **state) {
    char text[1024];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_string_equal(outcome_sentence(rows[i].outcome, &rows[i].facts, text, sizeof text), rows[i].sentence);
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

static void test_error_content_has_the_sentence_in_value_and_traceback(void **state) {
    const struct outcome_facts facts = {.limit = "5 s"};
    json_t *content = outcome_error(OUTCOME_TIMEOUT, &facts);
    (void)state;
    assert_non_null(content);
    const char *evalue = json_string_value(json_object_get(content, "evalue"));
    const char *line = json_string_value(json_array_get(json_object_get(content, "traceback"), 0));
    assert_string_equal(json_string_value(json_object_get(content, "ename")), "CellTimeout");
    assert_non_null(strstr(line, evalue));
    json_decref(content);
}

static void test_a_long_detail_is_cut_not_overrun(void **state) {
    struct outcome_facts facts = {0};
    char text[64];
    (void)state;
    memset(facts.detail, 'x', sizeof facts.detail - 1);
    outcome_sentence(OUTCOME_REFUSED, &facts, text, sizeof text);
    assert_int_equal(strlen(text), sizeof text - 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sentences_say_what_happened_and_what_stays),
        cmocka_unit_test(test_every_failure_has_a_name_and_is_rolled_back),
        cmocka_unit_test(test_error_content_has_the_sentence_in_value_and_traceback),
        cmocka_unit_test(test_a_long_detail_is_cut_not_overrun),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
