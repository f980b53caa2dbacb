/* What is hidden of folders that distributions share, and with lists of files that are odd or hostile. */
#include "tests/kernel/listing.h"
#include "tests/kernel/tree.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static void find(void) {
    listing_find("seen", NULL, NULL);
}

static void test_unlisted_part_of_a_namespace_package_is_hidden(void **state) {
    (void)state;
    listing_add(SITE, "seen", PATHS("space/seen/a.py", "space/deep/seen.py", "alone/a.py"));
    listing_add(SITE, "unseen",
                PATHS("space/unseen/a.py", "space/deep/unseen.py", "space/one.py", "space/deep/x/y.py"));
    tree_file(SITE "/space/seen/made-since", "");
    tree_file(SITE "/alone/made-since", "");
    find();
    listing_expect(SITE, "space/deep/unseen.py space/deep/x space/one.py space/unseen unseen-1.0.dist-info");
}

static void test_unlisted_part_of_a_namespace_whose_owners_have_no_lists_is_hidden(void **state) {
    (void)state;
    tree_file(SITE "/seen-1.0.egg-info/top_level.txt", "space\n");
    tree_file(SITE "/space/seen/a.py", "");
    listing_add(SITE, "unseen", PATHS("space/unseen/a.py"));
    find();
    listing_expect(SITE, "space/unseen unseen-1.0.dist-info");
}

static void test_unlisted_modules_are_hidden_with_their_caches(void **state) {
    (void)state;
    listing_add(SITE, "seen", PATHS("seen.py", "space/seen.py"));
    listing_add(SITE, "unseen", PATHS("unseen.py", "space/unseen.py", "__pycache__/unseen.cpython-399.pyc"));
    tree_file(SITE "/__pycache__/seen.cpython-399.pyc", "");
    tree_file(SITE "/__pycache__/removed.cpython-399.pyc", "");
    tree_file(SITE "/space/__pycache__/seen.cpython-399.opt-1.pyc", "");
    tree_file(SITE "/space/__pycache__/unseen.cpython-399.pyc", "");
    find();
    listing_expect(SITE, "__pycache__/removed.cpython-399.pyc __pycache__/unseen.cpython-399.pyc"
                         " space/__pycache__/unseen.cpython-399.pyc space/unseen.py unseen-1.0.dist-info unseen.py");
}

static void test_unlisted_cache_folder_without_listed_modules_is_hidden_as_a_whole(void **state) {
    (void)state;
    listing_add(SITE, "unseen", PATHS("unseen.py"));
    tree_file(SITE "/__pycache__/unseen.cpython-399.pyc", "");
    find();
    listing_expect(SITE, "__pycache__ unseen-1.0.dist-info unseen.py");
}

static void test_unlisted_files_of_shared_data_folders_are_hidden(void **state) {
    (void)state;
    listing_add(SITE, "seen", PATHS("../../../share/jupyter/kernels/seen/kernel.json", "../../../bin/seen"));
    listing_add(SITE, "unseen",
                PATHS("../../../share/jupyter/kernels/unseen/kernel.json", "../../../bin/unseen",
                      "../../../share/man/man1/unseen.1", "../../../unseen-data/file"));
    tree_file(VENV "/bin/__pycache__/seen.cpython-399.pyc", "");
    tree_file(VENV "/bin/__pycache__/unseen.cpython-399.pyc", "");
    tree_file(VENV "/unseen-data/of-nobody", "");
    find();
    listing_expect(VENV "/share", "jupyter/kernels/unseen man");
    listing_expect(VENV "/bin", "__pycache__ unseen");
    listing_expect(VENV "/unseen-data", "file");
}

static void test_unlisted_files_with_odd_names_are_hidden_and_only_they(void **state) {
    (void)state;
    tree_file(SITE "/with, comma/a.py", "");
    tree_file(SITE "/with \"quote\"/a.py", "");
    tree_file(SITE "/with\nline.py", "");
    tree_file(SITE "/with", "");
    tree_file(SITE "/line.py", "");
    listing_record(SITE, "seen", "\"with, comma/a.py\",,\r\n\"with \"\"quote\"\"/a.py\",,\r\n\"with\nline.py\",,");
    find();
    listing_expect(SITE, "line.py with");
    listing_add(SITE, "latin", PATHS("na\xefve.py"));
    listing_find("seen latin", NULL, NULL);
    listing_expect(SITE, "line.py with");
    find();
    listing_expect(SITE, "latin-1.0.dist-info line.py na\xefve.py with");
    listing_record(SITE, "unseen", "\"with, comma/b.py\",,\n\"with\nline.py\",,\n");
    tree_file(SITE "/with, comma/b.py", "");
    find();
    listing_expect(SITE, "latin-1.0.dist-info line.py na\xefve.py unseen-1.0.dist-info with with, comma/b.py");
}

/* A list of files may name any path: what is no folder of distributions is none of this. */
static void test_unlisted_paths_outside_of_the_prefix_are_not_hidden(void **state) {
    (void)state;
    tree_file("outside/file", "");
    listing_add(SITE, "unseen", PATHS("../../../../outside/file"));
    listing_record(SITE, "more",
                   "../../../../../../../../../../../../../etc/passwd,,\n/etc/shadow,,\n../..,,\n..,,\n/,,\n,,\n"
                   "../../../pyvenv.cfg,,\n../../../bin/../../outside/file,,\n");
    find();
    listing_expect("outside", "");
    listing_expect(VENV, "");
    listing_expect(SITE, "more-1.0.dist-info unseen-1.0.dist-info");
}

static void test_unlisted_interpreter_program_named_by_a_distribution_is_shown(void **state) {
    (void)state;
    listing_add(BASE_SITE, "unseen", PATHS("../../../bin/tool", "../../../bin/python3-config"));
    listing_record(BASE_SITE, "more", "../../../bin/python3.99,,\n../../../lib/python3.99/os.py,,\n");
    find();
    listing_expect(BASE "/bin", "tool");
    listing_expect(BASE "/lib", "");
}

/* Each in place of the list of a hidden and of a shown distribution. */
static void expect_all_the_same(void) {
    tree_file(SITE "/seen.py", "");
    tree_file(SITE "/unseen.py", "");
    find();
    listing_expect(SITE, "unseen-1.0.dist-info unseen.py");
}

static void test_unlisted_fifos_in_place_of_metadata_do_not_block(void **state) {
    static const char *const names[] = {"RECORD", "METADATA", "top_level.txt", "requires.txt", "installed-files.txt"};
    char path[PATH_MAX], name[256];
    (void)state;
    tree_folder(SITE "/seen-1.0.dist-info");
    tree_folder(SITE "/unseen-1.0.dist-info");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        for (int k = 0; k < 2; k++) {
            snprintf(name, sizeof name, SITE "/%s-1.0.dist-info/%s", k ? "seen" : "unseen", names[i]);
            assert_int_equal(mkfifo(tree_path(path, name), 0600), 0);
        }
    assert_int_equal(mkfifo(tree_path(path, BASE "/pyvenv.cfg"), 0600), 0);
    expect_all_the_same();
}

static void test_unlisted_huge_files_in_place_of_metadata_are_not_read(void **state) {
    char path[PATH_MAX];
    (void)state;
    tree_file(SITE "/seen-1.0.dist-info/RECORD", "");
    tree_file(SITE "/unseen-1.0.dist-info/RECORD", "");
    tree_file(SITE "/unseen-1.0.dist-info/top_level.txt", "");
    assert_int_equal(truncate(tree_path(path, SITE "/seen-1.0.dist-info/RECORD"), 1 << 30), 0);
    assert_int_equal(truncate(tree_path(path, SITE "/unseen-1.0.dist-info/RECORD"), 1 << 30), 0);
    assert_int_equal(truncate(tree_path(path, SITE "/unseen-1.0.dist-info/top_level.txt"), 1 << 30), 0);
    expect_all_the_same();
}

static void test_unlisted_loops_of_links_end(void **state) {
    char path[PATH_MAX];
    (void)state;
    tree_folder(SITE "/seen-1.0.dist-info");
    tree_folder(SITE "/unseen-1.0.dist-info");
    tree_folder(VENV "/share/loop");
    assert_int_equal(symlink("RECORD", tree_path(path, SITE "/seen-1.0.dist-info/RECORD")), 0);
    assert_int_equal(symlink("..", tree_path(path, SITE "/unseen-1.0.dist-info/RECORD")), 0);
    assert_int_equal(symlink("../loop", tree_path(path, VENV "/share/loop/again")), 0);
    listing_record(SITE, "more", "../../../share/loop/again/again/again/file,,\nunseen.py,,\n");
    tree_file(SITE "/seen.py", "");
    tree_file(SITE "/unseen.py", "");
    find();
    listing_expect(SITE, "more-1.0.dist-info unseen-1.0.dist-info unseen.py");
    listing_expect(VENV "/share", "loop");
}

static void test_unlisted_folder_over_the_depth_is_hidden(void **state) {
    char record[2048] = "space/", *end = record + strlen(record);
    (void)state;
    listing_add(SITE, "seen", PATHS("space/a.py"));
    for (int i = 0; i < 100; i++)
        end = stpcpy(end, "d/");
    strcpy(end, "seen.py");
    listing_add(SITE, "also", PATHS(record));
    strcpy(end, "unseen.py");
    listing_add(SITE, "unseen", PATHS(record));
    listing_find("seen also", NULL, NULL);
    listing_expect(SITE, "space/d unseen-1.0.dist-info");
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, listing_setup, tree_remove)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_unlisted_part_of_a_namespace_package_is_hidden),
        TEST(test_unlisted_part_of_a_namespace_whose_owners_have_no_lists_is_hidden),
        TEST(test_unlisted_modules_are_hidden_with_their_caches),
        TEST(test_unlisted_cache_folder_without_listed_modules_is_hidden_as_a_whole),
        TEST(test_unlisted_files_of_shared_data_folders_are_hidden),
        TEST(test_unlisted_files_with_odd_names_are_hidden_and_only_they),
        TEST(test_unlisted_paths_outside_of_the_prefix_are_not_hidden),
        TEST(test_unlisted_interpreter_program_named_by_a_distribution_is_shown),
        TEST(test_unlisted_fifos_in_place_of_metadata_do_not_block),
        TEST(test_unlisted_huge_files_in_place_of_metadata_are_not_read),
        TEST(test_unlisted_loops_of_links_end),
        TEST(test_unlisted_folder_over_the_depth_is_hidden),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
