/* System calls made by a stopped task for us, on a child of the test's own. */
#include "sandbox/inject/inject.h"
#include "sandbox/inject/tracee.h"
#include "tests/sandbox/as_user.h"

#include <elf.h>
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
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* A stopped child, its area, and what makes it make calls. */
struct subject {
    pid_t pid;
    int memory_fd;
    struct inject_area area;
    struct inject_task task;
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
    CHECK_EQUAL(inject_make_area(subject->pid, subject->memory_fd, &subject->area), 0);
    subject->task = (struct inject_task){subject->pid, subject->pid, subject->memory_fd, &subject->area};
}

static int run(const struct subject *subject, struct inject_call *calls, size_t n) {
    return inject_batch(&subject->task, calls, n);
}

static int batch_gives_each_result(void *unused) {
    struct subject subject;
    (void)unused;
    make_subject(&subject);
    struct inject_call calls[] = {{.number = SYS_getpid},
                                  {.number = SYS_getppid},
                                  {.number = SYS_umask, .argument = {0123}},
                                  {.number = SYS_umask}};
    CHECK_EQUAL(run(&subject, calls, 4), 0);
    CHECK_EQUAL(calls[0].result, subject.pid);
    CHECK_EQUAL(calls[1].result, getpid());
    CHECK_EQUAL(calls[3].result, 0123);
    CHECK_EQUAL(inject_failure(calls, 4, NULL), 0);
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
    at = subject.area.scratch;
    CHECK_EQUAL(memory_write(subject.memory_fd, at, "/proc/self/exe", 15), 0);
    struct inject_call open_call = {.number = SYS_openat, .argument = {(uint64_t)AT_FDCWD, at, O_RDONLY, 0}};
    CHECK_EQUAL(run(&subject, &open_call, 1), 0);
    CHECK(open_call.result >= 0);
    struct inject_call map = {.number = SYS_mmap,
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
    struct inject_call calls[] = {{.number = SYS_umask, .argument = {077}},
                                  {.number = SYS_close, .argument = {12345}},
                                  {.number = SYS_umask, .argument = {0}}};
    CHECK_EQUAL(run(&subject, calls, 3), 0);
    CHECK_EQUAL(calls[1].result, -EBADF);
    CHECK(calls[2].result == INJECT_NOT_MADE);
    CHECK_EQUAL(inject_failure(calls, 3, &failed), -EBADF);
    CHECK_EQUAL(failed, 1);
    struct inject_call ask = {.number = SYS_umask};
    CHECK_EQUAL(run(&subject, &ask, 1), 0);
    CHECK_EQUAL(ask.result, 077);
    CHECK_EQUAL(inject_failure(&calls[2], 1, NULL), -EUCLEAN);
    return 0;
}

static int batch_over_the_number_of_calls_is_refused(void *unused) {
    struct subject subject;
    struct inject_call calls[INJECT_MAX_CALLS + 1];
    (void)unused;
    make_subject(&subject);
    for (size_t i = 0; i < INJECT_MAX_CALLS + 1; i++)
        calls[i] = (struct inject_call){.number = SYS_getpid};
    CHECK_EQUAL(run(&subject, calls, INJECT_MAX_CALLS + 1), -E2BIG);
    CHECK_EQUAL(run(&subject, calls, INJECT_MAX_CALLS), 0);
    CHECK_EQUAL(calls[INJECT_MAX_CALLS - 1].result, subject.pid);
    return 0;
}

static int clone_is_reported_and_stopped(void *unused) {
    static const uint64_t flags[] = {CLONE_PARENT | SIGCHLD, CLONE_PARENT | CLONE_VM | SIGCHLD};
    struct subject subject;
    (void)unused;
    make_subject(&subject);
    for (int i = 0; i < 2; i++) {
        pid_t child = 0;
        struct inject_call call = {.number = SYS_clone, .argument = {flags[i]}};
        CHECK_EQUAL(inject_checked(&subject.task, &call, NULL, &child), 0);
        CHECK_EQUAL(call.result, child);
        struct subject copy = subject;
        copy.task.tid = copy.task.tid_inside = child;
        copy.task.memory_fd = tracee_open_memory(child);
        struct inject_call ask = {.number = SYS_getpid};
        CHECK_EQUAL(run(&copy, &ask, 1), 0);
        CHECK_EQUAL(ask.result, child);
        tracee_kill(child);
    }
    return 0;
}

/* What a task's registers are, as NT_X86_XSTATE has them. */
struct xstate {
    _Alignas(8) unsigned char bytes[16384];
    size_t n;
};
enum { XMM0 = 160, XMM15 = 400, COMPONENTS = 512, X87_SSE_AVX = 7 };

static void get_xstate(const struct subject *subject, struct xstate *state) {
    struct iovec iov = {state->bytes, sizeof state->bytes};
    CHECK(ptrace(PTRACE_GETREGSET, subject->pid, NT_X86_XSTATE, &iov) == 0);
    state->n = iov.iov_len;
}

/* Those that are named are loaded, and the others are as they were. */
static int task_loads_the_registers_that_are_named(void *unused) {
    static const uint64_t components[] = {0, 2, 3, X87_SSE_AVX};
    struct subject subject;
    struct xstate state, after;
    (void)unused;
    make_subject(&subject);
    for (size_t i = 0; i < sizeof components / sizeof components[0]; i++) {
        get_xstate(&subject, &state);
        memset(state.bytes + XMM0, (int)i + 1, XMM15 + 16 - XMM0);
        state.bytes[COMPONENTS] |= 2;
        CHECK_EQUAL(inject_load(&subject.task, state.bytes, state.n, components[i]), 0);
        get_xstate(&subject, &after);
        CHECK_EQUAL(after.bytes[XMM0] == i + 1, (components[i] & 2) != 0);
        CHECK_EQUAL(after.bytes[XMM15 + 15] == i + 1, (components[i] & 2) != 0);
    }
    CHECK_EQUAL(inject_load(&subject.task, state.bytes, INJECT_SCRATCH_BYTES + 1, 0), -E2BIG);
    return 0;
}

/* The task has been killed, and nothing else is left. */
static void check_killed(const struct subject *subject) {
    siginfo_t info = {0};
    CHECK_EQUAL(waitid(P_PID, (id_t)subject->pid, &info, WEXITED), 0);
    CHECK(info.si_code == CLD_KILLED && info.si_status == SIGKILL);
    CHECK(waitid(P_ALL, 0, &info, WEXITED | WNOHANG | __WALL) == -1 && errno == ECHILD);
}

/* Linux lets a task have none that the processor lacks, or that it has not asked for: a fault ends it. */
static int registers_that_cannot_be_loaded_are_an_error(void *unused) {
    struct subject subject;
    struct xstate state;
    (void)unused;
    make_subject(&subject);
    get_xstate(&subject, &state);
    state.bytes[COMPONENTS + 7] |= 0x40; /* component 62, "LWP", which no processor has any more */
    CHECK_EQUAL(inject_load(&subject.task, state.bytes, state.n, UINT64_C(1) << 62), -EUCLEAN);
    check_killed(&subject);
    return 0;
}
/* In a batch, and where a checked call is due that bears nobody: what is born is killed, too. */
static int unexpected_clone_is_an_error(void *unused) {
    (void)unused;
    for (int checked = 0; checked < 2; checked++) {
        struct subject subject;
        make_subject(&subject);
        struct inject_call call = {.number = SYS_clone, .argument = {CLONE_PARENT | SIGCHLD}};
        CHECK_EQUAL(checked ? inject_checked(&subject.task, &call, NULL, NULL) : run(&subject, &call, 1), -EUCLEAN);
        check_killed(&subject);
    }
    return 0;
}

/* Code that somebody has put in the place of ours, with what the task has in its registers when it begins. */
static const struct {
    const char *what;
    unsigned char code[40];
} takeovers[] = {
    {"another call", {0xb8, 39, 0, 0, 0, 0x0f, 0x05, 0xeb, 0xfe}},                          /* getpid */
    {"another argument", {0xbf, 7, 0, 0, 0, 0x0f, 0x05, 0xeb, 0xfe}},                       /* mov edi, 7 */
    {"a last argument", {0x41, 0xb9, 7, 0, 0, 0, 0x0f, 0x05, 0xeb, 0xfe}},                  /* mov r9d, 7 */
    {"the call from elsewhere", {0x90, 0x0f, 0x05, 0xeb, 0xfe}},                            /* nop before it */
    {"the call of another machine", {0xcd, 0x80, 0xeb, 0xfe}},                              /* int 0x80 */
    {"a new process", {0xb8, 56, 0, 0, 0, 0xbf, 0x11, 0x80, 0, 0, 0x0f, 0x05, 0xeb, 0xfe}}, /* clone */
    {"a breakpoint", {0xcc}},
    {"no instruction", {0x0f, 0x0b}},
    {"a fault", {0x31, 0xc0, 0x8b, 0x00}},
    {"its own code for ever", {0xeb, 0xfe}},
};

static int taken_over_task_makes_no_call(void *argument) {
    size_t i = *(const size_t *)argument;
    struct subject subject;
    make_subject(&subject);
    mode_t before = umask(0);
    CHECK_EQUAL(memory_write(subject.memory_fd, subject.area.code, takeovers[i].code, sizeof takeovers[i].code), 0);
    struct inject_call call = {.number = SYS_umask, .argument = {before, 2, 3, 4, 5, 6}};
    int r = inject_checked(&subject.task, &call, NULL, NULL);
    if (r != -EUCLEAN)
        (void)fprintf(stderr, "%s: %d\n", takeovers[i].what, r);
    CHECK_EQUAL(r, -EUCLEAN);
    CHECK(call.result == INJECT_NOT_MADE);
    check_killed(&subject);
    return 0;
}

/* Where it runs to the end of our code too, a task that stays in its own code is not waited for. */
static int endless_batch_is_killed(void *unused) {
    static const unsigned char loop[] = {0xeb, 0xfe};
    static const unsigned char xstate[1024];
    (void)unused;
    for (int loads = 0; loads < 2; loads++) {
        struct subject subject;
        make_subject(&subject);
        for (uint64_t at = subject.area.code; at < subject.area.code + 100; at += sizeof loop)
            CHECK_EQUAL(memory_write(subject.memory_fd, at, loop, sizeof loop), 0);
        struct inject_call call = {.number = SYS_getpid};
        CHECK_EQUAL(loads ? inject_load(&subject.task, xstate, sizeof xstate, 0) : run(&subject, &call, 1), -EUCLEAN);
        check_killed(&subject);
    }
    return 0;
}

/* The memory that a call points to is what it was told to be, or the call is not made. */
static int changed_memory_is_an_error(void *unused) {
    /* mov byte ptr [rdi + 600], 1; syscall */
    static const unsigned char code[] = {0xc6, 0x87, 0x58, 2, 0, 0, 1, 0x0f, 0x05, 0xeb, 0xfe};
    static char data[1024];
    struct subject subject;
    (void)unused;
    make_subject(&subject);
    struct inject_memory memory = {subject.area.scratch, data, sizeof data};
    struct inject_call call = {.number = SYS_write, .argument = {-1ULL, subject.area.scratch, sizeof data}};
    CHECK_EQUAL(inject_checked(&subject.task, &call, &memory, NULL), 0);
    CHECK_EQUAL(call.result, -EBADF);
    CHECK_EQUAL(memory_write(subject.memory_fd, subject.area.code, code, sizeof code), 0);
    CHECK_EQUAL(inject_checked(&subject.task, &call, &memory, NULL), -EUCLEAN);
    CHECK(call.result == INJECT_NOT_MADE);
    check_killed(&subject);
    return 0;
}

/* Flags and segments that a task may have from the cell: it begins with none of them. */
static int registers_of_the_task_are_not_used(void *unused) {
    enum { TRAP = 0x100, DIRECTION = 0x400, ALIGNMENT = 0x40000 };
    struct subject subject;
    struct user_regs_struct regs;
    (void)unused;
    make_subject(&subject);
    CHECK_EQUAL(tracee_get_regs(subject.pid, &regs), 0);
    regs.eflags |= TRAP | DIRECTION | ALIGNMENT;
    regs.cs = 0x23; /* code of 32 bits */
    CHECK_EQUAL(tracee_set_regs(subject.pid, &regs), 0);
    struct inject_call calls[] = {{.number = SYS_getpid}, {.number = SYS_getppid}};
    CHECK_EQUAL(inject_checked(&subject.task, &calls[0], NULL, NULL), 0);
    CHECK_EQUAL(calls[0].result, subject.pid);
    CHECK_EQUAL(run(&subject, calls, 2), 0);
    CHECK_EQUAL(calls[1].result, getpid());
    return 0;
}

/* A stop that somebody else has sent is not the end of the batch. */
static int foreign_stop_signal_is_swallowed(void *unused) {
    struct subject subject;
    (void)unused;
    make_subject(&subject);
    CHECK(kill(subject.pid, SIGSTOP) == 0 && kill(subject.pid, SIGUSR1) == 0 && kill(subject.pid, SIGTERM) == 0);
    struct inject_call calls[] = {{.number = SYS_getpid}, {.number = SYS_getppid}};
    CHECK_EQUAL(run(&subject, calls, 2), 0);
    CHECK_EQUAL(calls[1].result, getpid());
    CHECK(kill(subject.pid, SIGSTOP) == 0 && kill(subject.pid, SIGUSR1) == 0);
    CHECK_EQUAL(inject_checked(&subject.task, &calls[0], NULL, NULL), 0);
    CHECK_EQUAL(calls[0].result, subject.pid);
    return 0;
}

/*
 * What a task can do to the area by itself, and whether that can be mended: then
 * a copy of the task can be made that works. Where it can't, that is known before.
 */
enum { OVER_FILE = -3 }; /* stands for the descriptor of a file */
static const struct {
    const char *what;
    int number;
    bool code; /* on the page of code; else on all the others */
    uint64_t argument[4];
    bool mended;
} damages[] = {
    {"unmapped code", SYS_munmap, true, {0}, false},
    {"unmapped data", SYS_munmap, false, {0}, false},
    {"unreadable code", SYS_mprotect, true, {PROT_NONE}, false},
    {"code that may not run", SYS_mprotect, true, {PROT_READ | PROT_WRITE}, false},
    {"code that may be written", SYS_mprotect, true, {PROT_READ | PROT_WRITE | PROT_EXEC}, true},
    {"read-only data", SYS_mprotect, false, {PROT_READ}, true},
    {"data that may run", SYS_mprotect, false, {PROT_READ | PROT_WRITE | PROT_EXEC}, true},
    {"empty code", SYS_mmap, true, {PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, ~0ULL}, true},
    {"shared code",
     SYS_mmap,
     true,
     {PROT_READ | PROT_WRITE | PROT_EXEC, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, ~0ULL},
     false},
    {"shared data", SYS_mmap, false, {PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, ~0ULL}, false},
    {"code over a file",
     SYS_mmap,
     true,
     {PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, (uint64_t)OVER_FILE},
     false},
    {"data over a file",
     SYS_mmap,
     false,
     {PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, (uint64_t)OVER_FILE},
     false},
    {"code that copies don't have", SYS_madvise, true, {MADV_DONTFORK}, true},
    {"data that copies don't have", SYS_madvise, false, {MADV_DONTFORK}, true},
    {"code that is empty in copies", SYS_madvise, true, {MADV_WIPEONFORK}, true},
    {"data that is empty in copies", SYS_madvise, false, {MADV_WIPEONFORK}, true},
    {"code that is thrown away", SYS_madvise, true, {MADV_DONTNEED}, true},
    {"data that is thrown away", SYS_madvise, false, {MADV_DONTNEED}, true},
};

/* A file in memory, as large as the area, open in the subject. */
static uint64_t make_file(const struct subject *subject) {
    struct inject_call make = {.number = SYS_memfd_create, .argument = {subject->area.scratch, 0}};
    CHECK_EQUAL(run(subject, &make, 1), 0);
    CHECK(make.result >= 0);
    struct inject_call cut = {.number = SYS_ftruncate, .argument = {(uint64_t)make.result, 1 << 16}};
    CHECK_EQUAL(run(subject, &cut, 1), 0);
    return (uint64_t)make.result;
}

static void do_damage(const struct subject *subject, size_t i) {
    enum { PAGE = 4096 };
    uint64_t at = subject->area.code + (damages[i].code ? 0 : PAGE);
    uint64_t bytes = damages[i].code ? PAGE : PAGE + INJECT_SCRATCH_BYTES;
    struct inject_call call = {.number = damages[i].number,
                               .argument = {at, bytes, damages[i].argument[0], damages[i].argument[1],
                                            damages[i].argument[2], damages[i].argument[3]}};
    if (call.argument[4] == (uint64_t)OVER_FILE)
        call.argument[4] = make_file(subject);
    CHECK_EQUAL(inject_checked(&subject->task, &call, NULL, NULL), 0);
    CHECK_EQUAL(inject_failure(&call, 1, NULL), 0);
}

static int damage_is_mended_or_an_error(void *argument) {
    struct subject subject;
    size_t i = *(const size_t *)argument;
    pid_t child = 0;
    make_subject(&subject);
    CHECK_EQUAL(inject_check_area(subject.pid, subject.memory_fd, &subject.area), 0);
    do_damage(&subject, i);
    int checked = inject_check_area(subject.pid, subject.memory_fd, &subject.area);
    int claimed = checked ? checked : inject_renew_area(&subject.task);
    if (claimed != (damages[i].mended ? 0 : -EUCLEAN))
        (void)fprintf(stderr, "%s: check %d, claim %d\n", damages[i].what, checked, claimed);
    CHECK_EQUAL(claimed, damages[i].mended ? 0 : -EUCLEAN);
    if (claimed)
        return 0;
    struct inject_call copy = {.number = SYS_clone, .argument = {CLONE_PARENT | SIGCHLD}};
    CHECK_EQUAL(inject_checked(&subject.task, &copy, NULL, &child), 0);
    subject.task.tid = subject.task.tid_inside = child;
    subject.task.memory_fd = tracee_open_memory(child);
    struct inject_call ask = {.number = SYS_getpid};
    CHECK_EQUAL(run(&subject, &ask, 1), 0);
    CHECK_EQUAL(ask.result, child);
    return 0;
}

static int dead_task_is_an_error(void *unused) {
    struct subject subject;
    (void)unused;
    make_subject(&subject);
    struct inject_call call = {.number = SYS_exit_group, .argument = {3}};
    CHECK_EQUAL(run(&subject, &call, 1), -EUCLEAN);
    struct inject_call ask = {.number = SYS_getpid};
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
IN_FORK(clone_is_reported_and_stopped)
IN_FORK(unexpected_clone_is_an_error)
IN_FORK(foreign_stop_signal_is_swallowed)
IN_FORK(dead_task_is_an_error)
IN_FORK(endless_batch_is_killed)
IN_FORK(changed_memory_is_an_error)
IN_FORK(task_loads_the_registers_that_are_named)
IN_FORK(registers_that_cannot_be_loaded_are_an_error)
IN_FORK(registers_of_the_task_are_not_used)

static void test_taken_over_task_makes_no_call(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof takeovers / sizeof takeovers[0]; i++)
        run_in_fork(taken_over_task_makes_no_call, &i, false);
}

static void test_damage_is_mended_or_an_error(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++)
        run_in_fork(damage_is_mended_or_an_error, &i, false);
}

static void test_results_that_linux_does_not_give_are_errors(void **state) {
    static const struct {
        int64_t result;
        int nothing, descriptor;
    } rows[] = {
        {0, 0, 0},
        {7, -EUCLEAN, 7},
        {INT32_MAX, -EUCLEAN, INT32_MAX},
        {INT64_C(1) << 31, -EUCLEAN, -EUCLEAN},
        {(INT64_C(1) << 32) + 7, -EUCLEAN, -EUCLEAN},
        {-EBADF, -EBADF, -EBADF},
        {-4095, -4095, -4095},
        {-4096, -EUCLEAN, -EUCLEAN},
        {-(INT64_C(1) << 32), -EUCLEAN, -EUCLEAN},
        {INT64_MAX, -EUCLEAN, -EUCLEAN},
        {INJECT_NOT_MADE, -EUCLEAN, -EUCLEAN},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct inject_call call = {.result = rows[i].result};
        assert_int_equal(inject_result_status(rows[i].result), rows[i].nothing);
        assert_int_equal(inject_result_descriptor(rows[i].result), rows[i].descriptor);
        assert_int_equal(inject_failure(&call, 1, NULL), rows[i].result < 0 ? rows[i].nothing : 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_results_that_linux_does_not_give_are_errors),
        cmocka_unit_test(test_batch_gives_each_result),
        cmocka_unit_test(test_all_six_arguments_arrive),
        cmocka_unit_test(test_first_failure_ends_the_batch),
        cmocka_unit_test(test_batch_over_the_number_of_calls_is_refused),
        cmocka_unit_test(test_clone_is_reported_and_stopped),
        cmocka_unit_test(test_unexpected_clone_is_an_error),
        cmocka_unit_test(test_foreign_stop_signal_is_swallowed),
        cmocka_unit_test(test_damage_is_mended_or_an_error),
        cmocka_unit_test(test_dead_task_is_an_error),
        cmocka_unit_test(test_taken_over_task_makes_no_call),
        cmocka_unit_test(test_endless_batch_is_killed),
        cmocka_unit_test(test_changed_memory_is_an_error),
        cmocka_unit_test(test_registers_of_the_task_are_not_used),
        cmocka_unit_test(test_task_loads_the_registers_that_are_named),
        cmocka_unit_test(test_registers_that_cannot_be_loaded_are_an_error),
    };
    return cmocka_run_group_tests_name("inject", tests, NULL, NULL);
}
