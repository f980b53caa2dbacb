/* A scope from systemd. Only where a manager answers, as in the virtual machine of `make test-vm`, so not in ctest.
 * test_delegate_bus.c has those that are not given. */
#include "sandbox/base/system.h"
#include "sandbox/limits/cgroup.h"
#include "sandbox/limits/delegate.h"
#include "sandbox/limits/watcher.h"
#include "tests/sandbox/as_user.h"

#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static double now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* The number that the next descriptor would have: the same before and after what leaves none open. */
static int next_descriptor(void) {
    int fd = dup(STDERR_FILENO);
    close(fd);
    return fd;
}

static int ask(void *argument) {
    char before[PATH_MAX], after[PATH_MAX], path[PATH_MAX + 64], controllers[256];
    (void)argument;
    CHECK_EQUAL(cgroup_own_path("", before, sizeof before), 0);
    int next = next_descriptor();
    double start = now_ms();
    CHECK_EQUAL(delegate_scope(&(struct sandbox_bounds){0}), 0);
    double end = now_ms();
    CHECK_EQUAL(next_descriptor(), next);
    CHECK_EQUAL(watcher_count_tasks(getpid()), 1);
    CHECK_EQUAL(cgroup_own_path("", after, sizeof after), 0);
    printf("a scope of our own in %.1f ms: %s\n", end - start, after);
    fflush(stdout);
    CHECK(strcmp(before, after) != 0 && strstr(after, "/petri-"));
    (void)snprintf(path, sizeof path, "/sys/fs/cgroup%s/cgroup.controllers", after);
    CHECK(system_read_file(AT_FDCWD, path, controllers, sizeof controllers) > 0);
    CHECK(strstr(controllers, "memory"));
    (void)snprintf(path, sizeof path, "/sys/fs/cgroup%s/cgroup.subtree_control", after);
    CHECK_EQUAL(access(path, W_OK), 0);
    return 0;
}

static void test_scope_is_a_new_one_and_controls_memory(void **state) {
    (void)state;
    run_in_fork(ask, NULL, false);
}

static void test_scope_can_be_requested_repeatedly(void **state) {
    (void)state;
    for (int i = 0; i < 5; i++)
        run_in_fork(ask, NULL, false);
}

/* An ordinary user that no manager serves stays where it is, and isn't kept waiting. */
static int ask_in_vain(void *argument) {
    char before[PATH_MAX], after[PATH_MAX];
    (void)argument;
    CHECK_EQUAL(cgroup_own_path("", before, sizeof before), 0);
    CHECK(delegate_scope(&(struct sandbox_bounds){0}) < 0);
    CHECK_EQUAL(cgroup_own_path("", after, sizeof after), 0);
    CHECK_TEXT(after, before);
    return 0;
}

static void test_user_without_a_manager_stays_in_its_group(void **state) {
    (void)state;
    if (geteuid() != 0)
        skip(); /* only root can become somebody whom no manager serves; it runs the same test */
    run_in_fork(ask_in_vain, NULL, true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scope_is_a_new_one_and_controls_memory),
        cmocka_unit_test(test_scope_can_be_requested_repeatedly),
        cmocka_unit_test(test_user_without_a_manager_stays_in_its_group),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
