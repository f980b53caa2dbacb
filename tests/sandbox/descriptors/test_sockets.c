/* What a cell that is rolled back did to sockets of earlier cells never happened; a good one's goes on. */
#include "tests/sandbox/live.h"

#include "sandbox/base/system.h"
#include "sandbox/session/session.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static void check_socket_pair(struct live *live, const char *what, const char *merged) {
    struct live_pair pair = live_make_pair(live, what);
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
    struct live_pair pair = live_make_pair(live, "pair 1");
    CHECK_TEXT(live_do(live, "say %d last", pair.a), "4");
    CHECK_EQUAL(live_call(live, SYS_close, "%d", pair.a), 0);
    struct cell *lost = live_start(live);
    CHECK_TEXT(live_ask(lost, "take %d", pair.b), "last");
    cell_discard(lost);
    CHECK_TEXT(live_do(live, "take %d", pair.b), "last");
    CHECK_TEXT(live_do(live, "take %d", pair.b), "");
}

static void check_server(struct live *live, const char *where, const char *answer) {
    struct cell *cell = live_start(live);
    CHECK_TEXT(live_ask(cell, "ask %s", where), answer);
    live_commit(cell);
}

static void server_answers_in_the_next_cell(struct live *live) {
    struct live_pair server = live_make_pair(live, "server"); /* its number and its port */
    CHECK_TEXT(live_do(live, "serve %d", server.a), "0");
    char port[16];
    (void)snprintf(port, sizeof port, "%d", server.b);
    check_server(live, port, "served");
    struct cell *lost = live_start(live);
    CHECK_TEXT(live_ask(lost, "ask %s", port), "served");
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

/* What has gone through a connection can't be taken back: it has hung up. One that the rolled-back cell left alone goes
 * on. */
static void connection_that_a_rolled_back_cell_used_has_hung_up(struct live *live) {
    int fds[2][2];
    struct cell *cell = live_start(live);
    for (int i = 0; i < 2; i++) {
        live_make_connection(cell, fds[i]);
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
    live_make_connection(cell, fds);
    CHECK_TEXT(live_ask(cell, "call %d %d %d %d", SYS_fcntl, fds[1], F_SETFL, O_NONBLOCK), "0");
    live_commit(cell);
    CHECK_EQUAL(live_call(live, SYS_fcntl, "%d %d 0", fds[0], F_GETFL) & O_NONBLOCK, 0);
    CHECK_EQUAL(live_call(live, SYS_fcntl, "%d %d 0", fds[1], F_GETFL) & O_NONBLOCK, O_NONBLOCK);
}

static void server_at_a_path_answers_in_the_next_cell(struct live *live) {
    int server = live_make_one(live, "server-at /tmp/server");
    CHECK_EQUAL(live_call(live, SYS_chmod, "\"/tmp/server 0700"), 0);
    CHECK_TEXT(live_do(live, "serve %d", server), "0");
    check_server(live, "/tmp/server", "served");
    check_server(live, "/tmp/server", "served");
    CHECK_EQUAL(live_call(live, SYS_unlink, "\"/tmp/server"), 0);
    check_server(live, "/tmp/server", "ENOENT");
    check_server(live, "/tmp/server", "ENOENT");
}

static void descriptor_on_its_way_through_a_socket_is_refused(struct live *live) {
    struct cell *cell = live_start(live);
    struct live_pair pair;
    CHECK_EQUAL(sscanf(live_ask(cell, "make pair 1"), "%d %d", &pair.a, &pair.b), 2);
    CHECK_TEXT(live_ask(cell, "pass %d %d", pair.a, pair.b), "1");
    live_check_refused(live, cell, "on their way through");
}

static void too_much_in_sockets_is_refused(struct live *live) {
    enum { PAIRS = 200, STREAM = 2049 /* and O_NONBLOCK */, BYTES = 1 << 20 };
    struct cell *cell = live_start(live);
    struct live_pair pair;
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

static const struct live_case cases[] = {
    LIVE_CASE(socket_pairs_go_on_and_are_rolled_back),
    LIVE_CASE(socket_whose_peer_is_gone_goes_on),
    LIVE_CASE(server_answers_in_the_next_cell),
    LIVE_CASE(server_at_a_path_answers_in_the_next_cell),
    LIVE_CASE(connection_that_a_rolled_back_cell_used_has_hung_up),
    LIVE_CASE(connection_waits_as_it_did_before),
    LIVE_CASE(descriptor_on_its_way_through_a_socket_is_refused),
    LIVE_CASE(too_much_in_sockets_is_refused),
};

int main(void) {
    return live_main("sockets", cases, sizeof cases / sizeof cases[0]);
}
