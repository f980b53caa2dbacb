/* Cells beside the session's own: whole runs, each with outputs, limits and watches of its own, that change nothing. */
#include "base/cleanup.h"
#include "sandbox/base/system.h"
#include "sandbox/session/cell.h"
#include "tests/sandbox/live.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { STUCK_MS = 60000, MEASURE_MS = 5 };

/* Once there is a place: what earlier cells have left is not gone at once. */
static struct cell *create(struct live *live, enum cell_source source) {
    struct cell *cell;
    struct error error = {0};
    for (int ms = 0; session_settle(live->session) && !session_has_place(live->session); ms += MEASURE_MS) {
        CHECK(ms < STUCK_MS);
        (void)poll(NULL, 0, MEASURE_MS);
    }
    CHECK_EQUAL(
        cell_create(live->session, &(struct cell_options){.source = source, .role = CELL_BESIDE}, &cell, &error), 0);
    return cell;
}

static struct cell *start_limited(struct live *live, uint64_t memory_bytes) {
    struct cell *cell = create(live, CELL_FROM_CURRENT);
    CHECK_EQUAL(cell_start(cell, &(struct cell_limits){.memory_bytes = memory_bytes}), 0);
    return cell;
}

static struct cell *start(struct live *live) {
    return start_limited(live, 0);
}

/* What comes out of a pipe, which must be this text and no more. */
static void check_output(int fd, const char *text) {
    char got[64] = "";
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    if (text[0])
        CHECK_EQUAL(poll(&ready, 1, STUCK_MS), 1);
    ssize_t n = read(fd, got, sizeof got - 1);
    if (text[0] == 0)
        CHECK(n <= 0);
    CHECK_TEXT(got, text);
}

static void cells_run_beside_each_other_and_change_nothing(struct live *live) {
    live_do(live, "add 1");
    live_do(live, "put /dev/shm/kept before");
    struct cell *own = live_start(live), *one = start(live), *two = start(live);
    CHECK_TEXT(live_ask(own, "add 10"), "11");
    CHECK_TEXT(live_ask(one, "add 100"), "101");
    CHECK_TEXT(live_ask(two, "add 1000"), "1001");
    CHECK_TEXT(live_ask(one, "put /dev/shm/kept one"), "ok");
    CHECK_TEXT(live_ask(two, "file /dev/shm/kept"), "before");
    CHECK_TEXT(live_ask(own, "file /dev/shm/kept"), "before");
    CHECK_TEXT(live_ask(own, "append host.txt own"), "ok");
    CHECK(strstr(live_ask(one, "file host.txt"), "own") == NULL);
    cell_discard(one);
    live_commit(own);
    CHECK_TEXT(live_ask(two, "add 0"), "1001");
    cell_discard(two);
    live_check_counter(live, 11);
    CHECK_TEXT(live_do(live, "file /dev/shm/kept"), "before");
}

static void what_a_cell_writes_comes_out_of_its_own_pipes(struct live *live) {
    struct cell *own = live_start(live), *one = start(live), *two = start(live);
    CHECK_TEXT(live_ask(one, "say 1 one"), "3");
    CHECK_TEXT(live_ask(two, "say 1 two"), "3");
    CHECK_TEXT(live_ask(own, "say 1 own"), "3");
    CHECK_TEXT(live_ask(two, "say 2 error"), "5");
    CHECK_TEXT(live_ask(one, "say 4 stack"), "5");
    check_output(cell_stdout_fd(one), "one");
    check_output(cell_stderr_fd(one), "");
    check_output(cell_trace_fd(one), "stack");
    check_output(cell_stdout_fd(two), "two");
    check_output(cell_stderr_fd(two), "error");
    check_output(cell_trace_fd(two), "");
    check_output(cell_stdout_fd(own), "own");
    CHECK_EQUAL(cell_stdout_fd(own), session_stdout_fd(live->session));
    check_output(cell_stderr_fd(own), "");
    check_output(cell_trace_fd(own), "");
    cell_discard(one);
    cell_discard(two);
    live_commit(own);
}

/* The end of the output is seen only once the cell and all its processes are dead. */
static void output_of_a_frozen_cell_can_be_read_to_its_end(struct live *live) {
    struct cell_end end;
    struct error error = {0};
    struct cell *cell = start(live);
    CHECK_TEXT(live_ask(cell, "say 1 last"), "4");
    CHECK_EQUAL(cell_freeze(cell, &end, &error), 0);
    check_output(cell_stdout_fd(cell), "last");
    cell_discard(cell);
}

/* Whatever a committed cell has made of the session's pipes: names of them, ends to read, copies. */
static void sessions_pipes_cannot_be_reached_through_what_the_image_has_of_them(struct live *live) {
    long fds[8], n = 0;
    for (int fd = 1; fd <= 4; fd += fd == 2 ? 2 : 1) {
        fds[n++] = live_call(live, SYS_open, "\"/proc/self/fd/%d %d", fd, O_PATH);
        fds[n++] = live_call(live, SYS_dup, "%d", fd);
    }
    for (int i = 1; i <= 2; i++) { /* as root they are the kernel's, and no cell can open them */
        long opened = live_call(live, SYS_open, "\"/proc/self/fd/%d %d", i, i == 1 ? O_RDWR | O_NONBLOCK : O_WRONLY);
        CHECK(opened > 4 || opened == -EACCES);
        if (opened <= 4)
            continue;
        fds[n++] = opened;
        /* So they may be, and can't be opened. */
        CHECK_EQUAL(live_call(live, SYS_fcntl, "%ld %d %d", opened, F_SETFL, O_DIRECT), 0);
    }
    struct cell *cell = start(live);
    for (long i = 0; i < n; i++) {
        CHECK(fds[i] > 4);
        (void)live_ask(cell, "say %ld secret", fds[i]);
        const long again = strtol(live_ask(cell, "call %d \"/proc/self/fd/%ld %d", SYS_open, fds[i], O_RDWR), NULL, 10);
        if (again >= 0)
            (void)live_ask(cell, "say %ld secret", again);
    }
    struct cell *own = live_start(live);
    check_output(cell_stdout_fd(own), "");
    check_output(cell_stderr_fd(own), "");
    check_output(cell_trace_fd(own), "");
    live_commit(own);
    cell_discard(cell);
}

/* The image may have closed what leads to them. */
static void cell_of_an_image_without_output_has_none(struct live *live) {
    for (int fd = 1; fd <= 4; fd += fd == 2 ? 2 : 1)
        CHECK_EQUAL(live_call(live, SYS_close, "%d", fd), 0);
    struct cell *cell = start(live);
    CHECK_TEXT(live_ask(cell, "add 1"), "1");
    check_output(cell_stdout_fd(cell), "");
    cell_discard(cell);
    live_check_counter(live, 0);
}

static void signals_reach_no_cell_beside(struct live *live) {
    struct cell *own = live_start(live), *one = start(live), *two = start(live);
    for (int pid = 2; pid < 40; pid++)
        if (pid != strtol(live_ask(one, "call %d", SYS_getpid), NULL, 10))
            (void)live_ask(one, "call %d %d %d", SYS_kill, pid, SIGKILL);
    (void)live_ask(one, "call %d -1 %d", SYS_kill, SIGKILL);
    CHECK_TEXT(live_ask(two, "add 1"), "1");
    CHECK_TEXT(live_ask(own, "add 2"), "2");
    cell_signal_group(one, SIGKILL);
    CHECK_EQUAL(live_await_death(one).signal, SIGKILL);
    CHECK_TEXT(live_ask(two, "add 1"), "2");
    cell_discard(two);
    live_commit(own);
    live_check_counter(live, 2);
}

/* Asks for memory and writes all of it. */
static void take_memory(const struct cell *cell, uint64_t bytes) {
    live_send(cell, "call %d 0 %llu %d %d -1 0", SYS_mmap, (unsigned long long)bytes, PROT_READ | PROT_WRITE,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE);
}

static void each_cell_has_a_limit_of_memory_of_its_own(struct live *live) {
    struct cell *over = start_limited(live, 32 << 20), *within = start_limited(live, 256 << 20);
    struct cell *own = live_start(live);
    struct pollfd died = {.fd = cell_exit_fd(over), .events = POLLIN};
    struct cell_usage usage = {0};
    take_memory(within, 128 << 20);
    CHECK(strtol(live_receive(within), NULL, 10) > 0);
    take_memory(over, 128 << 20);
    for (int ms = 0; !usage.over_memory; ms += MEASURE_MS) {
        CHECK(ms < STUCK_MS);
        (void)poll(&died, 1, died.revents ? 0 : MEASURE_MS);
        cell_measure(over, &usage);
    }
    cell_discard(over);
    cell_measure(within, &usage);
    CHECK(!usage.over_memory && usage.memory_peak_bytes >= 120 << 20);
    CHECK_TEXT(live_ask(within, "add 1"), "1");
    cell_measure(own, &usage);
    CHECK(!usage.over_memory && usage.memory_bytes < 64 << 20);
    cell_discard(within);
    live_commit(own);
}

/* What an earlier cell has held is not taken for the beginning of the next. */
static void place_is_given_again_without_what_its_cell_has_held(struct live *live) {
    struct cell_usage usage;
    for (int i = 0; i < live_times(12); i++) {
        struct cell *cell = start_limited(live, 256 << 20);
        take_memory(cell, 96 << 20);
        CHECK(strtol(live_receive(cell), NULL, 10) > 0);
        CHECK_TEXT(live_ask(cell, "child still"), "ok"); /* has that memory too, and dies after the worker */
        cell_measure(cell, &usage);
        CHECK(!usage.over_memory && usage.memory_bytes >= 92 << 20 && usage.memory_bytes < 224 << 20);
        cell_discard(cell);
    }
}

static void there_are_no_more_cells_than_places(struct live *live) {
    struct cell *cells[SANDBOX_BESIDE_MAX], *one_more;
    const unsigned n = live->session->host.n_beside;
    struct error error = {0};
    CHECK(n >= 1 && n <= SANDBOX_BESIDE_MAX);
    for (unsigned i = 0; i < n; i++)
        cells[i] = create(live, CELL_FROM_FIRST);
    CHECK_EQUAL(cell_create(live->session, &(struct cell_options){.source = CELL_FROM_FIRST, .role = CELL_BESIDE},
                            &one_more, &error),
                -EAGAIN);
    CHECK(!session_has_place(live->session));
    cell_discard(cells[0]);
    cells[0] = create(live, CELL_FROM_FIRST);
    for (unsigned i = 0; i < n; i++)
        cell_discard(cells[i]);
    live_check_counter(live, 0);
}

/* A sandbox that is not gone yet, by its own account. */
static void place_is_not_given_before_its_last_cell_is_gone(struct live *live) {
    struct cell *cell = start(live);
    const int at = cell->place;
    struct beside_place *place = &live->session->beside[at];
    cell_discard(cell);
    CHECK(place->ending_fd >= 0);
    const int gone_fd = place->ending_fd;
    auto_fd ours = system_pidfd_open(getpid());
    place->ending_fd = ours; /* of a process that lives */
    for (int i = 0; i < 3; i++) {
        struct cell *next = create(live, CELL_FROM_CURRENT);
        CHECK(next->place != at);
        cell_discard(next);
    }
    CHECK(session_settle(live->session));
    place->ending_fd = gone_fd;
    while (session_settle(live->session))
        (void)poll(NULL, 0, MEASURE_MS);
    cell = create(live, CELL_FROM_CURRENT);
    CHECK_EQUAL(cell->place, at);
    cell_discard(cell);
}

static void files_of_a_cell_are_gone_when_all_is_taken_back(struct live *live) {
    uint64_t before, bytes, files;
    session_measure_files(live->session, &before, &files);
    struct cell *cell = start(live);
    CHECK(strcmp(live_ask(cell, "fill /tmp/large"), "endless") != 0);
    session_measure_files(live->session, &bytes, &files);
    CHECK(bytes > before + (1 << 20));
    cell_discard(cell);
    while (session_settle(live->session))
        (void)poll(NULL, 0, MEASURE_MS);
    session_measure_files(live->session, &bytes, &files);
    CHECK(bytes < before + (1 << 20));
}

/* Where files are counted as memory, without control groups. */
static void cell_is_not_ended_for_the_files_of_another(struct live *live) {
    struct cell_usage usage;
    struct cell *small = start_limited(live, 16 << 20), *other = start(live);
    CHECK(strcmp(live_ask(other, "fill /tmp/large"), "endless") != 0);
    cell_measure(small, &usage);
    CHECK(!usage.over_memory && usage.memory_bytes < 16 << 20);
    cell_discard(small);
    cell_discard(other);
}

/* A cell of image 0 is a copy of one that is kept in the place's control group, where there is one. */
static void cell_of_the_first_image_can_be_made_though_its_kept_copy_is_dead(struct live *live) {
    live_do(live, "add 7");
    for (int i = 0; i < 2; i++) {
        struct cell *cell = create(live, CELL_FROM_FIRST);
        CHECK_EQUAL(cell_start(cell, &(struct cell_limits){0}), 0);
        CHECK_TEXT(live_ask(cell, "add 1"), "1");
        const pid_t seed = live->session->beside[cell->place].seed;
        CHECK((seed > 0) == (live->session->host.backend != NULL));
        cell_discard(cell);
        CHECK(seed == 0 || kill(seed, SIGKILL) == 0);
    }
    CHECK_EQUAL(session_take_strays(live->session), 0);
    live_check_counter(live, 7);
}

static int count_descriptors(void) {
    auto_dir dir = opendir("/proc/self/fd");
    int n = 0;
    CHECK(dir != NULL);
    while (readdir(dir))
        n++;
    return n;
}

/* A program that is killed in the middle of its work; its files, its processes and its descriptors are gone. */
static void nothing_is_left_of_many_cells(struct live *live) {
    uint64_t bytes[2], files[2];
    struct cell *first[SANDBOX_BESIDE_MAX];
    int fds[2], processes = 0;
    for (unsigned i = 0; i < live->session->host.n_beside; i++)
        first[i] = create(live, CELL_FROM_FIRST); /* what each place keeps is there from now on */
    for (unsigned i = 0; i < live->session->host.n_beside; i++)
        cell_discard(first[i]);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < (round ? live_times(60) : 4); i++) {
            struct cell *cell = start(live);
            CHECK_TEXT(live_ask(cell, "child still"), "ok");
            CHECK_TEXT(live_ask(cell, "put /tmp/file %s", "some"), "ok");
            live_send(cell, "fill /tmp/endless");
            cell_discard(cell);
        }
        if (round == 0)
            while (session_settle(live->session))
                (void)poll(NULL, 0, MEASURE_MS);
        else
            live_await_processes(live, processes);
        fds[round] = count_descriptors();
        processes = live_count_processes();
        session_measure_files(live->session, &bytes[round], &files[round]);
    }
    CHECK_EQUAL(fds[1], fds[0]);
    CHECK(bytes[1] < bytes[0] + (1 << 20) && files[1] < files[0] + 64);
}

static void refused_call_is_told_with_its_cell(struct live *live) {
    struct denied_call call;
    struct cell *own = live_start(live), *one = start(live), *two = start(live), *asking[] = {two, own, one};
    struct pollfd ready = {.fd = session_denied_fd(live->session), .events = POLLIN};
    for (size_t i = 0; i < sizeof asking / sizeof asking[0]; i++) {
        live_send(asking[i], "connect 192.0.2.1 80");
        CHECK_EQUAL(poll(&ready, 1, STUCK_MS), 1);
        CHECK_EQUAL(session_take_denied(live->session, &call), 1);
        CHECK(call.cell == asking[i]);
        CHECK_TEXT(live_receive(asking[i]), "ENETUNREACH");
    }
    cell_discard(one);
    cell_discard(two);
    live_commit(own);
}

static void check_opened(struct cell *cell, const char *path) {
    struct cell_end end;
    struct error error = {0};
    char **paths;
    size_t n;
    CHECK_EQUAL(cell_freeze(cell, &end, &error), 0);
    CHECK_EQUAL(cell_take_opened(cell, &paths, &n), 1);
    CHECK_EQUAL(n, 1);
    CHECK_TEXT(paths[0], path);
    free(paths);
    cell_discard(cell);
}

static void files_that_each_cell_opens_are_listed_by_cell(struct live *live) {
    struct cell *own, *one = create(live, CELL_FROM_CURRENT), *two = create(live, CELL_FROM_FIRST);
    struct error error = {0};
    CHECK_EQUAL(cell_create(live->session, &(struct cell_options){0}, &own, &error), 0);
    struct cell *cells[] = {own, one, two};
    for (size_t i = 0; i < 3; i++) {
        CHECK_EQUAL(cell_watch_opened(cells[i]), 0);
        CHECK_EQUAL(cell_start(cells[i], &(struct cell_limits){0}), 0);
    }
    CHECK(strcmp(live_ask(one, "file sub/deep.txt"), "ENOENT") != 0);
    CHECK_TEXT(live_ask(two, "put new.txt x"), "ok");
    CHECK(strcmp(live_ask(own, "file host.txt"), "ENOENT") != 0);
    check_opened(two, "new.txt");
    check_opened(one, "sub/deep.txt");
    check_opened(own, "host.txt");
}

static void sessions_own_cell_cannot_begin_from_the_first_image(struct live *live) {
    struct error error = {0};
    struct cell *cell;
    CHECK_EQUAL(cell_create(live->session, &(struct cell_options){.source = CELL_FROM_FIRST, .role = CELL_OF_SESSION},
                            &cell, &error),
                -EINVAL);
    CHECK(error.step != 0);
}

static const struct live_case cases[] = {
    LIVE_CASE(cells_run_beside_each_other_and_change_nothing),
    LIVE_CASE(what_a_cell_writes_comes_out_of_its_own_pipes),
    LIVE_CASE(output_of_a_frozen_cell_can_be_read_to_its_end),
    LIVE_CASE(sessions_pipes_cannot_be_reached_through_what_the_image_has_of_them),
    LIVE_CASE(cell_of_an_image_without_output_has_none),
    LIVE_CASE(signals_reach_no_cell_beside),
    LIVE_CASE(each_cell_has_a_limit_of_memory_of_its_own),
    LIVE_CASE(place_is_given_again_without_what_its_cell_has_held),
    LIVE_CASE(place_is_not_given_before_its_last_cell_is_gone),
    LIVE_CASE(files_of_a_cell_are_gone_when_all_is_taken_back),
    LIVE_CASE(cell_is_not_ended_for_the_files_of_another),
    LIVE_CASE(there_are_no_more_cells_than_places),
    LIVE_CASE(cell_of_the_first_image_can_be_made_though_its_kept_copy_is_dead),
    LIVE_CASE(nothing_is_left_of_many_cells),
    LIVE_CASE(refused_call_is_told_with_its_cell),
    LIVE_CASE(files_that_each_cell_opens_are_listed_by_cell),
    LIVE_CASE(sessions_own_cell_cannot_begin_from_the_first_image),
};

int main(void) {
    return live_main("beside", cases, sizeof cases / sizeof cases[0]);
}
