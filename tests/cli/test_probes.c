/* What `petri doctor` asks, on a machine that has no sandboxes: fake_sandbox.c. */
#include "cli/probes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static enum finding run(const char *name, const char *python, char *text, size_t size) {
    text[0] = '\0';
    for (size_t i = 0; i < probes_n; i++)
        if (strcmp(probes[i].name, name) == 0)
            return probes[i].run(python, text, size);
    fail_msg("there is no probe %s", name);
    return FINDING_N;
}

static void test_probes_have_the_expected_names_in_order(void **state) {
    static const char *const expected[] = {"linux", "container", "files", "apparmor", "namespaces", "ptrace",
                                           "kcmp",  "seccomp",   "cell",  "overlay",  "cgroup"};
    (void)state;
    assert_int_equal(probes_n, sizeof expected / sizeof expected[0]);
    for (size_t i = 0; i < probes_n; i++) {
        assert_string_equal(probes[i].name, expected[i]);
        assert_true(probes[i].needed_for[0] != '\0');
    }
}

static void test_probes_each_write_one_sentence(void **state) {
    char text[900];
    (void)state;
    for (size_t i = 0; i < probes_n; i++) {
        text[0] = '\0';
        enum finding finding = probes[i].run(NULL, text, sizeof text);
        assert_in_range(finding, FINDING_GOOD, FINDING_UNUSABLE);
        assert_in_range(strlen(text), 5, sizeof text - 2);
        assert_int_equal(text[strlen(text) - 1], '.');
    }
}

static void test_probes_without_namespaces_give_the_sandbox_error(void **state) {
    static const char *const names[] = {"namespaces", "cgroup", "cell"};
    static const char sentence[] = "making it failed (no sandboxes in this test). Mend it.";
    char text[900];
    (void)state;
    unsetenv("KUBERNETES_SERVICE_HOST");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        setenv("container", "systemd-nspawn", 1); /* no options are known of it */
        assert_int_equal(run(names[i], "/usr/bin/python3", text, sizeof text), FINDING_UNUSABLE);
        assert_string_equal(text, sentence);
        setenv("container", "podman", 1);
        assert_int_equal(run(names[i], "/usr/bin/python3", text, sizeof text), FINDING_UNUSABLE);
        assert_memory_equal(text, sentence, sizeof sentence - 1);
        assert_non_null(strstr(text, " In podman petri needs: --security-opt "));
    }
}

static void test_probe_of_a_cell_without_python_asks_for_one(void **state) {
    char text[900];
    (void)state;
    assert_int_equal(run("cell", NULL, text, sizeof text), FINDING_UNUSABLE);
    assert_string_equal(text, "there is no Python 3 to try with; name one with --python.");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_probes_have_the_expected_names_in_order),
        cmocka_unit_test(test_probes_each_write_one_sentence),
        cmocka_unit_test(test_probes_without_namespaces_give_the_sandbox_error),
        cmocka_unit_test(test_probe_of_a_cell_without_python_asks_for_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
