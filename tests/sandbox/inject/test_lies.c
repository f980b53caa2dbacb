/*
 * What petri learns from the tasks of a cell is a lie: the results of the calls that they are driven to make, the
 * registers and masks that are read from them, the bytes of their memory. This test stands between petri and ptrace(2)
 * and puts lies in the place of some of that, while cells are made, frozen, committed and rolled back.
 *
 * Whatever is said, the kernel process goes on: it neither dies nor hangs, has the descriptors that it had, signals
 * nobody who isn't the session's, and leaves no task behind. A cell is refused, rolled back or runs; after each one
 * that wasn't committed the session is what it was, and after one that was, a cell can be made. What such a cell does
 * is the cell's own affair: it has spoilt what it owns.
 *
 * Not lied about is what Linux says and no memory can change: that a task was cloned, and which; pagemap; and what a
 * task stands in front of, where that is a keeper of the session's images. One that does anything but what it was told
 * is killed, and the image with it: see test_takeover.
 *
 * PETRI_SEED repeats a sequence, PETRI_STRANGE changes how many sessions there are.
 */
#include "sandbox/base/step.h"
#include "tests/sandbox/live.h"

#include "sandbox/inject/tracee.h"
#include "sandbox/process/process.h"
#include "sandbox/session/cell.h"
#include "sandbox/session/session.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/elf.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SESSIONS = 4, CELLS = 24, PATIENCE_MS = 200, STUCK_S = 60, DESCRIPTORS_BYTES = 1 << 16 };

static struct {
    struct live *live;
    uint64_t random;
    pid_t bystander;
    bool on;
    unsigned one_in; /* of so many things that are learned */
    unsigned told;
    unsigned refused, made, rolled_back;
    bool bad_base; /* registers have a segment base that Linux takes from nobody */
} lies;

/* splitmix64 */
static uint64_t next(void) {
    uint64_t z = (lies.random += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

static bool one_in(unsigned n) {
    return next() % n == 0;
}

/* Whether this is one of the things that are lied about. */
static bool is_chosen(void) {
    if (!lies.on || !one_in(lies.one_in))
        return false;
    lies.told++;
    return true;
}

/* What a word is said to be. */
static uint64_t lie_about(uint64_t truth) {
    static const uint64_t fixed[] = {0,
                                     1,
                                     3,
                                     4096,
                                     INT32_MAX,
                                     0x80000000,
                                     UINT32_MAX,
                                     INT64_MAX,
                                     1ULL << 63,
                                     ~0ULL,
                                     (uint64_t)-4096,
                                     0x7ffffffff000,
                                     0xffff800000000000};
    const struct inject_area *area = &lies.live->session->area;
    switch (next() % 9) {
    case 0:
        return (uint64_t) - (int64_t)(next() % 133);
    case 1:
        return (uint64_t) - (int64_t)(512 + next() % 20);
    case 2:
        return truth + 1;
    case 3:
        return truth - 1;
    case 4:
        return next() % 64; /* another descriptor */
    case 5:
        return area->code + next() % (2 * 4096 + INJECT_SCRATCH_BYTES);
    case 6:
        return next();
    case 7:
        return truth ^ 1ULL << next() % 64;
    default:
        return fixed[next() % (sizeof fixed / sizeof fixed[0])];
    }
}

/* Lies about some words of what was read, of four bytes or eight. */
static void lie_in(void *data, size_t bytes) {
    do {
        const size_t size = bytes >= 8 && one_in(2) ? 8 : 4;
        uint64_t word = 0;
        if (bytes < size)
            return;
        char *at = (char *)data + next() % (bytes / size) * size;
        memcpy(&word, at, size);
        word = lie_about(word);
        memcpy(at, &word, size);
    } while (one_in(2));
}

static bool is_keeper_of_image(pid_t tid) {
    const struct session *session = lies.live->session;
    return tid == session->current->keeper || tid == session->first->keeper;
}

static void lie_about_stop(pid_t tid, struct __ptrace_syscall_info *info) {
    if (info->op == PTRACE_SYSCALL_INFO_EXIT)
        info->exit.rval = (int64_t)lie_about((uint64_t)info->exit.rval);
    else if (!is_keeper_of_image(tid))
        lie_in(info, sizeof *info);
}

long __real_ptrace(enum __ptrace_request request, ...);
long __wrap_ptrace(enum __ptrace_request request, ...);

long __wrap_ptrace(enum __ptrace_request request, ...) {
    va_list args;
    va_start(args, request);
    const pid_t tid = va_arg(args, pid_t);
    const unsigned long address = va_arg(args, unsigned long);
    void *data = va_arg(args, void *);
    va_end(args);
    long r = __real_ptrace(request, tid, address, data);
    const struct iovec *iov = data;
    const int GET_RSEQ_CONFIGURATION = 0x420f;
    if (r < 0)
        return r;
    if (request == PTRACE_GETREGS && lies.bad_base)
        ((struct user_regs_struct *)data)->fs_base = 1ULL << 63;
    else if (request == PTRACE_GETREGS && is_chosen())
        lie_in(data, sizeof(struct user_regs_struct));
    else if (request == PTRACE_GETREGSET && is_chosen())
        lie_in(iov->iov_base, iov->iov_len);
    else if (request == PTRACE_GETSIGMASK && is_chosen())
        lie_in(data, address);
    else if ((int)request == GET_RSEQ_CONFIGURATION && is_chosen())
        lie_in(data, (size_t)r);
    else if (request == PTRACE_GET_SYSCALL_INFO && is_chosen())
        lie_about_stop(tid, data);
    return r;
}

/* A table of calls has results at the end of its rows; they alone matter. */
static void lie_about_calls(struct inject_call *calls, size_t n) {
    do {
        struct inject_call *call = &calls[next() % n];
        call->result = (int64_t)lie_about((uint64_t)call->result);
    } while (one_in(2));
}

static bool is_of_linux(int fd) {
    char link[32], path[64];
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path);
    return n > 7 && memcmp(path + n - 7, "pagemap", 7) == 0;
}

int __real_memory_read(int memory_fd, uint64_t address, void *buf, size_t bytes);
int __wrap_memory_read(int memory_fd, uint64_t address, void *buf, size_t bytes);

int __wrap_memory_read(int memory_fd, uint64_t address, void *buf, size_t bytes) {
    int r = __real_memory_read(memory_fd, address, buf, bytes);
    if (r || !lies.on || is_of_linux(memory_fd) || !is_chosen())
        return r;
    if (one_in(16))
        return -EFAULT;
    if (address == lies.live->session->area.table && bytes >= sizeof(struct inject_call))
        lie_about_calls(buf, bytes / sizeof(struct inject_call));
    else
        lie_in(buf, bytes);
    return 0;
}

int __real_kill(pid_t pid, int signal);
int __wrap_kill(pid_t pid, int signal);

/* Nobody but tasks of this session's cells and images. */
int __wrap_kill(pid_t pid, int signal) {
    if (lies.on) {
        CHECK(pid > 1 && pid != getpid() && pid != lies.bystander);
        CHECK(pid != lies.live->session->zygote.pid && pid != lies.live->session->zygote.cage);
    }
    return __real_kill(pid, signal);
}

int __real_tracee_await_stop(pid_t tid, int timeout_ms, int *ret_status);
int __wrap_tracee_await_stop(pid_t tid, int timeout_ms, int *ret_status);

/* Nobody is waited for who is dead: the first of several threads, which can't be reaped before the others. */
int __wrap_tracee_await_stop(pid_t tid, int timeout_ms, int *ret_status) {
    static pid_t dead;
    struct procfs_stat stat;
    CHECK(!lies.on || tid != dead);
    int r = __real_tracee_await_stop(tid, timeout_ms, ret_status);
    dead = r == -ETIMEDOUT && process_read_stat(tid, &stat) == 0 && stat.state == 'Z' ? tid : 0;
    return r;
}

static void fail_with(const char *what, const struct error *error) {
    char text[1024];
    (void)fprintf(stderr, "%s: %s\n", what, sandbox_error_text(error, text, sizeof text));
    CHECK(!"the session goes on");
}

/* An image that has some of everything: threads, descriptors of all kinds with something in them, shared memory. */
static void furnish(struct live *live) {
    int a, b, epoll;
    struct cell *cell = live_start(live);
    CHECK_EQUAL(sscanf(live_ask(cell, "make pipe 04000"), "%d %d", &a, &b), 2);
    CHECK_TEXT(live_ask(cell, "say %d one", b), "3");
    epoll = atoi(live_ask(cell, "make epoll"));
    CHECK_TEXT(live_ask(cell, "watch %d %d 7", epoll, a), "0");
    CHECK_EQUAL(sscanf(live_ask(cell, "make pair 1"), "%d %d", &a, &b), 2);
    CHECK_TEXT(live_ask(cell, "say %d two", a), "3");
    CHECK_TEXT(live_ask(cell, "watch %d %d 9", epoll, b), "0");
    for (const char *const *what =
             (const char *const[]){"event 3", "timer", "signals", "server", "pair 2", "pipe", NULL};
         *what; what++)
        CHECK(atoi(live_ask(cell, "make %s", *what)) > 4);
    a = atoi(live_ask(cell, "make memory"));
    CHECK_TEXT(live_ask(cell, "call %d %d 8192", SYS_ftruncate, a), "0");
    CHECK_TEXT(live_ask(cell, "map %d 8192 3", a), "0");
    CHECK_TEXT(live_ask(cell, "store 0 three"), "ok");
    CHECK_TEXT(live_ask(cell, "map -1 8192 3"), "1");
    CHECK(atoi(live_ask(cell, "call %d \"%s/host.txt 0", SYS_open, live->folder)) > 4);
    (void)live_ask(cell, "thread sleep 2");
    CHECK_TEXT(live_ask(cell, "add 1"), "1");
    live_commit(cell);
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Without numbers. */
static void mask(char *text) {
    char *to = text;
    for (const char *from = text; *from; from++) {
        const bool is_digit = *from >= '0' && *from <= '9';
        if (!is_digit || to == text || to[-1] != '#')
            *to++ = is_digit ? '#' : *from;
    }
    *to = 0;
}

/* What this process has open, in order. */
static void list_descriptors(char text[DESCRIPTORS_BYTES]) {
    enum { MAX = 512 };
    static char links[MAX][128];
    const char *sorted[MAX];
    size_t n = 0, used = 0;
    DIR *dir = opendir("/proc/self/fd");
    CHECK(dir != NULL);
    for (struct dirent *entry; n < MAX && (entry = readdir(dir));) {
        ssize_t bytes = readlinkat(dirfd(dir), entry->d_name, links[n], sizeof links[n] - 1);
        links[n][bytes > 0 ? bytes : 0] = 0;
        mask(links[n]);
        sorted[n] = links[n];
        n += bytes > 0;
    }
    closedir(dir);
    qsort(sorted, n, sizeof sorted[0], by_text);
    for (size_t i = 0; i < n; i++)
        used += (size_t)snprintf(text + used, DESCRIPTORS_BYTES - used, "%s\n", sorted[i]);
}

/* Whoever has been killed takes a while to be gone; and a sandbox is made by some more. */
static void await_processes(int most) {
    for (int i = 0; i < 5000; i++) {
        if (live_count_processes() <= most)
            return;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    (void)!system("for p in /proc/[0-9]*; do tr '\\n' ' ' < $p/stat | cut -c1-60; cat $p/wchan; echo; done >&2");
    CHECK(!"no process is left");
}

/* One that the zygote was bearing when it ended has become our child, and nobody else reaps it. */
static void await_last(void) {
    for (int i = 0; i < 5000 && live_count_processes() > 1; i++) {
        while (waitpid(-1, NULL, WNOHANG) > 0)
            continue;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    await_processes(1);
}

/* Between cells: we and the bystander, the zygote and the cage, the keepers of two images; a sandbox for the next. */
enum { PROCESSES = 7 };

static void check_as_before(const char *descriptors) {
    static char now[DESCRIPTORS_BYTES];
    killed_await(&lies.live->session->killed);
    killed_await(&lies.live->session->killed_ephemeral);
    while (session_settle(lies.live->session))
        (void)poll(NULL, 0, 1);
    await_processes(PROCESSES);
    live_await_errands(); /* they have descriptors */
    list_descriptors(now);
    CHECK_TEXT(now, descriptors);
    CHECK_EQUAL(waitpid(lies.bystander, NULL, WNOHANG), 0);
    alarm(STUCK_S);
}

static void begin_to_lie(void) {
    static const unsigned often[] = {2, 8, 32, 100};
    lies.one_in = often[next() % 4];
    lies.on = true;
}

/* A cell that was made of lies may be anything, but it ends. */
static void run_made(struct cell *cell) {
    struct pollfd fds[] = {{.fd = cell_control_fd(cell), .events = POLLIN},
                           {.fd = cell_exit_fd(cell), .events = POLLIN}};
    if (cell_start(cell, &(struct cell_limits){.processes = 200}) == 0 && write(fds[0].fd, "add 1\n", 6) == 6)
        (void)poll(fds, 2, PATIENCE_MS);
}

static enum cell_role random_role(void) {
    return one_in(4) ? CELL_EPHEMERAL : one_in(3) ? CELL_BESIDE : CELL_OF_SESSION;
}

static void lie_to_the_one_who_makes_a_cell(struct live *live) {
    struct cell *cell = NULL;
    struct error error = {0};
    begin_to_lie();
    int r = cell_create(live->session, &(struct cell_options){.role = random_role()}, &cell, &error);
    lies.on = false;
    CHECK(r == 0 ? cell != NULL : r < 0 && error.step != 0);
    lies.refused += r != 0;
    lies.made += r == 0;
    if (r == 0)
        run_made(cell);
    cell_discard(cell);
}

/* Whether it was committed, as it is where it can be and is meant to be. */
static bool lie_to_the_one_who_freezes_a_cell(struct live *live, bool commits) {
    struct cell_end end;
    struct error error = {0};
    struct cell *cell = live_start(live);
    CHECK_TEXT(live_ask(cell, "add 0"), "1");
    if (one_in(4))
        CHECK_TEXT(live_ask(cell, "child still"), "ok");
    begin_to_lie();
    int r = cell_freeze(cell, &end, &error);
    lies.on = commits && r == 0 && one_in(2);
    CHECK(r == 0 || r == -ESRCH || r == -EUCLEAN || r == -ENOTSUP || (r == -ENOMEM && error.step == STEP_MEMORY));
    lies.rolled_back += r != 0;
    if (r == 0 && commits)
        cell_commit(cell);
    else
        cell_discard(cell);
    lies.on = false;
    return r == 0 && commits;
}

static pid_t start_bystander(void) {
    pid_t pid = fork();
    if (pid == 0)
        for (;;)
            pause();
    CHECK(pid > 0);
    return pid;
}

/* Of an image that was recorded from lies a cell can be made; what it does then is its own affair. */
static void check_cell_can_be_made(struct live *live) {
    struct cell *cell = NULL;
    struct error error = {0};
    if (cell_create(live->session, &(struct cell_options){0}, &cell, &error))
        fail_with("cell_create", &error);
    run_made(cell);
    cell_discard(cell);
}

static void run_cells(struct live *live) {
    static char descriptors[DESCRIPTORS_BYTES];
    bool committed = false;
    live_check_counter(live, 1);
    live_await_errands();
    list_descriptors(descriptors);
    for (int i = 0; i < CELLS; i++) {
        if (one_in(2))
            lie_to_the_one_who_makes_a_cell(live);
        else
            (void)lie_to_the_one_who_freezes_a_cell(live, false);
        check_as_before(descriptors);
        live_check_counter(live, 1);
        check_as_before(descriptors);
    }
    while (!committed)
        committed = lie_to_the_one_who_freezes_a_cell(live, true);
    check_cell_can_be_made(live);
    check_as_before(descriptors);
}

static uint64_t new_seed(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static void lies_lose_no_session(struct live *live) {
    const char *seed_text = getenv("PETRI_SEED");
    lies.live = live;
    lies.random = seed_text ? strtoull(seed_text, NULL, 0) : new_seed();
    (void)fprintf(stderr, "PETRI_SEED=%llu repeats this\n", (unsigned long long)lies.random);
    alarm(STUCK_S);
    lies.bystander = start_bystander();
    furnish(live);
    run_cells(live);
    (void)fprintf(stderr, "%u lies: %u cells refused, %u made, %u rolled back\n", lies.told, lies.refused, lies.made,
                  lies.rolled_back);
    session_destroy(live->session);
    live->session = NULL;
    CHECK_EQUAL(__real_kill(lies.bystander, SIGKILL), 0);
    CHECK_EQUAL(waitpid(lies.bystander, NULL, 0), lies.bystander);
    await_last();
}

static void registers_that_could_not_be_set_roll_the_cell_back(struct live *live) {
    struct cell_end end;
    struct error error = {0};
    struct cell *cell = live_start(live);
    CHECK_TEXT(live_ask(cell, "add 1"), "1");
    lies.bad_base = true;
    int r = cell_freeze(cell, &end, &error);
    lies.bad_base = false;
    CHECK_EQUAL(r, -EUCLEAN);
    cell_discard(cell);
    live_check_counter(live, 0);
}

/* As a lie about it would have had it recorded. */
static void registrations_that_linux_refuses_cost_no_session(struct live *live) {
    struct thread *thread = &live->session->current->threads.thread[0];
    thread->alternate_stack = (stack_t){.ss_sp = thread, .ss_size = 1};
    thread->robust_list = 8;
    thread->robust_list_bytes = 1;
    live_check_counter(live, 0);
    CHECK_TEXT(live_do(live, "add 1"), "1");
}

int main(void) {
    enum { MAX = 10000 };
    static struct live_case cases[MAX + 2] = {
        {"registers_that_could_not_be_set_roll_the_cell_back", registers_that_could_not_be_set_roll_the_cell_back,
         NULL},
        {"registrations_that_linux_refuses_cost_no_session", registrations_that_linux_refuses_cost_no_session, NULL},
    };
    static char names[MAX][40];
    const char *sessions = getenv("PETRI_STRANGE");
    int n = sessions ? atoi(sessions) : SESSIONS;
    for (int i = 0; i < n && i < MAX; i++) {
        (void)snprintf(names[i], sizeof names[i], "lies_%d_lose_no_session", i + 1);
        cases[2 + i] = (struct live_case){names[i], lies_lose_no_session, NULL};
    }
    return live_main("lies", cases, 2 + (n < MAX ? (size_t)n : MAX));
}
