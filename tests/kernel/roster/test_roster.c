/*
 * Kernels are processes of the test's own, which enter the roster and wait. As root all of it
 * runs as a user that has no kernels; else kernels of who runs the tests count, too.
 */
#include "kernel/roster/place.h"
#include "kernel/roster/roster.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

enum { USER = 4175, MANY = 12 };

/* What a kernel of the test's says once it is in, and has told what it does. */
struct entered {
    int result;
    size_t running;
};

struct kernel {
    pid_t pid;
    int said_fd;
    int go_fd; /* a byte there ends the kernel well */
};

static void be_kernel(size_t most, int said_fd, int go_fd) {
    struct roster roster;
    struct error error;
    char byte;
    struct entered entered = {0};
    const struct roster_facts facts = {"strict", "/a\x1b/b", false};
    entered.result = roster_enter(&roster, &facts, most, &entered.running, &error);
    roster_tell(&roster, &(struct roster_now){ROSTER_RUNNING, 7});
    if (write(said_fd, &entered, sizeof entered) != sizeof entered || read(go_fd, &byte, 1) != 1)
        _exit(1);
    roster_leave(&roster);
    _exit(0);
}

static struct kernel start(size_t most) {
    int said[2], go[2];
    assert_int_equal(pipe2(said, O_CLOEXEC), 0);
    assert_int_equal(pipe2(go, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        close(go[1]);
        be_kernel(most, said[1], go[0]);
    }
    close(said[1]);
    close(go[0]);
    return (struct kernel){pid, said[0], go[1]};
}

static size_t entered(const struct kernel *kernel) {
    struct entered said;
    assert_int_equal(read(kernel->said_fd, &said, sizeof said), sizeof said);
    assert_int_equal(said.result, 0);
    return said.running;
}

/* Ends it: well, or with kill -9. */
static void end(struct kernel *kernel, bool well) {
    if (well)
        assert_int_equal(write(kernel->go_fd, "", 1), 1);
    else
        kill(kernel->pid, SIGKILL);
    close(kernel->go_fd);
    waitpid(kernel->pid, NULL, 0);
    close(kernel->said_fd);
}

static size_t count_rows(void) {
    struct roster_row *rows;
    size_t n;
    assert_int_equal(roster_list(&rows, &n), 0);
    free(rows);
    return n;
}

static void count_file(void *arg, const struct roster_file *file) {
    size_t *n = arg;
    (void)file;
    ++*n;
}

static size_t count_files(void) {
    struct place place;
    struct error error;
    size_t n = 0;
    assert_int_equal(place_open_own(&place, &error), 0);
    for (size_t i = 0; i < place.n; i++)
        roster_visit(place.fds[i], count_file, &n);
    place_close(&place);
    return n;
}

static bool find(pid_t pid, struct roster_row *ret_row) {
    struct roster_row *rows;
    size_t n;
    bool found = false;
    assert_int_equal(roster_list(&rows, &n), 0);
    for (size_t i = 0; i < n; i++)
        if (rows[i].pid == pid) {
            found = true;
            *ret_row = rows[i];
        }
    free(rows);
    return found;
}

static void test_kernel_is_listed_with_what_it_tells_and_the_pid_that_linux_tells(void **state) {
    struct roster_row row;
    (void)state;
    struct kernel kernel = start(0);
    entered(&kernel);
    assert_true(find(kernel.pid, &row));
    assert_int_equal(row.uid, geteuid());
    assert_int_equal(row.now.state, ROSTER_RUNNING);
    assert_int_equal(row.now.execution_count, 7);
    assert_string_equal(row.profile, "strict");
    assert_string_equal(row.folder, "/a\x1b/b");
    assert_true(row.started_ms > 0 && row.since_ms >= row.started_ms);
    end(&kernel, true);
    assert_false(find(kernel.pid, &row));
}

static void test_killed_kernel_is_not_listed_and_the_next_one_removes_its_file(void **state) {
    struct roster_row row;
    (void)state;
    const size_t rows = count_rows();
    struct kernel killed = start(0);
    entered(&killed);
    const size_t files = count_files();
    end(&killed, false);
    assert_false(find(killed.pid, &row));
    assert_int_equal(count_rows(), rows);
    assert_int_equal(count_files(), files);
    struct kernel next = start(0);
    assert_int_equal(entered(&next), rows);
    assert_int_equal(count_files(), files);
    end(&next, true);
    assert_int_equal(count_files(), files - 1);
}

static void test_kernels_that_start_at_once_are_counted_one_after_the_other(void **state) {
    struct kernel kernels[MANY];
    size_t within = 0;
    (void)state;
    const size_t most = count_rows() + 3;
    for (int i = 0; i < MANY; i++)
        kernels[i] = start(most);
    for (int i = 0; i < MANY; i++)
        within += entered(&kernels[i]) < most;
    assert_int_equal(within, 3);
    assert_int_equal(count_rows(), most - 3 + MANY); /* those that are too many are listed, too */
    for (int i = 0; i < MANY; i++)
        end(&kernels[i], i % 2 == 0);
    struct kernel next = start(most);
    assert_int_equal(entered(&next), most - 3);
    end(&next, true);
}

static void put(int folder_fd, const char *name, const char *text) {
    int fd = openat(folder_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static void test_file_without_a_lock_and_what_is_no_file_of_a_kernel_are_not_listed(void **state) {
    struct place place;
    struct error error;
    (void)state;
    const size_t rows = count_rows();
    assert_int_equal(place_open_own(&place, &error), 0);
    put(place.fds[0], "kernel-0000000000000001", "{\"state\": \"running\", \"profile\": \"forged\"}");
    assert_int_equal(symlinkat("/etc/passwd", place.fds[0], "kernel-0000000000000002"), 0);
    assert_int_equal(mkfifoat(place.fds[0], "kernel-0000000000000003", 0600), 0);
    put(place.fds[0], "other", "{}");
    assert_int_equal(count_rows(), rows);
    struct kernel next = start(0);
    assert_int_equal(entered(&next), rows);
    assert_int_equal(faccessat(place.fds[0], "kernel-0000000000000002", F_OK, AT_SYMLINK_NOFOLLOW), -1);
    assert_int_equal(faccessat(place.fds[0], "other", F_OK, 0), 0);
    end(&next, true);
    unlinkat(place.fds[0], "other", 0);
    place_close(&place);
}

/* Runs in a process: what it writes into the file of the kernel that it is. */
static void test_text_that_no_kernel_writes_is_left_out(void **state) {
    static const char *const texts[] = {
        "", "[]", "{\"state\": 7, \"profile\": [], \"folder\": null, \"started_ms\": 1e300, \"since_ms\": -5}",
        "{\"state\": \"elsewhere\", \"execution_count\": 99999999999, \"started_ms\": 9223372036854775807}"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct roster roster;
        struct error error;
        struct roster_row row;
        size_t running;
        int said[2], status;
        char byte;
        assert_int_equal(pipe2(said, O_CLOEXEC), 0);
        pid_t pid = fork();
        if (pid == 0) {
            if (roster_enter(&roster, &(struct roster_facts){"p", "/f", false}, 0, &running, &error) < 0 ||
                ftruncate(roster.fd, 0) < 0 || pwrite(roster.fd, texts[i], strlen(texts[i]), 0) < 0 ||
                write(said[1], "", 1) != 1)
                _exit(1);
            pause();
        }
        assert_int_equal(read(said[0], &byte, 1), 1);
        assert_true(find(pid, &row));
        assert_string_equal(row.profile, "");
        assert_int_equal(row.now.state, ROSTER_UNAVAILABLE);
        assert_int_equal(row.now.execution_count, 0);
        assert_int_equal(row.started_ms, 0);
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
        close(said[0]);
        close(said[1]);
    }
}

static void test_folder_that_another_user_has_taken_is_an_error_and_not_used(void **state) {
    struct place place;
    struct error error;
    (void)state;
    if (geteuid() != USER)
        skip();                    /* the folder has to be one that nothing else uses */
    struct kernel last = start(0); /* it removes what killed ones have left */
    entered(&last);
    end(&last, true);
    assert_int_equal(rmdir("/dev/shm/petri-4175"), 0);
    int fd = open("/dev/shm/petri-4175", O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    close(fd);
    assert_int_equal(place_open_own(&place, &error), -EPERM);
    assert_non_null(strstr(error.text, "/dev/shm/petri-4175 stands in the way"));
    assert_int_equal(unlink("/dev/shm/petri-4175"), 0);
    assert_int_equal(mkdir("/dev/shm/petri-4175", 0700), 0);
    assert_int_equal(chmod("/dev/shm/petri-4175", 0777), 0);
    assert_int_equal(place_open_own(&place, &error), -EPERM);
    assert_int_equal(rmdir("/dev/shm/petri-4175"), 0);
}

static int become_user(void **state) {
    (void)state;
    return geteuid() == 0 ? setresuid(USER, USER, USER) : 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernel_is_listed_with_what_it_tells_and_the_pid_that_linux_tells),
        cmocka_unit_test(test_killed_kernel_is_not_listed_and_the_next_one_removes_its_file),
        cmocka_unit_test(test_kernels_that_start_at_once_are_counted_one_after_the_other),
        cmocka_unit_test(test_file_without_a_lock_and_what_is_no_file_of_a_kernel_are_not_listed),
        cmocka_unit_test(test_text_that_no_kernel_writes_is_left_out),
        cmocka_unit_test(test_folder_that_another_user_has_taken_is_an_error_and_not_used),
    };
    return cmocka_run_group_tests(tests, become_user, NULL);
}
