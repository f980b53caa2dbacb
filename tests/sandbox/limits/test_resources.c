/* What is read from and written to control groups, against folders of plain files in Linux's formats. */
#include "sandbox/base/system.h"
#include "sandbox/files/tree.h"
#include "sandbox/limits/cgroup.h"
#include "sandbox/limits/resources.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* A folder of a test's own, and the group that it plays. */
struct fixture {
    char path[32];
    int fd;
    struct resources_group group;
};

static int setup(void **state) {
    struct fixture *fixture = calloc(1, sizeof *fixture);
    assert_non_null(fixture);
    strcpy(fixture->path, "/tmp/petri-XXXXXX");
    assert_non_null(mkdtemp(fixture->path));
    fixture->fd = open(fixture->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fixture->fd >= 0);
    fixture->group = (struct resources_group){fixture->fd, fixture->fd, -1};
    *state = fixture;
    return 0;
}

static int teardown(void **state) {
    struct fixture *fixture = *state;
    int r = tree_remove(AT_FDCWD, fixture->path);
    close(fixture->fd);
    free(fixture);
    return r;
}

static void put(const struct fixture *fixture, const char *name, const char *text) {
    int fd = openat(fixture->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static void assert_file(const struct fixture *fixture, const char *name, const char *text) {
    char found[256];
    assert_true(system_read_file(fixture->fd, name, found, sizeof found) >= 0);
    assert_string_equal(found, text);
}

static const char *const v2_files[][2] = {
    {"memory.current", "524288000\n"},
    {"memory.stat", "anon 314572800\nfile 157286400\nkernel 3473408\nkernel_stack 65536\nshmem 52428800\n"
                    "file_mapped 4096\nfile_dirty 0\ninactive_file 1\n"},
    {"memory.events", "low 0\nhigh 0\nmax 17\noom 3\noom_kill 2\noom_group_kill 0\n"},
    {"cpu.stat", "usage_usec 1234567\nuser_usec 1200000\nsystem_usec 34567\n"},
};
enum { N_V2_FILES = sizeof v2_files / sizeof v2_files[0] };

static void put_v2_files(const struct fixture *fixture) {
    for (size_t i = 0; i < N_V2_FILES; i++)
        put(fixture, v2_files[i][0], v2_files[i][1]);
}

static void test_v2_reading_leaves_out_cache_and_counts_shared_memory(void **state) {
    const struct fixture *fixture = *state;
    struct resources_reading reading;
    put_v2_files(fixture);
    assert_int_equal(resources_v2.read(&fixture->group, &reading), 0);
    assert_int_equal(reading.memory_bytes, 524288000 - (157286400 - 52428800));
    assert_int_equal(reading.oom_kills, 2);
    assert_int_equal(reading.cpu_us, 1234567);
}

static void test_v2_reading_with_more_cache_than_memory_is_zero(void **state) {
    const struct fixture *fixture = *state;
    struct resources_reading reading;
    put_v2_files(fixture);
    put(fixture, "memory.current", "4096\n"); /* the two are not read at the same instant */
    assert_int_equal(resources_v2.read(&fixture->group, &reading), 0);
    assert_int_equal(reading.memory_bytes, 0);
}

static void test_v2_reading_without_a_file_or_a_line_fails_and_leaves_the_output(void **state) {
    const struct fixture *fixture = *state;
    for (size_t i = 0; i < N_V2_FILES; i++) {
        struct resources_reading reading = {.memory_bytes = 42};
        put_v2_files(fixture);
        put(fixture, v2_files[i][0], "\n");
        assert_true(resources_v2.read(&fixture->group, &reading) < 0);
        assert_int_equal(unlinkat(fixture->fd, v2_files[i][0], 0), 0);
        assert_int_equal(resources_v2.read(&fixture->group, &reading), -ENOENT);
        assert_int_equal(reading.memory_bytes, 42);
    }
}

static void test_anonymous_memory_is_read_as_each_version_names_it(void **state) {
    const struct fixture *fixture = *state;
    uint64_t bytes = 1;
    put_v2_files(fixture);
    assert_int_equal(resources_v2.read_anonymous(&fixture->group, &bytes), 0);
    assert_int_equal(bytes, 314572800);
    put(fixture, "memory.stat", "cache 5\nrss 4096\nrss_huge 1\ntotal_cache 6\ntotal_rss_huge 7\ntotal_rss 8192\n");
    assert_int_equal(resources_v1.read_anonymous(&fixture->group, &bytes), 0);
    assert_int_equal(bytes, 8192);
    assert_true(resources_v2.read_anonymous(&fixture->group, &bytes) < 0);
    assert_int_equal(bytes, 8192);
}

static void test_v2_limit_is_written_in_bytes_and_swap_is_zero(void **state) {
    const struct fixture *fixture = *state;
    put(fixture, "memory.max", "");
    put(fixture, "memory.swap.max", "");
    assert_int_equal(resources_v2.limit_memory(&fixture->group, 268435456), 0);
    assert_file(fixture, "memory.max", "268435456");
    assert_file(fixture, "memory.swap.max", "0");
}

static void test_v2_without_a_limit_max_is_written(void **state) {
    const struct fixture *fixture = *state;
    put(fixture, "memory.max", "");
    assert_int_equal(resources_v2.limit_memory(&fixture->group, UINT64_MAX), 0); /* Linux may be without swap */
    assert_file(fixture, "memory.max", "max");
}

static void test_v2_limit_without_the_controller_fails(void **state) {
    const struct fixture *fixture = *state;
    assert_int_equal(resources_v2.limit_memory(&fixture->group, 1), -ENOENT);
}

static void test_v2_hits_are_of_the_own_group_and_of_the_common_one_alone(void **state) {
    const struct fixture *fixture = *state;
    struct resources_hits hits;
    put(fixture, "memory.events", "low 0\nhigh 0\nmax 9\noom 4\noom_kill 2\n");
    put(fixture, "memory.events.local", "low 0\nhigh 0\nmax 3\noom 1\noom_kill 0\n");
    resources_v2.read_hits(&fixture->group, fixture->fd, &hits);
    assert_int_equal(hits.own, 4);
    assert_int_equal(hits.common, 1);
    resources_v2.read_hits(&fixture->group, -1, &hits);
    assert_int_equal(hits.common, 0);
}

static void test_v1_hits_are_the_charges_that_failed(void **state) {
    const struct fixture *fixture = *state;
    struct resources_hits hits;
    put(fixture, "memory.failcnt", "17\n");
    resources_v1.read_hits(&fixture->group, fixture->fd, &hits);
    assert_int_equal(hits.own, 17);
    assert_int_equal(hits.common, 17);
    assert_int_equal(unlinkat(fixture->fd, "memory.failcnt", 0), 0);
    resources_v1.read_hits(&fixture->group, fixture->fd, &hits);
    assert_int_equal(hits.own, 0);
}

static void test_key_is_found_as_a_whole_word_only(void **state) {
    const struct fixture *fixture = *state;
    uint64_t value = 42;
    put(fixture, "stat", "file_mapped 1\nfile 18446744073709551615\nfil 3\n");
    assert_int_equal(cgroup_read_key(fixture->fd, "stat", "file", &value), 0);
    assert_true(value == UINT64_MAX);
    assert_int_equal(cgroup_read_key(fixture->fd, "stat", "fil", &value), 0);
    assert_int_equal(value, 3);
    assert_int_equal(cgroup_read_key(fixture->fd, "stat", "mapped", &value), -ENOENT);
    assert_int_equal(value, 3);
}

static void test_text_that_is_not_a_number_is_refused(void **state) {
    const struct fixture *fixture = *state;
    uint64_t value = 42;
    put(fixture, "memory.max", "max\n");
    assert_int_equal(cgroup_read_number(fixture->fd, "memory.max", &value), -EINVAL);
    assert_int_equal(value, 42);
}

static void test_join_writes_the_pid_once_where_there_is_one_folder(void **state) {
    const struct fixture *fixture = *state;
    put(fixture, "cgroup.procs", "");
    assert_int_equal(resources_join(&fixture->group, 4711), 0);
    assert_file(fixture, "cgroup.procs", "4711");
}

static void test_join_of_no_group_does_nothing(void **state) {
    (void)state;
    assert_int_equal(resources_join(&(struct resources_group){-1, -1, -1}, 4711), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_v2_reading_leaves_out_cache_and_counts_shared_memory),
        TEST(test_v2_reading_with_more_cache_than_memory_is_zero),
        TEST(test_v2_reading_without_a_file_or_a_line_fails_and_leaves_the_output),
        TEST(test_anonymous_memory_is_read_as_each_version_names_it),
        TEST(test_v2_limit_is_written_in_bytes_and_swap_is_zero),
        TEST(test_v2_without_a_limit_max_is_written),
        TEST(test_v2_limit_without_the_controller_fails),
        TEST(test_v2_hits_are_of_the_own_group_and_of_the_common_one_alone),
        TEST(test_v1_hits_are_the_charges_that_failed),
        TEST(test_key_is_found_as_a_whole_word_only),
        TEST(test_text_that_is_not_a_number_is_refused),
        TEST(test_join_writes_the_pid_once_where_there_is_one_folder),
        TEST(test_join_of_no_group_does_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
