/* What the worker's threads and signal handlers can do. */
#include "worker.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_THREADS = 600 };

/* One thread: what it is about, what wakes it, how far it is. */
struct worker_thread {
    const char *kind;
    pthread_t id;
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    int pipe[2];
    bool woken;
    pid_t tid;
    atomic_int started;
    atomic_long count, failed;
};

static struct worker_thread threads[MAX_THREADS];
static int n_threads;
static pthread_mutex_t robust;

static bool is_woken(struct worker_thread *self) {
    pthread_mutex_lock(&self->mutex);
    bool woken = self->woken;
    pthread_mutex_unlock(&self->mutex);
    return woken;
}

/* Sleeps a short while again and again, and counts. */
static void be_sleep(struct worker_thread *self) {
    while (!is_woken(self)) {
        struct timespec left = {.tv_nsec = 200000};
        while (nanosleep(&left, &left) && errno == EINTR)
            continue;
        self->count++;
    }
}

static void be_long_sleep(struct worker_thread *self) {
    while (!is_woken(self)) {
        struct timespec left = {.tv_sec = 1000};
        nanosleep(&left, &left);
        self->count++;
    }
}

static void be_wait(struct worker_thread *self) {
    pthread_mutex_lock(&self->mutex);
    while (!self->woken)
        pthread_cond_wait(&self->wake, &self->mutex);
    pthread_mutex_unlock(&self->mutex);
}

/* Without a loop around it, as libraries have it that set no signal handler: EINTR counts. */
static void be_poll(struct worker_thread *self) {
    struct pollfd fd = {.fd = self->pipe[0], .events = POLLIN};
    while (poll(&fd, 1, -1) < 0)
        self->count++;
}

static void be_read(struct worker_thread *self) {
    char byte;
    while (read(self->pipe[0], &byte, 1) < 0)
        self->count++;
}

static void be_spin(struct worker_thread *self) {
    while (!is_woken(self))
        self->count++;
}

/* Ends while it holds the robust mutex only when it is woken. */
static void be_robust(struct worker_thread *self) {
    pthread_mutex_lock(&robust);
    self->started = 2;
    be_wait(self);
    pthread_mutex_unlock(&robust);
}

/* Has one child after another; who is left behind with a cell is killed, and found dead in the next. */
static void be_fork(struct worker_thread *self) {
    while (!is_woken(self)) {
        int status = 0;
        pid_t pid = fork();
        if (pid == 0)
            _exit(7);
        pid_t waited = pid < 0 ? -1 : waitpid(pid, &status, 0);
        const bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
        self->failed += pid < 0 || waited != pid || (WEXITSTATUS(status) != 7 && !killed);
        self->count++;
    }
}

static void *be_born(void *born) {
    return born;
}

static void be_birth(struct worker_thread *self) {
    while (!is_woken(self)) {
        pthread_t born;
        void *result = NULL;
        self->failed += pthread_create(&born, NULL, be_born, self) || pthread_join(born, &result) || result != self;
        self->count++;
    }
}

static const struct {
    const char *kind;
    void (*run)(struct worker_thread *self);
} kinds[] = {
    {"sleep", be_sleep}, {"long-sleep", be_long_sleep}, {"wait", be_wait}, {"poll", be_poll},   {"read", be_read},
    {"spin", be_spin},   {"robust", be_robust},         {"fork", be_fork}, {"birth", be_birth},
};

static void *run_thread(void *argument) {
    struct worker_thread *self = argument;
    self->tid = gettid();
    prctl(PR_SET_NAME, self->kind);
    self->started = 1;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(kinds[i].kind, self->kind) == 0)
            kinds[i].run(self);
    return (void *)(intptr_t)(self->failed ? -self->failed : 1000 + (self - threads));
}

static void make_robust(void) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&robust, &attributes);
}

/* Starts a thread of a kind, and waits until it runs; its number. */
void do_thread(char **words) {
    struct worker_thread *self = &threads[n_threads];
    int ready = strcmp(words[1], "robust") == 0 ? 2 : 1;
    if (n_threads == 0)
        make_robust();
    *self = (struct worker_thread){.kind = strdup(words[1]), .mutex = PTHREAD_MUTEX_INITIALIZER};
    pthread_cond_init(&self->wake, NULL);
    if (pipe(self->pipe) || pthread_create(&self->id, NULL, run_thread, self)) {
        reply("%s", strerrorname_np(errno));
        return;
    }
    while (self->started < ready)
        sched_yield();
    reply("%d", n_threads++);
}

static struct worker_thread *thread_of(char **words) {
    return &threads[strtol(words[1], NULL, 0) % MAX_THREADS];
}

void do_poke(char **words) {
    struct worker_thread *thread = thread_of(words);
    pthread_mutex_lock(&thread->mutex);
    thread->woken = true;
    pthread_cond_broadcast(&thread->wake);
    pthread_mutex_unlock(&thread->mutex);
    reply(write(thread->pipe[1], "x", 1) == 1 ? "ok" : "failed");
}

/* What the thread returned, and how often it was interrupted or went round. */
void do_join(char **words) {
    struct worker_thread *thread = thread_of(words);
    void *result;
    int r = pthread_join(thread->id, &result);
    reply(r ? "error %ld" : "%ld", r ? (long)r : (long)(intptr_t)result);
}

void do_count(char **words) {
    reply("%ld", thread_of(words)->count);
}

void do_name(char **words) {
    char path[64], name[32] = "";
    (void)snprintf(path, sizeof path, "/proc/self/task/%d/comm", thread_of(words)->tid);
    FILE *file = fopen(path, "re");
    if (file) {
        if (fgets(name, sizeof name, file))
            name[strcspn(name, "\n")] = 0;
        (void)fclose(file);
    }
    reply("%s", name);
}

/* Whether the robust mutex can be had: EBUSY while its owner lives. */
void do_lock(char **words) {
    (void)words;
    int r = pthread_mutex_trylock(&robust);
    reply("%s", r ? strerrorname_np(r) : "locked");
    if (r == 0)
        pthread_mutex_unlock(&robust);
}

static char alternate[65536];
static sigjmp_buf back;
static bool on_alternate;

static void on_fault(int signal) {
    char here;
    (void)signal;
    on_alternate = &here >= alternate && &here < alternate + sizeof alternate;
    siglongjmp(back, 1);
}

/* Handles SIGSEGV on an alternate stack, blocks SIGUSR1, ignores SIGUSR2. */
void do_signals(char **words) {
    struct sigaction action = {.sa_handler = on_fault, .sa_flags = SA_ONSTACK};
    stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
    sigset_t blocked;
    (void)words;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    int r = sigaltstack(&stack, NULL) | sigaction(SIGSEGV, &action, NULL) | sigprocmask(SIG_BLOCK, &blocked, NULL);
    signal(SIGUSR2, SIG_IGN);
    reply("%d", r);
}

/* An address that the compiler can't see through. */
void touch_nothing(void) {
    static volatile uintptr_t nowhere = 8;
    *(volatile int *)nowhere = 1;
}

void do_fault(char **words) {
    (void)words;
    on_alternate = false;
    if (sigsetjmp(back, 1) == 0)
        touch_nothing();
    reply(on_alternate ? "handled" : "not on the alternate stack");
}
