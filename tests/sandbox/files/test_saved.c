/* Whatever is done to a file, afterwards it holds what it did before, and takes no more room. */
#include "sandbox/files/saved.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cmocka.h>

enum { BYTES = 1 << 20, HOLE_AT = 256 << 10, HOLE_BYTES = 512 << 10, PAGE = 4096 };

/* A file without a name, with a hole, and a second open file on it. */
struct file {
    int fd, reader;
    char data[BYTES];
};

static struct file file;

static int prepare(void **state) {
    char path[] = "/tmp/petri-saved-XXXXXX";
    *state = NULL;
    for (size_t i = 0; i < BYTES; i++)
        file.data[i] = (char)(1 + i % 251);
    memset(file.data + HOLE_AT, 0, HOLE_BYTES);
    file.fd = mkstemp(path);
    file.reader = open(path, O_RDONLY | O_CLOEXEC);
    if (file.fd < 0 || file.reader < 0 || unlink(path) || pwrite(file.fd, file.data, BYTES, 0) != BYTES)
        return -1;
    const int hole = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
    return fallocate(file.fd, hole, HOLE_AT, HOLE_BYTES) || fchmod(file.fd, 0640) ? -1 : 0;
}

static int release(void **state) {
    (void)state;
    return close(file.fd) || close(file.reader);
}

static void nothing(void) {
}

static void write_in_the_middle(void) {
    assert_int_equal(pwrite(file.fd, "changed", 7, 70000), 7);
}

static void cut_off(void) {
    assert_int_equal(ftruncate(file.fd, 5), 0);
}

static void empty(void) {
    assert_int_equal(ftruncate(file.fd, 0), 0);
}

static void lengthen(void) {
    assert_int_equal(pwrite(file.fd, "more", 4, BYTES + 12345), 4);
}

static void fill_the_hole_with_zeros(void) {
    static const char zeros[HOLE_BYTES];
    assert_int_equal(pwrite(file.fd, zeros, HOLE_BYTES, HOLE_AT), HOLE_BYTES);
}

static void move_the_hole(void) {
    const int hole = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
    fill_the_hole_with_zeros();
    assert_int_equal(fallocate(file.fd, hole, 0, HOLE_AT), 0);
    assert_int_equal(fallocate(file.fd, hole, HOLE_AT + HOLE_BYTES, HOLE_AT), 0);
}

static void write_through_a_mapping(void) {
    char *at = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd, 0);
    assert_ptr_not_equal(at, MAP_FAILED);
    at[HOLE_AT + PAGE] = at[17] = 'x';
    assert_int_equal(munmap(at, BYTES), 0);
}

static void close_to_its_owner(void) {
    write_in_the_middle();
    assert_int_equal(fchmod(file.fd, 0), 0);
}

static void set_its_times(void) {
    assert_int_equal(futimens(file.fd, (const struct timespec[2]){{1, 2}, {3, 4}}), 0);
}

static void check_as_it_was(const struct stat *was) {
    static char now[BYTES];
    struct stat st;
    assert_int_equal(fstat(file.fd, &st), 0);
    assert_int_equal(st.st_size, BYTES);
    assert_int_equal(st.st_mode, was->st_mode);
    assert_true(st.st_blocks <= was->st_blocks);
    assert_int_equal(st.st_mtim.tv_sec, was->st_mtim.tv_sec);
    assert_int_equal(st.st_mtim.tv_nsec, was->st_mtim.tv_nsec);
    assert_int_equal(pread(file.fd, now, BYTES, 0), BYTES);
    assert_memory_equal(now, file.data, BYTES);
}

static void check_undone(void (*change)(void)) {
    struct saved saved = {0};
    struct stat was;
    uint64_t room = BYTES;
    assert_int_equal(fstat(file.fd, &was), 0);
    assert_int_equal(saved_take(&saved, getpid(), file.reader, &room), 0);
    assert_int_equal(room, 0);
    change();
    assert_int_equal(saved_free_room(&saved, getpid(), file.reader), 0);
    assert_int_equal(saved_put_back(&saved, getpid(), file.reader), 0);
    saved_fini(&saved);
    check_as_it_was(&was);
}

static void test_each_change_is_undone(void **state) {
    static void (*const changes[])(void) = {nothing,
                                            write_in_the_middle,
                                            cut_off,
                                            empty,
                                            lengthen,
                                            fill_the_hole_with_zeros,
                                            move_the_hole,
                                            write_through_a_mapping,
                                            close_to_its_owner,
                                            set_its_times};
    (void)state;
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++)
        check_undone(changes[i]);
}

static void test_file_that_is_closed_to_its_owner_is_saved_and_undone(void **state) {
    (void)state;
    assert_int_equal(fchmod(file.fd, 0), 0);
    check_undone(write_in_the_middle);
    check_undone(empty);
}

static void test_unchanged_file_is_not_opened_for_writing(void **state) {
    struct saved saved = {0};
    struct stat before, after;
    uint64_t room = BYTES;
    (void)state;
    assert_int_equal(saved_take(&saved, getpid(), file.fd, &room), 0);
    assert_int_equal(fstat(file.fd, &before), 0);
    assert_int_equal(saved_free_room(&saved, getpid(), file.fd), 0);
    assert_int_equal(saved_put_back(&saved, getpid(), file.fd), 0);
    assert_int_equal(fstat(file.fd, &after), 0);
    assert_memory_equal(&before.st_ctim, &after.st_ctim, sizeof before.st_ctim);
    saved_fini(&saved);
}

static void test_file_larger_than_the_room_is_not_saved(void **state) {
    struct saved saved = {0};
    uint64_t room = BYTES - 1;
    (void)state;
    assert_int_equal(saved_take(&saved, getpid(), file.fd, &room), -EFBIG);
    assert_int_equal(room, BYTES - 1);
    assert_null(saved.data);
}

static void test_only_regular_files_are_opened(void **state) {
    int pair[2];
    (void)state;
    assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
    assert_int_equal(saved_open(getpid(), pair[0], O_RDONLY), -EINVAL);
    assert_int_equal(saved_open(getpid(), 1 << 20, O_RDONLY), -ENOENT);
    close(pair[0]);
    close(pair[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_each_change_is_undone, prepare, release),
        cmocka_unit_test_setup_teardown(test_file_that_is_closed_to_its_owner_is_saved_and_undone, prepare, release),
        cmocka_unit_test_setup_teardown(test_unchanged_file_is_not_opened_for_writing, prepare, release),
        cmocka_unit_test_setup_teardown(test_file_larger_than_the_room_is_not_saved, prepare, release),
        cmocka_unit_test_setup_teardown(test_only_regular_files_are_opened, prepare, release),
    };
    return cmocka_run_group_tests_name("saved", tests, NULL, NULL);
}
