#include "kernel/records/private.h"
#include "tests/kernel/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SOMEBODY = 12345 };

static struct log quiet;
static char folder[PATH_MAX];
static struct error error;

static int setup(void **state) {
    log_init(&quiet, "error");
    umask(0);
    error.text[0] = '\0';
    return tree_make(state);
}

static const char *in(const char *name) {
    static char path[PATH_MAX];
    return tree_path(path, name);
}

static void make_file(const char *name, mode_t mode) {
    tree_file(name, "");
    assert_int_equal(chmod(in(name), mode), 0);
}

static void expect_mode(const char *name, mode_t mode) {
    struct stat st;
    assert_int_equal(stat(in(name), &st), 0);
    assert_int_equal(st.st_mode & 07777, mode);
}

/* Both halves, for a file in the tree. */
static int prepare(const char *path) {
    int fd = private_folder_open(in(path), true, &quiet, folder, &error);
    if (fd < 0)
        return fd;
    int r = private_files_check(fd, strrchr(path, '/') ? strrchr(path, '/') + 1 : path, true, &quiet, &error);
    close(fd);
    return r;
}

static void give_away(const char *name) {
    if (geteuid() != 0)
        skip();
    assert_int_equal(lchown(in(name), SOMEBODY, SOMEBODY), 0);
}

static void test_private_database_is_made_for_its_owner_alone(void **state) {
    (void)state;
    assert_int_equal(prepare("data/petri/x.sqlite"), 0);
    expect_mode("data", 0700);
    expect_mode("data/petri", 0700);
    expect_mode("data/petri/x.sqlite", 0600);
}

static void test_private_database_readable_by_others_is_closed_with_its_other_files(void **state) {
    (void)state;
    assert_int_equal(mkdir(in("data"), 0755), 0);
    assert_int_equal(mkdir(in("data/petri"), 0775), 0);
    make_file("data/petri/x.sqlite", 0644);
    make_file("data/petri/x.sqlite-wal", 0664);
    make_file("data/petri/x.sqlite-shm", 0644);
    make_file("data/petri/x.sqlite-journal", 0666);
    assert_int_equal(prepare("data/petri/x.sqlite"), 0);
    expect_mode("data", 0755);
    expect_mode("data/petri", 0700);
    expect_mode("data/petri/x.sqlite", 0600);
    expect_mode("data/petri/x.sqlite-wal", 0600);
    expect_mode("data/petri/x.sqlite-shm", 0600);
    expect_mode("data/petri/x.sqlite-journal", 0600);
}

/* Whoever chose it for the records may have other things in it. */
static void test_private_database_in_the_operators_folder_does_not_change_its_mode(void **state) {
    (void)state;
    assert_int_equal(mkdir(in("data"), 0755), 0);
    assert_int_equal(prepare("data/x.sqlite"), 0);
    expect_mode("data", 0755);
    expect_mode("data/x.sqlite", 0600);
}

static void test_private_database_that_can_not_be_made_says_why(void **state) {
    (void)state;
    make_file("data", 0600);
    assert_int_equal(prepare("data/petri/x.sqlite"), -ENOTDIR);
    assert_string_equal(error.text, "Not a directory");
}

/* As with sudo(8) that keeps HOME. */
static void test_private_database_in_or_below_a_folder_of_another_user_is_refused(void **state) {
    (void)state;
    tree_folder("home/.local/share");
    give_away("home/.local/share");
    assert_int_equal(prepare("home/.local/share/petri/x.sqlite"), -EPERM);
    assert_non_null(
        strstr(error.text, "home/.local/share belongs to another user (uid 12345); start petri with a HOME of"));
    assert_int_equal(access(in("home/.local/share/petri"), F_OK), -1);
    tree_folder("home/.local/share/petri");
    assert_int_equal(prepare("home/.local/share/petri/x.sqlite"), 0);
    give_away("home/.local/share/petri");
    assert_int_equal(prepare("home/.local/share/petri/x.sqlite"), -EPERM);
}

static void test_private_database_through_a_linked_folder_is_in_its_target(void **state) {
    (void)state;
    tree_folder("real");
    assert_int_equal(symlink("real", in("linked")), 0);
    assert_int_equal(prepare("linked/x.sqlite"), 0);
    assert_string_equal(folder, in("real"));
}

/* What somebody may put in a file's place. */
static void put_link(const char *path) {
    make_file("target", 0644);
    assert_int_equal(symlink("../target", path), 0);
}

static void put_second_name(const char *path) {
    char target[PATH_MAX];
    make_file("target", 0644);
    assert_int_equal(link(tree_path(target, "target"), path), 0);
}

static void put_fifo(const char *path) {
    assert_int_equal(mkfifo(path, 0600), 0);
}

static void put_folder(const char *path) {
    assert_int_equal(mkdir(path, 0700), 0);
}

static void put_anothers(const char *path) {
    make_file("data/theirs", 0666);
    give_away("data/theirs");
    assert_int_equal(rename(in("data/theirs"), path), 0);
}

static const struct {
    void (*put)(const char *path);
    const char *why;
} planted[] = {
    {put_link, "it is a link"},
    {put_second_name, "it has more than one name (hard links)"},
    {put_fifo, "it is no regular file"},
    {put_folder, "it is no regular file"},
    {put_anothers, "it belongs to another user (uid 12345)"},
};

static void test_private_database_with_a_file_that_is_not_regular_is_refused(void **state) {
    static const char *const names[] = {"x.sqlite", "x.sqlite-wal", "x.sqlite-shm", "x.sqlite-journal"};
    (void)state;
    tree_folder("data");
    for (size_t i = 0; i < sizeof planted / sizeof planted[0]; i++)
        for (size_t n = 0; n < sizeof names / sizeof names[0]; n++) {
            char path[PATH_MAX], name[64], expected[200];
            snprintf(name, sizeof name, "data/%s", names[n]);
            planted[i].put(tree_path(path, name));
            assert_true(prepare("data/x.sqlite") < 0);
            snprintf(expected, sizeof expected, "of its file %s, %s", names[n], planted[i].why);
            assert_string_equal(error.text, expected);
            if (access(in("target"), F_OK) == 0)
                expect_mode("target", 0644);
            assert_int_equal(remove(path), 0);
            remove(in("data/x.sqlite"));
        }
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, tree_remove)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_private_database_is_made_for_its_owner_alone),
        TEST(test_private_database_readable_by_others_is_closed_with_its_other_files),
        TEST(test_private_database_in_the_operators_folder_does_not_change_its_mode),
        TEST(test_private_database_that_can_not_be_made_says_why),
        TEST(test_private_database_in_or_below_a_folder_of_another_user_is_refused),
        TEST(test_private_database_through_a_linked_folder_is_in_its_target),
        TEST(test_private_database_with_a_file_that_is_not_regular_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
