#include "kernel/base/digest.h"
#include "kernel/interpreter/distributions.h"
#include "kernel/interpreter/fingerprint.h"
#include "kernel/records/records.h"
#include "tests/kernel/tree.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static struct records none; /* remembers nothing */

/* A base interpreter 3.99.1 and a virtual environment of it. */
static int setup(void **state) {
    char target[PATH_MAX], link[PATH_MAX];
    if (tree_make(state) < 0)
        return -1;
    tree_folder("base/lib/python3.99/site-packages/Base_Thing-1.0.dist-info");
    tree_file("base/bin/python3.99", "the program");
    tree_file("base/include/python3.99/patchlevel.h", "#define PY_MAJOR 3\n#define PY_VERSION \"3.99.1\"\n");
    tree_folder("venv/bin");
    tree_folder("venv/lib/python3.99/site-packages/numpy-2.1.0.dist-info");
    tree_folder("venv/lib/python3.99/site-packages/numpy");
    tree_folder("venv/lib/python3.99/site-packages/Zope.Interface-7.0-py3.99.egg-info");
    tree_file("venv/pyvenv.cfg", "home = /x\ninclude-system-site-packages = false\nversion = 3.99.1\n");
    assert_int_equal(symlink(tree_path(target, "base/bin/python3.99"), tree_path(link, "venv/bin/python")), 0);
    return 0;
}

/* "name=version ..." of what an interpreter has. */
static const char *found_of(const char *python, char version[32]) {
    static char text[1024];
    char path[PATH_MAX];
    struct distributions found;
    assert_int_equal(distributions_find(tree_path(path, python), "", &found), 0);
    text[0] = '\0';
    for (size_t i = 0; i < found.n; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s=%s ", found.all[i].name, found.all[i].version);
    strcpy(version, found.version);
    distributions_fini(&found);
    return text;
}

static void test_distributions_of_a_virtual_environment_leave_out_its_base(void **state) {
    char version[32];
    (void)state;
    assert_string_equal(found_of("venv/bin/python", version), "zope-interface=7.0 numpy=2.1.0 ");
    assert_string_equal(version, "3.99.1");
}

static void test_distributions_with_system_site_packages_include_the_base(void **state) {
    char version[32];
    (void)state;
    tree_file("venv/pyvenv.cfg", "home = /x\ninclude-system-site-packages = true\n");
    assert_string_equal(found_of("venv/bin/python", version), "zope-interface=7.0 numpy=2.1.0 base-thing=1.0 ");
    assert_string_equal(found_of("base/bin/python3.99", version), "base-thing=1.0 ");
    assert_string_equal(version, "3.99.1");
}

static void test_distributions_of_a_missing_interpreter_are_an_error(void **state) {
    struct distributions found;
    (void)state;
    assert_int_equal(distributions_find("/nowhere/bin/python", "", &found), -ENOENT);
}

/* Who owns an environment may have put anything in place of its files. */
static void test_distributions_read_no_fifo_and_no_huge_file(void **state) {
    static const char *const names[] = {"venv/pyvenv.cfg", "base/include/python3.99/patchlevel.h"};
    char path[PATH_MAX], version[32];
    (void)state;
    for (int is_fifo = 0; is_fifo < 2; is_fifo++)
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
            tree_path(path, names[i]);
            assert_int_equal(unlink(path), 0);
            if (is_fifo)
                assert_int_equal(mkfifo(path, 0600), 0);
            else
                tree_file(names[i], "");
            assert_int_equal(is_fifo ? 0 : truncate(path, 1 << 30), 0);
            found_of("venv/bin/python", version);
        }
    assert_string_equal(version, "3.99");
}

static void test_fingerprint_reads_no_fifo_and_no_huge_file(void **state) {
    char *const settings[] = {NULL};
    char path[PATH_MAX];
    struct distributions found;
    (void)state;
    assert_int_equal(mkfifo(tree_path(path, "base/lib/libpython3.99.so.1.0"), 0600), 0);
    assert_int_equal(distributions_find(tree_path(path, "venv/bin/python"), "", &found), 0);
    json_t *json = fingerprint_make(&found, settings, &none);
    assert_non_null(json);
    assert_null(json_object_get(json_object_get(json, "interpreter"), "library_sha256"));
    json_decref(json);
    assert_int_equal(truncate(tree_path(path, "base/bin/python3.99"), 1L << 40), 0);
    json_decref(fingerprint_make(&found, settings, &none));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    json_decref(fingerprint_make(&found, settings, &none));
    distributions_fini(&found);
}

/* The digest of the environment of the interpreter in venv. */
static void digest(char ret_hex[DIGEST_HEX]) {
    char path[PATH_MAX];
    char *const settings[] = {"LANG=C.UTF-8", "PETRI_SITE=/somewhere", NULL};
    struct distributions found;
    assert_int_equal(distributions_find(tree_path(path, "venv/bin/python"), "", &found), 0);
    json_t *json = fingerprint_make(&found, settings, &none);
    assert_non_null(json);
    assert_string_equal(json_string_value(json_object_get(json_object_get(json, "distributions"), "numpy")), "2.1.0");
    assert_int_equal(json_object_size(json_object_get(json, "settings")), 1);
    assert_int_equal(digest_json(json, ret_hex), 0);
    json_decref(json);
    distributions_fini(&found);
}

static void test_fingerprint_changes_with_a_package_and_with_the_program(void **state) {
    char first[DIGEST_HEX], again[DIGEST_HEX], other[DIGEST_HEX];
    (void)state;
    digest(first);
    digest(again);
    assert_string_equal(first, again);
    tree_folder("venv/lib/python3.99/site-packages/new-1.0.dist-info");
    digest(other);
    assert_string_not_equal(first, other);
    tree_file("base/bin/python3.99", "another program");
    digest(again);
    assert_string_not_equal(other, again);
}

/* The digest of a program, as the fingerprint has it. */
static void program_digest(const char *program, struct records *records, char ret_hex[DIGEST_HEX]) {
    char *const settings[] = {NULL};
    struct distributions found = {.version = "3.99"};
    snprintf(found.interpreter, sizeof found.interpreter, "%s", program);
    json_t *json = fingerprint_make(&found, settings, records);
    assert_non_null(json);
    strcpy(ret_hex, json_string_value(json_object_get(json_object_get(json, "interpreter"), "sha256")));
    json_decref(json);
}

static void file_of(const char *path, char ret_file[DIGEST_FILE]) {
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    digest_file(&st, ret_file);
}

static void test_fingerprint_reads_a_program_once_until_it_changes(void **state) {
    static const char old[] = "/bin/sh";
    char path[PATH_MAX], database[PATH_MAX], file[DIGEST_FILE], real[DIGEST_HEX], hex[DIGEST_HEX],
        remembered[DIGEST_HEX];
    struct records records;
    struct log log;
    (void)state;
    log_init(&log, "none");
    records_open(&records, &(struct records_options){tree_path(database, "r/records.sqlite"), 30, 1 << 20}, &log);
    assert_non_null(records.db);
    program_digest(old, &none, real);
    program_digest(old, &records, hex);
    assert_string_equal(hex, real);
    file_of(old, file);
    assert_true(records_find_digest(&records, file, remembered));
    assert_string_equal(remembered, real);
    digest_bytes("remembered", 10, remembered); /* it isn't read again */
    records_store_digest(&records, file, remembered);
    program_digest(old, &records, hex);
    assert_string_equal(hex, remembered);

    tree_path(path, "base/bin/python3.99"); /* it has just been made: its next change could have the same time */
    program_digest(path, &records, hex);
    file_of(path, file);
    assert_false(records_find_digest(&records, file, remembered));
    records_store_digest(&records, file, real);
    tree_file("base/bin/python3.99", "another program");
    program_digest(path, &records, hex);
    digest_bytes("another program", 15, remembered);
    assert_string_equal(hex, remembered);
    records_close(&records);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, tree_remove)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_distributions_of_a_virtual_environment_leave_out_its_base),
        TEST(test_distributions_with_system_site_packages_include_the_base),
        TEST(test_distributions_of_a_missing_interpreter_are_an_error),
        TEST(test_distributions_read_no_fifo_and_no_huge_file),
        TEST(test_fingerprint_reads_no_fifo_and_no_huge_file),
        TEST(test_fingerprint_changes_with_a_package_and_with_the_program),
        TEST(test_fingerprint_reads_a_program_once_until_it_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
