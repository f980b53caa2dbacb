/*
 * inject.c - checked calls and batches: what a task is let do, and when it is killed.
 *
 * Both ways begin alike: the task gets registers of ours and none of its own, all
 * signals are blocked, and our code is where it stands.
 *
 * A checked call stops twice. At the entry its machine, instruction, number,
 * arguments and the memory that it points to must be those that are due; at the
 * exit its result is read from Linux and not from the task. The first entry that
 * is not the one that is due kills the task, so that nothing else has been done by
 * it. A task that it clones is left stopped.
 *
 * A batch runs to the SIGSTOP that the code sends to itself, and only there, by
 * its instruction pointer, is it over. Its results stand in memory of the image,
 * and are taken for no more than what such a call can give
 * (inject_result_status()).
 *
 * A task loads extended registers in the same way: it runs to that SIGSTOP.
 *
 * A task that executes code of its own for too long, stops too often or does not
 * stop is killed. After a failure the task is never let run again.
 */
#define _GNU_SOURCE
#include "inject.h"

#include "base/cleanup.h"
#include "base/slices.h"
#include "sandbox/inject/tracee.h"
#include "sandbox/process/process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { PAGE = 4096, AREA_BYTES = 2 * PAGE + INJECT_SCRATCH_BYTES };

/* How long Linux may take for a call, and how long a task may execute code before it is clear that it isn't ours. */
enum { STOP_MS = 10000, LOOK_MS = 100, OWN_CODE_MS = 300 };

/* How many stops a call may have: code of the cell that sends the task one SIGSTOP after the other must not keep us
 * waiting. */
enum { MAX_STOPS = 10000 };

enum { FLAGS = 0x202 }; /* of a task that begins: interrupts, and the bit that is always set */

_Static_assert(sizeof(struct inject_call) == 64, "the code below counts on it");
_Static_assert(INJECT_MAX_CALLS * sizeof(struct inject_call) <= PAGE, "the table is one page");

/*
 * At first the one instruction that checked calls need. Then the batches:
 * rbx: next call, rbp: calls left, r12: own thread id. At the end the task
 * stops itself with SIGSTOP, which its tracer swallows: a breakpoint would cost
 * the image its disposition of SIGTRAP where that is ignored or blocked.
 */
__asm__(".pushsection .rodata\n"
        "inject_code_start:\n"
        "    syscall\n"
        "inject_code_returned:\n"
        "    jmp inject_code_returned\n"
        "inject_code_batch:\n"
        "1:  movq 0(%rbx), %rax\n"
        "    movq 8(%rbx), %rdi\n"
        "    movq 16(%rbx), %rsi\n"
        "    movq 24(%rbx), %rdx\n"
        "    movq 32(%rbx), %r10\n"
        "    movq 40(%rbx), %r8\n"
        "    movq 48(%rbx), %r9\n"
        "    syscall\n"
        "    movq %rax, 56(%rbx)\n"
        "    testq %rax, %rax\n"
        "    js 2f\n"
        "    addq $64, %rbx\n"
        "    decq %rbp\n"
        "    jnz 1b\n"
        "2:  movl $200, %eax\n" /* tkill */
        "    movl %r12d, %edi\n"
        "    movl $19, %esi\n" /* SIGSTOP */
        "    syscall\n"
        "inject_code_stop:\n"
        "    jmp inject_code_stop\n"
        "inject_code_load:\n" /* rdx and rax: which components; rbx: where they stand */
        "    xrstor64 (%rbx)\n"
        "    jmp 2b\n"
        "inject_code_end:\n"
        ".popsection\n");
extern const char inject_code_start[], inject_code_returned[], inject_code_batch[], inject_code_stop[],
    inject_code_load[], inject_code_end[];
_Static_assert(SYS_tkill == 200 && SIGSTOP == 19, "as the code has them");

static size_t code_bytes(void) {
    return (size_t)(inject_code_end - inject_code_start);
}

int inject_write_code(int memory_fd, const struct inject_area *area) {
    return memory_write(memory_fd, area->code, inject_code_start, code_bytes());
}

/* Where a system call instruction finds its number and arguments. See: syscall(2). */
static void put_call(struct user_regs_struct *regs, const struct inject_call *call) {
    regs->rax = (unsigned long long)call->number;
    regs->rdi = call->argument[0];
    regs->rsi = call->argument[1];
    regs->rdx = call->argument[2];
    regs->r10 = call->argument[3];
    regs->r8 = call->argument[4];
    regs->r9 = call->argument[5];
}

/* One call through a system call instruction put where the task stands. Only for a task that is to be trusted. */
static int64_t call_in_place(pid_t tid, int memory_fd, const struct inject_call *call) {
    static const unsigned char instruction[] = {0x0f, 0x05};
    unsigned char kept[sizeof instruction];
    struct user_regs_struct before, regs;
    int status, r = tracee_get_regs(tid, &before);
    if (r == 0)
        r = memory_read(memory_fd, before.rip, kept, sizeof kept);
    if (r == 0)
        r = memory_write(memory_fd, before.rip, instruction, sizeof instruction);
    if (r)
        return r;
    regs = before;
    regs.orig_rax = ~0ULL;
    put_call(&regs, call);
    r = tracee_set_regs(tid, &regs);
    if (r == 0 && ptrace(PTRACE_SINGLESTEP, tid, 0, 0))
        r = -errno;
    if (r == 0)
        r = tracee_await_stop(tid, STOP_MS, &status);
    if (r == 0)
        r = tracee_get_regs(tid, &regs);
    int restored = memory_write(memory_fd, before.rip, kept, sizeof kept);
    if (r == 0)
        r = restored ? restored : tracee_set_regs(tid, &before);
    return r ? r : (int64_t)regs.rax;
}

int inject_make_area(pid_t tid, int memory_fd, struct inject_area *ret_area) {
    struct inject_call map = {
        .number = SYS_mmap, .argument = {0, AREA_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, ~0ULL, 0}};
    int64_t address = call_in_place(tid, memory_fd, &map);
    if (address < 0)
        return (int)address;
    struct user_regs_struct regs;
    int got = tracee_get_regs(tid, &regs);
    if (got)
        return got;
    struct inject_area area = {.code = (uint64_t)address,
                               .table = (uint64_t)address + PAGE,
                               .scratch = (uint64_t)address + 2 * PAGE,
                               .code_segment = regs.cs,
                               .stack_segment = regs.ss};
    struct inject_call protect = {.number = SYS_mprotect, .argument = {area.code, PAGE, PROT_READ | PROT_EXEC}};
    int64_t r = call_in_place(tid, memory_fd, &protect);
    if (r == 0)
        r = inject_write_code(memory_fd, &area);
    if (r == 0)
        *ret_area = area;
    return (int)r;
}

int inject_check_area(pid_t pid, int memory_fd, const struct inject_area *area) {
    uint64_t entries[AREA_BYTES / PAGE];
    int r = inject_write_code(memory_fd, area);
    for (uint64_t at = area->code + PAGE; r == 0 && at < area->code + AREA_BYTES; at += PAGE)
        r = memory_write(memory_fd, at, "", 1); /* so that there is a page to look at */
    if (r)
        return r == -EFAULT ? -EUCLEAN : r;
    auto_fd pages = process_open_fd(pid, "pagemap", O_RDONLY);
    if (pages < 0)
        return pages;
    r = memory_read(pages, area->code / PAGE * sizeof entries[0], entries, sizeof entries);
    for (size_t i = 0; r == 0 && i < AREA_BYTES / PAGE; i++)
        if (!procfs_page_is_private(entries[i]))
            r = -EUCLEAN;
    return r;
}

/* A place in the area's page of code. */
static uint64_t address_of(const struct inject_task *task, const char *label) {
    return task->area->code + (uint64_t)(label - inject_code_start);
}

/*
 * Registers of a task that begins, and no others: what the task had is the
 * cell's, flags and segments too, which can single-step it, or have it read our
 * code as that of another machine. The rest is the caller's.
 */
static struct user_regs_struct clean_registers(const struct inject_task *task, const char *label) {
    return (struct user_regs_struct){.orig_rax = ~0ULL,
                                     .rip = address_of(task, label),
                                     .cs = task->area->code_segment,
                                     .ss = task->area->stack_segment,
                                     .eflags = FLAGS};
}

static int prepare(const struct inject_task *task, const struct user_regs_struct *regs) {
    int r = tracee_set_regs(task->tid, regs);
    return r ? r : tracee_block_signals(task->tid);
}

/* Waits for the next stop. A task that executes code of its own instead is not waited for any longer. */
static int await_stop(pid_t tid, int *ret_status) {
    long began_ms = -1;
    for (int waited_ms = 0; waited_ms < STOP_MS; waited_ms += LOOK_MS) {
        int r = tracee_await_stop(tid, LOOK_MS, ret_status);
        if (r != -ETIMEDOUT)
            return r;
        long own_ms = tracee_own_code_ms(tid);
        if (own_ms < 0)
            return (int)own_ms;
        if (began_ms < 0)
            began_ms = own_ms;
        if (own_ms - began_ms >= OWN_CODE_MS)
            break;
    }
    return -ETIMEDOUT;
}

/* A task that has not done what it was told is not trusted with another instruction. */
static int give_up(const struct inject_task *task, int r) {
    kill(task->tid, SIGKILL);
    return r == -ESRCH || r == -EFAULT || r == -ETIMEDOUT ? -EUCLEAN : r;
}

/* A task has been cloned: it is a tracee, and will stop before its first instruction. */
static int take_child(pid_t parent, pid_t *ret_child) {
    int status, r = tracee_get_child(parent, ret_child);
    return r ? r : tracee_await_stop(*ret_child, STOP_MS, &status);
}

/* A task that was cloned without being asked for. */
static int refuse_child(pid_t parent) {
    pid_t child;
    if (tracee_get_child(parent, &child) == 0)
        tracee_kill(child);
    return -EUCLEAN;
}

/* Whether a stop is to be ignored: a signal from outside, which is not passed on; a stop of the whole process. */
static bool is_passed_over(int status) {
    return (status >> 16 == 0 && WSTOPSIG(status) == SIGSTOP) || status >> 16 == PTRACE_EVENT_STOP;
}

static bool is_syscall_stop(int status) {
    return status >> 16 == 0 && WSTOPSIG(status) == (SIGTRAP | 0x80);
}

/* Whether the memory that a call points to is what it has to be. */
static bool has_memory(const struct inject_task *task, const struct inject_memory *memory) {
    unsigned char now[512];
    for (size_t done = 0; memory && done < memory->bytes; done += sizeof now) {
        size_t n = memory->bytes - done < sizeof now ? memory->bytes - done : sizeof now;
        if (memory_read(task->memory_fd, memory->address + done, now, n) ||
            memcmp(now, (const char *)memory->data + done, n) != 0)
            return false;
    }
    return true;
}

/* Whether the task stands in front of the very call that is due. */
static bool is_due(const struct inject_task *task, const struct inject_call *call, const struct syscall_stop *stop,
                   const struct inject_memory *memory) {
    if (stop->arch != AUDIT_ARCH_X86_64 || stop->instruction_pointer != address_of(task, inject_code_returned) ||
        stop->number != (uint64_t)call->number)
        return false;
    return memcmp(stop->argument, call->argument, sizeof stop->argument) == 0 && has_memory(task, memory);
}

/* Judges a stop. 1 where the call is done, 0 where the task is to go on, or -errno. */
static int judge(const struct inject_task *task, struct inject_call *call, const struct inject_memory *memory,
                 pid_t *ret_child, int status, struct inject_progress *progress) {
    struct syscall_stop stop;
    if (tracee_is_clone(status) && (!ret_child || !progress->entered || progress->cloned))
        return refuse_child(task->tid);
    if (tracee_is_clone(status)) {
        progress->cloned = true;
        return take_child(task->tid, ret_child);
    }
    if (is_passed_over(status) || (status >> 16 == PTRACE_EVENT_SECCOMP && progress->entered))
        return 0; /* the last is a call that the filter leaves to us, compared when it was entered */
    int r = is_syscall_stop(status) ? tracee_get_syscall_stop(task->tid, &stop) : -EUCLEAN;
    if (r)
        return r;
    if (stop.is_entry && !progress->entered) {
        progress->entered = is_due(task, call, &stop, memory);
        return progress->entered ? 0 : -EUCLEAN;
    }
    if (stop.is_entry)
        return -EUCLEAN;
    if (progress->entered)
        call->result = stop.result;
    return progress->entered; /* else the end of the call that the task stood in front of, which is not made */
}

/* Lets the task go to a call. 0 or -errno. */
static int begin_checked(const struct inject_task *task, struct inject_call *call, const struct inject_memory *memory) {
    struct user_regs_struct regs = clean_registers(task, inject_code_start);
    call->result = INJECT_NOT_MADE;
    put_call(&regs, call);
    int r = memory ? memory_write(task->memory_fd, memory->address, memory->data, memory->bytes) : 0;
    if (r == 0)
        r = prepare(task, &regs);
    return r ? r : tracee_continue_to_syscall(task->tid);
}

/* The task has stopped: judges that, and lets it go on. 1 where the call is done, 0 where it isn't, or -errno. */
static int take_stop(const struct inject_task *task, struct inject_call *call, const struct inject_memory *memory,
                     pid_t *ret_child, int status, struct inject_progress *progress) {
    int r = judge(task, call, memory, ret_child, status, progress);
    if (r)
        return r;
    return ++progress->stops < MAX_STOPS ? tracee_continue_to_syscall(task->tid) : -ETIMEDOUT;
}

/* Waits for a call that was begun. 1 where it is done, or -errno. */
static int await_checked(const struct inject_task *task, struct inject_call *call, const struct inject_memory *memory,
                         pid_t *ret_child, struct inject_progress *progress) {
    int status, r = 0;
    while (r == 0) {
        r = await_stop(task->tid, &status);
        if (r == 0)
            r = take_stop(task, call, memory, ret_child, status, progress);
    }
    return r;
}

/* 1 where it is done, or -errno. */
static int call_checked(const struct inject_task *task, struct inject_call *call, const struct inject_memory *memory,
                        pid_t *ret_child, struct inject_progress *progress) {
    int r = begin_checked(task, call, memory);
    return r ? r : await_checked(task, call, memory, ret_child, progress);
}

int inject_checked(const struct inject_task *task, struct inject_call *call, const struct inject_memory *memory,
                   pid_t *ret_child) {
    struct inject_progress progress = {0};
    int r = call_checked(task, call, memory, ret_child, &progress);
    return r == 1 ? 0 : give_up(task, r);
}

/* Whether the task executes code of its own instead. 0, -ETIMEDOUT, or -errno. */
static int check_own_code(const struct inject_task *task, struct inject_pending *pending) {
    const long own_ms = tracee_own_code_ms(task->tid);
    if (own_ms < 0)
        return (int)own_ms;
    if (pending->own_ms == 0)
        pending->own_ms = own_ms + 1;
    return own_ms + 1 - pending->own_ms >= OWN_CODE_MS ? -ETIMEDOUT : 0;
}

static int end_pending(const struct inject_task *task, struct inject_pending *pending, int r) {
    pending->is_begun = false;
    return r == 1 ? 1 : give_up(task, r);
}

int inject_go_on(const struct inject_task *task, struct inject_pending *pending, cell_is_idle *has_time, void *arg) {
    int status, r = 0;
    if (!pending->is_begun) {
        *pending = (struct inject_pending){.call = pending->call, .is_begun = true};
        r = begin_checked(task, &pending->call, NULL);
    }
    while (r == 0) {
        r = tracee_await_stop(task->tid, 1, &status);
        if (r == 0)
            r = take_stop(task, &pending->call, NULL, NULL, status, &pending->progress);
        else if (r == -ETIMEDOUT)
            r = check_own_code(task, pending);
        if (r == 0 && !has_time(arg))
            return 0;
    }
    return end_pending(task, pending, r);
}

int inject_conclude(const struct inject_task *task, struct inject_pending *pending) {
    if (!pending->is_begun)
        return 0;
    int r = end_pending(task, pending, await_checked(task, &pending->call, NULL, NULL, &pending->progress));
    return r == 1 ? 0 : r;
}

int inject_last(const struct inject_task *task, struct inject_call call) {
    struct inject_progress progress = {0};
    int r = call_checked(task, &call, NULL, NULL, &progress);
    return r == -ESRCH && progress.entered ? 0 : give_up(task, r == 1 ? -EUCLEAN : r);
}

static int start_batch(const struct inject_task *task, struct inject_call *calls, size_t n) {
    struct user_regs_struct regs = clean_registers(task, inject_code_batch);
    for (size_t i = 0; i < n; i++)
        calls[i].result = INJECT_NOT_MADE;
    int r = memory_write(task->memory_fd, task->area->table, calls, n * sizeof *calls);
    regs.rbx = task->area->table;
    regs.rbp = n;
    regs.r12 = (unsigned long long)task->tid_inside;
    return r ? r : prepare(task, &regs);
}

/* Whether a SIGSTOP is our code's last act; it may as well have been sent by the cell, and that can't be blocked. */
static int is_at_end(const struct inject_task *task) {
    struct user_regs_struct regs;
    int r = tracee_get_regs(task->tid, &regs);
    return r ? r : regs.rip == address_of(task, inject_code_stop);
}

/* Lets a task go on to the end of our code. 1, or -errno. */
static int run_to_end(const struct inject_task *task) {
    int status, r = 0;
    for (int stops = 0; r == 0; stops++) {
        r = stops < MAX_STOPS ? tracee_continue(task->tid) : -ETIMEDOUT;
        if (r == 0)
            r = await_stop(task->tid, &status);
        if (r)
            break;
        if (tracee_is_clone(status))
            r = refuse_child(task->tid);
        else if (!is_passed_over(status))
            r = -EUCLEAN; /* a fault, or a call that the filter leaves to us: our code is not what ran */
        else if (status >> 16 == 0)
            r = is_at_end(task);
    }
    return r;
}

int inject_batch(const struct inject_task *task, struct inject_call *calls, size_t n) {
    slices_step();
    int r = n <= INJECT_MAX_CALLS ? start_batch(task, calls, n) : -E2BIG;
    if (r == -E2BIG)
        return r;
    if (r == 0)
        r = run_to_end(task);
    if (r == 1)
        r = memory_read(task->memory_fd, task->area->table, calls, n * sizeof *calls);
    return r ? give_up(task, r) : 0;
}

int inject_load(const struct inject_task *task, const void *xstate, size_t bytes, uint64_t components) {
    struct user_regs_struct regs = clean_registers(task, inject_code_load);
    regs.rax = (uint32_t)components;
    regs.rdx = components >> 32;
    regs.rbx = task->area->scratch;
    regs.r12 = (unsigned long long)task->tid_inside;
    if (bytes > INJECT_SCRATCH_BYTES)
        return -E2BIG;
    int r = memory_write(task->memory_fd, task->area->scratch, xstate, bytes);
    if (r == 0)
        r = prepare(task, &regs);
    if (r == 0)
        r = run_to_end(task);
    return r == 1 ? 0 : give_up(task, r);
}

int inject_renew_area(const struct inject_task *task) {
    const uint64_t code = task->area->code, data = code + PAGE;
    struct inject_call calls[] = {
        {.number = SYS_mprotect, .argument = {data, AREA_BYTES - PAGE, PROT_READ | PROT_WRITE}},
        {.number = SYS_mprotect, .argument = {code, PAGE, PROT_READ | PROT_EXEC}},
        {.number = SYS_madvise, .argument = {code, AREA_BYTES, MADV_DOFORK}},
        /* Linux does this for memory alone, and takes it back for anything. */
        {.number = SYS_madvise, .argument = {code, AREA_BYTES, MADV_WIPEONFORK}},
        {.number = SYS_madvise, .argument = {code, AREA_BYTES, MADV_KEEPONFORK}},
    };
    enum { N = sizeof calls / sizeof calls[0] };
    int r = inject_batch(task, calls, N);
    return r == 0 && inject_failure(calls, N, NULL) ? -EUCLEAN : r;
}

/* As Linux has errors; anything else, INJECT_NOT_MADE included, is none of its. */
static int as_error(int64_t result) {
    enum { LAST_ERROR = 4095 };
    return result < 0 && result >= -LAST_ERROR ? (int)result : -EUCLEAN;
}

int inject_result_status(int64_t result) {
    return result == 0 ? 0 : as_error(result);
}

int inject_result_descriptor(int64_t result) {
    return result >= 0 && result <= INT_MAX ? (int)result : as_error(result);
}

int inject_failure(const struct inject_call *calls, size_t n, size_t *ret_index) {
    for (size_t i = 0; i < n; i++)
        if (calls[i].result < 0) {
            if (ret_index)
                *ret_index = i;
            return as_error(calls[i].result);
        }
    return 0;
}
