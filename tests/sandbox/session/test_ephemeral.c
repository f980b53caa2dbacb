/* A cell that is always discarded, a completion's or a fresh run's, has nothing in common with the image that it could
 * change. */
#include "tests/sandbox/live.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static enum cell_role role = CELL_EPHEMERAL;

static void be_beside(void) {
    role = CELL_BESIDE;
}

static struct cell *start_ephemeral(struct live *live) {
    struct cell *cell;
    struct error error = {0};
    CHECK_EQUAL(cell_create(live->session, &(struct cell_options){.role = role}, &cell, &error), 0);
    CHECK_EQUAL(cell_start(cell, &(struct cell_limits){0}), 0);
    return cell;
}

/* The call of the ephemeral cell must fail: it has the descriptor's number, and nothing behind it. */
static void check_withheld(const struct cell *ephemeral, long number, long fd, long argument) {
    char failure[16];
    (void)snprintf(failure, sizeof failure, "%d", -EBADF);
    CHECK_TEXT(live_ask(ephemeral, "call %ld %ld %ld", number, fd, argument), failure);
}

static void file_without_a_name_is_withheld_from_an_ephemeral_cell(struct live *live) {
    long fd = live_call(live, SYS_open, "\"/tmp/a %d 0600", O_RDWR | O_CREAT);
    CHECK(fd > 4);
    CHECK_EQUAL(live_call(live, SYS_unlink, "\"/tmp/a"), 0);
    struct cell *ephemeral = start_ephemeral(live);
    check_withheld(ephemeral, SYS_ftruncate, fd, 1 << 30); /* too large to be saved: no cell could start */
    check_withheld(ephemeral, SYS_fchmod, fd, 0);
    cell_discard(ephemeral);
    CHECK_EQUAL(live_call(live, SYS_lseek, "%ld 0 2", fd), 0);
}

static void file_without_a_name_of_a_cell_beside_is_its_own(struct live *live) {
    const long fd = live_call(live, SYS_open, "\"/tmp/a %d 0600", O_RDWR | O_CREAT);
    CHECK_EQUAL(live_call(live, SYS_unlink, "\"/tmp/a"), 0);
    be_beside();
    struct cell *beside = start_ephemeral(live);
    CHECK_TEXT(live_ask(beside, "call %d %ld %d", SYS_ftruncate, fd, 1 << 30), "0");
    CHECK_TEXT(live_ask(beside, "call %d %ld 0", SYS_fchmod, fd), "0");
    cell_discard(beside);
    CHECK_EQUAL(live_call(live, SYS_lseek, "%ld 0 2", fd), 0);
}

static void file_behind_a_shut_way_is_withheld_from_an_ephemeral_cell(struct live *live) {
    CHECK_EQUAL(live_call(live, SYS_mkdir, "\"/tmp/d 0700"), 0);
    long fd = live_call(live, SYS_open, "\"/tmp/d/a %d 0600", O_RDWR | O_CREAT);
    CHECK(fd > 4);
    CHECK_EQUAL(live_call(live, SYS_chmod, "\"/tmp/d 0"), 0);
    struct cell *ephemeral = start_ephemeral(live);
    check_withheld(ephemeral, SYS_ftruncate, fd, 1 << 30);
    cell_discard(ephemeral);
    CHECK_EQUAL(live_call(live, SYS_lseek, "%ld 0 2", fd), 0);
}

/* What the session has mapped shared: the ephemeral cell has a copy. */
static void check_mapping_is_its_own(struct live *live) {
    CHECK_TEXT(live_do(live, "store 0 kept"), "ok");
    struct cell *ephemeral = start_ephemeral(live);
    CHECK_TEXT(live_ask(ephemeral, "load 0"), "kept");
    CHECK_TEXT(live_ask(ephemeral, "store 0 lost"), "ok");
    CHECK_TEXT(live_do(live, "load 0"), "kept"); /* also while the ephemeral cell lives */
    cell_discard(ephemeral);
    CHECK_TEXT(live_do(live, "load 0"), "kept");
}

static void shared_memory_of_an_ephemeral_cell_is_its_own(struct live *live) {
    CHECK_TEXT(live_do(live, "map -1 4096 %d", PROT_READ | PROT_WRITE), "0");
    check_mapping_is_its_own(live);
}

/* As multiprocessing's arenas are. */
static void mapped_file_without_a_name_of_an_ephemeral_cell_is_its_own(struct live *live) {
    long fd = live_call(live, SYS_open, "\"/dev/shm/a %d 0600", O_RDWR | O_CREAT);
    CHECK(fd > 4);
    CHECK_EQUAL(live_call(live, SYS_ftruncate, "%ld 8192", fd), 0);
    CHECK_EQUAL(live_call(live, SYS_unlink, "\"/dev/shm/a"), 0);
    CHECK_TEXT(live_do(live, "map %ld 8192 %d", fd, PROT_READ | PROT_WRITE), "0");
    check_mapping_is_its_own(live);
    CHECK_TEXT(live_do(live, "store 0 more"), "ok");
    CHECK_TEXT(live_do(live, "load 0"), "more");
}

static void file_in_memory_of_an_ephemeral_cell_is_its_own(struct live *live) {
    long fd = live_call(live, SYS_memfd_create, "\"m %d", MFD_ALLOW_SEALING);
    CHECK(fd > 4);
    CHECK_EQUAL(live_call(live, SYS_write, "%ld \"abc 3", fd), 3);
    struct cell *ephemeral = start_ephemeral(live);
    CHECK_TEXT(live_ask(ephemeral, "call %d %ld \"x 1 0", SYS_pwrite64, fd), "1");
    CHECK_TEXT(live_ask(ephemeral, "call %d %ld 1", SYS_ftruncate, fd), "0");
    CHECK_TEXT(live_ask(ephemeral, "call %d %ld 0 0", SYS_lseek, fd), "0");
    CHECK_TEXT(live_ask(ephemeral, "call %d %ld %d %d", SYS_fcntl, fd, F_ADD_SEALS, F_SEAL_WRITE), "0");
    cell_discard(ephemeral);
    CHECK_EQUAL(live_call(live, SYS_lseek, "%ld 0 1", fd), 3);
    CHECK_EQUAL(live_call(live, SYS_fcntl, "%ld %d", fd, F_GET_SEALS), 0);
    CHECK_EQUAL(live_call(live, SYS_lseek, "%ld 0 0", fd), 0);
    CHECK_TEXT(live_do(live, "take %ld", fd), "abc");
}

static void counter_and_pipe_of_an_ephemeral_cell_are_its_own(struct live *live) {
    long counter = live_call(live, SYS_eventfd2, "3 %d", O_NONBLOCK);
    struct cell *cell = live_start(live), *ephemeral;
    int in = 0, out = 0;
    CHECK(sscanf(live_ask(cell, "make pipe"), "%d %d", &out, &in) == 2);
    live_commit(cell);
    CHECK_TEXT(live_do(live, "say %d kept", in), "4");
    ephemeral = start_ephemeral(live);
    CHECK_TEXT(live_ask(ephemeral, "take %d", out), "kept");
    CHECK_TEXT(live_ask(ephemeral, "say %d lost", in), "4");
    CHECK_TEXT(live_ask(ephemeral, "call %d %ld \"12345678 8", SYS_write, counter), "8");
    CHECK_TEXT(live_ask(ephemeral, "call %d %ld %d 0", SYS_fcntl, counter, F_SETFL), "0");
    cell_discard(ephemeral);
    CHECK_TEXT(live_do(live, "take %d", out), "kept");
    CHECK_EQUAL(live_call(live, SYS_fcntl, "%ld %d", counter, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
    CHECK_EQUAL(live_call(live, SYS_read, "%ld \"12345678 8", counter), 8); /* three are there */
    CHECK_EQUAL(live_call(live, SYS_read, "%ld \"12345678 8", counter), -EAGAIN);
}

static void named_file_of_an_ephemeral_cell_is_its_own(struct live *live) {
    long fd = live_call(live, SYS_open, "\"/tmp/named %d 0600", O_RDWR | O_CREAT);
    CHECK_EQUAL(live_call(live, SYS_write, "%ld \"abc 3", fd), 3);
    struct cell *ephemeral = start_ephemeral(live);
    CHECK_TEXT(live_ask(ephemeral, "call %d %ld \"x 1 0", SYS_pwrite64, fd), "1");
    CHECK_TEXT(live_ask(ephemeral, "call %d %ld 1", SYS_ftruncate, fd), "0");
    cell_discard(ephemeral);
    CHECK_EQUAL(live_call(live, SYS_lseek, "%ld 0 1", fd), 3);
    CHECK_EQUAL(live_call(live, SYS_lseek, "%ld 0 0", fd), 0);
    CHECK_TEXT(live_do(live, "take %ld", fd), "abc");
}

static void connection_is_withheld_from_an_ephemeral_cell(struct live *live) {
    int ends[2];
    struct cell *cell = live_start(live);
    live_make_connection(cell, ends);
    live_commit(cell);
    struct cell *ephemeral = start_ephemeral(live);
    check_withheld(ephemeral, SYS_shutdown, ends[0], SHUT_RDWR);
    cell_discard(ephemeral);
    CHECK_TEXT(live_do(live, "say %d x", ends[0]), "1");
    CHECK_TEXT(live_do(live, "take %d", ends[1]), "x");
}

static void device_of_an_ephemeral_cell_is_its_own(struct live *live) {
    long fd = live_call(live, SYS_open, "\"/dev/zero %d", O_RDWR);
    CHECK(fd > 4);
    struct cell *ephemeral = start_ephemeral(live);
    CHECK_TEXT(live_ask(ephemeral, "call %d %ld \"x 1", SYS_write, fd), "1");
    CHECK_TEXT(live_ask(ephemeral, "call %d %ld %d %d", SYS_fcntl, fd, F_SETFL, O_NONBLOCK | O_APPEND), "0");
    CHECK_TEXT(live_ask(ephemeral, "call %d 0 %d %d", SYS_fcntl, F_SETFL, O_NONBLOCK), "0");
    cell_discard(ephemeral);
    CHECK_EQUAL(live_call(live, SYS_fcntl, "%ld %d", fd, F_GETFL) & (O_NONBLOCK | O_APPEND | O_ACCMODE), O_RDWR);
    CHECK_EQUAL(live_call(live, SYS_fcntl, "0 %d", F_GETFL) & O_NONBLOCK, 0);
}

static void descriptor_of_a_process_is_withheld_from_an_ephemeral_cell(struct live *live) {
    long pid = live_call(live, SYS_getpid, "0");
    long fd = live_call(live, SYS_pidfd_open, "%ld 0", pid);
    CHECK(fd > 4);
    struct cell *ephemeral = start_ephemeral(live);
    check_withheld(ephemeral, SYS_pidfd_send_signal, fd, 0);
    cell_discard(ephemeral);
}

int main(void) {
    /* Each case with both kinds of such cells. */
#define BOTH(function)                                                                                                 \
    LIVE_CASE(function), {                                                                                             \
#function ", beside", function, be_beside                                                                      \
    }

    static const struct live_case cases[] = {
        LIVE_CASE(file_without_a_name_is_withheld_from_an_ephemeral_cell),
        LIVE_CASE(file_without_a_name_of_a_cell_beside_is_its_own),
        BOTH(file_behind_a_shut_way_is_withheld_from_an_ephemeral_cell),
        BOTH(shared_memory_of_an_ephemeral_cell_is_its_own),
        BOTH(mapped_file_without_a_name_of_an_ephemeral_cell_is_its_own),
        BOTH(file_in_memory_of_an_ephemeral_cell_is_its_own),
        BOTH(counter_and_pipe_of_an_ephemeral_cell_are_its_own),
        BOTH(named_file_of_an_ephemeral_cell_is_its_own),
        BOTH(connection_is_withheld_from_an_ephemeral_cell),
        BOTH(device_of_an_ephemeral_cell_is_its_own),
        BOTH(descriptor_of_a_process_is_withheld_from_an_ephemeral_cell),
    };
    return live_main("ephemeral", cases, sizeof cases / sizeof cases[0]);
}
