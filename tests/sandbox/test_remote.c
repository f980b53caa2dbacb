/* System calls made by a stopped task for us, on a child of the test's own. */
#include "as_user.h"
#include "sandbox/remote.h"
#include "sandbox/tracee.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* A stopped child, its site, and what makes it make calls. */
struct subject {
    pid_t pid;
    int memory_fd;
    struct user_regs_struct regs;
    struct remote_site site;
    struct remote_task task;
};

static void make_subject(struct subject *subject) {
    sigset_t child;
    int status;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    CHECK(sigprocmask(SIG_BLOCK, &child, NULL) == 0);
    subject->pid = fork();
    if (subject->pid == 0)
        for (;;)
            pause();
    CHECK(subject->pid > 0);
    CHECK_EQUAL(tracee_seize(subject->pid), 0);
    CHECK_EQUAL(tracee_await_stop(subject->pid, 5000, &status), 0);
    CHECK((subject->memory_fd = tracee_open_memory(subject->pid)) >= 0);
    CHECK_EQUAL(tracee_get_regs(subject->pid, &subject->regs), 0);
    CHECK_EQUAL(remote_make_site(subject->pid, subject->memory_fd, &subject->site), 0);
    subject->task =
        (struct remote_task){subject->pid, subject->pid, subject->memory_fd, &subject->regs, &subject->site};
}

static int run(const struct subject *subject, struct remote_call *calls, size_t n) {
    return remote_run(&subject->task, calls, n, NULL, 0);
}

static int batch_gives_each_result(void *unused) {
    struct subject subject;
    (void)unused;
    make_subject(&subject);
    struct remote_call calls[] = {{.number = SYS_getpid},
                                  {.number = SYS_getppid},
                                  {.number = SYS_umask, .argument = {0123}},
                                  {.number = SYS_umask}};
    CHECK_EQUAL(run(&subject, calls, 4), 0);
    CHECK_EQUAL(calls[0].result, subject.pid);
    CHECK_EQUAL(calls[1].result, getpid());
    CHECK_EQUAL(calls[3].result, 0123);
    CHECK_EQUAL(remote_failure(calls, 4, NULL), 0);
    CHECK_EQUAL(run(&subject, calls, 1), 0); /* and once more */
    return 0;
}

/* All six arguments arrive: what is written by a mapped file's call can be read where it must be. */
static int all_six_arguments_arrive(void *unused) {
    struct subject subject;
    uint64_t at;
    char text[8] = "";
    (void)unused;
    make_subject(&subject);
    at = subject.site.scratch;
    CHECK_EQUAL(memory_write(subject.memory_fd, at, "/proc/self/exe", 15), 0);
    struct remote_call open_call = {.number = SYS_openat, .argument = {(uint64_t)AT_FDCWD, at, O_RDONLY, 0}};
    CHECK_EQUAL(run(&subject, &open_call, 1), 0);
    CHECK(open_call.result >= 0);
    struct remote_call map = {.number = SYS_mmap,
                              .argument = {0, 4096, PROT_READ, MAP_PRIVATE, (uint64_t)open_call.result, 0}};
    CHECK_EQUAL(run(&subject, &map, 1), 0);
    CHECK(map.result > 0);
    CHECK_EQUAL(memory_read(subject.memory_fd, (uint64_t)map.result, text, 4), 0);
    CHECK_TEXT(text, "\177ELF");
    return 0;
}

static int first_failure_ends_the_batch(void *unused) {
    struct subject subject;
    size_t failed = 99;
    (void)unused;
    make_subject(&subject);
    struct remote_call calls[] = {{.number = SYS_umask, .argument = {077}},
                                  {.number = SYS_close, .argument = {12345}},
                                  {.number = SYS_umask, .argument = {0}}};
    CHECK_EQUAL(run(&subject, calls, 3), 0);
    CHECK_EQUAL(calls[1].result, -EBADF);
    CHECK(calls[2].result == REMOTE_NOT_MADE);
    CHECK_EQUAL(remote_failure(calls, 3, &failed), -EBADF);
    CHECK_EQUAL(failed, 1);
    struct remote_call ask = {.number = SYS_umask};
    CHECK_EQUAL(run(&subject, &ask, 1), 0);
    CHECK_EQUAL(ask.result, 077);
    CHECK_EQUAL(remote_failure(&calls[2], 1, NULL), -EUCLEAN);
    return 0;
}

static int batch_over_the_number_of_calls_is_refused(void *unused) {
    struct subject subject;
    struct remote_call calls[REMOTE_MAX_CALLS + 1];
    (void)unused;
    make_subject(&subject);
    for (size_t i = 0; i < REMOTE_MAX_CALLS + 1; i++)
        calls[i] = (struct remote_call){.number = SYS_getpid};
    CHECK_EQUAL(run(&subject, calls, REMOTE_MAX_CALLS + 1), -E2BIG);
    CHECK_EQUAL(run(&subject, calls, REMOTE_MAX_CALLS), 0);
    CHECK_EQUAL(calls[REMOTE_MAX_CALLS - 1].result, subject.pid);
    return 0;
}

static int clones_are_reported_and_stopped(void *unused) {
    struct subject subject;
    pid_t clones[2] = {0};
    (void)unused;
    make_subject(&subject);
    struct remote_call calls[] = {{.number = SYS_clone, .argument = {CLONE_PARENT | SIGCHLD}},
                                  {.number = SYS_clone, .argument = {CLONE_PARENT | CLONE_VM | SIGCHLD}}};
    CHECK_EQUAL(remote_run(&subject.task, calls, 2, clones, 2), 0);
    CHECK_EQUAL(calls[0].result, clones[0]);
    CHECK_EQUAL(calls[1].result, clones[1]);
    for (int i = 0; i < 2; i++) {
        struct subject copy = subject;
        copy.task.tid = copy.task.tid_inside = clones[i];
        copy.task.memory_fd = tracee_open_memory(clones[i]);
        struct remote_call ask = {.number = SYS_getpid};
        CHECK_EQUAL(run(&copy, &ask, 1), 0);
        CHECK_EQUAL(ask.result, clones[i]);
        tracee_kill(clones[i]);
    }
    return 0;
}

static int unexpected_clone_is_an_error(void *unused) {
    struct subject subject;
    (void)unused;
    make_subject(&subject);
    struct remote_call call = {.number = SYS_clone, .argument = {SIGCHLD}};
    CHECK_EQUAL(run(&subject, &call, 1), -EUCLEAN);
    return 0;
}

/* A stop that somebody else has sent is not the end of the batch. */
static int foreign_stop_signal_is_swallowed(void *unused) {
    struct subject subject;
    (void)unused;
    make_subject(&subject);
    CHECK(kill(subject.pid, SIGSTOP) == 0 && kill(subject.pid, SIGUSR1) == 0 && kill(subject.pid, SIGTERM) == 0);
    struct remote_call calls[] = {{.number = SYS_getpid}, {.number = SYS_getppid}};
    CHECK_EQUAL(run(&subject, calls, 2), 0);
    CHECK_EQUAL(calls[1].result, getpid());
    return 0;
}

/* What a task can do to the site by itself, and what becomes of the next batch and of the look at it. */
static const struct {
    const char *what;
    int number;
    bool code; /* on the page of code; else on all the others */
    uint64_t argument[4];
    int run, check;
} damages[] = {
    {"unmapped code", SYS_munmap, true, {0}, -EUCLEAN, -EUCLEAN},
    {"unmapped data", SYS_munmap, false, {0}, -EUCLEAN, -EUCLEAN},
    {"unreadable code", SYS_mprotect, true, {PROT_NONE}, -EUCLEAN, 0},
    {"code that may not run", SYS_mprotect, true, {PROT_READ | PROT_WRITE}, -EUCLEAN, 0},
    {"read-only data", SYS_mprotect, false, {PROT_READ}, -EUCLEAN, 0},
    {"empty code",
     SYS_mmap,
     true,
     {PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, ~0ULL},
     -EUCLEAN,
     0},
    {"shared code",
     SYS_mmap,
     true,
     {PROT_READ | PROT_WRITE | PROT_EXEC, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, ~0ULL},
     -EUCLEAN,
     -EUCLEAN},
    {"shared data",
     SYS_mmap,
     false,
     {PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, ~0ULL},
     0,
     -EUCLEAN},
};

/* The damage itself is done by a call in the site: one that destroys the code does not come to its end. */
static void do_damage(const struct subject *subject, size_t i) {
    enum { PAGE = 4096 };
    uint64_t at = subject->site.code + (damages[i].code ? 0 : PAGE);
    uint64_t bytes = damages[i].code ? PAGE : PAGE + REMOTE_SCRATCH_BYTES;
    struct remote_call call = {.number = damages[i].number,
                               .argument = {at, bytes, damages[i].argument[0], damages[i].argument[1],
                                            damages[i].argument[2], damages[i].argument[3]}};
    (void)!run(subject, &call, 1);
}

static int damage_is_an_error(void *argument) {
    struct subject subject;
    size_t i = *(const size_t *)argument;
    make_subject(&subject);
    CHECK_EQUAL(remote_check_site(subject.pid, subject.memory_fd, &subject.site), 0);
    do_damage(&subject, i);
    struct remote_call ask = {.number = SYS_getpid};
    int r = run(&subject, &ask, 1), checked = remote_check_site(subject.pid, subject.memory_fd, &subject.site);
    if (r != damages[i].run || checked != damages[i].check)
        (void)fprintf(stderr, "%s: run %d, check %d\n", damages[i].what, r, checked);
    return r != damages[i].run || checked != damages[i].check;
}

static int dead_task_is_an_error(void *unused) {
    struct subject subject;
    (void)unused;
    make_subject(&subject);
    struct remote_call call = {.number = SYS_exit_group, .argument = {3}};
    CHECK_EQUAL(run(&subject, &call, 1), -EUCLEAN);
    struct remote_call ask = {.number = SYS_getpid};
    CHECK_EQUAL(run(&subject, &ask, 1), -EUCLEAN);
    return 0;
}

#define IN_FORK(part)                                                                                                  \
    static void test_##part(void **state) {                                                                            \
        (void)state;                                                                                                   \
        run_in_fork(part, NULL, false);                                                                                \
    }
IN_FORK(batch_gives_each_result)
IN_FORK(all_six_arguments_arrive)
IN_FORK(first_failure_ends_the_batch)
IN_FORK(batch_over_the_number_of_calls_is_refused)
IN_FORK(clones_are_reported_and_stopped)
IN_FORK(unexpected_clone_is_an_error)
IN_FORK(foreign_stop_signal_is_swallowed)
IN_FORK(dead_task_is_an_error)

static void test_damage_is_an_error(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++)
        run_in_fork(damage_is_an_error, &i, false);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batch_gives_each_result),
        cmocka_unit_test(test_all_six_arguments_arrive),
        cmocka_unit_test(test_first_failure_ends_the_batch),
        cmocka_unit_test(test_batch_over_the_number_of_calls_is_refused),
        cmocka_unit_test(test_clones_are_reported_and_stopped),
        cmocka_unit_test(test_unexpected_clone_is_an_error),
        cmocka_unit_test(test_foreign_stop_signal_is_swallowed),
        cmocka_unit_test(test_damage_is_an_error),
        cmocka_unit_test(test_dead_task_is_an_error),
    };
    return cmocka_run_group_tests_name("remote", tests, NULL, NULL);
}
