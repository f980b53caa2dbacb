/* What a cell that is rolled back did to descriptors and shared memory of earlier cells never happened; a good one's
 * goes on.
 */
#include "tests/sandbox/live.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static void check_number(struct live *live, long expected, const char *command, int fd) {
    CHECK_EQUAL(strtol(live_do(live, "%s %d", command, fd), NULL, 10), expected);
}

/* Its own standard output is the session's, whose other end is ours. */
static void status_flags_are_rolled_back(struct live *live) {
    int fds[] = {0, 1, 2, 4, 0};
    int before[5];
    fds[4] = (int)live_call(live, SYS_open, "\"/dev/null %d", O_WRONLY);
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        before[i] = (int)live_call(live, SYS_fcntl, "%d %d", fds[i], F_GETFL);
    CHECK_EQUAL(before[1] & (O_NONBLOCK | O_APPEND), 0);
    CHECK_EQUAL(before[3] & O_NONBLOCK, O_NONBLOCK); /* the one for stacks, where a crash must not wait */
    struct cell *lost = live_start(live);
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        CHECK_TEXT(live_ask(lost, "call %d %d %d %d", SYS_fcntl, fds[i], F_SETFL, ~before[i] & (O_NONBLOCK | O_APPEND)),
                   "0");
    cell_discard(lost);
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        CHECK_EQUAL(live_call(live, SYS_fcntl, "%d %d", fds[i], F_GETFL), before[i]);
    CHECK_EQUAL(live_call(live, SYS_fcntl, "1 %d %d", F_SETFL, O_NONBLOCK), 0);
    CHECK_EQUAL(live_call(live, SYS_fcntl, "1 %d", F_GETFL) & O_NONBLOCK, O_NONBLOCK);
}

static void pipe_goes_on_and_is_rolled_back(struct live *live) {
    struct live_pair pipe = live_make_pair(live, "pipe 04000");
    CHECK_TEXT(live_do(live, "say %d one", pipe.b), "3");
    struct cell *lost = live_start(live);
    CHECK_TEXT(live_ask(lost, "take %d", pipe.a), "one");
    CHECK_TEXT(live_ask(lost, "say %d two", pipe.b), "3");
    CHECK_TEXT(live_ask(lost, "call %d %d %d 0", SYS_fcntl, pipe.a, F_SETFL), "0");
    cell_discard(lost);
    CHECK_TEXT(live_do(live, "say %d +", pipe.b), "1");
    CHECK_TEXT(live_do(live, "take %d", pipe.a), "one+");
    CHECK_TEXT(live_do(live, "take %d", pipe.a), "EAGAIN");
    CHECK_EQUAL(live_call(live, SYS_close, "%d", pipe.b), 0);
    CHECK_TEXT(live_do(live, "take %d", pipe.a), "");
}

/* Whichever of a pipe's ends Linux lists first, and whatever number it has. */
static void pipe_in_the_place_of_standard_input_is_rolled_back(struct live *live) {
    for (int i = 0; i < 6; i++) {
        struct live_pair pipe = live_make_pair(live, "pipe");
        CHECK_EQUAL(live_call(live, SYS_dup2, "%d 0", i % 2 ? pipe.a : pipe.b), 0);
        CHECK_EQUAL(live_call(live, SYS_close, "%d", i % 2 ? pipe.a : pipe.b), 0);
        const int reader = i % 2 ? 0 : pipe.a, writer = i % 2 ? pipe.b : 0;
        CHECK_TEXT(live_do(live, "say %d one", writer), "3");
        struct cell *lost = live_start(live);
        CHECK_TEXT(live_ask(lost, "take %d", reader), "one");
        cell_discard(lost);
        CHECK_TEXT(live_do(live, "take %d", reader), "one");
    }
}

static void aside_does_not_take_from_the_cells_pipe(struct live *live) {
    struct error error = {0};
    struct live_pair pipe = live_make_pair(live, "pipe");
    CHECK_TEXT(live_do(live, "say %d one", pipe.b), "3");
    struct cell *cell = live_start(live), *ephemeral;
    CHECK_EQUAL(cell_create(live->session, &(struct cell_options){.role = CELL_EPHEMERAL}, &ephemeral, &error), 0);
    CHECK_EQUAL(cell_start(ephemeral, &(struct cell_limits){0}), 0);
    CHECK_TEXT(live_ask(ephemeral, "take %d", pipe.a), "one");
    CHECK_TEXT(live_ask(cell, "take %d", pipe.a), "one");
    cell_discard(ephemeral);
    live_commit(cell);
}

/* Its rows were recorded when they stood elsewhere in the list. */
static void aside_has_no_part_in_output_whatever_was_opened_since(struct live *live) {
    struct error error = {0};
    struct cell *ephemeral;
    CHECK_EQUAL(live_call(live, SYS_dup2, "1 50"), 50);
    CHECK_EQUAL(live_call(live, SYS_dup2, "1 60"), 60);
    live_make_pair(live, "pipe");
    CHECK_EQUAL(live_call(live, SYS_close, "50"), 0);
    CHECK_EQUAL(cell_create(live->session, &(struct cell_options){.role = CELL_EPHEMERAL}, &ephemeral, &error), 0);
    CHECK_EQUAL(cell_start(ephemeral, &(struct cell_limits){0}), 0);
    CHECK_TEXT(live_ask(ephemeral, "say 1 unheard"), "7");
    CHECK_TEXT(live_ask(ephemeral, "say 60 unheard"), "7");
    cell_discard(ephemeral);
    CHECK_TEXT(live_do(live, "say 60 heard"), "5");
    live_await_output(live, "heard");
}

/* As many as it holds, in pieces of their own. */
static void full_pipe_of_packets_goes_on(struct live *live) {
    struct live_pair pipe = live_make_pair(live, "pipe 044000"); /* O_DIRECT, O_NONBLOCK */
    for (int i = 0; i < 16; i++)
        CHECK_TEXT(live_do(live, "say %d packet", pipe.b), "6");
    CHECK_TEXT(live_do(live, "say %d over", pipe.b), "-11");
    for (int i = 0; i < 16; i++)
        CHECK_TEXT(live_do(live, "take %d", pipe.a), "packet");
}

/* Its path leads to the one that is open, in the next cell as well. */
static void fifo_goes_on_and_is_rolled_back(struct live *live) {
    CHECK_EQUAL(live_call(live, SYS_mknod, "\"/tmp/fifo %d 0", 0010600), 0);
    int fd = (int)live_call(live, SYS_open, "\"/tmp/fifo %d", O_RDWR | O_NONBLOCK);
    CHECK_TEXT(live_do(live, "say %d one", fd), "3");
    struct cell *lost = live_start(live);
    CHECK_TEXT(live_ask(lost, "take %d", fd), "one");
    cell_discard(lost);
    CHECK_TEXT(live_do(live, "append /tmp/fifo two"), "ok");
    CHECK_TEXT(live_do(live, "take %d", fd), "onetwo");
}

static void counts_and_timers_go_on_and_are_rolled_back(struct live *live) {
    int event = live_make_one(live, "event 3"), semaphore = live_make_one(live, "event 3 semaphore");
    int timer = live_make_one(live, "timer"), signals = live_make_one(live, "signals");
    check_number(live, 1, "tick", semaphore);
    struct cell *lost = live_start(live);
    CHECK_TEXT(live_ask(lost, "tick %d", event), "3");
    CHECK_TEXT(live_ask(lost, "raise %d 40", event), "8");
    CHECK_TEXT(live_ask(lost, "tick %d", semaphore), "1");
    CHECK_TEXT(live_ask(lost, "tick %d", timer), "1");
    cell_discard(lost);
    check_number(live, 3, "tick", event);
    CHECK_EQUAL(live_call(live, SYS_fcntl, "%d %d %d", semaphore, F_SETFL, O_NONBLOCK), 0);
    check_number(live, 1, "tick", semaphore);
    check_number(live, 1, "tick", semaphore);
    CHECK_TEXT(live_do(live, "tick %d", semaphore), "EAGAIN");
    check_number(live, 1, "tick", timer);
    struct cell *cell = live_start(live);
    char own[16];
    (void)snprintf(own, sizeof own, "%s", live_ask(cell, "call %d", SYS_getpid));
    CHECK_TEXT(live_ask(cell, "call %d %s 12", SYS_kill, own), "0"); /* SIGUSR2 */
    CHECK_TEXT(live_ask(cell, "tick %d", signals), "12");
    live_commit(cell);
}

static void epoll_goes_on_and_is_rolled_back(struct live *live) {
    int epoll = live_make_one(live, "epoll"), outer = live_make_one(live, "epoll"),
        event = live_make_one(live, "event 0");
    struct live_pair pipe = live_make_pair(live, "pipe"), pair = live_make_pair(live, "pair 1");
    CHECK_TEXT(live_do(live, "watch %d %d 1", epoll, pipe.a), "0");
    CHECK_TEXT(live_do(live, "watch %d %d 2", epoll, pair.a), "0");
    CHECK_TEXT(live_do(live, "watch %d %d 4", epoll, event), "0");
    CHECK_TEXT(live_do(live, "watch %d %d 7", outer, epoll), "0");
    CHECK_TEXT(live_do(live, "say %d x", pipe.b), "1");
    CHECK_TEXT(live_do(live, "ready %d", epoll), "1");
    struct cell *lost = live_start(live);
    CHECK_TEXT(live_ask(lost, "say %d x", pair.b), "1");
    CHECK_TEXT(live_ask(lost, "ready %d", epoll), "3");
    CHECK_TEXT(live_ask(lost, "call %d %d 2 %d 0", SYS_epoll_ctl, epoll, pipe.a), "0");
    CHECK_TEXT(live_ask(lost, "ready %d", epoll), "2");
    cell_discard(lost);
    CHECK_TEXT(live_do(live, "ready %d", epoll), "1");
    CHECK_TEXT(live_do(live, "ready %d", outer), "7");
    CHECK_TEXT(live_do(live, "raise %d 1", event), "8");
    CHECK_TEXT(live_do(live, "ready %d", epoll), "5");
    /* What is watched under a number that is closed, and open under another. */
    CHECK_EQUAL(live_call(live, SYS_dup2, "%d 100", event), 100);
    CHECK_EQUAL(live_call(live, SYS_close, "%d", event), 0);
    CHECK_TEXT(live_do(live, "ready %d", epoll), "5");
    CHECK_TEXT(live_do(live, "ready %d", epoll), "5");
}

static void duplicates_stay_duplicates(struct live *live) {
    struct live_pair pipe = live_make_pair(live, "pipe");
    CHECK_EQUAL(live_call(live, SYS_dup2, "%d 50", pipe.a), 50);
    CHECK_EQUAL(live_call(live, SYS_fcntl, "%d %d %d", pipe.a, F_SETFL, O_NONBLOCK), 0);
    CHECK_TEXT(live_do(live, "take 50"), "EAGAIN");
    CHECK_EQUAL(live_call(live, SYS_fcntl, "50 %d", F_GETFD), 0);
    CHECK_TEXT(live_do(live, "say %d text", pipe.b), "4");
    CHECK_TEXT(live_do(live, "take 50"), "text");
}

/* Opened before its mode forbade it. */
static void file_that_may_not_be_opened_again_is_rolled_back(struct live *live) {
    static const int modes[] = {0444, 0};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        CHECK_TEXT(live_do(live, "put /dev/shm/f%d abcdef", modes[i]), "ok");
        long fd = live_call(live, SYS_open, "\"/dev/shm/f%d %d", modes[i], O_RDWR);
        CHECK_EQUAL(live_call(live, SYS_chmod, "\"/dev/shm/f%d %d", modes[i], modes[i]), 0);
        CHECK_EQUAL(live_call(live, SYS_lseek, "%ld 2 0", fd), 2);
        struct cell *lost = live_start(live);
        CHECK_TEXT(live_ask(lost, "call %d %ld \"XY 2", SYS_write, fd), "2");
        cell_discard(lost);
        CHECK_TEXT(live_do(live, "take %ld", fd), "cdef");
        CHECK_EQUAL(live_call(live, SYS_lseek, "%ld 0 0", fd), 0);
        CHECK_TEXT(live_do(live, "take %ld", fd), "abcdef");
        CHECK_EQUAL(live_call(live, SYS_access, "\"/dev/shm/f%d 2", modes[i]), -EACCES);
    }
}

static void file_in_a_folder_that_may_not_be_entered_is_rolled_back(struct live *live) {
    CHECK_TEXT(live_do(live, "put /tmp/f abcdef"), "ok");
    CHECK_EQUAL(live_call(live, SYS_mkdir, "\"/tmp/shut 0700"), 0);
    CHECK_EQUAL(live_call(live, SYS_rename, "\"/tmp/f \"/tmp/shut/f"), 0);
    long fd = live_call(live, SYS_open, "\"/tmp/shut/f %d", O_RDWR);
    CHECK_EQUAL(live_call(live, SYS_chmod, "\"/tmp/shut 0"), 0);
    CHECK_EQUAL(live_call(live, SYS_lseek, "%ld 1 0", fd), 1);
    struct cell *lost = live_start(live);
    CHECK_TEXT(live_ask(lost, "call %d %ld \"XY 2", SYS_write, fd), "2");
    cell_discard(lost);
    CHECK_TEXT(live_do(live, "take %ld", fd), "bcdef");
    CHECK_EQUAL(live_call(live, SYS_chmod, "\"/tmp/shut 0700"), 0);
    CHECK_TEXT(live_do(live, "file /tmp/shut/f"), "abcdef");
}

static void contents_of_an_unlinked_file_are_rolled_back(struct live *live) {
    CHECK_TEXT(live_do(live, "put /tmp/f abcdef"), "ok");
    long fd = live_call(live, SYS_open, "\"/tmp/f %d", O_RDWR);
    CHECK_EQUAL(live_call(live, SYS_unlink, "\"/tmp/f"), 0);
    struct cell *lost = live_start(live);
    CHECK_TEXT(live_ask(lost, "call %d %ld \"XY 2", SYS_write, fd), "2");
    CHECK_TEXT(live_ask(lost, "call %d %ld 3", SYS_ftruncate, fd), "0");
    cell_discard(lost);
    CHECK_TEXT(live_do(live, "take %ld", fd), "abcdef");
}

/* Nearly as many as a cell may have. */
static void hundreds_of_files_are_rolled_back(struct live *live) {
    enum { FILES = 480 };
    CHECK_TEXT(live_do(live, "put /tmp/f abcdef"), "ok");
    struct cell *cell = live_start(live);
    long fd = 0;
    for (int i = 0; i < FILES; i++)
        fd = strtol(live_ask(cell, "call %d \"/tmp/f %d", SYS_open, O_RDWR), NULL, 10);
    CHECK(fd > FILES);
    live_commit(cell);
    struct cell *lost = live_start(live);
    CHECK_TEXT(live_ask(lost, "call %d %ld \"XY 2", SYS_write, fd), "2");
    cell_discard(lost);
    CHECK_TEXT(live_do(live, "take %ld", fd), "abcdef");
}

static void memory_file_is_rolled_back(struct live *live) {
    int fd = live_make_one(live, "memory");
    CHECK_TEXT(live_do(live, "say %d abcdef", fd), "6");
    CHECK_TEXT(live_do(live, "map %d 4096 %d", fd, PROT_READ), "0");
    struct cell *lost = live_start(live);
    CHECK_TEXT(live_ask(lost, "say %d lost", fd), "4");
    CHECK_TEXT(live_ask(lost, "store 0 XY"), "ok");
    CHECK_TEXT(live_ask(lost, "call %d %d 6", SYS_ftruncate, fd), "0");
    CHECK_TEXT(live_ask(lost, "call %d %d %d %d", SYS_fcntl, fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK), "0");
    cell_discard(lost);
    CHECK_TEXT(live_do(live, "load 0"), "abcdef");
    CHECK_EQUAL(live_call(live, SYS_fcntl, "%d %d", fd, F_GET_SEALS), 0);
    CHECK_TEXT(live_do(live, "say %d gh", fd), "2");
    CHECK_TEXT(live_do(live, "load 0"), "abcdefgh"); /* what is mapped is what is open */
    CHECK_EQUAL(live_call(live, SYS_fcntl, "%d %d %d", fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SEAL), 0);
    CHECK_EQUAL(live_call(live, SYS_fcntl, "%d %d", fd, F_GET_SEALS), F_SEAL_GROW | F_SEAL_SEAL);
    CHECK_TEXT(live_do(live, "say %d i", fd), "-1"); /* EPERM */
}

/* Each a piece of its own; the protection is given by the cell that is rolled back. */
static void shared_mappings_are_rolled_back(struct live *live) {
    enum { MAPPINGS = 300 };
    char first[16];
    (void)snprintf(first, sizeof first, "%s", live_do(live, "map -1 4096 %d %d", PROT_READ, MAPPINGS));
    CHECK_TEXT(first, "0");
    CHECK_TEXT(live_do(live, "store %d kept", MAPPINGS - 1), "ok");
    struct cell *lost = live_start(live);
    CHECK_TEXT(live_ask(lost, "store 0 lost"), "ok");
    CHECK_TEXT(live_ask(lost, "store %d lost", MAPPINGS - 1), "ok");
    cell_discard(lost);
    CHECK_TEXT(live_do(live, "load 0"), "");
    CHECK_TEXT(live_do(live, "load %d", MAPPINGS - 1), "kept");
}

/* Locks end with their cell: the image's own open file is not to hold them. */
static void lock_on_a_file_without_a_name_ends_with_its_cell(struct live *live) {
    CHECK_TEXT(live_do(live, "put /tmp/f abcdef"), "ok");
    long fd = live_call(live, SYS_open, "\"/tmp/f %d", O_RDWR);
    CHECK_EQUAL(live_call(live, SYS_unlink, "\"/tmp/f"), 0);
    CHECK_EQUAL(live_call(live, SYS_flock, "%ld %d", fd, LOCK_EX | LOCK_NB), 0);
    CHECK_EQUAL(live_call(live, SYS_flock, "%ld %d", fd, LOCK_EX | LOCK_NB), 0);
}

static void descriptors_that_are_paths_go_on(struct live *live) {
    static const char *const kinds[] = {"pipe", "pair 1"};
    CHECK_TEXT(live_do(live, "put /tmp/f abcdef"), "ok");
    CHECK(live_call(live, SYS_open, "\"/tmp/f %d", O_PATH) > 4);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct live_pair pair = live_make_pair(live, kinds[i]);
        long fd = live_call(live, SYS_open, "\"/proc/self/fd/%d %d", pair.a, O_PATH);
        CHECK(fd > 4);
        CHECK_EQUAL(live_call(live, SYS_fcntl, "%ld %d", fd, F_GETFL) & O_PATH, O_PATH);
    }
}

static void too_much_shared_memory_is_refused(struct live *live) {
    struct cell *cell = live_start(live);
    CHECK_TEXT(live_ask(cell, "map -1 %d %d", 300 << 20, PROT_READ | PROT_WRITE), "0");
    live_check_refused(live, cell, "256 MiB");
}

/* Its mapping is: nobody can change that. Its descriptor could be opened once more, and is only a number. */
static void large_file_that_was_deleted_while_it_was_read_is_carried_on(struct live *live) {
    CHECK_TEXT(live_do(live, "put /tmp/f abcdef"), "ok");
    CHECK_EQUAL(live_call(live, SYS_truncate, "\"/tmp/f %d", 300 << 20), 0);
    long fd = live_call(live, SYS_open, "\"/tmp/f 0");
    CHECK_TEXT(live_do(live, "map %ld %d %d", fd, 300 << 20, PROT_READ), "0");
    CHECK_EQUAL(live_call(live, SYS_unlink, "\"/tmp/f"), 0);
    CHECK_TEXT(live_do(live, "load 0"), "abcdef");
    CHECK_EQUAL(live_call(live, SYS_fchmod, "%ld 0600", fd), -EBADF);
    CHECK_EQUAL(live_call(live, SYS_close, "%ld", fd), 0);
    CHECK_TEXT(live_do(live, "load 0"), "abcdef");
}

static void few_descriptors(void) {
    CHECK(setrlimit(RLIMIT_NOFILE, &(struct rlimit){128, 256}) == 0);
}

/* There is room for the new ones all the same. */
static void cell_that_used_up_its_descriptors_for_pipes_can_be_committed(struct live *live) {
    struct cell *cell = live_start(live);
    struct live_pair pipe = {0}, last;
    while (sscanf(live_ask(cell, "make pipe"), "%d %d", &last.a, &last.b) == 2)
        pipe = last;
    CHECK(strncmp(live_ask(cell, "exhaust /tmp"), "EMFILE", 6) == 0);
    live_commit(cell);
    CHECK_TEXT(live_do(live, "say %d text", pipe.b), "4");
    CHECK_TEXT(live_do(live, "take %d", pipe.a), "text");
}

static const struct live_case cases[] = {
    LIVE_CASE(status_flags_are_rolled_back),
    LIVE_CASE(pipe_goes_on_and_is_rolled_back),
    LIVE_CASE(pipe_in_the_place_of_standard_input_is_rolled_back),
    LIVE_CASE(aside_does_not_take_from_the_cells_pipe),
    LIVE_CASE(aside_has_no_part_in_output_whatever_was_opened_since),
    LIVE_CASE(full_pipe_of_packets_goes_on),
    LIVE_CASE(fifo_goes_on_and_is_rolled_back),
    LIVE_CASE(counts_and_timers_go_on_and_are_rolled_back),
    LIVE_CASE(epoll_goes_on_and_is_rolled_back),
    LIVE_CASE(duplicates_stay_duplicates),
    LIVE_CASE(file_that_may_not_be_opened_again_is_rolled_back),
    LIVE_CASE(file_in_a_folder_that_may_not_be_entered_is_rolled_back),
    LIVE_CASE(contents_of_an_unlinked_file_are_rolled_back),
    LIVE_CASE(hundreds_of_files_are_rolled_back),
    LIVE_CASE(memory_file_is_rolled_back),
    LIVE_CASE(shared_mappings_are_rolled_back),
    LIVE_CASE(lock_on_a_file_without_a_name_ends_with_its_cell),
    LIVE_CASE(descriptors_that_are_paths_go_on),
    LIVE_CASE(too_much_shared_memory_is_refused),
    LIVE_CASE(large_file_that_was_deleted_while_it_was_read_is_carried_on),
    {"cell_that_used_up_its_descriptors_for_pipes_can_be_committed",
     cell_that_used_up_its_descriptors_for_pipes_can_be_committed, few_descriptors},
};

int main(void) {
    return live_main("descriptors", cases, sizeof cases / sizeof cases[0]);
}
