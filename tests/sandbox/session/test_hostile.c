/* Cells that leave processes behind, that fork without end, that damage what petri needs: each is contained. */
#include "sandbox/process/descendants.h"
#include "sandbox/session/cell.h"
#include "tests/sandbox/live.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { BOMB_LIMIT = 150 };

/* Waits until those that are ending have ended, by doing what takes a while. */
static void await_processes(struct live *live, int at_most) {
    int now;
    for (int i = 0; (now = live_count_processes()) > at_most && i < 20000; i++)
        live_check_counter(live, 0);
    CHECK(now <= at_most);
}

/* The most there is while cells come and go that leave nothing: one more is being made, another is ending. */
static int count_at_rest(struct live *live) {
    int most = 0;
    for (int i = 0; i < 20; i++) {
        live_check_counter(live, 0);
        int now = live_count_processes();
        most = now > most ? now : most;
    }
    return most;
}

static void child_is_ended_with_its_cell(struct live *live, const char *kind, unsigned leftovers) {
    int rest = count_at_rest(live);
    struct cell *cell = live_start(live);
    CHECK_TEXT(live_ask(cell, "child %s", kind), "ok");
    CHECK_EQUAL(live_commit(cell), leftovers);
    await_processes(live, rest);
    cell = live_start(live);
    CHECK_TEXT(live_ask(cell, "child %s", kind), "ok");
    cell_discard(cell);
    await_processes(live, rest);
}

static void child_is_counted_and_ended(struct live *live) {
    child_is_ended_with_its_cell(live, "still", 1);
}

static void orphan_is_counted_and_ended(struct live *live) {
    child_is_ended_with_its_cell(live, "orphan", 1);
}

static void child_without_its_first_thread_is_counted_and_ended(struct live *live) {
    child_is_ended_with_its_cell(live, "leaderless", 1);
}

static void child_that_shares_the_memory_is_counted_and_ended(struct live *live) {
    child_is_ended_with_its_cell(live, "memory", 1);
}

/* It can't be counted: whoever looks sees one, none or two of it. */
static void child_that_forks_and_exits_without_end_is_ended(struct live *live) {
    int rest = count_at_rest(live);
    for (int i = 0; i < 10; i++) {
        struct cell *cell = live_start(live);
        CHECK_TEXT(live_ask(cell, "child hopping"), "ok");
        (void)live_commit(cell);
    }
    await_processes(live, rest);
}

/* A thread that waits for its vfork child can't be stopped: whatever becomes of the cell, the session goes on. */
static void vfork_child_that_holds_its_parent_is_ended(struct live *live) {
    struct cell_end end;
    struct error error = {0};
    int rest = count_at_rest(live);
    struct cell *cell = live_start(live);
    CHECK_TEXT(live_ask(cell, "child vfork"), "ok");
    int r = cell_freeze(cell, &end, &error);
    CHECK(r == 0 || r == -EUCLEAN);
    if (r == 0)
        cell_commit(cell);
    else
        cell_discard(cell);
    await_processes(live, rest);
}

static void kill_of_all_processes_ends_only_the_cell(struct live *live) {
    live_do(live, "add 1");
    struct cell *cell = live_start(live);
    CHECK_TEXT(live_ask(cell, "child still"), "ok");
    live_send(cell, "end all");
    /* kill(-1) spares the caller, and pid 1 is beyond it: so it lives, and answers nothing. */
    CHECK_TEXT(live_receive(cell), "what?");
    cell_discard(cell);
    live_check_counter(live, 1);
    live_do(live, "add -1");
}

static void limit_processes(void) {
    CHECK(setrlimit(RLIMIT_NPROC, &(struct rlimit){BOMB_LIMIT, BOMB_LIMIT}) == 0);
}

static void fork_bomb_is_bounded_and_ended(struct live *live) {
    int rest = count_at_rest(live);
    struct cell *cell = live_start(live);
    CHECK_TEXT(live_ask(cell, "bomb %d", BOMB_LIMIT), "bounded EAGAIN");
    cell_discard(cell);
    await_processes(live, rest);
    cell = live_start(live);
    CHECK_TEXT(live_ask(cell, "bomb %d", BOMB_LIMIT), "bounded EAGAIN");
    CHECK(live_commit(cell) > BOMB_LIMIT / 2);
    await_processes(live, rest);
}

static void fork_bomb_is_bounded_by_the_cells_limit(struct live *live) {
    struct cell *cell;
    struct error error = {0};
    if (session_is_watched(live->session))
        return; /* no control group: nothing bounds the number but RLIMIT_NPROC, as above */
    CHECK_EQUAL(cell_create(live->session, &(struct cell_options){0}, &cell, &error), 0);
    CHECK_EQUAL(cell_start(cell, &(struct cell_limits){.processes = BOMB_LIMIT}), 0);
    CHECK_TEXT(live_ask(cell, "bomb %d", BOMB_LIMIT), "bounded EAGAIN");
    cell_discard(cell);
    live_check_counter(live, 0);
}

/* What a cell does to petri's pages, and whether it can be kept afterwards; then the next cell must run. */
static const struct {
    const char *what;
    int freeze;
} damages[] = {
    {"unmap-code", -EUCLEAN}, {"unmap-data", -EUCLEAN}, {"protect-code", -EUCLEAN}, {"protect-data", 0},
    {"share-code", -EUCLEAN}, {"share-data", -EUCLEAN}, {"file-code", -EUCLEAN},    {"file-data", -EUCLEAN},
    {"dontfork", 0},          {"wipeonfork", 0},        {"throw-away", 0},
};

static void damage_to_petris_pages_loses_the_cell_and_nothing_else(struct live *live) {
    live_do(live, "add 1");
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        struct cell_end end;
        struct error error = {0};
        struct cell *cell = live_start(live);
        CHECK_TEXT(live_ask(cell, "add 10"), "11");
        const char *answer = live_ask(cell, "spoil %s", damages[i].what);
        int r = cell_freeze(cell, &end, &error);
        if (strcmp(answer, "0") == 0 ? r != damages[i].freeze : r != 0) {
            (void)fprintf(stderr, "%s: the cell got \"%s\", and freezing gave %d\n", damages[i].what, answer, r);
            CHECK(!"damage is noticed");
        }
        if (r) {
            cell_discard(cell);
        } else {
            cell_commit(cell);
            CHECK_TEXT(live_do(live, "add -10"), "1");
        }
        live_check_counter(live, 1);
    }
    live_do(live, "add -1");
}

static void check_silent(struct live *live) {
    char byte;
    CHECK(read(session_stdout_fd(live->session), &byte, 1) == -1 && errno == EAGAIN);
}

/*
 * Restartable sequences: Linux sends a task that has registered the area, and is
 * interrupted in petri's code, to code of the cell's. Keepers have not, and a
 * worker that is sent there while it is frozen loses its cell.
 */
static void sequence_over_petris_code_redirects_no_task(struct live *live) {
    live_do(live, "add 1");
    CHECK_TEXT(live_do(live, "spoil sequence-of-others"), "0");
    for (int i = 0; i < live_times(24); i++)
        live_check_counter(live, 1);
    check_silent(live);
    live_do(live, "add -1");
}

static void sequence_over_petris_code_loses_its_cell_at_most(struct live *live) {
    for (int i = 0; i < live_times(24); i++) {
        char said[2] = "";
        struct cell *cell = live_start(live);
        CHECK_TEXT(live_ask(cell, "spoil sequence"), "0");
        live_end(cell);
        (void)!read(session_stdout_fd(live->session), said, 1); /* the cell might as well have written that itself */
        live_check_counter(live, 0);
        check_silent(live);
    }
}

/* A list of children may miss somebody: then nobody waits by it for those who are killed. */
static bool lists_miss_all;
int __real_descendants_await_dead(const pid_t *tids, size_t n, pid_t init);
int __wrap_descendants_await_dead(const pid_t *tids, size_t n, pid_t init);

int __wrap_descendants_await_dead(const pid_t *tids, size_t n, pid_t init) {
    return lists_miss_all ? 0 : __real_descendants_await_dead(tids, n, init);
}

static int count_in_sandbox(const struct cell *cell) {
    char path[300];
    DIR *dir = opendir("/proc");
    struct dirent *entry;
    struct stat st;
    int n = 0;
    CHECK(dir != NULL);
    while ((entry = readdir(dir))) {
        (void)snprintf(path, sizeof path, "/proc/%s/ns/pid", entry->d_name);
        n += stat(path, &st) == 0 && st.st_ino == cell->pid_namespace;
    }
    closedir(dir);
    return n;
}

/* Killed, it goes on for a part of a second, in memory that the next cell has. */
static void process_in_a_long_call_does_not_outlive_the_freeze(struct live *live) {
    int rest = count_at_rest(live);
    for (int i = 0; i < live_times(12); i++) {
        struct cell_end end;
        struct error error = {0};
        struct cell *cell = live_start(live);
        CHECK_TEXT(live_ask(cell, "child reading"), "ok");
        lists_miss_all = i % 2 == 0;
        CHECK_EQUAL(cell_freeze(cell, &end, &error), 0);
        CHECK_EQUAL(end.leftovers, 1);
        CHECK_EQUAL(count_in_sandbox(cell), 2); /* the worker and pid 1 */
        cell_commit(cell);
        lists_miss_all = false;
        await_processes(live, rest);
    }
}

/* It goes on writing to a file that is put back as it was. */
static void process_in_a_long_call_does_not_outlive_its_cell(struct live *live) {
    enum { BYTES = 16 << 20, AT = BYTES - 3 };
    long fd = live_call(live, SYS_open, "\"/tmp/long %d 0600", O_RDWR | O_CREAT);
    CHECK_EQUAL(live_call(live, SYS_unlink, "\"/tmp/long"), 0);
    CHECK_EQUAL(live_call(live, SYS_pwrite64, "%ld \"abc 3 %d", fd, AT), 3);
    for (int i = 0; i < live_times(3); i++) {
        struct cell *cell = live_start(live);
        CHECK_TEXT(live_ask(cell, "child reading %ld", fd), "ok");
        cell_discard(cell);
        for (int k = 0; k < 3; k++) {
            CHECK_EQUAL(live_call(live, SYS_lseek, "%ld %d 0", fd, AT), AT);
            CHECK_TEXT(live_do(live, "take %ld", fd), "abc");
        }
    }
}

/* What a stopped worker is told to do is not what stands in memory that another process of the cell writes. */
static void rewritten_calls_start_no_process(struct live *live) {
    int rest = count_at_rest(live);
    for (int i = 0; i < live_times(24); i++) {
        struct cell *cell = live_start(live);
        CHECK_TEXT(live_ask(cell, "spoil rewrite"), "0");
        live_end(cell);
        live_check_counter(live, 0);
        await_processes(live, rest);
    }
}

/* The next cell gets its socket whatever the last one did with the number. */
static void control_descriptor_that_is_closed_is_put_back(struct live *live) {
    struct cell *cell = live_start(live);
    live_send(cell, "spoil descriptor");
    CHECK_TEXT(live_receive(cell), "ok");
    CHECK(live_receive(cell) == NULL); /* it is closed after the answer */
    live_commit(cell);
    live_check_counter(live, 0);
    CHECK_TEXT(live_do(live, "add 1"), "1");
}

static void control_descriptor_that_is_replaced_is_put_back(struct live *live) {
    long event = live_call(live, SYS_eventfd2, "0 0"); /* what the worker writes and reads there is an error */
    struct cell *cell = live_start(live);
    live_send(cell, "call %d %ld 3", SYS_dup2, event);
    CHECK(live_receive(cell) == NULL); /* nobody holds our socket's other end any more */
    live_commit(cell);
    cell = live_start(live);
    live_send(cell, "add 1");
    const char *line = live_receive(cell);
    if (line && strcmp(line, "3") == 0)
        line = live_receive(cell); /* the answer to the dup2, which had not been written yet */
    CHECK_TEXT(line, "1");
    live_commit(cell);
}

static void few_descriptors(void) {
    CHECK(setrlimit(RLIMIT_NOFILE, &(struct rlimit){128, 256}) == 0);
}

/* Running out of descriptors is a mistake like others: it must not be the session's end. */
static void cell_that_used_up_its_descriptors_can_be_committed(struct live *live) {
    CHECK(strncmp(live_do(live, "exhaust /dev/null"), "EMFILE", 6) == 0);
    live_check_counter(live, 0);
    CHECK(strncmp(live_do(live, "exhaust " LIVE_WORK "/host.txt"), "EMFILE", 6) == 0);
    live_check_counter(live, 0);
    CHECK_EQUAL(live_call(live, SYS_close, "10"), 0);
    CHECK_EQUAL(live_call(live, SYS_open, "\"/dev/null 0"), 10);
}

/* Asked of us by proc(5): an undumpable process' files belong to root. */
static void undumpable_cell_can_be_committed(struct live *live) {
    CHECK_EQUAL(live_call(live, SYS_prctl, "4 0"), 0); /* PR_SET_DUMPABLE */
    live_check_counter(live, 0);
    CHECK_TEXT(live_do(live, "status Threads"), "1");
    CHECK_EQUAL(live_call(live, SYS_prctl, "3"), 1); /* PR_GET_DUMPABLE */
}

static void cell_whose_first_thread_ended_loses_only_itself(struct live *live) {
    struct cell_end end;
    struct error error = {0};
    struct cell *cell = live_start(live);
    CHECK_TEXT(live_ask(cell, "thread wait"), "0");
    live_send(cell, "end first-thread");
    CHECK_TEXT(live_receive(cell), "ok");
    int r = cell_freeze(cell, &end, &error);
    CHECK(r == 0 || r == -ESRCH || r == -EUCLEAN);
    cell_discard(cell);
    live_check_counter(live, 0);
}

static void many_cells_leave_nothing(struct live *live) {
    live_await_errands();
    int processes = count_at_rest(live), descriptors = live_count_entries("/proc/self/fd");
    int mounts = live_count_lines("/proc/self/mountinfo");
    for (int i = 0, cells = live_times(200); i < cells; i++) {
        struct cell *cell = live_start(live);
        CHECK_TEXT(live_ask(cell, i % 2 ? "put /dev/shm/f x" : "child still"), "ok");
        if (i % 10 == 3)
            cell_discard(cell);
        else if (i % 10 == 7) {
            live_send(cell, "end kill");
            (void)live_await_death(cell);
        } else
            live_commit(cell);
    }
    await_processes(live, processes);
    live_await_errands();
    CHECK_EQUAL(live_count_entries("/proc/self/fd"), descriptors);
    CHECK_EQUAL(live_count_lines("/proc/self/mountinfo"), mounts);
}

static const struct live_case cases[] = {
    {"child_is_counted_and_ended", child_is_counted_and_ended, NULL},
    {"orphan_is_counted_and_ended", orphan_is_counted_and_ended, NULL},
    {"child_without_its_first_thread_is_counted_and_ended", child_without_its_first_thread_is_counted_and_ended, NULL},
    {"child_that_shares_the_memory_is_counted_and_ended", child_that_shares_the_memory_is_counted_and_ended, NULL},
    {"child_that_forks_and_exits_without_end_is_ended", child_that_forks_and_exits_without_end_is_ended, NULL},
    {"vfork_child_that_holds_its_parent_is_ended", vfork_child_that_holds_its_parent_is_ended, NULL},
    {"kill_of_all_processes_ends_only_the_cell", kill_of_all_processes_ends_only_the_cell, NULL},
    {"fork_bomb_is_bounded_and_ended", fork_bomb_is_bounded_and_ended, limit_processes},
    {"fork_bomb_is_bounded_by_the_cells_limit", fork_bomb_is_bounded_by_the_cells_limit, NULL},
    {"damage_to_petris_pages_loses_the_cell_and_nothing_else", damage_to_petris_pages_loses_the_cell_and_nothing_else,
     NULL},
    {"sequence_over_petris_code_redirects_no_task", sequence_over_petris_code_redirects_no_task, NULL},
    {"sequence_over_petris_code_loses_its_cell_at_most", sequence_over_petris_code_loses_its_cell_at_most, NULL},
    {"process_in_a_long_call_does_not_outlive_the_freeze", process_in_a_long_call_does_not_outlive_the_freeze, NULL},
    {"process_in_a_long_call_does_not_outlive_its_cell", process_in_a_long_call_does_not_outlive_its_cell, NULL},
    {"rewritten_calls_start_no_process", rewritten_calls_start_no_process, NULL},
    {"control_descriptor_that_is_closed_is_put_back", control_descriptor_that_is_closed_is_put_back, NULL},
    {"control_descriptor_that_is_replaced_is_put_back", control_descriptor_that_is_replaced_is_put_back, NULL},
    {"cell_that_used_up_its_descriptors_can_be_committed", cell_that_used_up_its_descriptors_can_be_committed,
     few_descriptors},
    {"undumpable_cell_can_be_committed", undumpable_cell_can_be_committed, NULL},
    {"cell_whose_first_thread_ended_loses_only_itself", cell_whose_first_thread_ended_loses_only_itself, NULL},
    {"many_cells_leave_nothing", many_cells_leave_nothing, NULL},
};

int main(void) {
    return live_main("hostile cells", cases, sizeof cases / sizeof cases[0]);
}
