/* A scope that is not given: by a bus that the test plays, below a /run of its own. test_delegate.c has one given. */
#include "sandbox/limits/delegate.h"
#include "sandbox/limits/watcher.h"
#include "tests/sandbox/as_user.h"
#include "tests/sandbox/tmpfs.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define LIBRARY "libsystemd.so.0"
#define BUS "/run/dbus/system_bus_socket"

/* What a bus does with whoever connects. */
enum manner { HANGS_UP, REJECTS, SAYS_NOTHING, REFUSES_CALLS, ENDS_AFTER_HELLO };

/* How much later it is at each look at the clock than it was before. */
static int seconds_a_look;

int __real_clock_gettime(clockid_t clock, struct timespec *ret_now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret_now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret_now) {
    static int ahead;
    int r = __real_clock_gettime(clock, ret_now);
    ahead += seconds_a_look;
    ret_now->tv_sec += ahead;
    return r;
}

/* Answers as they are sent, and where in them the serial stands that they answer. See: D-Bus Specification. */
enum { AT_SERIAL = 20, AT_OWN_SERIAL = 8, AT_BODY_BYTES = 4, AT_FIELDS_BYTES = 12, FIXED_BYTES = 16 };
static const char hello_answer[] = "l\2\1\1\11\0\0\0\1\0\0\0\17\0\0\0"
                                   "\5\1u\0\0\0\0\0"
                                   "\10\1g\0\1s\0\0"
                                   "\4\0\0\0:1.1";
static const char refusal[] = "l\3\1\1\0\0\0\0\2\0\0\0\32\0\0\0"
                              "\5\1u\0\0\0\0\0"
                              "\4\1s\0\11\0\0\0t.Refused\0\0\0\0\0\0";

static void answer(int fd, const char *message, size_t n, const char *serial) {
    char copy[128];
    memcpy(copy, message, n);
    memcpy(copy + AT_SERIAL, serial, 4);
    CHECK(send(fd, copy, n, MSG_NOSIGNAL) == (ssize_t)n);
}

/* Reads a call and keeps its serial. False where there are no more. */
static bool read_call(int fd, char serial[4]) {
    char fixed[FIXED_BYTES], rest[4096];
    uint32_t body, fields;
    if (recv(fd, fixed, sizeof fixed, MSG_WAITALL) != sizeof fixed)
        return false;
    memcpy(&body, fixed + AT_BODY_BYTES, 4);
    memcpy(&fields, fixed + AT_FIELDS_BYTES, 4);
    size_t n = (fields + 7) / 8 * 8 + body;
    CHECK(n <= sizeof rest && recv(fd, rest, n, MSG_WAITALL) == (ssize_t)n);
    memcpy(serial, fixed + AT_OWN_SERIAL, 4);
    return true;
}

/* Reads what a client says of itself, which ends with BEGIN. */
static void read_greeting(int fd, char *ret_text, size_t size) {
    size_t n = 0;
    memset(ret_text, 0, size);
    while (n + 1 < size && !memmem(ret_text, n, "BEGIN\r\n", 7))
        CHECK(recv(fd, ret_text + n++, 1, 0) == 1);
}

/* The first byte of a greeting is zero; each line of it has an answer. See: D-Bus Specification, "Auth". */
static void answer_greeting(int fd, const char *greeting, bool welcome) {
    bool asks_for_data = strstr(greeting + 1, "\r\nDATA\r\n") != NULL;
    bool asks_for_descriptors = strstr(greeting + 1, "NEGOTIATE_UNIX_FD") != NULL;
    dprintf(fd, "%s%s\r\n%s", asks_for_data ? "DATA\r\n" : "",
            welcome ? "OK 0123456789abcdef0123456789abcdef" : "REJECTED EXTERNAL",
            asks_for_descriptors ? (welcome ? "AGREE_UNIX_FD\r\n" : "ERROR\r\n") : "");
}

/* Until the client hangs up, which is when it has what it was to get. */
static void await_end(int fd) {
    char ignored[256];
    while (recv(fd, ignored, sizeof ignored, 0) > 0)
        continue;
}

static void serve(int fd, enum manner manner) {
    char serial[4], greeting[256];
    read_greeting(fd, greeting, sizeof greeting);
    if (manner == REJECTS)
        answer_greeting(fd, greeting, false);
    if (manner == REFUSES_CALLS || manner == ENDS_AFTER_HELLO) {
        answer_greeting(fd, greeting, true);
        CHECK(read_call(fd, serial));
        answer(fd, hello_answer, sizeof hello_answer, serial);
    }
    while (manner == REFUSES_CALLS && read_call(fd, serial))
        answer(fd, refusal, sizeof refusal - 1, serial);
    if (manner == REJECTS || manner == SAYS_NOTHING)
        await_end(fd);
}

static pid_t start_bus(enum manner manner) {
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = BUS};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(bind(fd, (const struct sockaddr *)&address, sizeof address) == 0 && listen(fd, 1) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        serve(accept(fd, NULL, NULL), manner);
        _exit(0);
    }
    close(fd);
    return pid;
}

/* A /run of our own, where we are root, and in it what systemd's own machine has. */
static void enter_run(void) {
    close(tmpfs_enter());
    CHECK_EQUAL(mount("petri", "/run", "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755") ? errno : 0, 0);
    CHECK_EQUAL(mkdir("/run/dbus", 0755), 0);
    CHECK_EQUAL(mkdir("/run/systemd", 0755), 0);
    CHECK_EQUAL(mkdir("/run/systemd/system", 0755), 0);
}

/* The number that the next descriptor would have: the same before and after what leaves none open. */
static int next_descriptor(void) {
    int fd = dup(STDERR_FILENO);
    close(fd);
    return fd;
}

/* A manner and what is to come of it. */
struct row {
    enum manner manner;
    int result;
    struct sandbox_bounds bounds;
};

static int ask(void *argument) {
    const struct row *row = argument;
    enter_run();
    pid_t bus = start_bus(row->manner);
    int next = next_descriptor();
    seconds_a_look = row->manner == SAYS_NOTHING ? 21 : 0;
    CHECK_EQUAL(delegate_scope(&row->bounds), row->result);
    CHECK_EQUAL(next_descriptor(), next);
    CHECK_EQUAL(watcher_count_tasks(getpid()), 1);
    CHECK(kill(bus, SIGKILL) == 0 && waitpid(bus, NULL, 0) == bus);
    return 0;
}

/* Where the library is, found in a fork: elsewhere it is not to be loaded before it is needed. */
static char *library_path;

static int find_library(void *argument) {
    Dl_info info;
    void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    void *symbol = handle ? dlsym(handle, "sd_bus_new") : NULL;
    (void)argument;
    if (symbol && dladdr(symbol, &info))
        (void)snprintf(library_path, PATH_MAX, "%s", info.dli_fname);
    return 0;
}

static int set_up(void **state) {
    (void)state;
    library_path = mmap(NULL, PATH_MAX, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(library_path != MAP_FAILED);
    run_in_fork(find_library, NULL, false);
    return 0;
}

static void run_row(enum manner manner, int result) {
    if (!*library_path)
        skip(); /* no libsystemd */
    run_in_fork(ask, &(struct row){manner, result, {0}}, false);
    run_in_fork(ask, &(struct row){manner, result, {1 << 30, 500}}, false);
}

static void test_bus_that_hangs_up_fails_at_once(void **state) {
    (void)state;
    run_row(HANGS_UP, -EPIPE);
}

static void test_bus_that_hangs_up_later_fails_at_once(void **state) {
    (void)state;
    run_row(ENDS_AFTER_HELLO, -EPIPE);
}

static void test_bus_that_rejects_us_is_a_refusal(void **state) {
    (void)state;
    run_row(REJECTS, -EPERM);
}

static void test_call_that_is_answered_by_an_error_is_a_refusal(void **state) {
    (void)state;
    run_row(REFUSES_CALLS, -EPERM);
}

static void test_silent_bus_is_given_up(void **state) {
    (void)state;
    run_row(SAYS_NOTHING, -ETIMEDOUT);
}

static int ask_without_library(void *argument) {
    (void)argument;
    enter_run();
    CHECK_EQUAL(mount("/dev/null", library_path, NULL, MS_BIND, NULL) ? errno : 0, 0);
    pid_t bus = start_bus(REFUSES_CALLS);
    CHECK_EQUAL(delegate_scope(&(struct sandbox_bounds){0}), -ENOENT);
    CHECK(kill(bus, SIGKILL) == 0 && waitpid(bus, NULL, 0) == bus);
    return 0;
}

static void test_missing_library_is_as_no_bus(void **state) {
    (void)state;
    if (!*library_path)
        skip();
    run_in_fork(ask_without_library, NULL, false);
}

static int ask_without_bus(void *argument) {
    (void)argument;
    enter_run();
    CHECK_EQUAL(delegate_scope(&(struct sandbox_bounds){0}), -ENOENT);
    CHECK_EQUAL(rmdir("/run/systemd/system"), 0);
    pid_t bus = start_bus(REFUSES_CALLS);
    CHECK_EQUAL(delegate_scope(&(struct sandbox_bounds){0}), -ENOENT);
    CHECK(kill(bus, SIGKILL) == 0 && waitpid(bus, NULL, 0) == bus);
    return 0;
}

static void test_missing_bus_or_systemd_is_told(void **state) {
    (void)state;
    run_in_fork(ask_without_bus, NULL, false);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bus_that_hangs_up_fails_at_once),
        cmocka_unit_test(test_bus_that_hangs_up_later_fails_at_once),
        cmocka_unit_test(test_bus_that_rejects_us_is_a_refusal),
        cmocka_unit_test(test_call_that_is_answered_by_an_error_is_a_refusal),
        cmocka_unit_test(test_silent_bus_is_given_up),
        cmocka_unit_test(test_missing_library_is_as_no_bus),
        cmocka_unit_test(test_missing_bus_or_systemd_is_told),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
