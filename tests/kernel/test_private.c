#include "kernel/private.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static struct log quiet;
static char folder[64];

static int setup(void **state) {
    (void)state;
    log_init(&quiet, "error");
    strcpy(folder, "/tmp/petri-test-XXXXXX");
    assert_non_null(mkdtemp(folder));
    umask(0);
    return 0;
}

static const char *in(const char *name) {
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void make_file(const char *name, mode_t mode) {
    int fd = open(in(name), O_WRONLY | O_CREAT | O_EXCL, mode);
    assert_true(fd >= 0);
    close(fd);
}

static void expect_mode(const char *name, mode_t mode) {
    struct stat st;
    assert_int_equal(stat(in(name), &st), 0);
    assert_int_equal(st.st_mode & 07777, mode);
}

static int teardown(void **state) {
    static const char *const names[] = {"data/petri/x.sqlite-wal",
                                        "data/petri/x.sqlite-shm",
                                        "data/petri/x.sqlite",
                                        "data/petri",
                                        "data",
                                        "x.sqlite",
                                        ""};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        remove(in(names[i]));
    return 0;
}

static void test_private_database_is_made_for_its_owner_alone(void **state) {
    (void)state;
    assert_int_equal(private_database(in("data/petri/x.sqlite"), &quiet), 0);
    expect_mode("data", 0700);
    expect_mode("data/petri", 0700);
    expect_mode("data/petri/x.sqlite", 0600);
}

static void test_private_database_that_was_open_to_others_is_closed_with_all_beside_it(void **state) {
    (void)state;
    assert_int_equal(mkdir(in("data"), 0755), 0);
    assert_int_equal(mkdir(in("data/petri"), 0775), 0);
    make_file("data/petri/x.sqlite", 0644);
    make_file("data/petri/x.sqlite-wal", 0664);
    make_file("data/petri/x.sqlite-shm", 0644);
    assert_int_equal(private_database(in("data/petri/x.sqlite"), &quiet), 0);
    expect_mode("data", 0755);
    expect_mode("data/petri", 0700);
    expect_mode("data/petri/x.sqlite", 0600);
    expect_mode("data/petri/x.sqlite-wal", 0600);
    expect_mode("data/petri/x.sqlite-shm", 0600);
}

/* Whoever chose it for the records may have other things in it. */
static void test_private_database_in_a_folder_of_the_operators_leaves_that_as_it_is(void **state) {
    (void)state;
    assert_int_equal(mkdir(in("data"), 0755), 0);
    assert_int_equal(private_database(in("x.sqlite"), &quiet), 0);
    expect_mode("", 0700);
    expect_mode("data", 0755);
    expect_mode("x.sqlite", 0600);
}

static void test_private_database_that_can_not_be_made_says_why(void **state) {
    (void)state;
    make_file("data", 0600);
    assert_int_equal(private_database(in("data/petri/x.sqlite"), &quiet), -ENOTDIR);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_private_database_is_made_for_its_owner_alone),
        TEST(test_private_database_that_was_open_to_others_is_closed_with_all_beside_it),
        TEST(test_private_database_in_a_folder_of_the_operators_leaves_that_as_it_is),
        TEST(test_private_database_that_can_not_be_made_says_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
