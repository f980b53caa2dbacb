#include "kernel/packages.h"
#include "tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SITE "venv/lib/python3.99/site-packages/"

static const struct log quiet = {.level = LOG_LEVEL_ERROR};

/* A distribution with a module of its name, and what it says of itself. */
static void add(const char *name, const char *metadata) {
    char path[256], text[256];
    snprintf(path, sizeof path, SITE "%s/__init__.py", name);
    tree_file(path, "");
    snprintf(path, sizeof path, SITE "%s-1.0.dist-info/METADATA", name);
    tree_file(path, metadata);
    snprintf(path, sizeof path, SITE "%s-1.0.dist-info/RECORD", name);
    snprintf(text, sizeof text, "%s/__init__.py,sha256=x,0\n../../../bin/%s,,\n", name, name);
    tree_file(path, text);
}

static int setup(void **state) {
    if (tree_make(state) < 0)
        return -1;
    tree_file("venv/bin/python3.99", "the program");
    add("ipython", "Name: ipython\nRequires-Dist: pygments>=2\n\nRequires-Dist: only-described\n");
    add("pygments", "");
    add("table", "Requires-Dist: Deep.Thing (>=1)\nRequires-Dist: plot; extra == 'all'\n");
    add("deep_thing", "Requires-Dist: table\n"); /* and back */
    add("plot", "");
    tree_file(SITE "loose.py", ""); /* of no distribution */
    return 0;
}

static int compare(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The entries that cells don't see, in their order, with spaces between, where these are listed. */
static void expect_hidden(const char *listed, const char *expected) {
    char python[PATH_MAX], text[1024] = "";
    struct distributions found;
    struct packages packages;
    json_t *names = json_loads(listed, 0, NULL);
    assert_non_null(names);
    assert_int_equal(distributions_find(tree_path(python, "venv/bin/python3.99"), "", &found), 0);
    assert_int_equal(packages_hide(&found, "", names, &quiet, &packages), 0);
    assert_int_equal(packages.n, 1);
    size_t n = 0;
    while (packages.hide[0].names && packages.hide[0].names[n])
        n++;
    if (n > 0)
        qsort(packages.hide[0].names, n, sizeof *packages.hide[0].names, compare);
    for (size_t i = 0; i < n; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i ? " " : "", packages.hide[0].names[i]);
    assert_string_equal(text, expected);
    packages_fini(&packages);
    distributions_fini(&found);
    json_decref(names);
}

static void test_packages_none_listed_leaves_what_the_worker_needs(void **state) {
    (void)state;
    expect_hidden("[]", "deep_thing deep_thing-1.0.dist-info loose.py plot plot-1.0.dist-info table"
                        " table-1.0.dist-info");
}

static void test_packages_listed_bring_what_they_require_but_not_for_extras(void **state) {
    (void)state;
    expect_hidden("[\"Table\"]", "loose.py plot plot-1.0.dist-info");
}

static void test_packages_are_found_by_any_spelling_of_their_name(void **state) {
    (void)state;
    expect_hidden("[\"DEEP-thing\", \"plot\", \"not-installed\"]", "loose.py");
}

static void test_packages_folder_shared_with_a_listed_package_is_shown(void **state) {
    (void)state;
    tree_file(SITE "plot-1.0.dist-info/RECORD", "plot/__init__.py,,\ntable/plots.py,,\n");
    expect_hidden("[\"plot\"]", "deep_thing deep_thing-1.0.dist-info loose.py table-1.0.dist-info");
}

static void test_packages_without_a_record_go_by_top_level_and_requires_txt(void **state) {
    (void)state;
    tree_file(SITE "old-1.0.egg-info/top_level.txt", "loose\n_native\n");
    tree_file(SITE "old-1.0.egg-info/requires.txt", "plot\n\n[extra]\ntable\n");
    tree_file(SITE "_native.cpython-399.so", "");
    tree_file(SITE "other.cpython-399.so", "");
    expect_hidden("[\"old\"]", "deep_thing deep_thing-1.0.dist-info other.cpython-399.so table table-1.0.dist-info");
}

/* Its own site is petri's, of which nothing is hidden. */
static void test_packages_of_petris_own_site_are_not_hidden(void **state) {
    char python[PATH_MAX], site[PATH_MAX];
    struct distributions found;
    struct packages packages;
    json_t *none = json_array();
    (void)state;
    tree_file("own/something.py", "");
    assert_int_equal(distributions_find(tree_path(python, "venv/bin/python3.99"), tree_path(site, "own"), &found), 0);
    assert_int_equal(packages_hide(&found, site, none, &quiet, &packages), 0);
    assert_int_equal(found.n_folders, 2);
    assert_int_equal(packages.n, 1);
    assert_string_equal(packages.hide[0].folder, found.folders[0]);
    packages_fini(&packages);
    distributions_fini(&found);
    json_decref(none);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, tree_remove)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_packages_none_listed_leaves_what_the_worker_needs),
        TEST(test_packages_listed_bring_what_they_require_but_not_for_extras),
        TEST(test_packages_are_found_by_any_spelling_of_their_name),
        TEST(test_packages_folder_shared_with_a_listed_package_is_shown),
        TEST(test_packages_without_a_record_go_by_top_level_and_requires_txt),
        TEST(test_packages_of_petris_own_site_are_not_hidden),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
