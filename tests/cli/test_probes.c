/* What `petri doctor` asks, on a machine that has no sandboxes: fake_sandbox.c. */
#include "cli/probes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct diagnosis run(const char *name, const char *python) {
    struct diagnosis diagnosis = {0};
    size_t i = 0;
    while (i < probes_n && strcmp(probes[i].name, name) != 0)
        i++;
    assert_in_range(i, 0, probes_n - 1);
    probes[i].run(python, &diagnosis);
    return diagnosis;
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

static void test_probes_each_write_sentences_and_are_good_without_a_remedy(void **state) {
    (void)state;
    for (size_t i = 0; i < probes_n; i++) {
        const struct diagnosis diagnosis = run(probes[i].name, NULL);
        assert_in_range(diagnosis.finding, FINDING_GOOD, FINDING_UNUSABLE);
        assert_in_range(diagnosis.remedy, REMEDY_NONE, REMEDY_N - 1);
        assert_true(diagnosis.finding != FINDING_GOOD || diagnosis.remedy == REMEDY_NONE);
        assert_in_range(strlen(diagnosis.text), 5, sizeof diagnosis.text - 2);
        assert_int_equal(diagnosis.text[strlen(diagnosis.text) - 1], '.');
    }
}

static void test_probes_without_namespaces_give_the_sandbox_error_and_what_the_runtime_needs(void **state) {
    static const char *const names[] = {"namespaces", "cgroup", "cell"};
    (void)state;
    unsetenv("KUBERNETES_SERVICE_HOST");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        setenv("container", "systemd-nspawn", 1); /* no options are known of it */
        struct diagnosis diagnosis = run(names[i], "/usr/bin/python3");
        assert_int_equal(diagnosis.finding, FINDING_UNUSABLE);
        assert_int_equal(diagnosis.remedy, REMEDY_NONE);
        assert_string_equal(diagnosis.text, "making it failed (no sandboxes in this test). Mend it.");
        setenv("container", "podman", 1);
        diagnosis = run(names[i], "/usr/bin/python3");
        assert_int_equal(diagnosis.finding, FINDING_UNUSABLE);
        assert_int_equal(diagnosis.remedy, REMEDY_CONTAINER);
        assert_string_equal(diagnosis.text, "making it failed (no sandboxes in this test).");
    }
}

static void test_probe_of_a_cell_without_python_asks_for_one(void **state) {
    (void)state;
    const struct diagnosis diagnosis = run("cell", NULL);
    assert_int_equal(diagnosis.finding, FINDING_UNUSABLE);
    assert_int_equal(diagnosis.remedy, REMEDY_PYTHON);
    assert_string_equal(diagnosis.text, "there is no Python 3 to try with.");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_probes_have_the_expected_names_in_order),
        cmocka_unit_test(test_probes_each_write_sentences_and_are_good_without_a_remedy),
        cmocka_unit_test(test_probes_without_namespaces_give_the_sandbox_error_and_what_the_runtime_needs),
        cmocka_unit_test(test_probe_of_a_cell_without_python_asks_for_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
