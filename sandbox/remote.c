#define _GNU_SOURCE
#include "remote.h"

#include "cleanup.h"
#include "tracee.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { PAGE = 4096, SITE_BYTES = 2 * PAGE + REMOTE_SCRATCH_BYTES, STOP_MS = 10000 };

_Static_assert(sizeof(struct remote_call) == 64, "the code below counts on it");
_Static_assert(REMOTE_MAX_CALLS * sizeof(struct remote_call) <= PAGE, "the table is one page");

/*
 * rbx: next call, rbp: calls left, r12: own thread id. At the end the task
 * stops itself with SIGSTOP, which its tracer swallows: a breakpoint would cost
 * the image its disposition of SIGTRAP where that is ignored or blocked.
 */
__asm__(".pushsection .rodata\n"
        "remote_code_start:\n"
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
        "remote_code_stop:\n"
        "    jmp remote_code_stop\n"
        "remote_code_end:\n"
        ".popsection\n");
extern const char remote_code_start[], remote_code_stop[], remote_code_end[];
_Static_assert(SYS_tkill == 200 && SIGSTOP == 19, "as the code has them");

static size_t code_bytes(void) {
    return (size_t)(remote_code_end - remote_code_start);
}

int remote_write_code(int memory_fd, const struct remote_site *site) {
    return memory_write(memory_fd, site->code, remote_code_start, code_bytes());
}

/* One call through a system call instruction put where the task stands. Only for a task that is to be trusted. */
static int64_t call_in_place(pid_t tid, int memory_fd, const struct remote_call *call) {
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
    regs.rax = (unsigned long long)call->number;
    regs.rdi = call->argument[0];
    regs.rsi = call->argument[1];
    regs.rdx = call->argument[2];
    regs.r10 = call->argument[3];
    regs.r8 = call->argument[4];
    regs.r9 = call->argument[5];
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

int remote_make_site(pid_t tid, int memory_fd, struct remote_site *ret_site) {
    struct remote_call map = {
        .number = SYS_mmap, .argument = {0, SITE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, ~0ULL, 0}};
    int64_t address = call_in_place(tid, memory_fd, &map);
    if (address < 0)
        return (int)address;
    struct remote_site site = {
        .code = (uint64_t)address, .table = (uint64_t)address + PAGE, .scratch = (uint64_t)address + 2 * PAGE};
    struct remote_call protect = {.number = SYS_mprotect, .argument = {site.code, PAGE, PROT_READ | PROT_EXEC}};
    int64_t r = call_in_place(tid, memory_fd, &protect);
    if (r == 0)
        r = remote_write_code(memory_fd, &site);
    if (r == 0)
        *ret_site = site;
    return (int)r;
}

/* Of an entry of /proc/PID/pagemap: present, swapped, and of a file or shared. */
enum { PAGE_KIND_SHIFT = 61, PAGE_PRESENT = 4, PAGE_SWAPPED = 2 };

int remote_check_site(pid_t pid, int memory_fd, const struct remote_site *site) {
    uint64_t entries[SITE_BYTES / PAGE];
    char path[32];
    int r = remote_write_code(memory_fd, site);
    for (uint64_t at = site->code + PAGE; r == 0 && at < site->code + SITE_BYTES; at += PAGE)
        r = memory_write(memory_fd, at, "", 1); /* so that there is a page to look at */
    if (r)
        return r == -EFAULT ? -EUCLEAN : r;
    snprintf(path, sizeof path, "/proc/%d/pagemap", pid);
    auto_fd pages = open(path, O_RDONLY | O_CLOEXEC);
    if (pages < 0)
        return -errno;
    r = memory_read(pages, site->code / PAGE * sizeof entries[0], entries, sizeof entries);
    for (size_t i = 0; r == 0 && i < SITE_BYTES / PAGE; i++)
        if (entries[i] >> PAGE_KIND_SHIFT != PAGE_PRESENT && entries[i] >> PAGE_KIND_SHIFT != PAGE_SWAPPED)
            r = -EUCLEAN;
    return r;
}

static int start(const struct remote_task *task, struct remote_call *calls, size_t n) {
    struct user_regs_struct regs = *task->regs;
    for (size_t i = 0; i < n; i++)
        calls[i].result = REMOTE_NOT_MADE;
    int r = memory_write(task->memory_fd, task->site->table, calls, n * sizeof *calls);
    regs.orig_rax = ~0ULL;
    regs.rip = task->site->code;
    regs.rbx = task->site->table;
    regs.rbp = n;
    regs.r12 = (unsigned long long)task->tid_inside;
    if (r == 0)
        r = tracee_set_regs(task->tid, &regs);
    if (r == 0)
        r = tracee_block_signals(task->tid);
    return r ? r : tracee_continue(task->tid);
}

/* A task has been born: it is a tracee, and will stop before its first instruction. */
static int take_clone(pid_t parent, pid_t *ret_clone) {
    int status, r = tracee_get_born(parent, ret_clone);
    return r ? r : tracee_await_stop(*ret_clone, STOP_MS, &status);
}

/* Whether a SIGSTOP is our code's last act; it may as well have been sent by the cell, and that can't be blocked. */
static int is_at_end(const struct remote_task *task) {
    struct user_regs_struct regs;
    int r = tracee_get_regs(task->tid, &regs);
    return r ? r : regs.rip == task->site->code + (uint64_t)(remote_code_stop - remote_code_start);
}

int remote_run(const struct remote_task *task, struct remote_call *calls, size_t n, pid_t *ret_clones,
               size_t max_clones) {
    size_t clones = 0;
    int status, r = n <= REMOTE_MAX_CALLS ? start(task, calls, n) : -E2BIG;
    while (r == 0) {
        r = tracee_await_stop(task->tid, STOP_MS, &status);
        if (r)
            break;
        if (tracee_is_birth(status)) {
            r = clones < max_clones ? take_clone(task->tid, &ret_clones[clones++]) : -EUCLEAN;
        } else if (status >> 16 == PTRACE_EVENT_SECCOMP) {
            /* One of the calls that the filter leaves to us. */
        } else if (status >> 16 == 0 && WSTOPSIG(status) == SIGSTOP) {
            r = is_at_end(task);
            if (r == 1)
                return memory_read(task->memory_fd, task->site->table, calls, n * sizeof *calls);
        } else if (status >> 16 == 0 && WSTOPSIG(status) != SIGSTOP) {
            r = -EUCLEAN; /* a fault, or a signal that can't be: our code is not what ran */
        }
        if (r == 0)
            r = tracee_continue(task->tid);
    }
    return r == -ESRCH || r == -EFAULT || r == -ETIMEDOUT ? -EUCLEAN : r;
}

int remote_failure(const struct remote_call *calls, size_t n, size_t *ret_index) {
    for (size_t i = 0; i < n; i++)
        if (calls[i].result < 0) {
            if (ret_index)
                *ret_index = i;
            return calls[i].result == REMOTE_NOT_MADE ? -EUCLEAN : (int)calls[i].result;
        }
    return 0;
}
