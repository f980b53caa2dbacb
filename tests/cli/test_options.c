#include "cli/options.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const struct command command = {.name = "try",
                                       .operands = "FILE",
                                       .n_operands = 1,
                                       .options = TAKES(OPTION_PYTHON) | TAKES(OPTION_JSON),
                                       .help = ""};

enum { MAX_WORDS = 4 };

static const struct {
    const char *words[MAX_WORDS];
    const char *why;
} bad[] = {
    {{"--profile", "x", "f"}, "petri try has no option --profile"},
    {{"--pytho", "x", "f"}, "petri try has no option --pytho"},
    {{"-j", "f"}, "petri try has no option -j"},
    {{"--json=1", "f"}, "--json takes no value"},
    {{"f", "--python"}, "--python needs a value: PATH"},
    {{"f", "g"}, "petri try does not know what to do with g"},
    {{"--json"}, "petri try needs FILE"},
    {{0}, "petri try needs FILE"},
};

static int parse(const char *const words[MAX_WORDS], struct arguments *ret, struct error *ret_error) {
    int n = 0;
    while (n < MAX_WORDS && words[n])
        n++;
    return options_parse(&command, n, (char *const *)words, ret, ret_error);
}

static void test_options_in_every_form_are_read(void **state) {
    static const char *const forms[][MAX_WORDS] = {
        {"--python", "/p", "--json", "f"}, {"f", "--json", "--python=/p"}, {"--json", "--python=/p", "--", "f"}};
    (void)state;
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        struct arguments arguments;
        struct error error = {0};
        assert_int_equal(parse(forms[i], &arguments, &error), 0);
        assert_string_equal(arguments.values[OPTION_PYTHON], "/p");
        assert_string_equal(arguments.values[OPTION_JSON], "");
        assert_null(arguments.values[OPTION_USER]);
        assert_int_equal(arguments.n_operands, 1);
        assert_string_equal(arguments.operands[0], "f");
    }
}

static void test_options_of_ipython_are_ignored_where_the_command_allows(void **state) {
    static const struct {
        const char *word;
        int status;
    } words[] = {
        {"--HistoryManager.hist_file=:memory:", 0}, {"--historymanager.hist_file=x", -EINVAL},
        {"--HistoryManager=x.y", -EINVAL},          {"--HistoryManager.hist_file", -EINVAL},
        {"-HistoryManager.hist_file=x", -EINVAL},
    };
    struct command passes = command;
    passes.passes_traits = true;
    (void)state;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        const char *const argv[] = {words[i].word, "f"};
        struct arguments arguments;
        struct error error;
        assert_int_equal(options_parse(&command, 2, (char *const *)argv, &arguments, &error), -EINVAL);
        int r = options_parse(&passes, 2, (char *const *)argv, &arguments, &error);
        assert_int_equal(r, words[i].status);
        if (r == 0)
            assert_string_equal(arguments.operands[0], "f");
    }
}

static void test_options_after_the_double_dash_are_operands(void **state) {
    static const char *const words[MAX_WORDS] = {"--", "--json"};
    struct arguments arguments;
    struct error error;
    (void)state;
    assert_int_equal(parse(words, &arguments, &error), 0);
    assert_string_equal(arguments.operands[0], "--json");
    assert_null(arguments.values[OPTION_JSON]);
}

static void test_options_that_are_invalid_are_refused_by_name(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct arguments arguments = {.n_operands = 77};
        struct error error = {0};
        assert_int_equal(parse(bad[i].words, &arguments, &error), -EINVAL);
        assert_string_equal(error.text, bad[i].why);
        assert_int_equal(arguments.n_operands, 77); /* untouched on failure */
    }
}

static void test_options_help_needs_no_operand(void **state) {
    static const char *const words[MAX_WORDS] = {"--help"};
    struct arguments arguments;
    struct error error;
    (void)state;
    assert_int_equal(parse(words, &arguments, &error), 0);
    assert_non_null(arguments.values[OPTION_HELP]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_options_in_every_form_are_read),
        cmocka_unit_test(test_options_of_ipython_are_ignored_where_the_command_allows),
        cmocka_unit_test(test_options_after_the_double_dash_are_operands),
        cmocka_unit_test(test_options_that_are_invalid_are_refused_by_name),
        cmocka_unit_test(test_options_help_needs_no_operand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
