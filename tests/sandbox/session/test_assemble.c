/*
 * Making a cell of what one has left, where Linux refuses something: this test stands between petri and ptrace(2),
 * between petri and the calls that tasks make for it, and says in their place what Linux would.
 */
#include "sandbox/inject/inject.h"
#include "sandbox/session/session.h"
#include "tests/sandbox/live.h"

#include <elf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>

/* What can be refused while a cell is made. */
enum step { STEP_TRACE, STEP_CHECKED, STEP_BATCH, STEP_READ, STEP_WRITE, STEP_RLIMIT, STEPS };

/* Which of its calls fails, from 1 on, and with what; how many there were. */
static struct {
    bool is_on;
    enum step step;
    int at, error, n;
} refusal;

static bool is_refused(enum step step) {
    return refusal.is_on && step == refusal.step && ++refusal.n == refusal.at;
}

/* Linux as it is on a processor with AMX: a task has no tile registers that a tracer could set before it has used them.
 * The threads of cells have all used them. */
enum { COMPONENTS = 512, TILE_DATA = 18, TASKS = 4096 };
static struct {
    bool is_on;
    pid_t has_room[TASKS];
    size_t n;
} tiles;

static void give_room(pid_t tid) {
    CHECK(tiles.n < TASKS);
    tiles.has_room[tiles.n++] = tid;
}

static bool has_room(pid_t tid) {
    for (size_t i = 0; i < tiles.n; i++)
        if (tiles.has_room[i] == tid)
            return true;
    return false;
}

static uint64_t *components_of(const struct iovec *iov) {
    return (uint64_t *)((char *)iov->iov_base + COMPONENTS);
}

long __real_ptrace(enum __ptrace_request request, ...);
long __wrap_ptrace(enum __ptrace_request request, ...);

static long set_registers(pid_t tid, struct iovec *iov) {
    const bool has_tiles = *components_of(iov) >> TILE_DATA & 1;
    if (has_tiles && !has_room(tid)) {
        errno = EINVAL;
        return -1;
    }
    *components_of(iov) &= ~(UINT64_C(1) << TILE_DATA);
    const long r = __real_ptrace(PTRACE_SETREGSET, tid, NT_X86_XSTATE, iov);
    *components_of(iov) |= (uint64_t)has_tiles << TILE_DATA;
    return r;
}

long __wrap_ptrace(enum __ptrace_request request, ...) {
    va_list args;
    va_start(args, request);
    const pid_t tid = va_arg(args, pid_t);
    const unsigned long address = va_arg(args, unsigned long);
    void *data = va_arg(args, void *);
    va_end(args);
    if (is_refused(STEP_TRACE)) {
        errno = refusal.error;
        return -1;
    }
    if (tiles.is_on && request == PTRACE_SETREGSET)
        return set_registers(tid, data);
    const long r = __real_ptrace(request, tid, address, data);
    if (tiles.is_on && r == 0 && request == PTRACE_GETREGSET) {
        *components_of(data) |= UINT64_C(1) << TILE_DATA;
        give_room(tid);
    }
    return r;
}

int __real_inject_load(const struct inject_task *task, const void *xstate, size_t bytes, uint64_t components);
int __wrap_inject_load(const struct inject_task *task, const void *xstate, size_t bytes, uint64_t components);

/* Our processor has no such component: the task loads those that it has. */
int __wrap_inject_load(const struct inject_task *task, const void *xstate, size_t bytes, uint64_t components) {
    unsigned char without[INJECT_SCRATCH_BYTES];
    struct iovec iov = {without, bytes};
    CHECK(bytes <= sizeof without);
    memcpy(without, xstate, bytes);
    *components_of(&iov) &= ~(UINT64_C(1) << TILE_DATA);
    if (components >> TILE_DATA & 1)
        give_room(task->tid);
    return __real_inject_load(task, without, bytes, components & ~(UINT64_C(1) << TILE_DATA));
}

int __real_inject_checked(const struct inject_task *task, struct inject_call *call, const struct inject_memory *memory,
                          pid_t *ret_child);
int __wrap_inject_checked(const struct inject_task *task, struct inject_call *call, const struct inject_memory *memory,
                          pid_t *ret_child);

int __wrap_inject_checked(const struct inject_task *task, struct inject_call *call, const struct inject_memory *memory,
                          pid_t *ret_child) {
    if (!is_refused(STEP_CHECKED))
        return __real_inject_checked(task, call, memory, ret_child);
    call->result = -refusal.error;
    return 0;
}

int __real_inject_batch(const struct inject_task *task, struct inject_call *calls, size_t n);
int __wrap_inject_batch(const struct inject_task *task, struct inject_call *calls, size_t n);

int __wrap_inject_batch(const struct inject_task *task, struct inject_call *calls, size_t n) {
    if (!is_refused(STEP_BATCH))
        return __real_inject_batch(task, calls, n);
    for (size_t i = 0; i < n; i++)
        calls[i].result = i == 0 ? -refusal.error : INJECT_NOT_MADE;
    return 0;
}

int __real_memory_read(int memory_fd, uint64_t address, void *buf, size_t bytes);
int __wrap_memory_read(int memory_fd, uint64_t address, void *buf, size_t bytes);

int __wrap_memory_read(int memory_fd, uint64_t address, void *buf, size_t bytes) {
    return is_refused(STEP_READ) ? -refusal.error : __real_memory_read(memory_fd, address, buf, bytes);
}

int __real_memory_write(int memory_fd, uint64_t address, const void *buf, size_t bytes);
int __wrap_memory_write(int memory_fd, uint64_t address, const void *buf, size_t bytes);

int __wrap_memory_write(int memory_fd, uint64_t address, const void *buf, size_t bytes) {
    return is_refused(STEP_WRITE) ? -refusal.error : __real_memory_write(memory_fd, address, buf, bytes);
}

int __real_prlimit(pid_t pid, enum __rlimit_resource resource, const struct rlimit *new, struct rlimit *old);
int __wrap_prlimit(pid_t pid, enum __rlimit_resource resource, const struct rlimit *new, struct rlimit *old);

int __wrap_prlimit(pid_t pid, enum __rlimit_resource resource, const struct rlimit *new, struct rlimit *old) {
    if (!is_refused(STEP_RLIMIT))
        return __real_prlimit(pid, resource, new, old);
    errno = refusal.error;
    return -1;
}

/* Something of each kind that has to be made anew. */
static void make_state(struct live *live) {
    static const char *const kinds[] = {"event", "epoll", "memory", "timer", "signals"};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        live_make_one(live, kinds[i]);
    live_make_pair(live, "pipe");
    live_make_pair(live, "pair 1");
    CHECK_TEXT(live_do(live, "map -1 4096 3"), "0");
    CHECK_TEXT(live_do(live, "signals"), "0");
    CHECK_TEXT(live_do(live, "thread wait"), "0");
    CHECK_TEXT(live_do(live, "thread robust"), "1");
    CHECK_TEXT(live_do(live, "put a.txt kept"), "ok");
    CHECK(live_call(live, SYS_open, "\"a.txt 0") > 0);
}

/* Whether the session has another state after it: what a call is refused of. */
typedef bool moment(struct live *live);

/* A cell that is made, and thrown away. */
static bool make_cell(struct live *live) {
    struct cell *cell = NULL;
    struct error why = {0};
    refusal.is_on = true;
    const int r = cell_create(live->session, &(struct cell_options){0}, &cell, &why);
    refusal.is_on = false;
    if (r == 0)
        cell_discard(cell);
    return false;
}

/* The end of a cell that adds 1. */
static bool end_cell(struct live *live) {
    struct cell *cell = live_start(live);
    struct cell_end end;
    struct error why = {0};
    (void)live_ask(cell, "add 1");
    refusal.is_on = true;
    const int r = cell_freeze(cell, &end, &why);
    if (r)
        cell_discard(cell);
    else
        cell_commit(cell);
    refusal.is_on = false;
    return r == 0;
}

/*
 * Each call of a kind is refused once, with one error after the other. The next cell has the state; where the state is
 * lost by that, as a task that doesn't do what it is told is killed, it has the one before, which is kept.
 */
static void refuse_each(struct live *live, moment *act, enum step step) {
    static const int errors[] = {EINVAL, EIO, EFAULT, EAGAIN, ENOMEM, EPERM, ENOSPC, ESRCH};
    static const int strides[STEPS] = {
        [STEP_TRACE] = 11, [STEP_CHECKED] = 1, [STEP_BATCH] = 1, [STEP_READ] = 2, [STEP_WRITE] = 3, [STEP_RLIMIT] = 1};
    const int stride = live_times(6) < 6 ? strides[step] : 1;
    long value = strtol(live_do(live, "add 0"), NULL, 10);
    refusal.step = step;
    refusal.n = refusal.at = 0;
    for (int i = 0; refusal.n >= refusal.at; i++) {
        struct kept_image *before = live_keep(live);
        struct error error = {0};
        live_do(live, "add 1");
        refusal.n = 0;
        refusal.at = 1 + i * stride;
        refusal.error = errors[(size_t)i % (sizeof errors / sizeof errors[0])];
        const bool is_next = act(live);
        if (session_check(live->session, &error) == 0)
            value += 1 + is_next;
        else
            CHECK_EQUAL(session_restore(live->session, before, &error), 0);
        live_check_counter(live, value);
        session_forget(live->session, before);
    }
}

static void refuse_all(struct live *live, moment *act) {
    make_state(live);
    live_check_counter(live, 0);
    live_await_processes(live, live_count_processes());
    const int processes = live_count_processes();
    for (enum step step = 0; step < STEPS; step++)
        refuse_each(live, act, step);
    CHECK_TEXT(live_do(live, "file a.txt"), "kept");
    CHECK_TEXT(live_do(live, "poke 0"), "ok");
    CHECK_TEXT(live_do(live, "join 0"), "1000");
    live_await_processes(live, processes);
}

static void session_goes_on_whichever_call_is_refused_while_a_cell_is_made(struct live *live) {
    refuse_all(live, make_cell);
}

static void session_goes_on_whichever_call_is_refused_at_the_end_of_a_cell(struct live *live) {
    refuse_all(live, end_cell);
}

/* Of the session's own cells, of one that is rolled back, a look, and a branch that is kept and gone to. */
static void registers_that_linux_has_on_first_use_go_on(struct live *live) {
    static const char *const kinds[] = {"wait", "sleep", "poll"};
    const int times = live_times(12);
    struct error error = {0};
    struct cell *cell;
    tiles.is_on = true;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        (void)live_do(live, "thread %s", kinds[i]);
    for (int i = 0; i < times; i++) {
        live_check_counter(live, i);
        struct kept_image *kept = live_keep(live);
        cell_discard(live_start(live));
        const struct cell_options look = {.role = CELL_EPHEMERAL};
        CHECK_EQUAL(cell_create(live->session, &look, &cell, &error), 0);
        cell_discard(cell);
        cell = live_branch(live, kept);
        (void)live_ask(cell, "add 1");
        struct kept_image *branch = live_keep_branch(cell);
        CHECK_EQUAL(session_restore(live->session, branch, &error), 0);
        session_forget(live->session, kept);
        session_forget(live->session, branch);
        tiles.n = 0; /* no task of these cells is there any more */
    }
    CHECK_TEXT(live_do(live, "poke 0"), "ok");
    CHECK_TEXT(live_do(live, "join 0"), "1000");
}

int main(void) {
    const struct live_case cases[] = {
        LIVE_CASE(session_goes_on_whichever_call_is_refused_while_a_cell_is_made),
        LIVE_CASE(session_goes_on_whichever_call_is_refused_at_the_end_of_a_cell),
        LIVE_CASE(registers_that_linux_has_on_first_use_go_on),
    };
    return live_main("making cells", cases, sizeof cases / sizeof cases[0]);
}
