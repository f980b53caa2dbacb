/* The common group of a user, against folders: what Linux has of it in e2e/test_kernels_bounds.py. */
#include "sandbox/base/system.h"
#include "sandbox/files/tree.h"
#include "sandbox/limits/common.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { ROUNDS = 2000 };

/* A folder of a test's own, which plays the group that kernels are started in. */
struct fixture {
    char path[32];
    int fd;
    char common[48];
};

static int setup(void **state) {
    struct fixture *fixture = calloc(1, sizeof *fixture);
    assert_non_null(fixture);
    strcpy(fixture->path, "/tmp/petri-XXXXXX");
    assert_non_null(mkdtemp(fixture->path));
    fixture->fd = open(fixture->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fixture->fd >= 0);
    common_name(fixture->common, sizeof fixture->common);
    *state = fixture;
    return 0;
}

static int teardown(void **state) {
    struct fixture *fixture = *state;
    int r = tree_remove(AT_FDCWD, fixture->path);
    close(fixture->fd);
    free(fixture);
    return r;
}

static bool is_there(const struct fixture *fixture, const char *name) {
    char path[128];
    snprintf(path, sizeof path, "%s%s%s", fixture->common, name[0] ? "/" : "", name);
    return faccessat(fixture->fd, path, F_OK, 0) == 0;
}

static void make(const struct fixture *fixture, const char *name) {
    int common_fd = -1;
    int fd = common_make(fixture->fd, name, &common_fd);
    assert_true(fd >= 0 && common_fd >= 0);
    close(fd);
    close(common_fd);
}

static void test_common_group_is_made_by_the_first_and_removed_by_the_last(void **state) {
    const struct fixture *fixture = *state;
    make(fixture, "one");
    make(fixture, "other");
    common_remove(fixture->fd, "one");
    assert_true(is_there(fixture, "other") && !is_there(fixture, "one"));
    common_remove(fixture->fd, "other");
    assert_false(is_there(fixture, ""));
    common_remove(fixture->fd, "other");
}

static void test_empty_group_that_was_left_is_taken_over(void **state) {
    const struct fixture *fixture = *state;
    assert_int_equal(mkdirat(fixture->fd, fixture->common, 0755), 0);
    make(fixture, "one");
    assert_true(is_there(fixture, "one"));
}

/* Makes and removes a group, again and again. */
static void begin_and_end(const struct fixture *fixture, const char *name) {
    for (int i = 0; i < ROUNDS; i++) {
        int common_fd = -1;
        int fd = common_make(fixture->fd, name, &common_fd);
        if (fd < 0 || !is_there(fixture, name))
            _exit(1);
        close(fd);
        close(common_fd);
        common_remove(fixture->fd, name);
    }
    _exit(0);
}

static void test_kernels_that_begin_and_end_at_once_each_have_their_group(void **state) {
    static const char *const names[] = {"a", "b", "c"};
    const struct fixture *fixture = *state;
    int status;
    for (size_t i = 0; i < 3; i++)
        if (fork() == 0)
            begin_and_end(fixture, names[i]);
    for (size_t i = 0; i < 3; i++) {
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    assert_false(is_there(fixture, ""));
}

static void test_group_of_a_dead_kernel_is_removed_and_that_of_a_living_one_is_not(void **state) {
    const struct fixture *fixture = *state;
    char dead[64], alive[64];
    struct stat st;
    assert_int_equal(stat("/proc/self/ns/pid", &st), 0);
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    snprintf(dead, sizeof dead, "petri-%lu-%d-cells", (unsigned long)st.st_ino, pid);
    snprintf(alive, sizeof alive, "petri-%lu-%d-cells", (unsigned long)st.st_ino, getpid());
    make(fixture, dead);
    make(fixture, alive);
    common_sweep(fixture->fd);
    assert_true(is_there(fixture, alive) && !is_there(fixture, dead));
    common_remove(fixture->fd, alive);
    make(fixture, dead);
    common_sweep(fixture->fd);
    assert_false(is_there(fixture, ""));
}

static void test_bound_that_can_not_be_set_does_not_hold(void **state) {
    const struct fixture *fixture = *state;
    char text[32];
    assert_int_equal(common_bound(fixture->fd, "pids.max", 100), 0);
    assert_int_equal(common_bound(-1, "pids.max", 100), 0);
    int fd = openat(fixture->fd, "pids.max", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    close(fd);
    assert_int_equal(common_bound(fixture->fd, "pids.max", 100), 100);
    assert_true(system_read_file(fixture->fd, "pids.max", text, sizeof text) > 0);
    assert_string_equal(text, "100");
    assert_int_equal(common_bound(fixture->fd, "pids.max", 0), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_common_group_is_made_by_the_first_and_removed_by_the_last),
        TEST(test_empty_group_that_was_left_is_taken_over),
        TEST(test_kernels_that_begin_and_end_at_once_each_have_their_group),
        TEST(test_group_of_a_dead_kernel_is_removed_and_that_of_a_living_one_is_not),
        TEST(test_bound_that_can_not_be_set_does_not_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
