/* The extension of JupyterLab, as it is written into one of Jupyter's folders. */
#include "cli/labextension.h"
#include "tests/kernel/tree.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define WRITTEN "share/jupyter/labextensions/" LABEXTENSION_NAME

static void make_built(const char *package, const char *entry) {
    char name[128];
    tree_file("built/package.json", package);
    tree_file("built/install.json", "{}");
    snprintf(name, sizeof name, "built/static/%s", entry);
    tree_file(name, entry);
}

static int write_built(void) {
    char data[PATH_MAX], built[PATH_MAX];
    return labextension_write(tree_path(data, "share/jupyter"), tree_path(built, "built"));
}

static bool has(const char *name) {
    char path[PATH_MAX];
    return access(tree_path(path, name), F_OK) == 0;
}

static void assert_text(const char *name, const char *expected) {
    char path[PATH_MAX], text[64] = "";
    FILE *file = fopen(tree_path(path, name), "r");
    assert_non_null(file);
    assert_true(fread(text, 1, sizeof text - 1, file) > 0);
    fclose(file);
    assert_string_equal(text, expected);
}

static void test_labextension_write_makes_the_folder_with_all_files(void **state) {
    (void)state;
    make_built("old", "entry.1.js");
    tree_file("built/static/style.js", "style");
    assert_int_equal(write_built(), 0);
    assert_text(WRITTEN "/package.json", "old");
    assert_text(WRITTEN "/install.json", "{}");
    assert_text(WRITTEN "/static/entry.1.js", "entry.1.js");
    assert_text(WRITTEN "/static/style.js", "style");
}

static void test_labextension_write_replaces_an_earlier_version(void **state) {
    char path[PATH_MAX];
    (void)state;
    make_built("old", "entry.1.js");
    assert_int_equal(write_built(), 0);
    tree_folder(WRITTEN "/static/folder");
    assert_int_equal(unlink(tree_path(path, "built/static/entry.1.js")), 0);
    make_built("new", "entry.2.js");
    assert_int_equal(write_built(), 0);
    assert_text(WRITTEN "/package.json", "new");
    assert_text(WRITTEN "/static/entry.2.js", "entry.2.js");
    assert_false(has(WRITTEN "/static/entry.1.js"));
    assert_true(has(WRITTEN "/static/folder"));
}

/* As in an environment of somebody else's that root installs into. */
static void test_labextension_write_does_not_follow_links(void **state) {
    static const char *const folders[] = {WRITTEN "/static", WRITTEN};
    char path[PATH_MAX], target[PATH_MAX];
    struct stat st;
    (void)state;
    make_built("new", "entry.js");
    tree_folder(WRITTEN "/static");
    tree_file("target", "");
    tree_folder("elsewhere");
    assert_int_equal(symlink(tree_path(target, "target"), tree_path(path, WRITTEN "/package.json")), 0);
    assert_int_equal(symlink(target, tree_path(path, WRITTEN "/static/entry.js")), 0);
    assert_int_equal(write_built(), 0);
    assert_int_equal(stat(target, &st), 0);
    assert_int_equal(st.st_size, 0);
    assert_text(WRITTEN "/package.json", "new");
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        char moved[32];
        snprintf(moved, sizeof moved, "moved-%zu", i);
        assert_int_equal(rename(tree_path(path, folders[i]), tree_path(target, moved)), 0);
        assert_int_equal(symlink(tree_path(target, "elsewhere"), path), 0);
        assert_true(write_built() < 0);
        assert_int_equal(unlink(path), 0);
        assert_int_equal(mkdir(path, 0777), 0);
    }
    assert_int_equal(rmdir(tree_path(path, "elsewhere")), 0); /* it is empty */
}

static void test_labextension_write_without_built_files_fails(void **state) {
    (void)state;
    assert_int_equal(write_built(), -ENOENT);
    assert_false(has(WRITTEN "/package.json"));
}

static void test_labextension_remove_takes_all_and_stops_at_what_is_not_its_own(void **state) {
    char data[PATH_MAX], path[PATH_MAX];
    (void)state;
    make_built("new", "entry.js");
    tree_path(data, "share/jupyter");
    assert_int_equal(labextension_remove(data), 0);
    assert_int_equal(write_built(), 0);
    assert_int_equal(labextension_remove(data), 1);
    assert_false(has(WRITTEN));
    assert_int_equal(write_built(), 0);
    tree_file(WRITTEN "/notes", "of somebody else's");
    assert_int_equal(labextension_remove(data), -ENOTEMPTY);
    assert_true(has(WRITTEN "/notes"));
    assert_false(has(WRITTEN "/package.json"));
    assert_int_equal(rename(tree_path(data, WRITTEN), tree_path(path, "moved")), 0);
    assert_int_equal(symlink(path, data), 0);
    assert_true(labextension_remove(tree_path(data, "share/jupyter")) < 0);
    assert_true(has("moved/notes"));
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, tree_make, tree_remove)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_labextension_write_makes_the_folder_with_all_files),
        TEST(test_labextension_write_replaces_an_earlier_version),
        TEST(test_labextension_write_does_not_follow_links),
        TEST(test_labextension_write_without_built_files_fails),
        TEST(test_labextension_remove_takes_all_and_stops_at_what_is_not_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
