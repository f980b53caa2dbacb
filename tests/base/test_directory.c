/* Folders as streams: a descriptor is never left open. */
#include "base/directory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_directory_of_a_file_closes_it_and_keeps_errno(void **state) {
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    (void)state;
    assert_true(fd >= 0);
    assert_null(directory_of(fd));
    assert_int_equal(errno, ENOTDIR);
    assert_int_equal(fcntl(fd, F_GETFD), -1);
}

static void test_directory_of_no_descriptor_keeps_errno(void **state) {
    (void)state;
    errno = EACCES;
    assert_null(directory_of(-1));
    assert_int_equal(errno, EACCES);
}

static void test_directory_open_reads_from_the_first_entry_and_leaves_the_folder_open(void **state) {
    auto_fd fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    size_t n[2] = {0};
    (void)state;
    for (int i = 0; i < 2; i++) {
        auto_dir dir = directory_open(fd);
        assert_non_null(dir);
        while (readdir(dir))
            n[i]++;
    }
    assert_true(n[0] > 2);
    assert_int_equal(n[0], n[1]);
    assert_true(fcntl(fd, F_GETFD) >= 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_directory_of_a_file_closes_it_and_keeps_errno),
        cmocka_unit_test(test_directory_of_no_descriptor_keeps_errno),
        cmocka_unit_test(test_directory_open_reads_from_the_first_entry_and_leaves_the_folder_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
