#include "tests/kernel/listing.h"
#include "tests/kernel/tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const struct log quiet = {.level = LOG_LEVEL_ERROR};

/* A distribution with a module and a script of its name, and what it says of itself. */
static void add(const char *name, const char *metadata) {
    char path[256], module[256], script[256];
    snprintf(module, sizeof module, "%s/__init__.py", name);
    snprintf(script, sizeof script, "../../../bin/%s", name);
    listing_add(SITE, name, PATHS(module, script));
    snprintf(path, sizeof path, SITE "/%s-1.0.dist-info/METADATA", name);
    tree_file(path, metadata);
}

static int setup(void **state) {
    if (listing_setup(state) < 0)
        return -1;
    add("ipython", "Name: ipython\nRequires-Dist: pygments>=2\n\nRequires-Dist: only-described\n");
    add("pygments", "");
    add("table", "Requires-Dist: Deep.Thing (>=1)\nRequires-Dist: plot; extra == 'all'\n");
    add("deep_thing", "Requires-Dist: table\n"); /* and back */
    add("plot", "");
    tree_file(SITE "/loose.py", ""); /* of no distribution */
    return 0;
}

static void expect_hidden(const char *listed, const char *in_site, const char *in_bin) {
    listing_find(listed, NULL, NULL);
    listing_expect(SITE, in_site);
    listing_expect(VENV "/bin", in_bin);
}

static void test_packages_with_none_listed_shows_what_the_worker_needs(void **state) {
    (void)state;
    expect_hidden("",
                  "deep_thing deep_thing-1.0.dist-info loose.py plot plot-1.0.dist-info table"
                  " table-1.0.dist-info",
                  "deep_thing plot table");
}

static void test_packages_listed_show_their_requirements_but_not_extras(void **state) {
    (void)state;
    expect_hidden("Table", "loose.py plot plot-1.0.dist-info", "plot");
}

static void test_packages_are_found_by_any_spelling_of_their_name(void **state) {
    (void)state;
    expect_hidden("DEEP-thing plot not-installed", "loose.py", "");
}

static void test_packages_without_a_record_use_top_level_and_requires_txt(void **state) {
    (void)state;
    tree_file(SITE "/old-1.0.egg-info/top_level.txt", "loose\n_native\n");
    tree_file(SITE "/old-1.0.egg-info/requires.txt", "plot\n\n[extra]\ntable\n");
    tree_file(SITE "/_native.cpython-399.so", "");
    tree_file(SITE "/other.cpython-399.so", "");
    expect_hidden("old", "deep_thing deep_thing-1.0.dist-info other.cpython-399.so table table-1.0.dist-info",
                  "deep_thing table");
}

static void test_packages_with_installed_files_txt_use_it(void **state) {
    (void)state;
    tree_file(SITE "/old-1.0.egg-info/installed-files.txt", "../loose.py\n../../../../bin/old\nPKG-INFO\n");
    tree_file(VENV "/bin/old", "");
    expect_hidden("table old", "plot plot-1.0.dist-info", "plot");
    expect_hidden("table", "loose.py old-1.0.egg-info plot plot-1.0.dist-info", "old plot");
}

static void test_packages_as_eggs_are_shown_or_hidden_as_a_whole(void **state) {
    (void)state;
    tree_file(SITE "/Seen-1.0-py3.99.egg/EGG-INFO/requires.txt", "plot\n");
    tree_file(SITE "/unseen-1.0-py3.99.egg/EGG-INFO/PKG-INFO", "");
    tree_file(SITE "/linked.egg-link", "/elsewhere\n.\n");
    tree_file(SITE "/easy-install.pth", "./Seen-1.0-py3.99.egg\n");
    expect_hidden("seen table", "linked.egg-link loose.py unseen-1.0-py3.99.egg", "");
    expect_hidden("linked table", "Seen-1.0-py3.99.egg loose.py plot plot-1.0.dist-info unseen-1.0-py3.99.egg", "plot");
}

/* Its own site is petri's, of which nothing is hidden. */
static void test_packages_of_petris_own_site_are_not_hidden(void **state) {
    char python[PATH_MAX], site[PATH_MAX];
    struct distributions found;
    struct packages packages;
    json_t *none = json_array();
    (void)state;
    tree_file("own/something.py", "");
    assert_int_equal(distributions_find(tree_path(python, VENV "/bin/python"), tree_path(site, "own"), &found), 0);
    const struct packages_facts facts = {.found = &found, .site = site, .listed = none, .log = &quiet};
    assert_int_equal(packages_hide(&facts, &packages), 0);
    for (size_t i = 0; i < packages.n; i++)
        assert_string_not_equal(packages.hide[i].folder, site);
    packages_fini(&packages);
    distributions_fini(&found);
    json_decref(none);
}

/* An environment is made of its base's interpreter, not of what the base has installed. */
static void test_packages_of_the_base_and_of_other_versions_are_hidden_though_listed(void **state) {
    (void)state;
    listing_add(BASE_SITE, "plot", PATHS("plot/__init__.py", "../../../bin/plot", "../../../share/plot/style"));
    tree_file(BASE "/bin/tool", "");
    tree_file(BASE "/share/other", "");
    tree_file(BASE "/lib/python3.98/site-packages/plot/__init__.py", "");
    tree_file(BASE "/lib/python3/dist-packages/plot/__init__.py", "");
    tree_file(BASE "/lib/python3.99/os.py", "");
    listing_find("plot", NULL, NULL);
    listing_expect(BASE_SITE, "*");
    listing_expect(BASE "/lib/python3.98/site-packages", "*");
    listing_expect(BASE "/lib/python3/dist-packages", "*");
    listing_expect(BASE "/bin", "plot");
    listing_expect(BASE "/share", "plot");
}

static void test_packages_as_bundled_wheels_are_hidden_if_not_listed(void **state) {
    (void)state;
    tree_file(BASE "/lib/python3.99/ensurepip/_bundled/plot-1.0-py3-none-any.whl", "");
    tree_file(BASE "/lib/python3.99/ensurepip/_bundled/Deep_Thing-1.0-py3-none-any.whl", "");
    tree_file(BASE "/lib/python3.99/ensurepip/_bundled/__init__.py", "");
    tree_file(BASE "/share/python-wheels/pip-1.0-py3-none-any.whl", "");
    listing_find("deep-thing", NULL, NULL);
    listing_expect(BASE "/lib/python3.99/ensurepip/_bundled", "plot-1.0-py3-none-any.whl");
    listing_expect(BASE "/share/python-wheels", "pip-1.0-py3-none-any.whl");
}

static void test_packages_do_not_hide_files_of_the_virtual_environment_itself(void **state) {
    (void)state;
    tree_file(VENV "/bin/activate", "");
    tree_file(VENV "/bin/activate_this.py", "");
    tree_file(VENV "/bin/left-over", "");
    tree_file(VENV "/share/left-over", "");
    listing_record(SITE, "wrong", "../../../bin/python,,\n../../../bin/activate,,\n");
    expect_hidden("table plot", "loose.py wrong-1.0.dist-info", "left-over");
    listing_expect(VENV "/share", "left-over");
}

static void test_packages_do_not_hide_inputs_in_their_folders(void **state) {
    (void)state;
    tree_file(SITE "/plot/data/kept", "");
    tree_file(SITE "/plot/data/other", "");
    listing_find("table", SITE "/plot/data/kept", NULL);
    listing_expect(SITE, "loose.py plot-1.0.dist-info plot/__init__.py plot/data/other");
    listing_find("table", SITE, NULL);
    listing_expect(SITE, "");
    listing_find("table", NULL, SITE "/plot/data");
    listing_expect(SITE, "loose.py plot-1.0.dist-info plot/__init__.py");
    listing_find("table", NULL, SITE); /* a notebook's folder opens no whole area */
    listing_expect(SITE, "loose.py plot plot-1.0.dist-info");
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, tree_remove)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_packages_with_none_listed_shows_what_the_worker_needs),
        TEST(test_packages_listed_show_their_requirements_but_not_extras),
        TEST(test_packages_are_found_by_any_spelling_of_their_name),
        TEST(test_packages_without_a_record_use_top_level_and_requires_txt),
        TEST(test_packages_with_installed_files_txt_use_it),
        TEST(test_packages_as_eggs_are_shown_or_hidden_as_a_whole),
        TEST(test_packages_of_petris_own_site_are_not_hidden),
        TEST(test_packages_of_the_base_and_of_other_versions_are_hidden_though_listed),
        TEST(test_packages_as_bundled_wheels_are_hidden_if_not_listed),
        TEST(test_packages_do_not_hide_files_of_the_virtual_environment_itself),
        TEST(test_packages_do_not_hide_inputs_in_their_folders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
