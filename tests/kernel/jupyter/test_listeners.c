/* The sockets that clients connect to: which addresses they take, and who is served that came before libzmq. */
#include "kernel/base/clock.h"
#include "kernel/jupyter/channels.h"
#include "kernel/jupyter/gate.h"
#include "kernel/jupyter/listeners.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zmq.h>

#include <cmocka.h>

enum { STUCK_MS = 30000 }; /* not a measure of anything */

static char folder[32];
static struct connection connection;
static struct listeners listeners;

static int start(void **state) {
    (void)state;
    strcpy(folder, "/tmp/petri-test-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int stop(void **state) {
    (void)state;
    listeners_close(&listeners, &connection);
    return rmdir(folder); /* a test that leaves something there has failed */
}

/* All endpoints at an address, with ports that are chosen later. */
static int open_at(const char *ip, struct error *ret_error) {
    connection = (struct connection){.transport = "tcp"};
    for (int i = 0; i < CHANNEL_N; i++)
        snprintf(connection.endpoint[i], sizeof connection.endpoint[i], "tcp://%s:*", ip);
    return listeners_open(&connection, 0, &listeners, ret_error);
}

static int open_files(const char *prefix, struct error *ret_error) {
    connection = (struct connection){.transport = "ipc"};
    for (int i = 0; i < CHANNEL_N; i++) {
        connection.port[i] = i + 1;
        snprintf(connection.endpoint[i], sizeof connection.endpoint[i], "ipc://%s-%d", prefix, i + 1);
    }
    return listeners_open(&connection, 0, &listeners, ret_error);
}

static void must(int r, const struct error *error) {
    if (r < 0)
        fail_msg("%s", error->text);
}

/* 0, or the errno of connect(2). */
static int dial(enum channel channel) {
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons((uint16_t)connection.port[channel]),
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    auto_fd fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return connect(fd, (const struct sockaddr *)&address, sizeof address) < 0 ? errno : 0;
}

static int dial_file(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t n = strlen(path);
    memcpy(address.sun_path, path, n);
    if (path[0] == '@')
        address.sun_path[0] = '\0';
    auto_fd fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
    return connect(fd, (const struct sockaddr *)&address, bytes) < 0 ? errno : 0;
}

/* Sends what is no message to the shell channel, from a client of libzmq's. */
static void *knock(void *context) {
    const int none = 0;
    void *socket = zmq_socket(context, ZMQ_DEALER);
    assert_non_null(socket);
    zmq_setsockopt(socket, ZMQ_LINGER, &none, sizeof none);
    assert_int_equal(zmq_connect(socket, connection.endpoint[CHANNEL_SHELL]), 0);
    assert_int_equal(zmq_send(socket, "too early", 9, 0), 9);
    return socket;
}

/* Serves the listeners, and waits for what knock() has sent. */
static void receive(struct channels *channels) {
    struct error error;
    struct message message;
    enum message_problem problem;
    must(channels_open(channels, &connection, &listeners, &error), &error);
    zmq_pollitem_t item = {.socket = channels->sockets[CHANNEL_SHELL], .events = ZMQ_POLLIN};
    assert_int_equal(zmq_poll(&item, 1, STUCK_MS), 1);
    assert_int_equal(channels_receive(channels, CHANNEL_SHELL, &message, &problem), 1);
    assert_int_not_equal(problem, MESSAGE_OK);
}

static void test_client_that_comes_before_libzmq_is_not_refused_and_is_served(void **state) {
    struct channels channels;
    struct error error;
    uint16_t event = 0;
    (void)state;
    must(open_at("127.0.0.1", &error), &error);
    void *context = zmq_ctx_new(), *client = zmq_socket(context, ZMQ_DEALER);
    const int none = 0;
    zmq_setsockopt(client, ZMQ_LINGER, &none, sizeof none);
    assert_int_equal(zmq_socket_monitor(client, "inproc://client", ZMQ_EVENT_CONNECTED | ZMQ_EVENT_CONNECT_RETRIED), 0);
    void *monitor = zmq_socket(context, ZMQ_PAIR);
    assert_int_equal(zmq_connect(monitor, "inproc://client"), 0);
    assert_int_equal(zmq_connect(client, connection.endpoint[CHANNEL_SHELL]), 0);
    zmq_pollitem_t item = {.socket = monitor, .events = ZMQ_POLLIN};
    assert_int_equal(zmq_poll(&item, 1, STUCK_MS), 1);
    assert_true(zmq_recv(monitor, &event, sizeof event, 0) >= (int)sizeof event);
    assert_int_equal(event, ZMQ_EVENT_CONNECTED);
    assert_int_equal(zmq_send(client, "too early", 9, 0), 9);
    receive(&channels);
    gate_check();
    assert_int_equal(listeners.of[CHANNEL_SHELL].fd, -1);
    assert_true(listeners.of[CHANNEL_HB].fd >= 0); /* the heartbeat's thread has not begun */
    channels_close(&channels);
    assert_int_equal(dial(CHANNEL_SHELL), ECONNREFUSED);
    zmq_close(monitor);
    zmq_close(client);
    zmq_ctx_term(context);
}

static void test_client_of_a_socket_in_the_file_system_is_served_and_the_file_goes_with_the_kernel(void **state) {
    struct channels channels;
    struct error error;
    char prefix[64];
    (void)state;
    snprintf(prefix, sizeof prefix, "%s/socket", folder);
    must(open_files(prefix, &error), &error);
    void *context = zmq_ctx_new(), *client = knock(context);
    receive(&channels);
    zmq_close(client);
    zmq_ctx_term(context);
    channels_close(&channels);
    listeners_close(&listeners, &connection); /* stop() removes the folder, which has to be empty */
}

static void test_abstract_socket_is_in_no_file_system(void **state) {
    struct error error;
    char prefix[64];
    (void)state;
    snprintf(prefix, sizeof prefix, "@%s/abstract", folder);
    must(open_files(prefix, &error), &error);
    assert_int_equal(dial_file(connection.endpoint[CHANNEL_IOPUB] + strlen("ipc://")), 0);
    listeners_close(&listeners, &connection);
    assert_int_equal(dial_file(connection.endpoint[CHANNEL_IOPUB] + strlen("ipc://")), ECONNREFUSED);
}

static void test_listener_is_close_on_exec_and_never_blocks(void **state) {
    struct error error;
    int fds[LISTENERS_FDS];
    (void)state;
    must(open_at("127.0.0.1", &error), &error);
    listeners_fds(&listeners, fds);
    assert_int_equal(fds[CHANNEL_N], -1);
    for (int i = 0; i < CHANNEL_N; i++) {
        assert_int_equal(fds[i], listeners.of[i].fd);
        assert_int_equal(fcntl(listeners.of[i].fd, F_GETFD), FD_CLOEXEC);
        assert_true(fcntl(listeners.of[i].fd, F_GETFL) & O_NONBLOCK);
    }
}

static void test_chosen_ports_are_noted_and_listen(void **state) {
    struct error error;
    char expected[64];
    (void)state;
    must(open_at("127.0.0.1", &error), &error);
    for (int i = 0; i < CHANNEL_N; i++) {
        snprintf(expected, sizeof expected, "tcp://127.0.0.1:%d", connection.port[i]);
        assert_string_equal(connection.endpoint[i], expected);
        assert_int_equal(dial((enum channel)i), 0);
    }
}

static bool has_ipv6(void) {
    const struct sockaddr_in6 loopback = {.sin6_family = AF_INET6, .sin6_addr = in6addr_loopback};
    auto_fd fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return fd >= 0 && bind(fd, (const struct sockaddr *)&loopback, sizeof loopback) == 0;
}

/* Listens at an address, which fails with err, or leads to connect(2)'s connected from 127.0.0.1. */
struct row {
    const char *ip;
    int err, connected;
};

static void try_rows(const struct row *rows, size_t n) {
    for (size_t i = 0; i < n; i++) {
        struct error error = {0};
        int r = open_at(rows[i].ip, &error);
        if (r != -rows[i].err)
            fail_msg("%s: %d, %s", rows[i].ip, r, error.text);
        if (r == 0 && dial(CHANNEL_SHELL) != rows[i].connected)
            fail_msg("%s: 127.0.0.1 leads elsewhere", rows[i].ip);
        if (r < 0)
            assert_non_null(strstr(error.text, rows[i].ip));
        listeners_close(&listeners, &connection);
    }
}

static void test_address_is_taken_as_libzmq_takes_it(void **state) {
    static const struct row rows[] = {
        {.ip = "127.0.0.1"},
        {.ip = "0.0.0.0"},
        {.ip = "*"},
        {.ip = "lo"},
        {.ip = "localhost", .err = ENODEV},
        {.ip = "no such interface", .err = ENODEV},
        {.ip = "127.0.0.256", .err = ENODEV},
        {.ip = "192.0.2.1", .err = EADDRNOTAVAIL}, /* nobody's: RFC 5737 */
    };
    (void)state;
    try_rows(rows, sizeof rows / sizeof rows[0]);
}

static void test_address_of_ipv6_is_taken_and_all_of_them_are_both_families(void **state) {
    static const struct row rows[] = {{.ip = "[::]"}, {.ip = "[::1]", .connected = ECONNREFUSED}};
    (void)state;
    if (!has_ipv6()) {
        print_message("skipped: this machine has no IPv6\n");
        assert_null(getenv("PETRI_REQUIRE_LIVE"));
        skip();
    }
    try_rows(rows, sizeof rows / sizeof rows[0]);
}

static void test_taken_port_is_named_and_nothing_listens(void **state) {
    struct error error;
    (void)state;
    must(open_at("127.0.0.1", &error), &error);
    struct listeners taken = listeners;
    struct connection again = connection, all = connection;
    listeners = (struct listeners){0};
    again.port[CHANNEL_IOPUB] = 0; /* the first to be opened is free, the next is not */
    snprintf(again.endpoint[CHANNEL_IOPUB], sizeof again.endpoint[0], "tcp://127.0.0.1:*");
    connection = again;
    assert_int_equal(listeners_open(&connection, 0, &listeners, &error), -EADDRINUSE);
    assert_non_null(strstr(error.text, all.endpoint[CHANNEL_STDIN]));
    assert_int_not_equal(connection.port[CHANNEL_IOPUB], 0);
    assert_int_equal(dial(CHANNEL_IOPUB), ECONNREFUSED);
    listeners_close(&taken, &all);
}

static void nap(long ms) {
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

/* As a kernel does that was killed: who has started it has waited for another process of it. */
static void test_port_of_a_process_that_is_about_to_end_is_waited_for(void **state) {
    struct error error;
    int killed[2];
    (void)state;
    must(open_at("127.0.0.1", &error), &error);
    assert_int_equal(pipe2(killed, O_CLOEXEC), 0);
    pid_t dying = fork();
    if (dying == 0) {
        char none;
        close(killed[1]);
        (void)!read(killed[0], &none, 1);
        nap(100);
        _exit(0);
    }
    for (int i = 0; i < CHANNEL_N; i++)
        close_fd(&listeners.of[i].fd);
    assert_int_equal(listeners_open(&connection, 0, &listeners, &error), -EADDRINUSE);
    close(killed[0]);
    close(killed[1]);
    must(listeners_open(&connection, STUCK_MS * CLOCK_MS, &listeners, &error), &error);
    assert_int_equal(dial(CHANNEL_SHELL), 0);
    assert_int_equal(waitpid(dying, NULL, 0), dying);
}

static void test_port_that_stays_taken_is_an_error_once_patience_is_over(void **state) {
    enum { PATIENCE_MS = 50 };
    struct error error;
    (void)state;
    must(open_at("127.0.0.1", &error), &error);
    struct listeners taken = listeners;
    const int64_t before = clock_us();
    assert_int_equal(listeners_open(&connection, PATIENCE_MS * CLOCK_MS, &listeners, &error), -EADDRINUSE);
    assert_true(clock_us() - before >= PATIENCE_MS * CLOCK_MS);
    listeners_close(&taken, &connection);
}

static void test_sockets_beside_a_file_that_is_none_are_removed_and_it_stays(void **state) {
    struct error error;
    char prefix[64], file[96], made[96];
    struct stat st;
    (void)state;
    snprintf(prefix, sizeof prefix, "%s/thesis", folder);
    snprintf(file, sizeof file, "%s-%d", prefix, CHANNEL_SHELL + 1);
    snprintf(made, sizeof made, "%s-%d", prefix, CHANNEL_IOPUB + 1);
    close(open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    assert_int_equal(open_files(prefix, &error), -EEXIST);
    assert_non_null(strstr(error.text, "something is there that is no socket"));
    assert_int_equal(stat(file, &st), 0);
    assert_int_equal(stat(made, &st), -1);
    unlink(file);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(test_client_that_comes_before_libzmq_is_not_refused_and_is_served),
        CASE(test_client_of_a_socket_in_the_file_system_is_served_and_the_file_goes_with_the_kernel),
        CASE(test_abstract_socket_is_in_no_file_system),
        CASE(test_listener_is_close_on_exec_and_never_blocks),
        CASE(test_chosen_ports_are_noted_and_listen),
        CASE(test_address_is_taken_as_libzmq_takes_it),
        CASE(test_address_of_ipv6_is_taken_and_all_of_them_are_both_families),
        CASE(test_taken_port_is_named_and_nothing_listens),
        CASE(test_port_of_a_process_that_is_about_to_end_is_waited_for),
        CASE(test_port_that_stays_taken_is_an_error_once_patience_is_over),
        CASE(test_sockets_beside_a_file_that_is_none_are_removed_and_it_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
