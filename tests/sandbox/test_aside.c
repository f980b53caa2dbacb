/* A cell aside, a completion say, has nothing in common with the image that it could change. */
#include "live.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct cell *start_aside(struct live *live) {
    struct cell *cell;
    struct sandbox_error error = {0};
    CHECK_EQUAL(cell_create(live->session, &(struct cell_options){.aside = true}, &cell, &error), 0);
    CHECK_EQUAL(cell_start(cell, &(struct cell_limits){0}), 0);
    return cell;
}

/* The aside's call must fail: there is only the number. */
static void check_withheld(const struct cell *aside, long number, long fd, long argument) {
    char failure[16];
    (void)snprintf(failure, sizeof failure, "%d", -EBADF);
    CHECK_TEXT(live_ask(aside, "call %ld %ld %ld", number, fd, argument), failure);
}

static void file_without_a_name_is_not_an_asides(struct live *live) {
    long fd = live_call(live, SYS_open, "\"/tmp/a %d 0600", O_RDWR | O_CREAT);
    CHECK(fd > 4);
    CHECK_EQUAL(live_call(live, SYS_unlink, "\"/tmp/a"), 0);
    struct cell *aside = start_aside(live);
    check_withheld(aside, SYS_ftruncate, fd, 1 << 30); /* too large to be saved: no cell could start */
    check_withheld(aside, SYS_fchmod, fd, 0);
    cell_discard(aside);
    CHECK_EQUAL(live_call(live, SYS_lseek, "%ld 0 2", fd), 0);
}

static void file_behind_a_shut_way_is_not_an_asides(struct live *live) {
    CHECK_EQUAL(live_call(live, SYS_mkdir, "\"/tmp/d 0700"), 0);
    long fd = live_call(live, SYS_open, "\"/tmp/d/a %d 0600", O_RDWR | O_CREAT);
    CHECK(fd > 4);
    CHECK_EQUAL(live_call(live, SYS_chmod, "\"/tmp/d 0"), 0);
    struct cell *aside = start_aside(live);
    check_withheld(aside, SYS_ftruncate, fd, 1 << 30);
    cell_discard(aside);
    CHECK_EQUAL(live_call(live, SYS_lseek, "%ld 0 2", fd), 0);
}

static void connection_is_not_an_asides(struct live *live) {
    int ends[2];
    struct cell *cell = live_start(live);
    live_make_connection(live, cell, ends);
    live_commit(cell);
    struct cell *aside = start_aside(live);
    check_withheld(aside, SYS_shutdown, ends[0], SHUT_RDWR);
    cell_discard(aside);
    CHECK_TEXT(live_do(live, "say %d x", ends[0]), "1");
    CHECK_TEXT(live_do(live, "take %d", ends[1]), "x");
}

static void device_of_an_aside_is_its_own(struct live *live) {
    long fd = live_call(live, SYS_open, "\"/dev/zero %d", O_RDWR);
    CHECK(fd > 4);
    struct cell *aside = start_aside(live);
    CHECK_TEXT(live_ask(aside, "call %d %ld \"x 1", SYS_write, fd), "1");
    CHECK_TEXT(live_ask(aside, "call %d %ld %d %d", SYS_fcntl, fd, F_SETFL, O_NONBLOCK | O_APPEND), "0");
    CHECK_TEXT(live_ask(aside, "call %d 0 %d %d", SYS_fcntl, F_SETFL, O_NONBLOCK), "0");
    cell_discard(aside);
    CHECK_EQUAL(live_call(live, SYS_fcntl, "%ld %d", fd, F_GETFL) & (O_NONBLOCK | O_APPEND | O_ACCMODE), O_RDWR);
    CHECK_EQUAL(live_call(live, SYS_fcntl, "0 %d", F_GETFL) & O_NONBLOCK, 0);
}

static void descriptor_of_a_process_is_not_an_asides(struct live *live) {
    long pid = live_call(live, SYS_getpid, "0");
    long fd = live_call(live, SYS_pidfd_open, "%ld 0", pid);
    CHECK(fd > 4);
    struct cell *aside = start_aside(live);
    check_withheld(aside, SYS_pidfd_send_signal, fd, 0);
    cell_discard(aside);
}

int main(void) {
    static const struct live_case cases[] = {
        LIVE_CASE(file_without_a_name_is_not_an_asides),
        LIVE_CASE(file_behind_a_shut_way_is_not_an_asides),
        LIVE_CASE(connection_is_not_an_asides),
        LIVE_CASE(device_of_an_aside_is_its_own),
        LIVE_CASE(descriptor_of_a_process_is_not_an_asides),
    };
    return live_main("aside", cases, sizeof cases / sizeof cases[0]);
}
