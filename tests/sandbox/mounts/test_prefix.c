/* Which folders an interpreter needs: its prefixes, in folder trees that the tests make. */
#include "sandbox/mounts/prefix.h"

#include "sandbox/files/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char base[PATH_MAX];
static struct prefix_list list;

static int make_base(void **state) {
    char template[] = "/tmp/petri-prefix-XXXXXX";
    (void)state;
    return mkdtemp(template) && realpath(template, base) ? 0 : -1;
}

static int remove_base(void **state) {
    (void)state;
    return tree_remove(AT_FDCWD, base);
}

static const char *below_base(const char *path) {
    static char whole[16][2 * PATH_MAX];
    static unsigned next;
    char *text = whole[next++ % 16];
    (void)snprintf(text, sizeof whole[0], "%s/%s", base, path);
    return text;
}

/* Makes the folders in which path is to be. */
static const char *make_way(const char *path) {
    char *whole = strdup(below_base(path));
    for (char *p = whole + strlen(base) + 1; *p; p++)
        if (*p == '/') {
            *p = 0;
            assert_true(mkdir(whole, 0755) == 0 || errno == EEXIST);
            *p = '/';
        }
    free(whole);
    return below_base(path);
}

/* What makes the folder above bin/python a prefix. */
static void put_library(const char *python) {
    char path[PATH_MAX];
    const char *bin = strstr(python, "/bin/python");
    if (!bin)
        return;
    (void)snprintf(path, sizeof path, "%.*s/lib/python3.11/os.py", (int)(bin - python), python);
    FILE *file = fopen(make_way(path), "w");
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
}

static void put_file(const char *path, const char *text) {
    put_library(path);
    FILE *file = fopen(make_way(path), "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void put_link(const char *path, const char *target) {
    put_library(path);
    assert_int_equal(symlink(target, make_way(path)), 0);
}

/* A pyvenv.cfg whose home is a folder below base. */
static void put_venv(const char *prefix, const char *format, const char *home) {
    char text[2 * PATH_MAX], path[PATH_MAX];
    (void)snprintf(text, sizeof text, format, below_base(home));
    (void)snprintf(path, sizeof path, "%s/pyvenv.cfg", prefix);
    put_file(path, text);
}

static int collect(const char *path) {
    memset(&list, 0, sizeof list);
    return prefix_collect(below_base(path), &list);
}

static void assert_prefix(const char *path) {
    for (int i = 0; i < list.n; i++)
        if (strcmp(list.path[i], below_base(path)) == 0)
            return;
    fail_msg("%s is not among the %d prefixes", path, list.n);
}

static void test_plain_interpreter_has_one_prefix(void **state) {
    (void)state;
    put_file("python/bin/python3", "");
    assert_int_equal(collect("python/bin/python3"), 0);
    assert_int_equal(list.n, 1);
    assert_prefix("python");
}

static void test_prefix_with_pattern_characters_is_taken_literally(void **state) {
    (void)state;
    put_file("py[3]*/bin/python3", "");
    assert_int_equal(collect("py[3]*/bin/python3"), 0);
    assert_int_equal(list.n, 1);
    assert_prefix("py[3]*");
}

static void test_interpreter_below_usr_has_no_prefix(void **state) {
    (void)state;
    assert_int_equal(prefix_collect("/usr/bin/env", &list), 0);
    assert_int_equal(list.n, 0);
}

static void test_virtual_environment_has_its_base_too(void **state) {
    (void)state;
    put_file("python/bin/python3", "");
    put_venv("venv", "include-system-site-packages = false\nhome = %s\nversion = 3.11.2\n", "python/bin");
    put_link("venv/bin/python3", below_base("python/bin/python3"));
    put_link("venv/bin/python", "python3");
    assert_int_equal(collect("venv/bin/python"), 0);
    assert_int_equal(list.n, 2);
    assert_prefix("venv");
    assert_prefix("python");
}

static void test_virtual_environment_with_a_copied_interpreter_has_its_base(void **state) {
    (void)state;
    put_file("python/bin/python3", "");
    put_file("copied/bin/python", "");
    put_venv("copied", "home=%s\n", "python/bin");
    assert_int_equal(collect("copied/bin/python"), 0);
    assert_int_equal(list.n, 2);
    assert_prefix("copied");
    assert_prefix("python");
}

static void test_configuration_without_home_adds_nothing(void **state) {
    (void)state;
    put_file("other/bin/python", "");
    put_venv("other", "homepage = %s\nnothome = x\nhome\n", "python/bin");
    assert_int_equal(collect("other/bin/python"), 0);
    assert_int_equal(list.n, 1);
    assert_prefix("other");
}

static void test_chain_of_links_gives_each_prefix(void **state) {
    (void)state;
    put_file("c/bin/python3.11", "");
    put_link("b/bin/python3", below_base("c/bin/python3.11"));
    put_link("a/bin/python", "../../b/bin/python3");
    assert_int_equal(collect("a/bin/python"), 0);
    assert_int_equal(list.n, 3);
    assert_prefix("a");
    assert_prefix("b");
    assert_prefix("c");
}

static void test_linked_folder_gives_both_names(void **state) {
    (void)state;
    put_file("real/bin/python", "");
    put_link("current", "real");
    assert_int_equal(collect("current/bin/python"), 0);
    assert_int_equal(list.n, 2);
    assert_prefix("current");
    assert_prefix("real");
}

static void test_prefix_below_another_prefix_is_left_out(void **state) {
    (void)state;
    put_file("outer/bin/python", "");
    put_venv("outer/venv", "home = %s\n", "outer/bin");
    put_link("outer/bin/python3", "../venv/bin/python");
    put_link("outer/venv/bin/python", "../../bin/python");
    assert_int_equal(collect("outer/bin/python3"), 0);
    assert_int_equal(list.n, 1);
    assert_prefix("outer");
}

static void test_link_outside_of_a_prefix_is_listed_as_a_link_only(void **state) {
    (void)state;
    put_file("true/bin/python3", "");
    assert_int_equal(symlink(below_base("true/bin/python3"), make_way("home/bin/py")), 0);
    assert_int_equal(collect("home/bin/py"), 0);
    assert_int_equal(list.n, 1);
    assert_prefix("true");
    assert_int_equal(list.n_links, 1);
    assert_string_equal(list.link[0].path, below_base("home/bin/py"));
    assert_string_equal(list.link[0].target, below_base("true/bin/python3"));
}

static void test_loop_of_links_is_an_error(void **state) {
    (void)state;
    put_link("loop/bin/a", "b");
    put_link("loop/bin/b", "a");
    assert_int_equal(collect("loop/bin/a"), -ELOOP);
    put_link("loop/bin/self", "self");
    assert_int_equal(collect("loop/bin/self"), -ELOOP);
}

static void test_missing_interpreter_is_an_error(void **state) {
    (void)state;
    assert_int_equal(collect("nothing/bin/python"), -ENOENT);
    put_link("dangling/bin/python", "nowhere");
    assert_int_equal(collect("dangling/bin/python"), -ENOENT);
}

static void test_too_many_prefixes_are_an_error(void **state) {
    char path[64], target[64];
    (void)state;
    put_file("many/9/bin/python", "");
    for (int i = 8; i > 0; i--) {
        (void)snprintf(path, sizeof path, "many/%d/bin/python", i);
        (void)snprintf(target, sizeof target, "many/%d/bin/python", i + 1);
        put_link(path, below_base(target));
    }
    assert_int_equal(collect("many/2/bin/python"), 0);
    assert_int_equal(list.n, PREFIX_MAX);
    assert_int_equal(collect("many/1/bin/python"), -EOVERFLOW);
}

static void test_path_longer_than_path_max_is_an_error(void **state) {
    char path[PATH_MAX + 1];
    (void)state;
    memset(path, 'a', sizeof path);
    path[0] = '/';
    path[PATH_MAX] = 0;
    assert_int_equal(prefix_collect(path, &list), -ENAMETOOLONG);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain_interpreter_has_one_prefix),
        cmocka_unit_test(test_prefix_with_pattern_characters_is_taken_literally),
        cmocka_unit_test(test_interpreter_below_usr_has_no_prefix),
        cmocka_unit_test(test_virtual_environment_has_its_base_too),
        cmocka_unit_test(test_virtual_environment_with_a_copied_interpreter_has_its_base),
        cmocka_unit_test(test_configuration_without_home_adds_nothing),
        cmocka_unit_test(test_chain_of_links_gives_each_prefix),
        cmocka_unit_test(test_linked_folder_gives_both_names),
        cmocka_unit_test(test_prefix_below_another_prefix_is_left_out),
        cmocka_unit_test(test_link_outside_of_a_prefix_is_listed_as_a_link_only),
        cmocka_unit_test(test_loop_of_links_is_an_error),
        cmocka_unit_test(test_missing_interpreter_is_an_error),
        cmocka_unit_test(test_too_many_prefixes_are_an_error),
        cmocka_unit_test(test_path_longer_than_path_max_is_an_error),
    };
    return cmocka_run_group_tests_name("prefix", tests, make_base, remove_base);
}
