/*
 * A worker that brings itself into random states: whatever can be asked of Linux about memory, signals, registrations,
 * descriptors, threads and limits, with arguments that hit petri's pages and other tender spots more often than not.
 */
#include "worker.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/rseq.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, SITE_PAGES = 9, OWN_PAGES = 16, MAX_THREADS = 6, STACK = 65536, MAX_FD = 40, PATH_BYTES = 32 };

static uint64_t random_state;
static uintptr_t parasite;
static char own[OWN_PAGES * PAGE] __attribute__((aligned(PAGE)));
static int n_threads;

static unsigned pick(unsigned n) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (unsigned)(random_state >> 11) % n;
}

static long pick_from(const long *values, size_t n) {
    return values[pick((unsigned)n)];
}
#define PICK(...) pick_from((const long[]){__VA_ARGS__}, sizeof((const long[]){__VA_ARGS__}) / sizeof(long))

/* Some pages: petri's, or our own, which nothing needs. */
static void *pick_pages(size_t *ret_bytes) {
    int petris = pick(2) == 0;
    unsigned pages = petris ? SITE_PAGES : OWN_PAGES, first = pick(pages);
    *ret_bytes = (1 + pick(pages - first)) * PAGE;
    return (petris ? (char *)parasite : own) + first * PAGE;
}

static void advise(void) {
    size_t bytes;
    void *at = pick_pages(&bytes);
    madvise(at, bytes,
            (int)PICK(0, 1, 2, 3, 4, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 102, 103));
}

static void protect(void) {
    size_t bytes;
    void *at = pick_pages(&bytes);
    mprotect(at, bytes, (int)pick(8));
}

static void protect_by_key(void) {
    size_t bytes;
    void *at = pick_pages(&bytes);
    long key = syscall(SYS_pkey_alloc, 0, pick(4));
    syscall(SYS_pkey_mprotect, at, bytes, pick(8), key);
}

static int make_memory_file(void) {
    int fd = memfd_create("strange", MFD_ALLOW_SEALING);
    if (ftruncate(fd, PAGE * SITE_PAGES) == 0 && pick(3) == 0)
        fcntl(fd, F_ADD_SEALS, pick(32));
    return fd;
}

static void map_over(void) {
    size_t bytes;
    void *at = pick_pages(&bytes);
    int fd = pick(2) ? -1 : make_memory_file(), flags = pick(2) ? MAP_SHARED : MAP_PRIVATE;
    mmap(at, bytes, (int)pick(8), MAP_FIXED | flags | (fd < 0 ? MAP_ANONYMOUS : 0), fd, 0);
}

static void unmap(void) {
    size_t bytes;
    void *at = pick_pages(&bytes);
    if (pick(4) == 0)
        munmap(at, bytes);
}

static void move(void) {
    size_t bytes;
    void *at = pick_pages(&bytes);
    mremap(at, bytes, bytes, (int)PICK(MREMAP_MAYMOVE, MREMAP_MAYMOVE | MREMAP_DONTUNMAP));
}

static void seal(void) {
    size_t bytes;
    void *at = pick_pages(&bytes);
    syscall(462, at, bytes, 0); /* mseal */
}

static void lock(void) {
    size_t bytes;
    void *at = pick_pages(&bytes);
    if (pick(2))
        mlock(at, bytes);
    else
        mlockall((int)pick(8));
}

static void map_new(void) {
    int flags = (int)PICK(MAP_PRIVATE, MAP_SHARED, MAP_PRIVATE | MAP_NORESERVE, MAP_PRIVATE | MAP_GROWSDOWN,
                          MAP_PRIVATE | MAP_32BIT, MAP_PRIVATE | MAP_LOCKED, 8 /* MAP_DROPPABLE */);
    char *at = mmap(NULL, PAGE * (1 + pick(64)), PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
    if (at != MAP_FAILED)
        *at = 1;
    prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, at, PAGE, "r-xp 00000000 00:00 0");
    syscall(453, 0, PAGE, 0); /* map_shadow_stack */
}

/* A mapping whose line in /proc/self/maps is long, and tells lies. */
static void map_named(void) {
    char path[900] = "/tmp", *end = path + 4;
    for (unsigned i = 0; i < 3; i++) {
        end += sprintf(end, "/%0*d (deleted) rw-s\n", 200, (int)pick(3));
        if (i < 2)
            mkdir(path, 0755);
    }
    int fd = open(path, O_RDWR | O_CREAT, 0644);
    if (fd >= 0 && ftruncate(fd, PAGE) == 0)
        mmap(NULL, PAGE, PROT_READ | PROT_WRITE, pick(2) ? MAP_SHARED : MAP_PRIVATE, fd, 0);
    if (pick(2))
        unlink(path);
}

static void control_process(void) {
    prctl((int)pick(80), pick(4) ? pick(70) : (unsigned long)parasite, pick(2) ? pick(16) : (unsigned long)own, pick(4),
          0);
}

static void control_machine(void) {
    syscall(SYS_arch_prctl,
            PICK(0x1001, 0x1003, 0x1004, 0x1011, 0x1012, 0x1021, 0x1022, 0x1023, 0x1024, 0x1025, 0x2001, 0x4001, 0x4002,
                 0x5001, 0x5002, 0x5003, 0x5004),
            pick(2) ? pick(32) : (unsigned long)own);
}

static void set_signal_stack(void) {
    stack_t stack = {
        .ss_sp = pick(2) ? own : (char *)parasite, .ss_flags = (int)PICK(0, SS_DISABLE, 1U << 31), .ss_size = 16384};
    sigaltstack(&stack, NULL);
}

static void set_handler(void) {
    struct sigaction action = {.sa_flags = (int)PICK(0, SA_ONSTACK, SA_RESTART, SA_NOCLDWAIT, SA_SIGINFO)};
    action.sa_handler = (void (*)(int))PICK((long)SIG_DFL, (long)SIG_IGN, (long)parasite);
    sigaction((int)PICK(SIGCHLD, SIGTRAP, SIGSTOP, SIGCONT, SIGUSR1, SIGTTOU, SIGPIPE, SIGSYS, 33, 40), &action, NULL);
}

static void block_signals(void) {
    uint64_t mask = random_state;
    syscall(SYS_rt_sigprocmask, pick(3), &mask, NULL, sizeof mask);
}

static void send_signals(void) {
    int signal = (int)PICK(SIGCHLD, SIGCONT, SIGURG, SIGWINCH, 0);
    kill((pid_t)PICK(0, getpid(), -1), signal);
}

static void register_sequence(void) {
    static struct rseq_cs all __attribute__((aligned(32)));
    struct rseq *area = (struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset);
    all = (struct rseq_cs){.start_ip = parasite, .post_commit_offset = PAGE, .abort_ip = parasite + pick(PAGE)};
    if (pick(2))
        syscall(SYS_rseq, area, sizeof *area, RSEQ_FLAG_UNREGISTER, RSEQ_SIG);
    if (pick(2))
        syscall(SYS_rseq, (uintptr_t)own & ~63UL, 32, 0, pick(3));
    area->rseq_cs = (uintptr_t)&all;
}

static void register_lists(void) {
    syscall(SYS_set_robust_list, pick(2) ? (void *)parasite : own, 24);
    if (pick(2))
        syscall(SYS_set_tid_address, pick(2) ? (void *)parasite : own);
}

/* A file of a few, in folders that may be shut or gone, or one that a descriptor leads to. */
static void pick_path(char path[static PATH_BYTES]) {
    static const char *const patterns[] = {"/tmp/f%u", "/tmp/d%u/f", "/proc/self/fd/%u"};
    const unsigned kind = pick(3);
    (void)snprintf(path, PATH_BYTES, patterns[kind], pick(kind == 2 ? MAX_FD : 4));
}

/* What a cell's disk, the bytes that can be saved, and the file size that it may have are tried with. */
static void change_file(void) {
    char path[PATH_BYTES], folder[PATH_BYTES];
    int fd = (int)pick(MAX_FD);
    const off_t bytes = PICK(0, 1, 4096, 1 << 20, 200 << 20, 300 << 20, 1L << 40);
    pick_path(path);
    (void)snprintf(folder, sizeof folder, "/tmp/d%u", pick(3));
    mkdir(folder, 0700);
    if (ftruncate(fd, bytes) == 0) /* it is a file */
        (void)!write(fd, own, sizeof own);
    switch (pick(5)) {
    case 0:
        (void)fallocate(fd, (int)PICK(0, FALLOC_FL_KEEP_SIZE, FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE), 4096,
                        1 << 20);
        break;
    case 1:
        (void)mmap(NULL, PAGE, (int)PICK(PROT_READ, PROT_READ | PROT_WRITE), MAP_SHARED, fd, 0);
        break;
    case 2:
        unlink(path);
        break;
    case 3:
        (void)futimens(fd, (const struct timespec[2]){{1, 1}, {2, 2}});
        break;
    default:
        (void)chmod(folder, pick(2) ? 0 : 0700);
    }
}

static void open_something(void) {
    int pair[2];
    struct epoll_event event = {.events = EPOLLIN};
    char path[PATH_BYTES];
    pick_path(path);
    switch (pick(10)) {
    case 0:
        (void)!pipe2(pair, (int)PICK(0, O_NONBLOCK, O_DIRECT));
        break;
    case 1:
        (void)!socketpair(AF_UNIX, (int)PICK(SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET), 0, pair);
        break;
    case 2:
        eventfd(pick(5), (int)PICK(0, EFD_NONBLOCK));
        break;
    case 3:
        make_memory_file();
        break;
    case 4:
        epoll_ctl(epoll_create1(0), EPOLL_CTL_ADD, (int)pick(MAX_FD), &event);
        break;
    case 5:
        (void)!inotify_add_watch(inotify_init1(IN_NONBLOCK), "/tmp", IN_ALL_EVENTS);
        break;
    case 6:
        timerfd_create(CLOCK_MONOTONIC, 0);
        break;
    case 7:
        listen(socket(AF_INET, SOCK_STREAM, 0), 5);
        break;
    case 8:
        mkfifo(path, 0600);
        open(path, O_RDWR | O_NONBLOCK);
        break;
    default:
        open(pick(8) ? path : "/proc/self/mem",
             (int)PICK(O_RDONLY, O_RDWR) | (int)PICK(O_CREAT, O_CREAT | O_APPEND, O_PATH, O_DIRECTORY, O_TMPFILE),
             pick(0777));
    }
}

static void handle_descriptors(void) {
    int a = (int)pick(MAX_FD), b = (int)pick(MAX_FD);
    if (b == WORKER_FD)
        return; /* the answer goes there */
    if (pick(2))
        dup2(a, b);
    else
        close(b);
    fcntl(a, F_SETFL, PICK(0, O_NONBLOCK, O_APPEND, O_ASYNC, O_DIRECT));
    lseek(a, pick(2) ? -1 : PICK(0, 1L << 40, INT64_MAX), SEEK_SET);
    (void)fchmod(a, pick(0777));
}

static void *be_thread(void *argument) {
    if ((uintptr_t)argument == 0)
        syscall(SYS_set_robust_list, parasite, 24);
    if ((uintptr_t)argument == 1)
        pthread_setname_np(pthread_self(), ") R 1 1 (x");
    for (;;)
        if ((uintptr_t)argument == 2)
            sched_yield();
        else
            pause();
    return NULL;
}

static void start_thread(void) {
    pthread_t thread;
    pthread_attr_t attributes;
    if (n_threads++ >= MAX_THREADS)
        return;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK);
    pthread_create(&thread, &attributes, be_thread, (void *)(uintptr_t)pick(4));
}

static int be_child(void *argument) {
    (void)argument;
    for (;;)
        pause();
    return 0;
}

static void start_child(void) {
    static char stack[STACK] __attribute__((aligned(16)));
    clone(be_child, stack + sizeof stack,
          (int)PICK(0, CLONE_VM, CLONE_FILES, CLONE_VM | CLONE_FILES, CLONE_FS) | SIGCHLD, NULL);
}

static void set_limit(void) {
    struct rlimit limit = {pick(200), pick(400)};
    setrlimit((__rlimit_resource_t)PICK(RLIMIT_NOFILE, RLIMIT_STACK, RLIMIT_CORE, RLIMIT_MEMLOCK, RLIMIT_SIGPENDING,
                                        RLIMIT_NICE, RLIMIT_FSIZE),
              &limit);
}

static void set_timer(void) {
    struct itimerval interval = {.it_value.tv_sec = 100};
    timer_t timer;
    setitimer((__itimer_which_t)pick(3), &interval, NULL);
    timer_create(CLOCK_MONOTONIC, NULL, &timer);
}

static void change_place(void) {
    char path[32];
    (void)snprintf(path, sizeof path, "/tmp/d%u", pick(3));
    mkdir(path, 0700);
    (void)!chdir(path);
    if (pick(2))
        rmdir(path);
    umask(pick(0777));
    setpriority(PRIO_PROCESS, 0, (int)pick(20));
    setsid();
}

static void set_float_state(void) {
    uint32_t control = 0x1f80 | pick(64) << 7;
    __asm__ volatile("ldmxcsr %0\n pcmpeqd %%xmm7, %%xmm7\n fninit\n" : : "m"(control) : "xmm7");
}

static void (*const doings[])(void) = {
    advise,
    advise,
    protect,
    protect_by_key,
    map_over,
    unmap,
    move,
    seal,
    lock,
    map_new,
    map_named,
    control_process,
    control_process,
    control_machine,
    set_signal_stack,
    set_handler,
    block_signals,
    send_signals,
    register_sequence,
    register_lists,
    open_something,
    open_something,
    change_file,
    change_file,
    handle_descriptors,
    handle_descriptors,
    start_thread,
    start_child,
    set_limit,
    set_timer,
    change_place,
    set_float_state,
};

/* strange SEED N SITE: does n of these things. */
void do_strange(char **words) {
    random_state = strtoull(words[1], NULL, 0) * 0x9e3779b97f4a7c15ULL + 1;
    parasite = (uintptr_t)strtoull(words[3], NULL, 0);
    n_threads = 0;
    for (long n = strtol(words[2], NULL, 0); n > 0; n--)
        doings[pick(sizeof doings / sizeof doings[0])]();
    reply("done");
}
