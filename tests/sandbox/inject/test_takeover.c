/*
 * Tasks of petri's in the hands of a cell: at each moment at which one of them
 * is let run, and whatever way in there may be, this test is that way. It sends
 * the task to code of its own, from outside, as no cell can; and then looks at
 * what that code could do.
 */
#include "tests/sandbox/live.h"

#include "sandbox/inject/tracee.h"
#include "sandbox/process/descendants.h"
#include "sandbox/session/cell.h"
#include "sandbox/session/session.h"
#include "sandbox/spawn/init.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { CODE_AT = 1024, STUCK_MS = 20000 };

/*
 * What a task is sent to: it says "!" on standard output, tells what it is, and
 * asks for what only we may: then it would say "?". r15: memory to use.
 */
__asm__(".pushsection .rodata\n"
        "takeover_code_start:\n"
        "    movl $1, %eax\n"
        "    movl $1, %edi\n"
        "    leaq 7f(%rip), %rsi\n"
        "    movl $1, %edx\n"
        "    syscall\n" /* write */
        "    movl $2, %eax\n"
        "    leaq 9f(%rip), %rdi\n"
        "    xorl %esi, %esi\n"
        "    xorl %edx, %edx\n"
        "    syscall\n" /* open */
        "    movl %eax, %edi\n"
        "    xorl %eax, %eax\n"
        "    movq %r15, %rsi\n"
        "    movl $2048, %edx\n"
        "    syscall\n" /* read */
        "    movl %eax, %edx\n"
        "    movl $1, %eax\n"
        "    movl $1, %edi\n"
        "    movq %r15, %rsi\n"
        "    syscall\n" /* write */
        "    movl $56, %eax\n"
        "    movl $0x8011, %edi\n"
        "    xorl %esi, %esi\n"
        "    xorl %edx, %edx\n"
        "    xorl %r10d, %r10d\n"
        "    xorl %r8d, %r8d\n"
        "    syscall\n" /* clone(CLONE_PARENT | SIGCHLD) */
        "    movl $1, %eax\n"
        "    movl $1, %edi\n"
        "    leaq 8f(%rip), %rsi\n"
        "    movl $1, %edx\n"
        "    syscall\n" /* write */
        "    ud2\n"
        "7:  .ascii \"!\"\n"
        "8:  .ascii \"?\"\n"
        "9:  .asciz \"/proc/self/status\"\n"
        "takeover_code_end:\n"
        ".popsection\n");
extern const char takeover_code_start[], takeover_code_end[];

/* The attack: at which of the moments to come, and what it has met. */
static struct {
    struct live *live;
    int countdown; /* 0: none */
    bool happened;
    bool checked;  /* the task was in the middle of a checked call */
    bool by_image; /* it was the keeper of the image, and with it the session's state is lost */
} attack;

static void take_over(pid_t tid, bool checked) {
    struct session *session = attack.live->session;
    struct user_regs_struct regs;
    size_t bytes = (size_t)(takeover_code_end - takeover_code_start);
    attack.happened = true;
    attack.checked = checked;
    attack.by_image = tid == session->current->keeper;
    int memory_fd = tracee_open_memory(tid);
    CHECK(memory_fd >= 0);
    CHECK_EQUAL(memory_write(memory_fd, session->area.code + CODE_AT, takeover_code_start, bytes), 0);
    close(memory_fd);
    CHECK_EQUAL(tracee_get_regs(tid, &regs), 0);
    regs.orig_rax = ~0ULL; /* and what it stood in front of is not made */
    regs.rip = session->area.code + CODE_AT;
    regs.r15 = session->area.scratch;
    CHECK_EQUAL(tracee_set_regs(tid, &regs), 0);
}

int __real_tracee_continue(pid_t tid);
int __real_tracee_continue_to_syscall(pid_t tid);
int __wrap_tracee_continue(pid_t tid);
int __wrap_tracee_continue_to_syscall(pid_t tid);

int __wrap_tracee_continue(pid_t tid) {
    if (attack.countdown > 0 && --attack.countdown == 0)
        take_over(tid, false);
    return __real_tracee_continue(tid);
}

int __wrap_tracee_continue_to_syscall(pid_t tid) {
    if (attack.countdown > 0 && --attack.countdown == 0)
        take_over(tid, true);
    return __real_tracee_continue_to_syscall(tid);
}

static void read_output(const struct live *live, char *text, size_t size) {
    ssize_t n = read(session_stdout_fd(live->session), text, size - 1);
    text[n > 0 ? n : 0] = 0;
}

static uint64_t field(const char *text, const char *name, int base) {
    const char *at = strstr(text, name);
    CHECK(at != NULL);
    return strtoull(at + strlen(name), NULL, base);
}

/* What the code could do that ran in a batch: it stood in the sandbox, under the filter, with what is left to a worker.
 */
static void check_confined(const char *said) {
    char only_id[32];
    CHECK(said[0] == '!' && strchr(said, '?') == NULL);
    CHECK((field(said, "\nCapEff:\t", 16) & ~CELL_MAKING_CAPABILITIES) == 0);
    CHECK((field(said, "\nCapPrm:\t", 16) & ~CELL_MAKING_CAPABILITIES) == 0);
    CHECK_EQUAL(field(said, "\nCapInh:\t", 16), 0);
    CHECK_EQUAL(field(said, "\nSeccomp:\t", 10), 2);
    CHECK_EQUAL(field(said, "\nNoNewPrivs:\t", 10), 1);
    (void)snprintf(only_id, sizeof only_id, "\nNSpid:\t%" PRIu64 "\n", field(said, "\nPid:\t", 10));
    CHECK(strstr(said, only_id) != NULL); /* and no other below */
}

/* Our children but those that are dead and not reaped yet: the zygote, and the images' keepers. */
static int count_children(struct live *live) {
    pid_t pids[64];
    killed_await(&live->session->killed);
    while (session_settle(live->session)) /* those beside it have places of their own */
        (void)poll(NULL, 0, 1);
    int n = descendants_list_children(getpid(), getpid(), pids, 64), alive = 0;
    for (int i = 0; i < n; i++) {
        char path[32], state = 0;
        (void)snprintf(path, sizeof path, "/proc/%d/stat", pids[i]);
        FILE *file = fopen(path, "re");
        if (file && fscanf(file, "%*d %*s %c", &state) == 1)
            alive += state != 'Z' && state != 'X';
        if (file)
            (void)fclose(file);
    }
    return alive;
}

static void after_attack(struct live *live, int children) {
    char said[4096];
    attack.countdown = 0;
    read_output(live, said, sizeof said);
    if (attack.checked)
        CHECK_TEXT(said, "");
    else if (said[0])
        check_confined(said);
    live_check_counter(live, 1);
    CHECK_EQUAL(count_children(live), children);
}

/* Makes a cell, in which one task is taken over at the moment-th chance. Whether there were so many. */
static bool attack_making(struct live *live, int moment, enum cell_role role) {
    struct cell *cell = NULL;
    struct error error = {0};
    attack.live = live;
    attack.happened = false;
    attack.countdown = moment;
    int r = cell_create(live->session, &(struct cell_options){.role = role}, &cell, &error);
    CHECK(!attack.by_image);
    CHECK(r == 0 || error.step != 0);
    cell_discard(cell);
    return attack.happened;
}

/* The image's own keeper makes one call: it is let run in front of it, at its filter, at the birth, and at its end. */
enum { MOMENTS_OF_THE_IMAGE = 4 };

static void tasks_that_are_made_can_do_no_more_than_a_cell(struct live *live) {
    live_do(live, "add 1");
    CHECK_TEXT(live_do(live, "child exited"), "ok"); /* each of which is born again, and ends as it did */
    CHECK_TEXT(live_do(live, "child aborted"), "ok");
    CHECK_TEXT(live_do(live, "child still"), "ok");
    int children = count_children(live), n = 0;
    for (enum cell_role role = CELL_OF_SESSION; role <= CELL_EPHEMERAL; role++)
        for (int moment = MOMENTS_OF_THE_IMAGE + 1; attack_making(live, moment, role); moment++, n++)
            after_attack(live, children);
    CHECK(n >= 60);
    attack.countdown = 0;
    live_do(live, "add -1");
}

static bool attack_freezing(struct live *live, int moment) {
    struct cell_end end;
    struct error error = {0};
    struct cell *cell = live_start(live);
    CHECK_TEXT(live_ask(cell, "child still"), "ok");
    CHECK_TEXT(live_ask(cell, "add 10"), "11");
    attack.live = live;
    attack.happened = false;
    attack.countdown = moment;
    int r = cell_freeze(cell, &end, &error);
    CHECK(attack.happened ? r == -EUCLEAN : r == 0);
    cell_discard(cell);
    return attack.happened;
}

static void tasks_that_are_frozen_can_do_no_more_than_a_cell(struct live *live) {
    live_do(live, "add 1");
    live_do(live, "thread sleep 2");
    int children = count_children(live), n = 0;
    for (int moment = 1; attack_freezing(live, moment); moment++, n++)
        after_attack(live, children);
    CHECK(n > 4);
    attack.countdown = 0;
    live_do(live, "add -1");
}

/* Where the very image is taken over, its state is lost, and nothing else: no call is made. */
static void image_that_is_taken_over_makes_no_call(struct live *live) {
    struct cell *cell = NULL;
    struct error error = {0};
    char said[64];
    attack.live = live;
    attack.countdown = 1;
    CHECK(cell_create(live->session, &(struct cell_options){0}, &cell, &error) < 0);
    CHECK(attack.happened && attack.by_image);
    read_output(live, said, sizeof said);
    CHECK_TEXT(said, "");
    CHECK(cell_create(live->session, &(struct cell_options){0}, &cell, &error) < 0);
}

static bool always(void *arg) {
    (void)arg;
    return true;
}

/* The same where it is asked for huge pages: a session's memory then has some that can be collapsed. */
static void image_that_is_compacted_and_taken_over_makes_no_call(struct live *live) {
    const int bytes = 8 << 20;
    char said[64];
    size_t n = 1;
    const long at =
        live_call(live, SYS_mmap, "0 %d %d %d -1 0", bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
    CHECK_EQUAL(live_call(live, SYS_madvise, "%ld %d %d", at, bytes, MADV_POPULATE_WRITE), 0);
    attack.live = live;
    attack.countdown = 1;
    CHECK_EQUAL(session_compact(live->session, always, NULL, &n), -EUCLEAN);
    CHECK(attack.happened && attack.by_image);
    CHECK_EQUAL(n, 0);
    read_output(live, said, sizeof said);
    CHECK_TEXT(said, "");
}

enum { BUSY = 16 };

/* Processes that come before all of a session, on the processors that they are told. */
static struct {
    enum { BUSY_WAITS, BUSY_WORKS, BUSY_ENDS } state;
    cpu_set_t cpus;
    int working;
} * busy;

static void be_busy(void) {
    CHECK_EQUAL(prctl(PR_SET_PDEATHSIG, SIGKILL), 0);
    CHECK(setsid() > 0);
    while (__atomic_load_n(&busy->state, __ATOMIC_ACQUIRE) == BUSY_WAITS)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    CHECK_EQUAL(sched_setaffinity(0, sizeof busy->cpus, &busy->cpus), 0);
    __atomic_fetch_add(&busy->working, 1, __ATOMIC_ACQ_REL);
    while (__atomic_load_n(&busy->state, __ATOMIC_ACQUIRE) == BUSY_WORKS)
        continue;
    _exit(0);
}

static void have_busy_processes(void) {
    busy = mmap(NULL, sizeof *busy, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(busy != MAP_FAILED);
    for (int i = 0; i < BUSY; i++) {
        const pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid == 0)
            be_busy();
    }
    CHECK_EQUAL(setpriority(PRIO_PROCESS, 0, 19), 0);
}

/*
 * The same with the keeper of a running cell, where it is asked for copies. Nothing of such a cell is kept, also where
 * its killed keeper is not dead yet.
 */
static void keeper_that_is_taken_over_while_its_cell_runs_makes_no_call(struct live *live) {
    const int ranges = 12, range = HUGE_PAGE_BYTES, bytes = (ranges + 1) * range;
    char said[64];
    struct cell_end end;
    struct error error;
    uint64_t copied = 1;
    long at = live_call(live, SYS_mmap, "0 %d %d %d -1 0", bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
    CHECK_EQUAL(live_call(live, SYS_madvise, "%ld %d %d", at, bytes, MADV_POPULATE_WRITE), 0);
    at = (at + range - 1) / range * range;
    struct cell *cell = live_start(live);
    CHECK_TEXT(
        live_ask(cell, "call %d %ld %d %d", SYS_madvise, at, ranges / 2 * range + range / 2, MADV_POPULATE_WRITE), "0");
    CHECK_EQUAL(sched_getaffinity(cell->keeper, sizeof busy->cpus, &busy->cpus), 0);
    __atomic_store_n(&busy->state, BUSY_WORKS, __ATOMIC_RELEASE);
    while (__atomic_load_n(&busy->working, __ATOMIC_ACQUIRE) < BUSY)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    attack.live = live;
    attack.countdown = 1;
    int r;
    do
        r = cell_copy_ahead(cell, always, NULL, &copied);
    while (r == -EAGAIN);
    CHECK_EQUAL(r, -EUCLEAN);
    CHECK(attack.happened && !attack.by_image);
    CHECK_EQUAL(copied, 0);
    read_output(live, said, sizeof said);
    CHECK_TEXT(said, "");
    CHECK_EQUAL(cell_freeze(cell, &end, &error), -EUCLEAN);
    __atomic_store_n(&busy->state, BUSY_ENDS, __ATOMIC_RELEASE);
    cell_discard(cell);
    live_check_counter(live, 0);
}

static void read_text(pid_t pid, const char *name, char *text, size_t size) {
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0);
    size_t used = 0;
    ssize_t n;
    while (used < size - 1 && (n = read(fd, text + used, size - 1 - used)) > 0)
        used += (size_t)n;
    text[used] = 0;
    close(fd);
}

#define SECRET_NAME "PETRI_TEST_SECRET"
#define SECRET "it is known to the kernel process alone: "

/* On the heap, and in the environment; followed by what does not follow it in the program's constants. */
static void have_secret(void) {
    size_t size = sizeof SECRET + 1;
    char *copy = malloc(size);
    CHECK(copy != NULL);
    (void)snprintf(copy, size, "%s%c", SECRET, 'h');
    CHECK(setenv(SECRET_NAME, copy, 1) == 0);
    __asm__ volatile("" : : "r"(copy) : "memory"); /* it stays */
}

/* Whether a process' memory has the secret. */
static bool has_secret(pid_t pid) {
    static char text[1 << 16];
    char line[512];
    unsigned long start, end;
    bool found = false;
    (void)snprintf(line, sizeof line, "/proc/%d/maps", pid);
    FILE *maps = fopen(line, "re");
    int memory_fd = tracee_open_memory(pid);
    CHECK(maps && memory_fd >= 0);
    while (fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%lx-%lx", &start, &end) != 2 || strstr(line, "[v"))
            continue;
        for (; start < end && !found; start += sizeof text - sizeof SECRET) {
            ssize_t n = pread(memory_fd, text, end - start < sizeof text ? end - start : sizeof text, (off_t)start);
            for (char *at = text; n > 0 && (at = memmem(at, (size_t)(text + n - at), SECRET, sizeof SECRET - 1)); at++)
                found |= at + sizeof SECRET <= text + n && at[sizeof SECRET - 1] == 'h';
        }
    }
    (void)fclose(maps);
    close(memory_fd);
    return found;
}

static void nothing_of_the_kernel_process_is_in_reach(struct live *live) {
    struct cell *cell = live_start(live);
    CHECK_TEXT(live_ask(cell, "add 0"), "0");
    CHECK(has_secret(getpid()));
    CHECK(!has_secret(live->session->zygote.pid));
    CHECK(!has_secret(live->session->zygote.cage));
    CHECK(!has_secret(cell->init.pid));
    CHECK(!has_secret(cell->worker));
    CHECK(!has_secret(live->session->first->keeper));
    cell_discard(cell);
}

/* A pid 1 has one page, its descriptors, no environment and no system call to speak of. */
static void check_hollow(pid_t pid, int n_descriptors) {
    char text[8192];
    int mappings = 0;
    read_text(pid, "maps", text, sizeof text);
    for (const char *line = text; *line; line = strchr(line, '\n') + 1)
        mappings += strncmp(strchr(line, '\n') - 1, "]", 1) != 0;
    CHECK_EQUAL(mappings, 1);
    CHECK(strstr(text, " r-xp ") != NULL && strstr(text, " rw") == NULL);
    read_text(pid, "environ", text, sizeof text);
    CHECK_TEXT(text, "");
    read_text(pid, "cmdline", text, sizeof text);
    CHECK_TEXT(text, "");
    read_text(pid, "status", text, sizeof text);
    CHECK_EQUAL(field(text, "\nSeccomp:\t", 10), 1);
    for (int fd = n_descriptors; fd < 1024; fd++) {
        (void)snprintf(text, sizeof text, "/proc/%d/fd/%d", pid, fd);
        CHECK(access(text, F_OK) != 0 && errno == ENOENT);
    }
}

/* Has it make a system call that is not its own. */
static void send_to_call(pid_t pid) {
    static const unsigned char getpid_code[] = {0xb8, 39, 0, 0, 0, 0x0f, 0x05, 0xeb, 0xfe};
    struct user_regs_struct regs;
    int status;
    CHECK_EQUAL(tracee_seize(pid), 0);
    CHECK_EQUAL(tracee_await_stop(pid, STUCK_MS, &status), 0);
    CHECK_EQUAL(tracee_get_regs(pid, &regs), 0);
    int memory_fd = tracee_open_memory(pid);
    CHECK(memory_fd >= 0);
    CHECK_EQUAL(memory_write(memory_fd, regs.rip, getpid_code, sizeof getpid_code), 0);
    close(memory_fd);
    regs.orig_rax = ~0ULL;
    CHECK_EQUAL(tracee_set_regs(pid, &regs), 0);
    CHECK_EQUAL(__real_tracee_continue(pid), 0);
}

/* What a sandbox's pid 1 keeps: a socket on the loopback of the cell's own network, which has no other. */
static void check_is_names_socket(int fd) {
    struct sockaddr_in at = {0};
    socklen_t bytes = sizeof at;
    CHECK(fd >= 0);
    CHECK_EQUAL(getsockname(fd, (struct sockaddr *)&at, &bytes), 0);
    CHECK_EQUAL(at.sin_family, AF_INET);
    CHECK_EQUAL(ntohl(at.sin_addr.s_addr), INADDR_LOOPBACK);
    at.sin_addr.s_addr = htonl(0xc0000201); /* 192.0.2.1 */
    CHECK(sendto(fd, "x", 1, 0, (struct sockaddr *)&at, sizeof at) < 0);
}

static void neighbours_of_a_cell_are_hollow(struct live *live) {
    struct cell *cell = live_start(live);
    check_hollow(live->session->zygote.cage, INIT_KEPT_FD);
    check_hollow(cell->init.pid, INIT_KEPT_FD + 1);
    check_is_names_socket(cell_names_fd(cell));
    CHECK_TEXT(live_ask(cell, "add 1"), "1");
    pid_t init = cell->init.pid;
    int status;
    send_to_call(init);
    CHECK_EQUAL(live_await_death(cell).signal, SIGKILL);
    CHECK_EQUAL(waitpid(init, &status, __WALL), init);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    live_check_counter(live, 0);
}

static void check_other_namespace(pid_t pid, const char *name) {
    char ours[64], theirs[64], path[64];
    (void)snprintf(path, sizeof path, "/proc/self/ns/%s", name);
    ssize_t n = readlink(path, ours, sizeof ours - 1);
    CHECK(n > 0);
    ours[n] = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/ns/%s", pid, name);
    n = readlink(path, theirs, sizeof theirs - 1);
    CHECK(n > 0);
    theirs[n] = 0;
    CHECK(strcmp(ours, theirs) != 0);
}

/* Keepers live where there is nothing: no file, no /proc, no network, no capability, and no number for who isn't
 * theirs. */
static void keepers_live_in_a_cage(struct live *live) {
    char text[4096], path[64];
    live_do(live, "add 1");
    const pid_t keepers[] = {live->session->first->keeper, live->session->current->keeper};
    for (size_t i = 0; i < 2; i++) {
        for (const char *const *name = (const char *const[]){"user", "pid", "mnt", "net", "ipc", "uts", "cgroup", NULL};
             *name; name++)
            check_other_namespace(keepers[i], *name);
        read_text(keepers[i], "status", text, sizeof text);
        for (const char *const *name =
                 (const char *const[]){"\nCapInh:\t", "\nCapPrm:\t", "\nCapEff:\t", "\nCapBnd:\t", "\nCapAmb:\t", NULL};
             *name; name++)
            CHECK_EQUAL(field(text, *name, 16), 0);
        CHECK_EQUAL(field(text, "\nNoNewPrivs:\t", 10), 1);
        CHECK_EQUAL(field(text, "\nSeccomp:\t", 10), 2);
        (void)snprintf(path, sizeof path, "/proc/%d/root/proc", keepers[i]);
        CHECK(access(path, F_OK) != 0 && errno == ENOENT);
        read_text(keepers[i], "mountinfo", text, sizeof text);
        CHECK(strchr(text, '\n') == strrchr(text, '\n')); /* one mount, the root */
        read_text(keepers[i], "net/dev", text, sizeof text);
        CHECK(strstr(text, "eth") == NULL);
    }
    live_do(live, "add -1");
}

static const struct live_case cases[] = {
    {"tasks_that_are_made_can_do_no_more_than_a_cell", tasks_that_are_made_can_do_no_more_than_a_cell, NULL},
    {"tasks_that_are_frozen_can_do_no_more_than_a_cell", tasks_that_are_frozen_can_do_no_more_than_a_cell, NULL},
    {"image_that_is_taken_over_makes_no_call", image_that_is_taken_over_makes_no_call, NULL},
    {"image_that_is_compacted_and_taken_over_makes_no_call", image_that_is_compacted_and_taken_over_makes_no_call,
     NULL},
    {"keeper_that_is_taken_over_while_its_cell_runs_makes_no_call",
     keeper_that_is_taken_over_while_its_cell_runs_makes_no_call, have_busy_processes},
    {"neighbours_of_a_cell_are_hollow", neighbours_of_a_cell_are_hollow, NULL},
    {"nothing_of_the_kernel_process_is_in_reach", nothing_of_the_kernel_process_is_in_reach, have_secret},
    {"keepers_live_in_a_cage", keepers_live_in_a_cage, NULL},
};

int main(void) {
    return live_main("tasks taken over", cases, sizeof cases / sizeof cases[0]);
}
