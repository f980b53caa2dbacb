/*
 * init.c - how a process gives up all its memory and still makes its last system calls.
 *
 * The last thing that the process does as a copy of the zygote is to fill one
 * page: code, a table of system calls and a filter. The code then makes the calls:
 * it unmaps all memory but that page and Linux's own, takes strict seccomp (or,
 * where there is a filter already, a filter of the same effect), writes the
 * report, and sleeps in a read(2) of a pipe that is never written to.
 *
 * The page can be executed and not written, and the calls are made from
 * registers, so that no stack is needed. Where a call fails the process ends, and
 * the reader of the report sees the end of the pipe.
 */
#define _GNU_SOURCE
#include "init.h"

#include "base/cleanup.h"
#include "sandbox/process/process.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/audit.h>
#include <linux/close_range.h>
#include <linux/filter.h>
#include <linux/rseq.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    PAGE = 4096,
    STATUS_FD = 0,
    SLEEP_FD = 1,
    SLEEP_WRITE_FD = 2,
    MAX_CALLS = 8,
    CALL_BYTES = 32,
    RSEQ_BYTES = 32, /* the least that Linux registers */
    RSEQ_MAX_BYTES = 1024,
    RSEQ_SIGNATURE = 0x53053053, /* with which glibc registers on x86-64: its <sys/rseq.h> */
};

/* The end of a process' addresses. See: Documentation/arch/x86/x86_64/mm.rst. */
#define ADDRESSES_END 0x7ffffffff000ULL

/* A call of three arguments, laid out as the code reads it. */
struct call {
    uint64_t number, argument[3];
};
_Static_assert(sizeof(struct call) == CALL_BYTES, "the code below counts on it");

/*
 * rbx: next call, rbp: calls left. Where one fails the process ends; after
 * the last one it sleeps in a read(2) of a pipe that is never written to. Of calls
 * that end a process strict mode allows exit(2) alone.
 */
__asm__(".pushsection .rodata\n"
        "init_code_start:\n"
        "1:  movq 0(%rbx), %rax\n"
        "    movq 8(%rbx), %rdi\n"
        "    movq 16(%rbx), %rsi\n"
        "    movq 24(%rbx), %rdx\n"
        "    syscall\n"
        "    testq %rax, %rax\n"
        "    js 3f\n"
        "    addq $32, %rbx\n"
        "    decq %rbp\n"
        "    jnz 1b\n"
        "2:  xorl %eax, %eax\n" /* read */
        "    movl $1, %edi\n"   /* SLEEP_FD */
        "    movq %r12, %rsi\n"
        "    movl $1, %edx\n"
        "    syscall\n"
        "    jmp 2b\n"
        "3:  movl $60, %eax\n" /* exit */
        "    movl $1, %edi\n"
        "    syscall\n"
        "    jmp 3b\n"
        "init_code_end:\n"
        ".popsection\n");
extern const char init_code_start[], init_code_end[];
_Static_assert(SYS_read == 0 && SYS_exit == 60 && SLEEP_FD == 1, "as the code has them");

/*
 * What strict mode allows, as a filter: Linux lets no process change from one
 * to the other, and in a container each begins with a filter.
 */
static const struct sock_filter strict[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 0, 5),
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_read, 2, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 1, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
};

/* The one page that stays. */
struct page {
    unsigned char code[256];
    struct call call[MAX_CALLS];
    struct sock_filter filter[sizeof strict / sizeof strict[0]];
    struct sock_fprog program;
    unsigned char report[INIT_MAX_REPORT_BYTES];
};
_Static_assert(sizeof(struct page) <= PAGE, "one page");

int init_find_kept(struct init_kept *ret_kept) {
    auto_free char *buf = NULL;
    size_t size = 0;
    struct procfs_text line;
    struct procfs_mapping at;
    auto_file maps = process_open(getpid(), "maps");
    struct init_kept found = {ADDRESSES_END, ADDRESSES_END};
    if (!maps)
        return -errno;
    while (process_next_line(maps, &buf, &size, &line)) {
        if (!procfs_parse_mapping(line, &at))
            return -EBADMSG;
        if (at.end > ADDRESSES_END || at.name.n < 2 || memcmp(at.name.at, "[v", 2) != 0)
            continue;
        if (found.start == ADDRESSES_END)
            found.start = at.start;
        found.end = at.end;
    }
    *ret_kept = found;
    return 0;
}

/* What libc registers for each thread, and where, from its thread pointer. See: "Restartable Sequences", glibc. */
static struct {
    bool registered;
    ptrdiff_t offset;
} sequences;

/*
 * The libc that is there counts, not the one that petri was built with: glibc has
 * the names from 2.35 on, and one that has none registers nothing.
 */
static void find_sequences(void) {
    const ptrdiff_t *offset = dlsym(RTLD_DEFAULT, "__rseq_offset");
    const unsigned *size = dlsym(RTLD_DEFAULT, "__rseq_size");
    sequences.registered = offset && size && *size > 0;
    sequences.offset = offset ? *offset : 0;
}

static struct init_kept place_of(const struct dl_phdr_info *object, size_t i) {
    const uint64_t start = object->dlpi_addr + object->dlpi_phdr[i].p_vaddr;
    const uint64_t end = start + object->dlpi_phdr[i].p_memsz;
    return (struct init_kept){start & ~(uint64_t)(PAGE - 1), (end + PAGE - 1) & ~(uint64_t)(PAGE - 1)};
}

/* The program itself, Linux's and the loader's part, and where libc's functions are. */
static bool is_needed(const struct dl_phdr_info *object) {
    if (!*object->dlpi_name || object->dlpi_addr == getauxval(AT_SYSINFO_EHDR) ||
        object->dlpi_addr == getauxval(AT_BASE))
        return true;
    for (size_t i = 0; i < object->dlpi_phnum; i++) {
        const struct init_kept at = place_of(object, i);
        if (object->dlpi_phdr[i].p_type == PT_LOAD && (uint64_t)write >= at.start && (uint64_t)write < at.end)
            return true;
    }
    return false;
}

static int leave_out(struct dl_phdr_info *object, size_t size, void *unused) {
    (void)size, (void)unused;
    if (is_needed(object))
        return 0;
    for (size_t i = 0; i < object->dlpi_phnum; i++)
        if (object->dlpi_phdr[i].p_type == PT_LOAD) {
            const struct init_kept at = place_of(object, i);
            (void)madvise((void *)at.start, at.end - at.start, MADV_DONTFORK); /* where it fails, only time is lost */
        }
    return 0;
}

/* A sanitizer is called by every function, and needs its libraries. */
void init_leave_out_libraries(void) {
    find_sequences(); /* looks through all libraries */
#ifdef PETRI_SANITIZED
    (void)leave_out;
#else
    (void)dl_iterate_phdr(leave_out, NULL);
#endif
}

static size_t add_unmap(struct call *calls, size_t n, uint64_t start, uint64_t end) {
    if (start < end)
        calls[n++] = (struct call){SYS_munmap, {start, end - start, 0}};
    return n;
}

/* What unmaps all but two ranges. */
static size_t unmap_all_but(struct init_kept a, struct init_kept b, struct call *calls) {
    struct init_kept low = a.start < b.start ? a : b, high = a.start < b.start ? b : a;
    size_t n = add_unmap(calls, 0, 0, low.start);
    n = add_unmap(calls, n, low.end, high.start);
    return add_unmap(calls, n, high.end, ADDRESSES_END);
}

/* Keeps two descriptors, and the write end of the pipe that is the second: without it a read would return at once; and
 * kept_fd, where there is one. */
static int arrange_descriptors(int status_fd, int kept_fd) {
    int pair[2];
    if (pipe2(pair, O_CLOEXEC))
        return -errno;
    const int from[] = {
        [STATUS_FD] = status_fd, [SLEEP_FD] = pair[0], [SLEEP_WRITE_FD] = pair[1], [INIT_KEPT_FD] = kept_fd};
    const int n = kept_fd < 0 ? INIT_KEPT_FD : INIT_KEPT_FD + 1;
    int high[INIT_KEPT_FD + 1];
    for (int i = 0; i < n; i++)
        if ((high[i] = fcntl(from[i], F_DUPFD_CLOEXEC, 16)) < 0)
            return -errno;
    for (int i = 0; i < n; i++)
        if (dup3(high[i], i, O_CLOEXEC) < 0)
            return -errno;
    return close_range((unsigned)n, ~0U, 0) ? -errno : 0;
}

static struct page *make_page(const struct init_kept *kept, const void *report, size_t bytes, size_t *ret_calls) {
    struct page *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return NULL;
    uint64_t at = (uint64_t)page;
    memcpy(page->code, init_code_start, (size_t)(init_code_end - init_code_start));
    memcpy(page->report, report, bytes);
    memcpy(page->filter, strict, sizeof strict);
    page->program = (struct sock_fprog){.len = sizeof strict / sizeof strict[0], .filter = page->filter};
    size_t n = unmap_all_but((struct init_kept){at, at + PAGE}, *kept, page->call);
    if (prctl(PR_GET_SECCOMP) == SECCOMP_MODE_DISABLED)
        page->call[n++] = (struct call){SYS_prctl, {PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0}};
    else
        page->call[n++] = (struct call){SYS_prctl, {PR_SET_SECCOMP, SECCOMP_MODE_FILTER, (uint64_t)&page->program}};
    page->call[n++] = (struct call){SYS_write, {STATUS_FD, (uint64_t)page->report, bytes}};
    *ret_calls = n;
    return mprotect(page, PAGE, PROT_READ | PROT_EXEC) ? NULL : page;
}

/*
 * Takes back what libc has registered for itself: Linux writes to that memory
 * whenever the task changes processors, and would kill it. A task whose parent
 * shared another's memory has nothing registered: then it can be registered,
 * and taken back. libc doesn't tell how many bytes it has registered, only how
 * many of them are in use.
 */
static int unregister_sequences(void) {
    const long area = (long)__builtin_thread_pointer() + sequences.offset;
    if (!sequences.registered)
        return 0;
    (void)syscall(SYS_rseq, area, RSEQ_BYTES, 0, RSEQ_SIGNATURE);
    for (unsigned bytes = RSEQ_BYTES; bytes <= RSEQ_MAX_BYTES; bytes += 4)
        if (syscall(SYS_rseq, area, bytes, RSEQ_FLAG_UNREGISTER, RSEQ_SIGNATURE) == 0)
            return 0;
    return -errno;
}

int init_become(const struct init_kept *kept, int status_fd, int kept_fd, const void *report, size_t bytes) {
    size_t n = 0;
    if (bytes > INIT_MAX_REPORT_BYTES)
        return -E2BIG;
    const struct page *page = make_page(kept, report, bytes, &n);
    int r = page ? unregister_sequences() : -errno;
    if (r == 0)
        r = arrange_descriptors(status_fd, kept_fd); /* last: afterwards only its own failure can be reported */
    if (r)
        return r;
    __asm__ volatile("movq %0, %%rbx\n"
                     "movq %1, %%r12\n"
                     "movq %2, %%rax\n"
                     "movq %3, %%rbp\n"
                     "jmp *%%rax\n"
                     :
                     : "r"(page->call), "r"(page), "r"(page->code), "r"(n)
                     : "rbx", "r12", "rax", "memory");
    __builtin_unreachable();
}
