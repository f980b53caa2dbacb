/* What `petri doctor` tells people to do: each remedy is whole, and names what is true here. */
#include "cli/remedies.h"

#include "base/cleanup.h"

#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* As one text. */
static char *made(enum remedy remedy) {
    json_auto_t *probes = json_pack("[s, s]", "namespaces", "cell");
    json_auto_t *json = remedy_make(remedy, probes);
    char *text = json_dumps(json, JSON_ENSURE_ASCII);
    assert_non_null(text);
    return text;
}

static void test_remedies_each_say_who_for_what_and_what(void **state) {
    (void)state;
    setenv("container", "podman", 1);
    for (int i = REMEDY_NONE + 1; i < REMEDY_N; i++) {
        json_auto_t *probes = json_pack("[s, s]", "namespaces", "cell");
        json_auto_t *json = remedy_make((enum remedy)i, probes);
        const char *text = json_string_value(json_object_get(json, "text"));
        const bool lines =
            json_object_get(json, "file") || json_object_get(json, "commands") || json_object_get(json, "options");
        assert_true(json_string_length(json_object_get(json, "who")) > 0);
        assert_true(json_equal(json_object_get(json, "for"), probes));
        assert_true(strlen(text) > 20);
        assert_true(text[strlen(text) - 1] == (lines ? ':' : '.') || strstr(text, "(docs/"));
    }
}

static void test_remedies_never_write_over_the_file_of_another(void **state) {
    json_auto_t *seen = json_object();
    (void)state;
    for (int i = REMEDY_NONE + 1; i < REMEDY_N; i++) {
        json_auto_t *probes = json_array();
        json_auto_t *json = remedy_make((enum remedy)i, probes);
        const char *path = json_string_value(json_object_get(json_object_get(json, "file"), "path"));
        if (!path)
            continue;
        assert_null(json_object_get(seen, path));
        json_object_set_new(seen, path, json_true());
    }
    assert_true(json_object_size(seen) > 3);
}

/* A word between two @ that nothing stands for would be shown as it is. */
static void test_remedies_have_no_word_left_that_stands_for_something(void **state) {
    (void)state;
    setenv("container", "podman", 1);
    for (int i = REMEDY_NONE + 1; i < REMEDY_N; i++) {
        auto_free char *text = made((enum remedy)i);
        for (const char *at = strchr(text, '@'); at; at = strchr(at + 1, '@')) {
            const size_t n = strspn(at + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_");
            assert_false(n > 0 && at[n + 1] == '@');
        }
    }
}

static void test_remedies_name_this_user_and_runtime(void **state) {
    char unit[64];
    const struct passwd *entry = getpwuid(geteuid());
    (void)state;
    setenv("container", "docker", 1);
    snprintf(unit, sizeof unit, "user@%u.service", geteuid());
    auto_free char *controller = made(REMEDY_CONTROLLER), *manager = made(REMEDY_MANAGER),
                   *container = made(REMEDY_CONTAINER);
    assert_non_null(strstr(controller, unit));
    assert_non_null(strstr(container, "--security-opt systempaths=unconfined"));
    assert_non_null(strstr(container, "The defaults of Docker"));
    assert_true(!entry || strstr(manager, entry->pw_name));
}

static void test_commands_ask_for_the_rights_of_root_only_where_they_are_missing(void **state) {
    auto_free char *overlay = made(REMEDY_OVERLAY);
    (void)state;
    assert_non_null(strstr(overlay, "modprobe overlay"));
    assert_int_equal(strstr(overlay, "sudo ") == NULL, geteuid() == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_remedies_each_say_who_for_what_and_what),
        cmocka_unit_test(test_remedies_never_write_over_the_file_of_another),
        cmocka_unit_test(test_remedies_have_no_word_left_that_stands_for_something),
        cmocka_unit_test(test_remedies_name_this_user_and_runtime),
        cmocka_unit_test(test_commands_ask_for_the_rights_of_root_only_where_they_are_missing),
    };
    unsetenv("KUBERNETES_SERVICE_HOST");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
