/* What a cell has read is hashed, and a list that may not be right says so. */
#include "tests/kernel/fake_sandbox.h"

#include "kernel/base/clock.h"
#include "kernel/files/inputs.h"
#include "kernel/files/inputs_read.h"
#include "kernel/policy/spec.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#define ABC_SHA256 "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

static char path[] = "/tmp/petri-test-XXXXXX";
static struct inputs inputs;
static struct spec spec;
static struct inputs_read *reading;
static struct session *session;
static struct cell *cell;
static int opened_fd; /* of the file that the cell has opened */

static int setup(void **state) {
    struct error error;
    session = fake_session_create();
    assert_int_equal(cell_create(session, &(struct cell_options){0}, &cell, &error), 0);
    struct inputs_read_options options = {.cell = cell, .spec = &spec, .known = json_object(), .inputs = &inputs};
    *state = options.known;
    inputs = (struct inputs){0};
    strcpy(path + sizeof path - 7, "XXXXXX");
    opened_fd = mkstemp(path);
    assert_int_equal(write(opened_fd, "abc", 3), 3);
    assert_int_equal(lseek(opened_fd, 0, SEEK_SET), 0);
    fake_plan(session, &(struct fake_plan){.opened = "data.csv", .opened_fd = opened_fd});
    return inputs_read_begin(&options, &reading);
}

static int teardown(void **state) {
    inputs_read_destroy(reading);
    json_decref(inputs.rows);
    json_decref(*state);
    cell_discard(cell);
    fake_session_free(session);
    return unlink(path);
}

/* One step that ends at once, after the file's one chunk. */
static void read_chunk(void) {
    assert_false(inputs_read_step(reading, 0));
}

static const char *digest(void) {
    return json_string_value(json_object_get(json_array_get(inputs.rows, 0), "sha256"));
}

static void test_file_that_stays_as_it_is_is_hashed(void **state) {
    (void)state;
    read_chunk();
    assert_true(inputs_read_step(reading, CLOCK_NEVER));
    assert_string_equal(digest(), ABC_SHA256);
    assert_true(inputs.complete);
}

static void test_file_that_changes_meanwhile_is_listed_without_a_hash(void **state) {
    struct stat st;
    (void)state;
    read_chunk();
    assert_int_equal(fstat(opened_fd, &st), 0);
    assert_int_equal(pwrite(opened_fd, "x", 1, 0), 1);
    assert_int_equal(futimens(opened_fd, (struct timespec[]){st.st_atim, st.st_mtim}), 0); /* as if it had not */
    while (!inputs_read_step(reading, CLOCK_NEVER))
        continue;
    assert_int_equal(json_array_size(inputs.rows), 1);
    assert_null(digest());
    assert_false(inputs.complete);
}

static void test_file_that_can_not_be_looked_at_makes_the_list_incomplete(void **state) {
    (void)state;
    close(opened_fd);
    while (!inputs_read_step(reading, CLOCK_NEVER))
        continue;
    assert_int_equal(json_array_size(inputs.rows), 0);
    assert_false(inputs.complete);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_file_that_stays_as_it_is_is_hashed),
        TEST(test_file_that_changes_meanwhile_is_listed_without_a_hash),
        TEST(test_file_that_can_not_be_looked_at_makes_the_list_incomplete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
