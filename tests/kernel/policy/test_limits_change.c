#include "kernel/policy/limits_change.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct limits limits;
static struct error error;
static struct limits_change change;
static struct profile profile;

static int setup(void **state) {
    (void)state;
    limits_defaults(PROFILE_STRICT, &limits);
    error.text[0] = '\0';
    profile_of_kind(PROFILE_STRICT, &profile);
    change = (struct limits_change){&profile, ASKER_CELL, &error};
    return 0;
}

static int spec_line(const char *line) {
    return limits_change_line(&change, &limits, line, strlen(line));
}

static void test_limits_change_line_sets_values_in_every_form(void **state) {
    static const struct {
        const char *line;
        enum limit limit;
        int64_t value;
    } rows[] = {
        {"timeout=250ms", LIMIT_TIMEOUT, 250},   {"timeout=3s", LIMIT_TIMEOUT, 3000},
        {"  timeout=1m ", LIMIT_TIMEOUT, 60000}, {"memory=512M", LIMIT_MEMORY, 512 << 20},
        {"timeout=7", LIMIT_TIMEOUT, 7000},      {"memory=1GiB", LIMIT_MEMORY, 1 << 30},
        {"memory=1024", LIMIT_MEMORY, 1024},     {"processes=8\tcpus=1", LIMIT_PROCESSES, 8},
        {"memory=64KB", LIMIT_MEMORY, 64 << 10},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(spec_line(rows[i].line), 0);
        assert_int_equal(limits.values[rows[i].limit], rows[i].value);
    }
    assert_int_equal(spec_line(""), 0);
}

static void test_limits_change_line_with_an_error_is_refused_with_a_reason(void **state) {
    static const struct {
        const char *line;
        const char *why;
    } rows[] = {
        {"timeout=2m", "timeout 120 s is over the ceiling of 60 s in profile strict"},
        {"memory=2G", "memory 2 GiB is over the ceiling of 1 GiB in profile strict"},
        {"memory=2", "memory needs a size such as 64K, 512K or 512M, not '2'"},
        {"timeout=5d", "timeout needs a duration such as 500ms or 10s, not '5d'"},
        {"timeout=-5s", "timeout needs a duration such as 500ms or 10s, not '-5s'"},
        {"timeout=0s", "timeout needs a duration such as 500ms or 10s, not '0s'"},
        {"timeout=99999999999999999999s", "timeout needs a duration such as 500ms or 10s, not '99999999999999999999s'"},
        {"memory=9223372036854775807G", "memory needs a size such as 64K, 512K or 512M, not '9223372036854775807G'"},
        {"processes=2K", "processes needs a whole number, not '2K'"},
        {"timeout", "limits are written name=value, not 'timeout'"},
        {"disk=1M", "disk is fixed by the configuration when the session starts"},
        {"artifact=2G", "artifact 2 GiB is over the ceiling of 1 GiB in profile strict"},
        {"tiemout=5s",
         "there is no limit 'tiemout'; there are timeout, input_wait, cpu, memory, processes, cpus, disk, "
         "files, output, display, displays, artifact, artifacts, code, history, history_memory, runs, budget, task_artifacts"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(spec_line(rows[i].line), -EINVAL);
        assert_string_equal(error.text, rows[i].why);
    }
}

/* What a task may use is the operator's and the client's to say: code can only ask for less. */
static void test_limits_change_of_task_limits_can_only_lower_them(void **state) {
    (void)state;
    assert_int_equal(spec_line("runs=9 budget=1m"), 0);
    assert_int_equal(spec_line("runs=8"), 0);
    assert_int_equal(limits.values[LIMIT_RUNS], 8);
    assert_int_equal(spec_line("runs=9"), -EINVAL);
    assert_string_equal(error.text, "runs can only be lowered, and it is 8");
    assert_int_equal(spec_line("budget=2m"), -EINVAL);
    assert_string_equal(error.text, "budget can only be lowered, and it is 60 s");
}

static void test_limits_change_json_takes_texts_and_numbers(void **state) {
    json_t *json = json_pack("{s:s, s:i}", "memory", "1M", "timeout", 1500);
    (void)state;
    assert_int_equal(limits_change_json(&change, &limits, json), 0);
    assert_int_equal(limits.values[LIMIT_MEMORY], 1 << 20);
    assert_int_equal(limits.values[LIMIT_TIMEOUT], 1500);
    json_decref(json);
    assert_int_equal(limits_change_json(&change, &limits, NULL), 0);
}

static void test_limits_change_json_refuses_bad_values_and_unknown_names(void **state) {
    json_t *rows[] = {json_pack("{s:b}", "timeout", 1), json_pack("{s:f}", "timeout", 1.5),
                      json_pack("{s:i}", "timeout", -1), json_pack("{s:i}", "nothing", 1), json_pack("[s]", "timeout")};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        error.text[0] = '\0';
        assert_int_equal(limits_change_json(&change, &limits, rows[i]), -EINVAL);
        assert_true(error.text[0] != '\0');
        json_decref(rows[i]);
    }
}

static void test_limits_change_for_the_session_can_set_session_limits(void **state) {
    (void)state;
    change.asker = ASKER_SESSION;
    assert_int_equal(spec_line("disk=1M"), 0);
    assert_int_equal(limits.values[LIMIT_DISK], 1 << 20);
}

static void test_limits_change_code_keeps_line_numbers_and_magics(void **state) {
    static const struct {
        const char *code;
        const char *rest;
        int64_t timeout;
        enum limits_line line;
    } rows[] = {
        {"1+1", "1+1", 5000, LIMITS_LINE_NONE},
        {"%%limits timeout=1s\nx", "# %%limits timeout=1s\nx", 1000, LIMITS_LINE_CELL},
        {"%%limits timeout=2s\r\nx", "# %%limits timeout=2s\r\nx", 2000, LIMITS_LINE_CELL},
        {"%%limits timeout=1s\n%%bash\nls", "%%bash\nls", 1000, LIMITS_LINE_CELL},
        {"%limits timeout=1s\n%%bash\nls", "%%bash\nls", 1000, LIMITS_LINE_SESSION},
        {"%limits timeout=1s", "# %limits timeout=1s", 1000, LIMITS_LINE_SESSION},
        {"%limits \r\nx", "# %limits \r\nx", 5000, LIMITS_LINE_SHOW},
        {"%%limits", "# %%limits", 5000, LIMITS_LINE_SHOW},
        {"%%limitsx timeout=1s\nx", "%%limitsx timeout=1s\nx", 5000, LIMITS_LINE_NONE},
        {"%limitsx", "%limitsx", 5000, LIMITS_LINE_NONE},
        {"x\n%%limits timeout=1s", "x\n%%limits timeout=1s", 5000, LIMITS_LINE_NONE},
        {"", "", 5000, LIMITS_LINE_NONE},
        {"# a\n\n%%limits timeout=1s\nx", "# a\n\n# %%limits timeout=1s\nx", 1000, LIMITS_LINE_CELL},
        {"\n  %limits timeout=3\nx", "\n  # %limits timeout=3\nx", 3000, LIMITS_LINE_SESSION},
        {"# a\n%%limits timeout=1s\n%%bash\nls", "%%bash\nls", 1000, LIMITS_LINE_CELL},
        {"# %%limits timeout=1s\nx", "# %%limits timeout=1s\nx", 5000, LIMITS_LINE_NONE},
        {"%%limits?", "%%limits?", 5000, LIMITS_LINE_NONE},
        {"# only a comment", "# only a comment", 5000, LIMITS_LINE_NONE},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        json_t *code = json_string(rows[i].code);
        json_t *rest = NULL;
        enum limits_line line;
        limits_defaults(PROFILE_STRICT, &limits);
        assert_int_equal(limits_change_code(&change, &limits, code, &rest, &line), 0);
        assert_int_equal(line, rows[i].line);
        assert_string_equal(json_string_value(rest), rows[i].rest);
        assert_int_equal(limits.values[LIMIT_TIMEOUT], rows[i].timeout);
        json_decref(code);
        json_decref(rest);
    }
}

static void test_limits_change_code_keeps_a_nul_in_the_code(void **state) {
    json_t *code = json_stringn("%%limits cpus=1\na\0b", 19);
    json_t *rest = NULL;
    enum limits_line line;
    (void)state;
    assert_int_equal(limits_change_code(&change, &limits, code, &rest, &line), 0);
    assert_int_equal(json_string_length(rest), 21);
    assert_memory_equal(json_string_value(rest), "# %%limits cpus=1\na\0b", 21);
    json_decref(code);
    json_decref(rest);
}

static void test_limits_change_code_with_a_nul_in_the_line_is_not_taken(void **state) {
    json_t *code = json_stringn("%limits\0 cpus=1\na", 17);
    json_t *rest = NULL;
    enum limits_line line;
    (void)state;
    assert_int_equal(limits_change_code(&change, &limits, code, &rest, &line), 0);
    assert_int_equal(line, LIMITS_LINE_NONE);
    assert_ptr_equal(rest, code);
    json_decref(code);
    json_decref(rest);
}

#define TEST(test) cmocka_unit_test_setup(test, setup)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_limits_change_line_sets_values_in_every_form),
        TEST(test_limits_change_line_with_an_error_is_refused_with_a_reason),
        TEST(test_limits_change_json_takes_texts_and_numbers),
        TEST(test_limits_change_json_refuses_bad_values_and_unknown_names),
        TEST(test_limits_change_for_the_session_can_set_session_limits),
        TEST(test_limits_change_code_keeps_line_numbers_and_magics),
        TEST(test_limits_change_code_keeps_a_nul_in_the_code),
        TEST(test_limits_change_code_with_a_nul_in_the_line_is_not_taken),
        TEST(test_limits_change_of_task_limits_can_only_lower_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
