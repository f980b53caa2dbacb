/* The worker's bad behaviour: processes left behind, deaths, and damage to what petri needs in its memory. */
#include "worker.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_BOMB = 3000, STACK_BYTES = 65536, PAGE_BYTES = 4096 };

static volatile atomic_long *meeting; /* a page that processes share */

static void wait_for(const volatile atomic_long *value, long at_least) {
    while (*value < at_least)
        sched_yield();
}

static int be_still(void *unused) {
    (void)unused;
    ++*meeting;
    for (;;)
        pause();
    return 0;
}

static void *be_still_as_thread(void *unused) {
    be_still(unused);
    return NULL;
}

static int be_busy(void *unused) {
    (void)unused;
    for (;;)
        ++*meeting;
    return 0;
}

/* Each process has one child and ends: whoever looks may find none of them. */
static int be_hopping(void *unused) {
    for (;;) {
        ++*meeting;
        if (syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) > 0)
            _exit(0);
    }
    return *(int *)unused;
}

/* Its first thread ends and looks like a zombie; the second lives. */
static int be_leaderless(void *unused) {
    pthread_t thread;
    (void)unused;
    pthread_create(&thread, NULL, be_still_as_thread, NULL);
    wait_for(meeting, 1);
    syscall(SYS_exit, 0);
    return 0;
}

static void *hold_in_vfork(void *unused) {
    static char stack[STACK_BYTES];
    (void)unused;
    clone(be_still, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
    return NULL;
}

static int be_orphan(void *unused) {
    (void)unused;
    if (fork() == 0)
        be_still(NULL);
    wait_for(meeting, 1);
    _exit(0);
}

/*
 * Most of the time in one call that nothing ends before it is done, and that
 * writes zeros to the worker's memory, or to a file that is mapped there.
 */
static int be_reading(void *file) {
    enum { BLOCK = 16 << 20, BLOCKS = 64 };
    static struct iovec blocks[BLOCKS];
    int fd = (int)syscall(SYS_memfd_create, "long", 0);
    void *memory = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, file ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS,
                        file ? (int)strtol(file, NULL, 0) : -1, 0);
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = (struct iovec){memory, BLOCK};
    if (ftruncate(fd, (off_t)BLOCK * BLOCKS) || memory == MAP_FAILED)
        return 1;
    ++*meeting;
    while (preadv(fd, blocks, BLOCKS, 0) > 0)
        continue;
    return 0;
}

static int be_exited(void *unused) {
    (void)unused;
    ++*meeting;
    _exit(3);
}

static int be_aborted(void *unused) {
    (void)unused;
    ++*meeting;
    abort();
}

static pid_t fork_into(int (*run)(void *)) {
    pid_t pid = fork();
    if (pid == 0)
        run(NULL);
    return pid;
}

/* Waits until it has ended, and leaves it to be waited for. */
static void fork_into_dead(int (*run)(void *)) {
    siginfo_t info;
    waitid(P_PID, (id_t)fork_into(run), &info, WEXITED | WNOWAIT);
}

static void clone_into(int (*run)(void *), int flags, void *argument) {
    static char stack[STACK_BYTES];
    clone(run, stack + sizeof stack, flags | SIGCHLD, argument);
}

/* Leaves a process of a kind behind that runs when the answer comes. */
void do_child(char **words) {
    const char *kind = words[1];
    pthread_t thread;
    meeting = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (strcmp(kind, "still") == 0)
        fork_into(be_still);
    else if (strcmp(kind, "orphan") == 0)
        fork_into_dead(be_orphan); /* its child is init's: who counts while it moves may find it with neither of them */
    else if (strcmp(kind, "exited") == 0)
        fork_into_dead(be_exited);
    else if (strcmp(kind, "aborted") == 0)
        fork_into_dead(be_aborted);
    else if (strcmp(kind, "hopping") == 0)
        fork_into(be_hopping);
    else if (strcmp(kind, "leaderless") == 0)
        fork_into(be_leaderless);
    else if (strcmp(kind, "memory") == 0)
        clone_into(be_busy, CLONE_VM | CLONE_FILES | CLONE_FS, NULL);
    else if (strcmp(kind, "reading") == 0)
        clone_into(be_reading, CLONE_VM, words[2]);
    else if (strcmp(kind, "vfork") == 0)
        pthread_create(&thread, NULL, hold_in_vfork, NULL);
    wait_for(meeting, 1);
    reply("ok");
}

/* Forks until it can't, or until a number that would mean that nothing holds it; the number, and why it ended. */
void do_bomb(char **words) {
    long limit = strtol(words[1], NULL, 0), n = 0;
    pid_t pid = 0;
    while (n < MAX_BOMB && (pid = fork()) > 0)
        n++;
    if (pid == 0)
        for (;;)
            pause();
    reply("%s %s", n <= limit ? "bounded" : "unbounded", pid < 0 ? strerrorname_np(errno) : "endless");
}

/* A counter in shared memory, made at the first time. */
void do_shared(char **words) {
    static atomic_long *shared;
    (void)words;
    if (!shared)
        shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    reply("%ld", ++*shared);
}

static void be_executed(const char *program, const char *argument) {
    execl(program, program, "-c", argument, NULL);
    _exit(99);
}

/* Ends in a way. */
void do_end(char **words) {
    const char *way = words[1];
    if (strcmp(way, "segv") == 0)
        touch_nothing();
    if (strcmp(way, "kill") == 0)
        kill(getpid(), SIGKILL);
    if (strcmp(way, "all") == 0)
        kill(-1, SIGKILL), kill(1, SIGKILL);
    if (strcmp(way, "abort") == 0)
        abort();
    if (strcmp(way, "exit") == 0)
        _exit((int)strtol(words[2], NULL, 0));
    if (strcmp(way, "exec") == 0)
        be_executed("/bin/sh", "exit 42");
    if (strcmp(way, "exec-and-stay") == 0)
        be_executed("/bin/sh", "echo up; while :; do :; done");
    if (strcmp(way, "stop") == 0) {
        raise(SIGSTOP);
        reply("went on");
    }
    if (strcmp(way, "first-thread") == 0) {
        reply("ok");
        send_reply();
        syscall(SYS_exit, 0);
    }
    if (strcmp(way, "loop") == 0)
        for (;;)
            continue;
}

/* The bounds of petri's pages: the one anonymous mapping with code in it, and the data after it. */
static int find_parasite(uintptr_t *ret_code, uintptr_t *ret_code_end) {
    char line[512], permissions[8], name[256];
    FILE *maps = fopen("/proc/self/maps", "re");
    int found = 0;
    while (maps && fgets(line, sizeof line, maps)) {
        name[0] = 0;
        int n = sscanf(line, "%lx-%lx %7s %*s %*s %*s %255s", ret_code, ret_code_end, permissions, name);
        if (n == 3 && strcmp(permissions, "r-xp") == 0) {
            found = 1;
            break;
        }
    }
    if (maps)
        (void)fclose(maps);
    return found;
}

/* Private, but over a file: what is cut off that file is gone from the mapping, too. */
static int map_file(void *at, size_t bytes) {
    int fd = memfd_create("under", 0);
    if (fd < 0 || ftruncate(fd, (off_t)bytes))
        return -1;
    void *got = mmap(at, bytes, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, 0);
    return got == MAP_FAILED ? -1 : 0;
}

static long map_shared(void *at, size_t bytes) {
    void *got = mmap(at, bytes, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    return got == MAP_FAILED ? -1 : 0;
}

/* Where Linux sends a task that it interrupts in petri's code: it says "!" on standard output, where it can. */
__asm__(".pushsection .text\n"
        "    .long 0x53053053\n" /* RSEQ_SIG stands in front */
        "redirected:\n"
        "    movl $1, %eax\n"
        "    movl $1, %edi\n"
        "    leaq 1f(%rip), %rsi\n"
        "    movl $1, %edx\n"
        "    syscall\n"
        "    ud2\n"
        "1:  .ascii \"!\"\n"
        ".popsection\n");
extern const char redirected[];

/*
 * Leaves in the thread's area of restartable sequences that all of petri's code
 * is one, from which Linux sends every task that has this area registered to
 * code of ours; registers the area no longer where unregistered.
 */
static long plant_sequence(uintptr_t code, bool unregistered) {
    static struct rseq_cs all __attribute__((aligned(32)));
    struct rseq *area = (struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset);
    all = (struct rseq_cs){.start_ip = code, .post_commit_offset = PAGE_BYTES, .abort_ip = (uintptr_t)redirected};
    long r = unregistered ? syscall(SYS_rseq, area, sizeof *area, RSEQ_FLAG_UNREGISTER, RSEQ_SIG) : 0;
    if (r == 0)
        area->rseq_cs = (uintptr_t)&all;
    return r;
}

/*
 * A process on the worker's memory that makes of every call which petri writes
 * into its table for the worker to make one that only petri may.
 */
static volatile atomic_long rewriting;

static int rewrite_calls(void *table) {
    volatile int64_t *call = table;
    ++rewriting;
    for (;;) {
        call[0] = SYS_clone;
        call[1] = CLONE_PARENT | SIGCHLD;
        call[2] = call[3] = 0;
    }
    return 0;
}

static long start_rewriter(uintptr_t table) {
    static char stack[STACK_BYTES] __attribute__((aligned(16)));
    rewriting = 0;
    int pid = clone(rewrite_calls, stack + sizeof stack, CLONE_VM | SIGCHLD, (void *)table);
    if (pid > 0)
        wait_for(&rewriting, 1);
    return pid > 0 ? 0 : -1;
}

/* The worker's own doings to what petri needs; the answer is what the system calls gave. */
void do_spoil(char **words) {
    const char *what = words[1];
    uintptr_t code = 0, end = 0;
    long r = -2;
    if (strcmp(what, "descriptor") == 0) {
        reply("ok");
        send_reply();
        r = close(WORKER_FD);
        return;
    }
    if (!find_parasite(&code, &end)) {
        reply("no parasite");
        return;
    }
    size_t bytes = end - code;
    if (strcmp(what, "unmap-code") == 0)
        r = munmap((void *)code, bytes);
    if (strcmp(what, "unmap-data") == 0)
        r = munmap((void *)end, 8 * 4096);
    if (strcmp(what, "protect-code") == 0)
        r = mprotect((void *)code, bytes, PROT_NONE);
    if (strcmp(what, "protect-data") == 0)
        r = mprotect((void *)end, 8 * 4096, PROT_READ);
    if (strcmp(what, "share-code") == 0)
        r = map_shared((void *)code, bytes);
    if (strcmp(what, "share-data") == 0)
        r = map_shared((void *)end, 8 * 4096);
    if (strcmp(what, "file-code") == 0)
        r = map_file((void *)code, bytes);
    if (strcmp(what, "file-data") == 0)
        r = map_file((void *)end, 8 * 4096);
    if (strcmp(what, "rewrite") == 0)
        r = start_rewriter(end);
    if (strcmp(what, "sequence") == 0)
        r = plant_sequence(code, false);
    if (strcmp(what, "sequence-of-others") == 0)
        r = plant_sequence(code, true);
    if (strcmp(what, "dontfork") == 0)
        r = madvise((void *)code, bytes + 8 * 4096, MADV_DONTFORK);
    if (strcmp(what, "wipeonfork") == 0)
        r = madvise((void *)code, bytes + 8 * 4096, MADV_WIPEONFORK);
    if (strcmp(what, "throw-away") == 0)
        r = madvise((void *)code, bytes + 8 * 4096, MADV_DONTNEED);
    reply("%ld", r < 0 ? -(long)errno : r);
}
