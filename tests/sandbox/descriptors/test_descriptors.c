/* What a cell that is lost did to descriptors and shared memory of earlier cells never happened; a good one's goes on.
 */
#include "tests/sandbox/live.h"

#include "sandbox/base/system.h"
#include "sandbox/session/session.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Two numbers of an answer, and a check that they are there. */
struct pair {
    int a, b;
};

static struct pair make_pair(struct live *live, const char *what) {
    struct pair pair;
    CHECK_EQUAL(sscanf(live_do(live, "make %s", what), "%d %d", &pair.a, &pair.b), 2);
    CHECK(pair.a > 4 && pair.b > 4);
    return pair;
}

static int make_one(struct live *live, const char *what) {
    int fd = (int)strtol(live_do(live, "make %s", what), NULL, 10);
    CHECK(fd > 4);
    return fd;
}

static void check_number(struct live *live, long expected, const char *command, int fd) {
    CHECK_EQUAL(strtol(live_do(live, "%s %d", command, fd), NULL, 10), expected);
}

/* Its own standard output is the session's, whose other end is ours. */
static void status_flags_are_rolled_back(struct live *live) {
    int fds[] = {0, 1, 2, 4, 0};
    fds[4] = (int)live_call(live, SYS_open, "\"/dev/null %d", O_WRONLY);
    struct cell *lost = live_start(live);
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        CHECK_TEXT(live_ask(lost, "call %d %d %d %d", SYS_fcntl, fds[i], F_SETFL, O_NONBLOCK | O_APPEND), "0");
    cell_discard(lost);
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        CHECK_EQUAL(live_call(live, SYS_fcntl, "%d %d", fds[i], F_GETFL) & (O_NONBLOCK | O_APPEND), 0);
    CHECK_EQUAL(live_call(live, SYS_fcntl, "1 %d %d", F_SETFL, O_NONBLOCK), 0);
    CHECK_EQUAL(live_call(live, SYS_fcntl, "1 %d", F_GETFL) & O_NONBLOCK, O_NONBLOCK);
}

static void pipe_goes_on_and_is_rolled_back(struct live *live) {
    struct pair pipe = make_pair(live, "pipe 04000");
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
        struct pair pipe = make_pair(live, "pipe");
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
    struct sandbox_error error = {0};
    struct pair pipe = make_pair(live, "pipe");
    CHECK_TEXT(live_do(live, "say %d one", pipe.b), "3");
    struct cell *cell = live_start(live), *aside;
    CHECK_EQUAL(cell_create(live->session, &(struct cell_options){.aside = true}, &aside, &error), 0);
    CHECK_EQUAL(cell_start(aside, &(struct cell_limits){0}), 0);
    CHECK_TEXT(live_ask(aside, "take %d", pipe.a), "one");
    CHECK_TEXT(live_ask(cell, "take %d", pipe.a), "one");
    cell_discard(aside);
    live_commit(cell);
}

/* Its rows were recorded when they stood elsewhere in the list. */
static void aside_has_no_part_in_output_whatever_was_opened_since(struct live *live) {
    struct sandbox_error error = {0};
    struct cell *aside;
    CHECK_EQUAL(live_call(live, SYS_dup2, "1 50"), 50);
    CHECK_EQUAL(live_call(live, SYS_dup2, "1 60"), 60);
    make_pair(live, "pipe");
    CHECK_EQUAL(live_call(live, SYS_close, "50"), 0);
    CHECK_EQUAL(cell_create(live->session, &(struct cell_options){.aside = true}, &aside, &error), 0);
    CHECK_EQUAL(cell_start(aside, &(struct cell_limits){0}), 0);
    CHECK_TEXT(live_ask(aside, "say 1 unheard"), "7");
    CHECK_TEXT(live_ask(aside, "say 60 unheard"), "7");
    cell_discard(aside);
    CHECK_TEXT(live_do(live, "say 60 heard"), "5");
    live_await_output(live, "heard");
}

/* As many as it holds, in pieces of their own. */
static void full_pipe_of_packets_goes_on(struct live *live) {
    struct pair pipe = make_pair(live, "pipe 044000"); /* O_DIRECT, O_NONBLOCK */
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

static void check_socket_pair(struct live *live, const char *what, const char *merged) {
    struct pair pair = make_pair(live, what);
    CHECK_TEXT(live_do(live, "say %d one", pair.a), "3");
    CHECK_TEXT(live_do(live, "say %d two", pair.a), "3");
    CHECK_TEXT(live_do(live, "say %d back", pair.b), "4");
    struct cell *lost = live_start(live);
    CHECK_TEXT(live_ask(lost, "take %d", pair.b), merged);
    CHECK_TEXT(live_ask(lost, "take %d", pair.a), "back");
    CHECK_TEXT(live_ask(lost, "call %d %d 2", SYS_shutdown, pair.a), "0");
    cell_discard(lost);
    CHECK_TEXT(live_do(live, "take %d", pair.b), merged);
    CHECK_TEXT(live_do(live, "take %d", pair.a), "back");
    CHECK_TEXT(live_do(live, "say %d more", pair.a), "4");
    CHECK_EQUAL(live_call(live, SYS_close, "%d", pair.a), 0);
}

static void socket_pairs_go_on_and_are_rolled_back(struct live *live) {
    char what[32];
    (void)snprintf(what, sizeof what, "pair %d", SOCK_STREAM);
    check_socket_pair(live, what, "onetwo");
    (void)snprintf(what, sizeof what, "pair %d", SOCK_SEQPACKET);
    check_socket_pair(live, what, "one");
    (void)snprintf(what, sizeof what, "pair %d", SOCK_DGRAM);
    check_socket_pair(live, what, "one");
}

/* What was sent before the other side hung up can be read; then it is at its end. */
static void socket_whose_peer_is_gone_goes_on(struct live *live) {
    struct pair pair = make_pair(live, "pair 1");
    CHECK_TEXT(live_do(live, "say %d last", pair.a), "4");
    CHECK_EQUAL(live_call(live, SYS_close, "%d", pair.a), 0);
    struct cell *lost = live_start(live);
    CHECK_TEXT(live_ask(lost, "take %d", pair.b), "last");
    cell_discard(lost);
    CHECK_TEXT(live_do(live, "take %d", pair.b), "last");
    CHECK_TEXT(live_do(live, "take %d", pair.b), "");
}

static void counts_and_timers_go_on_and_are_rolled_back(struct live *live) {
    int event = make_one(live, "event 3"), semaphore = make_one(live, "event 3 semaphore");
    int timer = make_one(live, "timer"), signals = make_one(live, "signals");
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
    int epoll = make_one(live, "epoll"), outer = make_one(live, "epoll"), event = make_one(live, "event 0");
    struct pair pipe = make_pair(live, "pipe"), pair = make_pair(live, "pair 1");
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
    struct pair pipe = make_pair(live, "pipe");
    CHECK_EQUAL(live_call(live, SYS_dup2, "%d 50", pipe.a), 50);
    CHECK_EQUAL(live_call(live, SYS_fcntl, "%d %d %d", pipe.a, F_SETFL, O_NONBLOCK), 0);
    CHECK_TEXT(live_do(live, "take 50"), "EAGAIN");
    CHECK_EQUAL(live_call(live, SYS_fcntl, "50 %d", F_GETFD), 0);
    CHECK_TEXT(live_do(live, "say %d text", pipe.b), "4");
    CHECK_TEXT(live_do(live, "take 50"), "text");
}

/* What a server says to a cell, whose connect(2) waits for us to let it through. */
static const char *ask_server(struct live *live, const struct cell *cell, const char *where) {
    struct pollfd fds[] = {{.fd = session_denied_fd(live->session), .events = POLLIN},
                           {.fd = cell_control_fd(cell), .events = POLLIN}};
    struct denied_call call;
    live_send(cell, "ask %s", where);
    CHECK(poll(fds, 2, 20000) > 0);
    if (fds[0].revents)
        CHECK(session_take_denied(live->session, cell, &call) >= 0);
    const char *answer = live_receive(cell);
    CHECK(answer != NULL);
    return answer;
}

static void check_server(struct live *live, const char *where, const char *answer) {
    struct cell *cell = live_start(live);
    CHECK_TEXT(ask_server(live, cell, where), answer);
    live_commit(cell);
}

static void server_answers_in_the_next_cell(struct live *live) {
    struct pair server = make_pair(live, "server"); /* its number and its port */
    CHECK_TEXT(live_do(live, "serve %d", server.a), "0");
    char port[16];
    (void)snprintf(port, sizeof port, "%d", server.b);
    check_server(live, port, "served");
    struct cell *lost = live_start(live);
    CHECK_TEXT(ask_server(live, lost, port), "served");
    CHECK_TEXT(live_ask(lost, "call %d %d 2", SYS_shutdown, server.a), "0");
    cell_discard(lost);
    check_server(live, port, "served");
}

static int get_nodelay(const struct live *live, int number) {
    int value = -1, pidfd = system_pidfd_open(live->session->current->keeper);
    int fd = system_pidfd_getfd(pidfd, number);
    CHECK(getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &value, &(socklen_t){sizeof value}) == 0);
    close(fd);
    close(pidfd);
    return value;
}

/* What has gone through a connection can't be taken back: it has hung up. One that the lost cell left alone goes on. */
static void connection_that_a_lost_cell_used_has_hung_up(struct live *live) {
    int fds[2][2];
    struct cell *cell = live_start(live);
    for (int i = 0; i < 2; i++) {
        live_make_connection(live, cell, fds[i]);
        CHECK_TEXT(live_ask(cell, "say %d one", fds[i][0]), "3");
    }
    live_commit(cell);
    struct cell *lost = live_start(live);
    CHECK_TEXT(live_ask(lost, "take %d", fds[0][1]), "one");
    CHECK_TEXT(live_ask(lost, "call %d %d %d %d \"1111 4", SYS_setsockopt, fds[1][0], IPPROTO_TCP, TCP_NODELAY), "0");
    CHECK_EQUAL(get_nodelay(live, fds[1][0]), 1);
    cell_discard(lost);
    CHECK_EQUAL(get_nodelay(live, fds[1][0]), 0);
    CHECK_TEXT(live_do(live, "take %d", fds[0][1]), "");
    CHECK_TEXT(live_do(live, "take %d", fds[1][1]), "one");
    CHECK_TEXT(live_do(live, "say %d two", fds[1][0]), "3");
    CHECK_TEXT(live_do(live, "take %d", fds[1][1]), "two");
}

/* It is looked at without waiting; a thread that waits in it must not be told to come back later. */
static void connection_waits_as_it_did_before(struct live *live) {
    int fds[2];
    struct cell *cell = live_start(live);
    live_make_connection(live, cell, fds);
    CHECK_TEXT(live_ask(cell, "call %d %d %d %d", SYS_fcntl, fds[1], F_SETFL, O_NONBLOCK), "0");
    live_commit(cell);
    CHECK_EQUAL(live_call(live, SYS_fcntl, "%d %d 0", fds[0], F_GETFL) & O_NONBLOCK, 0);
    CHECK_EQUAL(live_call(live, SYS_fcntl, "%d %d 0", fds[1], F_GETFL) & O_NONBLOCK, O_NONBLOCK);
}

static void server_at_a_path_answers_in_the_next_cell(struct live *live) {
    int server = make_one(live, "server-at /tmp/server");
    CHECK_EQUAL(live_call(live, SYS_chmod, "\"/tmp/server 0700"), 0);
    CHECK_TEXT(live_do(live, "serve %d", server), "0");
    check_server(live, "/tmp/server", "served");
    check_server(live, "/tmp/server", "served");
    CHECK_EQUAL(live_call(live, SYS_unlink, "\"/tmp/server"), 0);
    check_server(live, "/tmp/server", "ENOENT");
    check_server(live, "/tmp/server", "ENOENT");
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
    int fd = make_one(live, "memory");
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

/* Each a piece of its own; the protection is given by the cell that is lost. */
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

static void descriptor_on_its_way_through_a_socket_is_refused(struct live *live) {
    struct cell *cell = live_start(live);
    struct pair pair;
    CHECK_EQUAL(sscanf(live_ask(cell, "make pair 1"), "%d %d", &pair.a, &pair.b), 2);
    CHECK_TEXT(live_ask(cell, "pass %d %d", pair.a, pair.b), "1");
    live_check_refused(live, cell, "on their way through");
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
        struct pair pair = make_pair(live, kinds[i]);
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

static void too_much_in_sockets_is_refused(struct live *live) {
    enum { PAIRS = 200, STREAM = 2049 /* and O_NONBLOCK */, BYTES = 1 << 20 };
    struct cell *cell = live_start(live);
    struct pair pair;
    long all = 0;
    int zeros = (int)strtol(live_ask(cell, "call %d \"/dev/zero 0", SYS_open), NULL, 10);
    for (int i = 0; i < PAIRS && all <= 16L << 20; i++) {
        CHECK_EQUAL(sscanf(live_ask(cell, "make pair %d", STREAM), "%d %d", &pair.a, &pair.b), 2);
        long n = strtol(live_ask(cell, "call %d %d %d 0 %d", SYS_sendfile, pair.a, zeros, BYTES), NULL, 10);
        CHECK(n > 0);
        all += n;
    }
    CHECK(all > 16L << 20);
    live_check_refused(live, cell, "16 MiB");
}

static void few_descriptors(void) {
    CHECK(setrlimit(RLIMIT_NOFILE, &(struct rlimit){128, 256}) == 0);
}

/* There is room for the new ones all the same. */
static void cell_that_used_up_its_descriptors_for_pipes_can_be_committed(struct live *live) {
    struct cell *cell = live_start(live);
    struct pair pipe = {0}, last;
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
    LIVE_CASE(socket_pairs_go_on_and_are_rolled_back),
    LIVE_CASE(socket_whose_peer_is_gone_goes_on),
    LIVE_CASE(counts_and_timers_go_on_and_are_rolled_back),
    LIVE_CASE(epoll_goes_on_and_is_rolled_back),
    LIVE_CASE(duplicates_stay_duplicates),
    LIVE_CASE(server_answers_in_the_next_cell),
    LIVE_CASE(server_at_a_path_answers_in_the_next_cell),
    LIVE_CASE(connection_that_a_lost_cell_used_has_hung_up),
    LIVE_CASE(connection_waits_as_it_did_before),
    LIVE_CASE(file_that_may_not_be_opened_again_is_rolled_back),
    LIVE_CASE(file_in_a_folder_that_may_not_be_entered_is_rolled_back),
    LIVE_CASE(contents_of_an_unlinked_file_are_rolled_back),
    LIVE_CASE(hundreds_of_files_are_rolled_back),
    LIVE_CASE(memory_file_is_rolled_back),
    LIVE_CASE(shared_mappings_are_rolled_back),
    LIVE_CASE(descriptor_on_its_way_through_a_socket_is_refused),
    LIVE_CASE(lock_on_a_file_without_a_name_ends_with_its_cell),
    LIVE_CASE(descriptors_that_are_paths_go_on),
    LIVE_CASE(too_much_shared_memory_is_refused),
    LIVE_CASE(large_file_that_was_deleted_while_it_was_read_is_carried_on),
    LIVE_CASE(too_much_in_sockets_is_refused),
    {"cell_that_used_up_its_descriptors_for_pipes_can_be_committed",
     cell_that_used_up_its_descriptors_for_pipes_can_be_committed, few_descriptors},
};

int main(void) {
    return live_main("descriptors", cases, sizeof cases / sizeof cases[0]);
}
