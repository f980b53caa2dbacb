#include "as_user.h"

#include <errno.h>
#include <grp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* Where coverage is built in: a process that leaves by _exit() writes its counters itself. */
extern void __gcov_dump(void) __attribute__((weak));

static void leave(int status) __attribute__((noreturn));
static void leave(int status) {
    if (__gcov_dump)
        __gcov_dump();
    _exit(status);
}

void check_failed(const char *file, int line, const char *condition) {
    (void)fprintf(stderr, "%s:%d: failed: %s\n", file, line, condition);
    leave(1);
}

void check_equal(const char *file, int line, const char *condition, long long a, long long b) {
    if (a == b)
        return;
    (void)fprintf(stderr, "%s:%d: failed: %s (%lld, %lld)\n", file, line, condition, a, b);
    leave(1);
}

void check_text(const char *file, int line, const char *what, const char *a, const char *b) {
    if (strcmp(a, b) == 0)
        return;
    (void)fprintf(stderr, "%s:%d: failed: %s\n    is        %s\n    should be %s\n", file, line, what, a, b);
    leave(1);
}

enum { FIRST_USER = 0x30000000 };

int become_ordinary_user(void) {
    unsigned id = FIRST_USER + (unsigned)getpid();
    if (setgroups(0, NULL) || setresgid(id, id, id) || setresuid(id, id, id))
        return -errno;
    /* Changing the user made us undumpable, and /proc/self another's. */
    return prctl(PR_SET_DUMPABLE, 1) ? -errno : 0;
}

int fork_and_wait(int (*part)(void *argument), void *argument, bool ordinary_user) {
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        if (ordinary_user && geteuid() == 0)
            CHECK_EQUAL(become_ordinary_user(), 0);
        leave(part(argument));
    }
    assert_true(pid > 0 && waitpid(pid, &status, 0) == pid);
    return status;
}

void run_in_fork(int (*part)(void *argument), void *argument, bool ordinary_user) {
    int status = fork_and_wait(part, argument, ordinary_user);
    if (status)
        fail_msg("the fork ended with wait status %#x", (unsigned)status);
}

/* One test: a part, and the user that it runs as. */
struct variant {
    const struct part *part;
    bool ordinary_user;
    char name[128];
};

static void run_variant(void **state) {
    const struct variant *variant = *state;
    run_in_fork(variant->part->run, NULL, variant->ordinary_user);
}

int run_parts(const char *group, const struct part *parts, size_t n, int (*setup)(void **state),
              int (*teardown)(void **state)) {
    struct CMUnitTest *tests = calloc(2 * n, sizeof *tests);
    struct variant *variants = calloc(2 * n, sizeof *variants);
    if (!tests || !variants)
        return 1;
    for (size_t i = 0; i < 2 * n; i++) {
        struct variant *variant = &variants[i];
        *variant = (struct variant){.part = &parts[i / 2], .ordinary_user = i % 2 == 1};
        (void)snprintf(variant->name, sizeof variant->name, "test_%s_as_%s_user", variant->part->name,
                       variant->ordinary_user ? "an_ordinary" : "this");
        tests[i] = (struct CMUnitTest){variant->name, run_variant, NULL, NULL, variant};
    }
    int failed = _cmocka_run_group_tests(group, tests, 2 * n, setup, teardown);
    free(tests);
    free(variants);
    return failed;
}
