#include "kernel/base/host_file.h"
#include "tests/kernel/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cmocka.h>

enum { SOMEBODY = 12345 };

static struct error error;

static const struct host_file strict = {
    .flags = O_RDONLY | O_NOFOLLOW, .owner = HOST_TRUSTED, .one_name = true, .max_bytes = 100};

static const char *in(const char *name) {
    static char path[PATH_MAX];
    return tree_path(path, name);
}

static void expect(const char *name, int result, const char *clause) {
    error.text[0] = '\0';
    int fd = host_file_open(AT_FDCWD, in(name), &strict, &error);
    if (fd >= 0)
        close(fd);
    assert_int_equal(fd < 0 ? fd : 0, result);
    assert_string_equal(error.text, clause);
}

static void make_socket(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%.100s", path);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
    close(fd);
}

static void test_host_file_that_is_not_regular_is_refused_without_blocking(void **state) {
    (void)state;
    tree_file("plain", "text");
    tree_folder("folder");
    assert_int_equal(symlink("plain", in("link")), 0);
    assert_int_equal(mkfifo(in("fifo"), 0600), 0);
    make_socket(in("socket"));
    expect("plain", 0, "");
    expect("folder", -EINVAL, "it is no regular file");
    expect("link", -ELOOP, "it is a link");
    expect("fifo", -EINVAL, "it is no regular file");
    expect("socket", -EINVAL, "it is no regular file");
    expect("nothing", -ENOENT, "No such file or directory");
}

static void test_host_file_with_two_hard_links_or_too_large_is_refused(void **state) {
    char other[PATH_MAX];
    (void)state;
    tree_file("two", "");
    assert_int_equal(link(in("two"), tree_path(other, "names")), 0);
    expect("two", -EMLINK, "it has more than one name (hard links)");
    tree_file("large", "");
    assert_int_equal(truncate(in("large"), (off_t)1 << 40), 0);
    expect("large", -EFBIG, "it is too large (1099511627776 bytes; 100 are allowed)");
}

static void test_host_file_of_another_user_or_writable_by_others_is_refused(void **state) {
    (void)state;
    tree_file("shared", "");
    assert_int_equal(chmod(in("shared"), 0666), 0);
    expect("shared", -EPERM, "every user can write to it (mode 0666)");
    if (geteuid() != 0)
        skip();
    tree_file("theirs", "");
    assert_int_equal(chown(in("theirs"), SOMEBODY, 0), 0);
    expect("theirs", -EPERM, "it belongs to another user (uid 12345)");
    assert_true(host_is_anothers(SOMEBODY));
    assert_false(host_is_anothers(0));
}

/* By whatever way a program can still write to it; and looking at it keeps no program from opening it. */
static void test_host_file_that_a_program_writes_to_is_known(void **state) {
    (void)state;
    tree_file("data", "text");
    assert_false(host_is_written(AT_FDCWD, in("data")));
    int reader = open(in("data"), O_RDONLY | O_CLOEXEC);
    assert_false(host_is_written(AT_FDCWD, in("data")));
    int writer = open(in("data"), O_RDWR | O_NONBLOCK | O_CLOEXEC);
    assert_true(writer >= 0);
    assert_true(host_is_written(AT_FDCWD, in("data")));
    char *mapped = mmap(NULL, 4, PROT_READ | PROT_WRITE, MAP_SHARED, writer, 0);
    assert_true(mapped != MAP_FAILED);
    close(writer);
    close(reader);
    assert_true(host_is_written(AT_FDCWD, in("data")));
    munmap(mapped, 4);
    assert_false(host_is_written(AT_FDCWD, in("data")));
    assert_false(host_is_written(AT_FDCWD, in("nothing")));
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, tree_make, tree_remove)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_host_file_that_is_not_regular_is_refused_without_blocking),
        TEST(test_host_file_with_two_hard_links_or_too_large_is_refused),
        TEST(test_host_file_of_another_user_or_writable_by_others_is_refused),
        TEST(test_host_file_that_a_program_writes_to_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
