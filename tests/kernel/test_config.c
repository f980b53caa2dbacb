#include "kernel/config.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct config config;
static char why[512];

static int parse(const char *text) {
    why[0] = '\0';
    return config_parse(text, strlen(text), PROFILE_STRICT, &config, why, sizeof why);
}

static void test_config_without_keys_is_the_defaults(void **state) {
    struct limits limits;
    (void)state;
    limits_defaults(PROFILE_STRICT, &limits);
    assert_int_equal(parse("{}"), 0);
    assert_memory_equal(&config.limits, &limits, sizeof limits);
    assert_int_equal(config.grace_ms, 2000);
    assert_true(config.history);
    assert_int_equal(parse("{\"history\": false}"), 0);
    assert_false(config.history);
}

static void test_config_sets_only_the_profile_in_force(void **state) {
    (void)state;
    assert_int_equal(parse("{\"profiles\": {\"strict\": {\"timeout\": \"7s\", \"disk\": \"1M\"},"
                           " \"notebook\": {\"timeout\": \"9s\"}}, \"interrupt_grace\": \"250ms\"}"),
                     0);
    assert_int_equal(config.limits.values[LIMIT_TIMEOUT], 7000);
    assert_int_equal(config.limits.values[LIMIT_DISK], 1 << 20);
    assert_int_equal(config.grace_ms, 250);
}

static void test_config_that_is_wrong_is_refused_with_a_reason(void **state) {
    static const struct {
        const char *text;
        const char *why;
    } rows[] = {
        {"", "It is not a JSON object."},
        {"[]", "It is not a JSON object."},
        {"{\"profile\": {}}", "\"profile\" is not known; there are \"history\", \"interrupt_grace\" and \"profiles\"."},
        {"{\"profiles\": []}", "\"profiles\" has to be an object of profiles."},
        {"{\"profiles\": {\"lax\": {}}}", "\"lax\" is no profile; there are \"notebook\" and \"strict\"."},
        {"{\"profiles\": {\"notebook\": {\"timeout\": \"2h\"}}}",
         "\"profiles\", \"notebook\": timeout 7200 s is over the ceiling of 3600 s in profile notebook."},
        {"{\"history\": 1}", "\"history\" has to be true or false."},
        {"{\"interrupt_grace\": 2}", "\"interrupt_grace\" has to be a duration such as \"500ms\" or \"2s\"."},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        config.grace_ms = 77;
        assert_int_equal(parse(rows[i].text), -EINVAL);
        assert_string_equal(why, rows[i].why);
        assert_int_equal(config.grace_ms, 77); /* untouched on failure */
    }
}

static void test_config_file_that_was_named_has_to_be_there(void **state) {
    (void)state;
    assert_int_equal(config_load("/nowhere/petri.json", PROFILE_STRICT, &config, why, sizeof why), -ENOENT);
    assert_string_equal(why, "The configuration /nowhere/petri.json can't be read: No such file or directory.");
}

static void test_config_file_is_read(void **state) {
    char path[] = "/tmp/petri-test-XXXXXX";
    static const char text[] = "{\"profiles\": {\"strict\": {\"processes\": 3}}}";
    int fd = mkstemp(path);
    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, sizeof text - 1), sizeof text - 1);
    close(fd);
    assert_int_equal(config_load(path, PROFILE_STRICT, &config, why, sizeof why), 0);
    assert_int_equal(config.limits.values[LIMIT_PROCESSES], 3);
    unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_config_without_keys_is_the_defaults),
        cmocka_unit_test(test_config_sets_only_the_profile_in_force),
        cmocka_unit_test(test_config_that_is_wrong_is_refused_with_a_reason),
        cmocka_unit_test(test_config_file_that_was_named_has_to_be_there),
        cmocka_unit_test(test_config_file_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
